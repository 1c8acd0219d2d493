"""What the sessions' own tools lost at their compactions, in the figures of a study: part of ``clew eval``.

Tools record their compactions: what was there before, the summary they left, what came after. So each can be
scored like any policy, next to clew with as many tokens. ``forgotten.py`` names what one session lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from clew.message import Json, JsonObject
from clew_evals.asking import needs_of, session_name
from clew_evals.cuts import COUNTER, CutCompaction, compactions_of
from clew_evals.exact import first_place, key_of
from clew_evals.files import SessionFile
from clew_evals.needs import Needs
from clew_evals.policies import POLICIES
from clew_evals.probe import Probe
from clew_evals.reading import view_text
from clew_evals.score import RULE_SHARE, TASK_SHARE, Score, score_of, scored
from clew_evals.study import Common, Progress, Study, StudyRow, mapped, mark, sessions_of
from clew_evals.survive import Survival

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
    result = mapped(partial(_lost_of, plan, common), files, plan.jobs, progress, "compactions")
    judged: dict[int, ToolLoss] = {}
    unjudged: dict[Unjudged, None] = {}
    for loss in (item for several in result for item in several):
        if isinstance(loss, ToolLoss):
            judged[loss.words_mark] = loss
        else:
            unjudged[loss] = None
    return OwnCompactions(tuple(judged.values()), tuple(unjudged))


def _lost_of(plan: Study, common: Common, file: SessionFile) -> list[ToolLoss | Unjudged]:
    known = common.get(file.set, frozenset())
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
                needs = needs_of(compaction.cut, lambda key: mark(key) in known, labels)
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
        ours=scored(cut, POLICIES[OURS]),
        values=tuple(probe for probe in needs.probes if first_place(text, probe.kind, probe.key) < 0),
        rules=tuple(rule for rule in rules if survives(rule) < RULE_SHARE),
        open=tuple(task for task in needs.open if survives(task) < TASK_SHARE),
        files=tuple(name for name in needs.files if first_place(text, "path", key_of("path", name)) < 0),
        words_mark=crc32(text.encode("utf-8", "surrogatepass")),
    )
