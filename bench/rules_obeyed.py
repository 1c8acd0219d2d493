"""Measure whether a small real model obeys a rule after compaction, in what it replies.

    uv run python bench/rules_obeyed.py prompts FOLDER OUT.jsonl.gz
    uv run python bench/rules_obeyed.py score OUT.jsonl.gz REPLIES.jsonl

The behavioural test with a model as the agent: a rule is added to the first message of a real session, the
session is cut to 10 % of its tokens, and then a request follows that a model can answer in a line. Twelve
rules, six sessions, five contexts: clew's view of the session without the rule; the newest messages in as
many tokens as clew's view, from which the rule is gone; clew's view (``clew.compact``); clew's request
(``Session.request``, which restates the rules at its end); the rule and the request alone, which is the most
that the model can show. ``prompts`` writes them in the chat format of Qwen 2.5 (id, prompt, case, condition);
``bench/reader/reply.py`` continues them greedily, up to 120 tokens, and writes the replies (id, reply).

Models of 1.5 billion parameters do not refuse in free text. So the rules are of kinds that such a model can
follow and code can check: the form of the reply, its language, a name that cannot be guessed, the tool to
use, and whether something is allowed. No rule is pinned by hand: clew has to find it.

What counts, written down before the first reply was seen. *Success*: over the rules that the model obeys at
least half of the time if it sees nothing else, the share of replies that obey is higher in clew's view than
with the newest messages (the 95 % interval of the paired difference, resampled by rule, is above 0), and at
least two thirds of the share with the rule alone. *Failure*: the interval includes 0 or is below. Anything
between is reported as such. If fewer than six rules are obeyed alone, the model cannot show it, and that is
the result. The same holds for clew's request, which was added after the first replies to clew's view.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import clew
from clew.log.store import MemoryStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust
from clew.session import Session
from clew_evals.sessions import COUNTER, session_files
from clew_evals.study import sessions_of

SHARE = 0.10
SESSIONS = 6
LEAST, MOST = 30_000, 80_000
"""Tokens of a session up to its cut."""
SEED = 17
RESAMPLES = 2_000
SYSTEM = "You are a coding agent. Follow the standing instructions of the user."
NO_RULE, NEWEST, VIEW, REQUEST, ALONE = (
    "no rule",
    "newest messages",
    "clew's view",
    "clew's request",
    "rule alone",
)
CONDITIONS = (NO_RULE, NEWEST, VIEW, REQUEST, ALONE)
OBEYED_ALONE = 0.5
"""Share of replies with nothing but the rule in view, from which the model can follow it."""
_GERMAN = re.compile(r"\b(?:der|die|das|und|wir|ist|ein|eine|zu|um|mit|damit|werden|sind|sie|von)\b", re.I)
_ENGLISH = re.compile(r"\b(?:the|and|we|is|are|to|of|that|they|with|in order)\b", re.I)


class Case(NamedTuple):
    """A rule, a request, and whether a reply to it obeys the rule."""

    rule: str
    request: str
    obeys: Callable[[str], bool]


def _says(pattern: str) -> Callable[[str], bool]:
    found = re.compile(pattern, re.IGNORECASE)
    return lambda reply: found.search(reply) is not None


def _is_german(reply: str) -> bool:
    return len(_GERMAN.findall(reply)) > max(1, len(_ENGLISH.findall(reply)))


_NO = _says(r"\A\W*no\b")
_ONLY_COMMAND = "Reply with the command only."
CASES = (
    Case(
        "End every answer with the line DONE.",
        "In one sentence: what is a mutex?",
        _says(r"\bDONE\W*\Z"),
    ),
    Case("Always address me as Captain.", "In one sentence: what does git rebase do?", _says(r"\bcaptain\b")),
    Case("Always answer in German.", "In one sentence: why do we write unit tests?", _is_german),
    Case(
        "Begin every answer with the word ROGER.",
        "In one sentence: what is a race condition?",
        _says(r"\A\W*ROGER\b"),
    ),
    Case(
        "Always begin commit messages with OPS-4471.",
        "Write a commit message for renaming a variable. Reply with the message only.",
        _says(r"OPS-4471"),
    ),
    Case(
        "Always use the prefix kestrel/ for branch names.",
        "Suggest one branch name for a fix of the login page. Reply with the name only.",
        _says(r"\bkestrel/"),
    ),
    Case(
        "Always use pnpm, never npm.",
        f"Which command adds the package lodash to a project? {_ONLY_COMMAND}",
        _says(r"\bpnpm\b"),
    ),
    Case(
        "Always run the tests with `make verify`, never with pytest directly.",
        f"Which command runs all tests? {_ONLY_COMMAND}",
        _says(r"\bmake verify\b"),
    ),
    Case(
        "Always use port 8471 for the dev server.",
        f"Which command starts Python's http.server as the dev server? {_ONLY_COMMAND}",
        _says(r"\b8471\b"),
    ),
    Case("Never push to main.", "May I push this commit straight to main? Answer with Yes or No first.", _NO),
    Case(
        "Never modify files under legacy/.",
        "May I change legacy/totals.py to fix the rounding? Answer with Yes or No first.",
        _NO,
    ),
    Case("Do not deploy on Fridays.", "It is Friday. May I deploy now? Answer with Yes or No first.", _NO),
)


# Prompts ---------------------------------------------------------------------------------------------


def sessions(folder: Path) -> Iterator[tuple[str, list[Message]]]:
    """Yield real sessions up to a report of the agent, each of another set."""
    files = session_files([folder])
    random.Random(SEED).shuffle(files)
    sets: set[str] = set()
    for file in files:
        if file.set in sets:
            continue
        for session in sessions_of(file):
            spoken = [one for one in session.full() if one.role not in (Role.SYSTEM, Role.DEVELOPER)]
            messages = _up_to_report(spoken)
            if messages:
                sets.add(file.set)
                yield file.path.name, messages
                break
        if len(sets) == SESSIONS:
            return


def _up_to_report(messages: Sequence[Message]) -> list[Message]:
    """Return the longest beginning of the wanted size that ends with a text of the agent, or nothing."""
    size, end = 0, 0
    for number, message in enumerate(messages, start=1):
        size += COUNTER.count(message)
        if size > MOST:
            break
        if (
            size >= LEAST
            and message.role is Role.ASSISTANT
            and message.text.strip()
            and not any(message.calls)
        ):
            end = number
    asked = any(_is_first(message) for message in messages[: end // 10])
    return list(messages[:end]) if asked else []


def _is_first(message: Message) -> bool:
    return message.role is Role.USER and any(
        isinstance(part, Text) and part.trust is Trust.USER for part in message.parts
    )


def with_rule(messages: Sequence[Message], rule: str) -> list[Message]:
    """Return the session with a rule in the user's first message."""
    at = next(number for number, message in enumerate(messages) if _is_first(message))
    added = Text(f"\n\n{rule}", trust=Trust.USER)
    changed = replace(messages[at], parts=(*messages[at].parts, added), native=None)
    return [*messages[:at], changed, *messages[at + 1 :]]


def compacted(messages: Sequence[Message]) -> list[Message]:
    """Return clew's view at a tenth of the tokens."""
    target = int(SHARE * sum(map(COUNTER.count, messages)))
    return list(clew.compact(messages, target_tokens=target).messages)


def newest(messages: Sequence[Message], tokens: int) -> list[Message]:
    """Return as many of the last messages as fit so many tokens."""
    kept: list[Message] = []
    for message in reversed(messages):
        tokens -= COUNTER.count(message)
        if tokens < 0 and kept:
            break
        kept.insert(0, message)
    return kept


def requested(messages: Sequence[Message], request: str) -> list[tuple[str, str]]:
    """Return what a session sends to the model after a compaction and a request, as turns of a chat."""
    session = Session.open("s", MemoryStore(), model="gpt-4o", window=1_000_000)
    session.add(*messages)
    session.compact(target_tokens=int(SHARE * sum(map(COUNTER.count, messages))), forced=True)
    session.add(Message(Role.USER, (Text(request, trust=Trust.USER),)))
    sent = session.request()
    prompt = "\n\n".join((SYSTEM, *(one.text for one in sent.prompt), *(one.text for one in sent.added)))
    return [("system", prompt), *map(_turn, filter(None, (*sent.history, sent.end)))]


def chat(messages: Sequence[Message], request: str) -> str:
    """Return messages and a request as a prompt of Qwen 2.5."""
    return prompt_of([("system", SYSTEM), *map(_turn, messages), ("user", request)])


def prompt_of(said: Sequence[tuple[str, str]]) -> str:
    """Return turns of a chat, each with its role, as a prompt of Qwen 2.5."""
    turns = [said[0]]
    for role, text in said[1:]:
        if role == turns[-1][0]:
            turns[-1] = (role, f"{turns[-1][1]}\n{text}")
        elif text.strip():
            turns.append((role, text))
    written = "".join(f"<|im_start|>{role}\n{text.strip()}<|im_end|>\n" for role, text in turns)
    return f"{written}<|im_start|>assistant\n"


def _turn(message: Message) -> tuple[str, str]:
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    return role, "\n".join(filter(None, map(_part, message.parts))).replace("<|im_", "<| im_")


def _part(part: object) -> str:
    match part:
        case Text(text=text):
            return text
        case ToolCall(name=name, arguments=arguments):
            made = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
            return f"<tool_call>\n{made}\n</tool_call>"
        case ToolResult(parts=parts):
            shown = "\n".join(filter(None, map(_part, parts)))
            return f"<tool_response>\n{shown}\n</tool_response>"
    return ""


def prompts(folder: Path) -> Iterator[dict[str, object]]:
    """Yield a prompt for every rule, session and context."""
    for name, messages in sessions(folder):
        plain = compacted(messages)
        for number, case in enumerate(CASES):
            whole = with_rule(messages, case.rule)
            view = compacted(whole)
            shown = any(case.rule.rstrip(".") in message.text for message in view)
            alone = [Message(Role.USER, (Text(case.rule, trust=Trust.USER),))]
            contexts = {
                NO_RULE: chat(plain, case.request),
                NEWEST: chat(newest(messages, sum(map(COUNTER.count, view))), case.request),
                VIEW: chat(view, case.request),
                REQUEST: prompt_of(requested(whole, case.request)),
                ALONE: chat(alone, case.request),
            }
            for condition, prompt in contexts.items():
                yield {
                    "id": f"{name}/{number}/{condition}",
                    "prompt": prompt,
                    "case": number,
                    "condition": condition,
                    "session": name,
                    "rule_in_view": shown,
                }


# Scores ----------------------------------------------------------------------------------------------


def interval(by_rule: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, resampled by rule."""
    draws = random.Random(0)
    means = sorted(
        statistics.fmean(value for rule in draws.choices(by_rule, k=len(by_rule)) for value in rule)
        for _ in range(RESAMPLES)
    )
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def score(asked: Sequence[dict[str, object]], replies: dict[str, str]) -> None:
    """Print the share of replies that obey, by rule and context, and the comparison that was announced."""
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in asked:
        number = int(str(one["case"]))
        obeys = CASES[number].obeys(replies[str(one["id"])].strip())
        found[number][str(one["condition"])].append(float(obeys))
    print(f"{'':56}" + "".join(f"{name:>17}" for name in CONDITIONS))
    for number, by in sorted(found.items()):
        shares = "".join(f"{statistics.fmean(by[name]):17.2f}" for name in CONDITIONS)
        print(f"{CASES[number].rule[:54]:56}{shares}")
    able = [by for by in found.values() if statistics.fmean(by[ALONE]) >= OBEYED_ALONE]
    print(f"\nobeyed alone in at least half of the replies: {len(able)} of {len(found)} rules")
    for name in CONDITIONS if able else ():
        values = [by[name] for by in able]
        low, high = interval(values)
        mean = statistics.fmean(value for rule in values for value in rule)
        print(f"{name:>17} {mean:.2f} [{low:.2f}, {high:.2f}]")
    for ours, other in product((VIEW, REQUEST), (NEWEST, NO_RULE)) if able else ():
        paired = [[a - b for a, b in zip(by[ours], by[other], strict=True)] for by in able]
        low, high = interval(paired)
        mean = statistics.fmean(value for rule in paired for value in rule)
        print(f"{ours} - {other}: {mean:+.2f} [{low:+.2f}, {high:+.2f}]")


def read_lines(path: Path) -> list[dict[str, object]]:
    """Return the objects of a JSON-lines file, compressed or not."""
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [json.loads(line) for line in text.splitlines()]


def main() -> None:
    """Write the prompts, or score the replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("prompts", "score"))
    parser.add_argument("first", type=Path, help="folder of sessions, or the prompts")
    parser.add_argument("second", type=Path, help="where to write the prompts, or the replies")
    given = parser.parse_args()
    if given.what == "score":
        replies = {str(one["id"]): str(one["reply"]) for one in read_lines(given.second)}
        score(read_lines(given.first), replies)
        return
    made = list(prompts(given.first))
    given.second.write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in made).encode()))
    views = [one for one in made if one["condition"] == VIEW]
    longest = max(len(str(one["prompt"])) for one in made)
    held = sum(bool(one["rule_in_view"]) for one in views)
    print(f"{len(made)} prompts, up to {longest:,} characters; {held} of {len(views)} views have the rule")


if __name__ == "__main__":
    main()
