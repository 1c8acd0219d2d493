"""What the sessions' own tools (Claude Code, Codex …) lost at their compactions: part of ``clew eval``.

Tools record their compactions: what was there before, the summary they left, what came after. So each can be
scored like any policy, next to clew with as many tokens. ``lost_items.py`` names what one session lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from clew.message import Json, JsonObject
from clew_evals.find_needs import needs_of
from clew_evals.needs import Needs, Probe
from clew_evals.passages import view_text
from clew_evals.policies import POLICIES
from clew_evals.questions import GAP
from clew_evals.score import RULE_SHARE, TASK_SHARE, Score, score_of, score_policy
from clew_evals.sessions import COUNTER, CutCompaction, SessionFile, compactions_of, session_name
from clew_evals.study import Common, Progress, Study, StudyRow, common_in, map_files, sessions_of
from clew_evals.summary import ResultLine, summarise_rows
from clew_evals.words import Survival, first_place, key_of

THEIRS = "its own tool"
OURS = "clew"
SEALED = "its summary is sealed"
TOO_SHORT = "too little was said before or after it"


class NeededCounts(NamedTuple):
    """How much could have been lost at a compaction."""

    values: int
    """Needed later."""
    again: int
    """Fetched again later."""
    rules: int
    open: int
    files: int


class Unjudged(NamedTuple):
    """A compaction on record of which nothing can be said."""

    time: str | None
    why: str


@dataclass(frozen=True, slots=True)
class OwnCompactions:
    """The compactions that the sessions' own tools made, each once."""

    judged: tuple[ToolLoss, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()


NONE = OwnCompactions()


@dataclass(frozen=True, slots=True)
class ToolLoss:
    """One compaction that a tool made, and what the session needed afterwards and was not left with."""

    set: str
    session: str
    format: str
    path: Path
    time: str | None
    trigger: str | None
    tokens_before: int
    tokens_after: int
    asked: NeededCounts
    score: Score
    """Of what the tool left."""
    ours: Score
    """Of what clew would have left, in as many tokens."""
    values: tuple[Probe, ...]
    """Needed later, and gone; those that had to be fetched again included."""
    rules: tuple[str, ...]
    open: tuple[str, ...]
    files: tuple[str, ...]
    words_mark: int
    """Of what the tool left: a session that was resumed carries its compactions along in each copy."""

    def rows(self) -> Iterator[StudyRow]:
        """Yield the two scores as rows of a study."""
        for name, score in ((THEIRS, self.score), (OURS, self.ours)):
            share = self.tokens_after / max(1, self.tokens_before)
            yield StudyRow(
                set=self.set,
                session=self.session,
                format=self.format,
                at=1.0,
                tokens=self.tokens_before,
                probes=self.asked.values,
                share=share,
                policy=name,
                score=score,
            )

    def to_json(self) -> JsonObject:
        """Return what was lost, for other programs."""
        values: list[Json] = [
            {"kind": value.kind, "value": value.value, "use": value.use, "refetched": value.refetched}
            for value in self.values
        ]
        return {
            "session": self.session,
            "path": str(self.path),
            "time": self.time,
            "trigger": self.trigger,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "asked": dict(self.asked._asdict()),
            "lost_values": values,
            "lost_rules": list(self.rules),
            "lost_tasks": list(self.open),
            "lost_files": list(self.files),
        }


def lost_by_tools(
    files: Sequence[SessionFile], plan: Study, common: Common, progress: Progress | None = None
) -> OwnCompactions:
    """Return every compaction on record, in the order of the files."""
    result = map_files(partial(_lost_of, plan, common), files, plan.jobs, progress, "compactions")
    judged: dict[int, ToolLoss] = {}
    unjudged: dict[Unjudged, None] = {}
    for loss in (item for several in result for item in several):
        if isinstance(loss, ToolLoss):
            judged[loss.words_mark] = loss
        else:
            unjudged[loss] = None
    return OwnCompactions(tuple(judged.values()), tuple(unjudged))


def _lost_of(plan: Study, common: Common, file: SessionFile) -> list[ToolLoss | Unjudged]:
    is_common = common_in(common, file.set)
    labels = plan.labels.get(session_name(file.path), ())
    losses: list[ToolLoss | Unjudged] = []
    for session in sessions_of(file):
        for compaction in compactions_of(session, file.set):
            if compaction.opaque:
                # Nobody but its provider can say what an encrypted summary holds.
                losses.append(Unjudged(compaction.time, SEALED))
            elif not compaction.can_be_judged:
                losses.append(Unjudged(compaction.time, TOO_SHORT))
            else:
                needs = needs_of(compaction.cut, is_common, labels)
                losses.append(_lost(file, compaction, needs))
    return losses


def _lost(file: SessionFile, compaction: CutCompaction, needs: Needs) -> ToolLoss:
    left = compaction.left
    tokens = COUNTER.count_all(item.message for item in left)
    cut = replace(compaction.cut, needs=needs, budget_tokens=tokens)
    text = view_text(left)
    survives = Survival(text).share
    rules = tuple(dict.fromkeys((*needs.constraints, *needs.rules)))
    again = sum(probe.refetched for probe in needs.probes)
    # How long the tool took and how often it asked a model, its record does not say.
    theirs = replace(score_of(cut, left, 0.0), seconds=None, calls=None)
    return ToolLoss(
        set=file.set,
        session=f"{file.path.name}#{cut.session}",
        format=cut.format,
        path=file.path,
        time=compaction.time,
        trigger=compaction.trigger,
        tokens_before=cut.tokens,
        tokens_after=tokens,
        asked=NeededCounts(
            values=len(needs.probes) - again,
            again=again,
            rules=len(rules),
            open=len(needs.open),
            files=len(needs.files),
        ),
        score=theirs,
        ours=score_policy(cut, POLICIES[OURS]),
        values=tuple(probe for probe in needs.probes if first_place(text, probe.kind, probe.key) < 0),
        rules=tuple(rule for rule in rules if survives(rule) < RULE_SHARE),
        open=tuple(task for task in needs.open if survives(task) < TASK_SHARE),
        files=tuple(name for name in needs.files if first_place(text, "path", key_of("path", name)) < 0),
        words_mark=crc32(text.encode("utf-8", "surrogatepass")),
    )


# For tables and reports ---------------------------------------------------------------------------------

AROUND = 45
"""Characters on either side of a value that show what it was used for."""


def tool_and_clew_lines(judged: Sequence[ToolLoss]) -> list[ResultLine]:
    """Return the tools' own line and clew's."""
    # Each compaction had a budget of its own; they are averaged as one.
    return summarise_rows(replace(row, share=0.0) for loss in judged for row in loss.rows())


def newest_losses(judged: Sequence[ToolLoss], count: int) -> list[ToolLoss]:
    """Return the last compactions, the newest first."""
    return sorted(judged, key=lambda item: item.time or "", reverse=True)[:count]


def loss_sentences(own: OwnCompactions) -> Iterator[str]:
    """Yield what the compactions lost, all together."""
    judged = own.judged
    if judged:
        before = _mean([loss.tokens_before for loss in judged])
        after = _mean([loss.tokens_after for loss in judged])
        tools = ", ".join(dict.fromkeys(loss.format for loss in judged))
        yield f"{before:,.0f} tokens became {after:,.0f} each time ({tools}; {len(judged)} judged)."
        yield from _loss_totals(judged)
    for why, number in Counter(loss.why for loss in own.unjudged).items():
        yield f"Not judged: {number}, because {why}."


def _loss_totals(judged: Sequence[ToolLoss]) -> Iterator[str]:
    values = sum(loss.asked.values for loss in judged)
    lost = sum(not probe.refetched for loss in judged for probe in loss.values)
    ours = sum(round((1 - (loss.ours.retained or 0.0)) * loss.asked.values) for loss in judged)
    yield (
        f"Of the values that the work needed afterwards, {lost:,} of {values:,} were gone; "
        f"after clew's compaction, in as many tokens, it would have been {ours:,}."
    )
    again = _mean([loss.score.refetch_tokens or 0.0 for loss in judged])
    with_clew = _mean([loss.ours.refetch_tokens or 0.0 for loss in judged])
    yield (
        f"To fetch again what was gone takes {again:,.0f} tokens after each compaction; "
        f"after clew's, {with_clew:,.0f}."
    )
    duties = (("rules", "rules of the user's"), ("open", "open tasks"), ("files", "changed files"))
    gone = [
        f"{sum(len(getattr(loss, name)) for loss in judged):,} of {asked:,} {what}"
        for name, what in duties
        if (asked := sum(getattr(loss.asked, name) for loss in judged))
    ]
    if gone:
        yield f"Gone were also: {', '.join(gone)}."


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


class ValueUse(NamedTuple):
    """A value with the words around its use: ``curl localhost:``, ``8123``, `` | head``."""

    before: str
    value: str
    after: str


def use_of(probe: Probe) -> ValueUse:
    """Return how a value was used after the cut."""
    before, _, after = probe.question.partition(GAP)
    return ValueUse(before[-AROUND:].lstrip(), probe.value, after[:AROUND].rstrip())
