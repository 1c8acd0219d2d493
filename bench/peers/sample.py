"""The cuts that peers are put on: those of ``clew eval``, as chat messages that every peer can read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from clew.message import Item, Message, Thinking
from clew.providers import OPENAI
from clew.providers.conversion import convert
from clew_evals import Cut, SessionFile, Study, cuts_of, labels_near, needs_of, session_files
from clew_evals.sessions import LEAST_TOKENS, session_name
from clew_evals.study import Common, Progress, common_keys, map_files, sessions_of
from clew_evals.study import mark as key_mark

SEED = 20_260
Chat = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A cut in the format of OpenAI's chat completions, with what its continuation needs."""

    name: str
    """Other messages, another name: what was kept of a case is never taken for another's."""
    session: str
    cut: Cut
    """The same messages as clew's values: what a view is scored against."""
    messages: Chat
    """What a peer is given, system prompt included."""

    def job(self, share: float) -> dict[str, Any]:
        """Return it as a job for an adapter; messages that state a labelled rule are pinned."""
        return {
            "id": f"{share:g}",
            "messages": self.messages,
            "target_tokens": int(self.cut.tokens * share),
            "tokens": self.cut.tokens,
            "pins": list(self.stating()),
        }

    def stating(self) -> Iterator[int]:
        """Yield where the messages stand that state a labelled rule."""
        rules = [" ".join(rule.split()) for rule in self.cut.needs.constraints] if self.cut.needs else []
        for at, message in enumerate(self.messages):
            said = " ".join(str(message.get("content") or "").split())
            if message["role"] == "user" and any(rule in said for rule in rules):
                yield at

    def view(self, messages: Chat) -> list[Item]:
        """Return what a peer left as a view of the cut: without the system prompt."""
        return list(_items(OPENAI.parse(messages[len(self.cut.system) :]), "v"))


def sample(
    folder: Path, count: int | None, progress: Progress | None = None, least: int = LEAST_TOKENS
) -> list[Case]:
    """Return one cut of so many sessions drawn from a folder, or both cuts of all: the same each time."""
    files = session_files([folder])
    plan = Study(labels=labels_near([folder]), least_tokens=least)
    common = common_keys(files, plan, progress)
    cases = partial(_cases_of, plan, common)
    if count is None:
        return [case for some in map_files(cases, files, 0, progress, "cutting") for case in some]
    source = random.Random(SEED)
    source.shuffle(files)
    drawn: list[Case] = []
    for file in files:
        by_session: dict[str, list[Case]] = {}
        for case in cases(file):
            by_session.setdefault(case.session, []).append(case)
        drawn += [source.choice(some) for some in by_session.values()]
        if progress:
            progress("cutting", min(len(drawn), count), count)
        if len(drawn) >= count:
            break
    return drawn[:count]


def _cases_of(plan: Study, common: Common, file: SessionFile) -> list[Case]:
    known = common.get(file.set, frozenset())
    labels = plan.labels.get(session_name(file.path), ())
    found = []
    for session in sessions_of(file):
        for cut in cuts_of(session, file.set, plan.cut_shares, plan.least_tokens):
            plain = replace(cut, items=_without_thinking(cut.items))
            needs = needs_of(plain, lambda key: key_mark(key) in known, labels)
            name = f"{file.path.name}#{cut.session}"
            found.append(as_case(name, replace(plain, needs=needs)))
    return found


def as_case(session: str, cut: Cut) -> Case:
    """Return a cut as a case: what a chat format cannot carry is gone before anybody compacts it."""
    system = convert([item.message for item in cut.system], "openai").items
    rest = [_plain_calls(one) for one in convert([item.message for item in cut.items], "openai").items]
    parsed = replace(cut, system=_items(OPENAI.parse(system), "p"), items=_items(OPENAI.parse(rest), "m"))
    messages = [*system, *rest]
    mark = crc32(json.dumps(messages).encode())
    return Case(f"{cut.set}-{cut.at:g}-{mark:08x}", session, parsed, messages)


def _plain_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with free-form calls written as ordinary ones: few peers know the others."""
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_plain_call(call) for call in calls]} if calls else message


def _plain_call(call: dict[str, Any]) -> dict[str, Any]:
    if call["type"] != "custom":
        return call
    given = {"name": call["custom"]["name"], "arguments": json.dumps({"input": call["custom"]["input"]})}
    return {"id": call["id"], "type": "function", "function": given}


def _without_thinking(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return messages without thoughts: the chat format has no place for them, so no peer could keep one."""
    shown = []
    for item in items:
        parts = tuple(part for part in item.message.parts if not isinstance(part, Thinking))
        if parts:
            whole = len(parts) == len(item.message.parts)
            shown.append(item if whole else Item(item.id, replace(item.message, parts=parts, native=None)))
    return tuple(shown)


def _items(messages: Sequence[Message], prefix: str) -> tuple[Item, ...]:
    return tuple(Item(f"{prefix}{n}", message) for n, message in enumerate(messages, start=1))
