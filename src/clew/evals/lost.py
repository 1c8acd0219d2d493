"""What a session's own tool lost at its compactions, told from the record it kept of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from zlib import crc32

from clew.evals.asking import needs_of, session_name
from clew.evals.cuts import COUNTER, Compaction, compactions_of
from clew.evals.exact import first_place, key_of
from clew.evals.files import SessionFile
from clew.evals.needs import Needs
from clew.evals.policies import POLICIES
from clew.evals.probe import Probe
from clew.evals.reading import view_text
from clew.evals.score import RULE_SHARE, TASK_SHARE, Score, score_of, scored
from clew.evals.study import Common, Progress, Row, Study, mapped, mark, sessions_of
from clew.evals.survive import Survival
from clew.message import Json, JsonObject

THEIRS = "its own tool"
OURS = "clew"


@dataclass(frozen=True, slots=True)
class Lost:
    """One compaction that a tool made, and what the session needed afterwards and was not left with."""

    set: str
    session: str
    format: str
    path: Path
    time: str | None
    trigger: str | None
    tokens_before: int
    tokens_after: int
    probes: int
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

    def rows(self) -> Iterator[Row]:
        """Yield the two scores as rows of a study."""
        for name, score in ((THEIRS, self.score), (OURS, self.ours)):
            share = self.tokens_after / max(1, self.tokens_before)
            place = (self.set, self.session, self.format, 1.0, self.tokens_before)
            yield Row(*place, self.probes, share, name, score)

    def to_json(self) -> JsonObject:
        """Return what was lost, for other programs."""
        values: list[Json] = [
            {"kind": one.kind, "value": one.value, "use": one.use, "refetched": one.refetched}
            for one in self.values
        ]
        return {
            "session": self.session,
            "path": str(self.path),
            "time": self.time,
            "trigger": self.trigger,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "lost_values": values,
            "lost_rules": list(self.rules),
            "lost_tasks": list(self.open),
            "lost_files": list(self.files),
        }


def lost_by_tools(
    files: Sequence[SessionFile], plan: Study, common: Common, progress: Progress | None = None
) -> list[Lost]:
    """Return every compaction that can be judged, each once, in the order of the files."""
    found = mapped(partial(_lost_of, plan, common), files, plan.jobs, progress, "compactions")
    once = {one.words_mark: one for several in found for one in several}
    return list(once.values())


def _lost_of(plan: Study, common: Common, file: SessionFile) -> list[Lost]:
    known = common.get(file.set, frozenset())
    labels = plan.labels.get(session_name(file.path), ())
    found = []
    for session in sessions_of(file):
        for compaction in compactions_of(session, file.set):
            if compaction.opaque:
                continue  # an encrypted summary: nobody but its provider can say what it holds
            needs = needs_of(compaction.cut, lambda key: mark(key) in known, labels)
            found.append(_lost(file, compaction, needs))
    return found


def _lost(file: SessionFile, compaction: Compaction, needs: Needs) -> Lost:
    left = compaction.left
    tokens = COUNTER.count_all(item.message for item in left)
    cut = replace(compaction.cut, needs=needs, budget_tokens=tokens)
    text = view_text(left)
    survives = Survival(text).share
    rules = dict.fromkeys((*needs.constraints, *needs.rules))
    return Lost(
        file.set,
        f"{file.path.name}#{cut.session}",
        cut.format,
        file.path,
        compaction.time,
        compaction.trigger,
        cut.tokens,
        tokens,
        sum(not probe.refetched for probe in needs.probes),
        score_of(cut, left, 0.0),
        scored(cut, POLICIES[OURS]),
        tuple(probe for probe in needs.probes if first_place(text, probe.kind, probe.key) < 0),
        tuple(rule for rule in rules if survives(rule) < RULE_SHARE),
        tuple(task for task in needs.open if survives(task) < TASK_SHARE),
        tuple(name for name in needs.files if first_place(text, "path", key_of("path", name)) < 0),
        crc32(text.encode("utf-8", "surrogatepass")),
    )
