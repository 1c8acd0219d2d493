"""``needs_of``: find everything that a view of a cut is asked for.

Each kind is found by a file of its own (``reuse.py``, ``obligations.py``, ``next_action.py`` …); here they
are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.ledger import Ledger
from clew.message import Trust
from clew.message.text import one_line
from clew_evals.finished_work import find_finished_work
from clew_evals.needs import Needs
from clew_evals.next_action import next_calls
from clew_evals.obligations import (
    changed_files,
    exchanges,
    failed_attempts,
    last_test_status,
    open_tasks,
    replaced_values,
)
from clew_evals.passages import PassageSpeaker, passages
from clew_evals.questions import questions_of
from clew_evals.reuse import reuse_probes
from clew_evals.sessions import COUNTER, Cut, Label
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
        superseded=tuple(replaced_values(done)),
        questions=tuple(questions_of(cut.readable, is_common)),
        next_calls=tuple(next_calls(cut.readable, later)),
        reports=reports,
        report_tokens=sum(COUNTER.count_text(sentence) for report in reports for sentence in report),
        settled=find_finished_work(turns, done, worked_on, new_request=new_request),
    )


def _said_before(cut: Cut, labels: Sequence[Label]) -> list[Label]:
    """Return the labels of sentences that the user said before the cut."""
    if not labels:
        return []
    texts = [
        one_line(passage.text) for passage in passages(cut.items) if passage.speaker is PassageSpeaker.USER
    ]
    return [label for label in labels if any(one_line(label.text) in text for text in texts)]


def _rules(cut: Cut) -> tuple[str, ...]:
    """Return the rules of the user's that clew's own ledger finds."""
    ledger = Ledger()
    ledger.extend(cut.items)
    return tuple(pin.quote for pin in ledger.pins.active if pin.trust is Trust.USER)
