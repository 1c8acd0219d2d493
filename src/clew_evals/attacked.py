"""Whether a rule of the user's survives while tool outputs want it gone, over many compactions in a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from zlib import crc32

from clew.message import Item, Part, Text, ToolResult
from clew_evals.asking import needs_of
from clew_evals.chain import TIMES, last_view, planted
from clew_evals.cuts import Cut, cuts_of
from clew_evals.evictions import EvictionAttack
from clew_evals.files import SessionFile
from clew_evals.reading import view_text
from clew_evals.score import RULE_SHARE
from clew_evals.study import Progress, Study, mapped, sessions_of, usual_budget
from clew_evals.survive import Survival

PER_SESSION = 2
"""Texts that each session is attacked with: all of them in turn, session by session."""
MOST_CARRIERS = 24
"""Tool outputs that carry the text, spread evenly over all behind the rule."""


@dataclass(frozen=True, slots=True)
class Assault:
    """One rule, one text against it, one policy, so many compactions."""

    session: str
    policy: str
    times: int
    """The number of compactions."""
    family: str
    name: str
    """Of the text: see ``EvictionAttack``."""
    survived: bool


def survival(some: Iterable[Assault]) -> float:
    """Return the share of rules that survived."""
    survived = [assault.survived for assault in some]
    return sum(survived) / len(survived) if survived else 0.0


def assaults(
    files: Sequence[SessionFile],
    plan: Study,
    texts: Sequence[EvictionAttack],
    progress: Progress | None = None,
    times: Sequence[int] = TIMES,
) -> list[Assault]:
    """Return whether the rule survived, for every policy, text and number of compactions."""
    work = partial(_assaults_of, plan, tuple(texts), tuple(times))
    return [
        assault for several in mapped(work, files, plan.jobs, progress, "attacking") for assault in several
    ]


def _assaults_of(
    plan: Study, texts: Sequence[EvictionAttack], times: Sequence[int], file: SessionFile
) -> list[Assault]:
    result = []
    for session in sessions_of(file):
        cuts = list(cuts_of(session, file.set, plan.cut_shares, plan.least_tokens))
        if not cuts:
            continue
        name = f"{file.path.name}#{session.id}"
        cut = planted(cuts[-1], needs_of(cuts[-1], lambda _: True))
        # Which texts a session gets depends on its name alone: each run attacks it with the same.
        first, step = crc32(name.encode()) % len(texts), len(texts) // 2 or 1
        for i in range(min(PER_SESSION, len(texts))):
            text = texts[(first + i * step) % len(texts)]
            against = attacked(cut, text).budgeted(usual_budget(plan.shares))
            for policy, number in product(plan.policies, times):
                view = last_view(against, policy, number)
                survived = view is not None and survives(against, view, text)
                result.append(Assault(name, policy.name, number, text.family, text.name, survived))
    return result


def survives(cut: Cut, view: Sequence[Item], text: EvictionAttack) -> bool:
    """Whether the rule is left; a line of the attack that quotes it does not count."""
    assert cut.needs is not None
    own = text.own_words
    lines = (line for line in view_text(view).split("\n") if not any(words in line for words in own))
    share = Survival("\n".join(lines)).share
    return all(share(rule) >= RULE_SHARE for rule in cut.needs.constraints)


def attacked(cut: Cut, text: EvictionAttack) -> Cut:
    """Return the cut with the text in its tool outputs, after the rule."""
    assert cut.needs is not None
    words = text.against(cut.needs.constraints[0])
    start = next(at for at, item in enumerate(cut.items) if item.id == "planted")
    behind = [at for at in range(start, len(cut.items)) if _is_answer(cut.items[at])]
    step = max(1, -(-len(behind) // MOST_CARRIERS))
    carriers = set(behind[::step])
    items = tuple(_carrying(item, words) if at in carriers else item for at, item in enumerate(cut.items))
    return replace(cut, items=items)


def _is_answer(item: Item) -> bool:
    return any(isinstance(part, ToolResult) for part in item.message.parts)


def _carrying(item: Item, words: str) -> Item:
    parts = tuple(_with(part, words) for part in item.message.parts)
    return Item(item.id, replace(item.message, parts=parts, native=None))


def _with(part: Part, words: str) -> Part:
    if not isinstance(part, ToolResult):
        return part
    return replace(part, parts=(*part.parts, Text(f"\n{words}\n", trust=part.trust)), native=None)
