"""Find everything that a view of a cut is asked for: values, rules, open tasks, the next step, questions.

Each is found by a file of its own (``reuse.py``, ``obligations.py``, ``next_action.py``); here they are put
together as the cut's ``Needs``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from clew.ledger import Ledger
from clew.message import Trust
from clew_evals.cuts import COUNTER, Cut
from clew_evals.needs import Label, Labels, Needs
from clew_evals.next_action import next_calls
from clew_evals.obligations import (
    changed_files,
    exchanges,
    failed_attempts,
    last_test_status,
    open_tasks,
    superseded,
)
from clew_evals.questions import questions_of
from clew_evals.reading import PassageSpeaker, passages
from clew_evals.redo import settled_at
from clew_evals.reuse import reuse_probes
from clew_evals.turns import is_request, later_words, reports_of, turns_of

HORIZON = 14
"""Messages after the cut that say what the continuation works on."""
_TALKING = (PassageSpeaker.USER, PassageSpeaker.AGENT)


def needs_of(cut: Cut, is_common: Callable[[str], bool], labels: Sequence[Label] = ()) -> Needs:
    """Return what a view of this cut is asked for."""
    done = exchanges(cut.items)
    labelled = _said_before(cut, labels)
    turns = turns_of(cut.readable.passages)
    later = list(passages(cut.later, len(cut.items)))
    reports = tuple(map(tuple, reports_of(turns)))
    new_request = next((is_request(passage) for passage in later if passage.speaker in _TALKING), False)
    worked_on = "\n".join(later_words(later, HORIZON))
    return Needs(
        probes=tuple(reuse_probes(cut, is_common)),
        constraints=tuple(label.text for label in labelled),
        decisions=tuple(label.text for label in labelled if label.is_decision),
        rules=_rules(cut),
        open=tuple(open_tasks(done)),
        files=tuple(changed_files(done)),
        failed=tuple(failed_attempts(done)),
        tests=last_test_status(done),
        superseded=tuple(superseded(done)),
        questions=tuple(questions_of(cut.readable, is_common)),
        next_calls=tuple(next_calls(cut.readable, later)),
        reports=reports,
        report_tokens=sum(COUNTER.count_text(sentence) for report in reports for sentence in report),
        settled=settled_at(turns, done, worked_on, new_request=new_request),
    )


def _said_before(cut: Cut, labels: Sequence[Label]) -> list[Label]:
    """Return the labels of sentences that the user said before the cut."""
    if not labels:
        return []
    texts = [_flat(passage.text) for passage in passages(cut.items) if passage.speaker is PassageSpeaker.USER]
    return [label for label in labels if any(_flat(label.text) in text for text in texts)]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _rules(cut: Cut) -> tuple[str, ...]:
    """Return the rules of the user's that clew's own ledger finds."""
    ledger = Ledger()
    ledger.extend(cut.items)
    return tuple(pin.quote for pin in ledger.pins.active if pin.trust is Trust.USER)


def read_labels(path: Path) -> Labels:
    """Read labelled sentences: JSON lines with ``file``, ``label`` and ``text``."""
    result: defaultdict[str, list[Label]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result[session_name(Path(row["file"]))].append(Label(row["text"], row["label"] == "decision"))
    return dict(result)


def session_name(path: Path) -> str:
    """Return the name by which labels know a file: its own, without ``.zst`` or ``.gz``."""
    return path.name.removesuffix(".zst").removesuffix(".gz")
