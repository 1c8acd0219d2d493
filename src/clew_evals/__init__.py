"""How good a compaction is, measured on real sessions with no model.

A recorded session is cut in two. A *policy* compacts the first part to a *view* of, say, a tenth of its
tokens; the second part shows what was really needed: values that were written again, rules, open tasks. The
share of it that the view still holds is the policy's *score*. README.md says what each file does.
"""

from clew_evals.find_needs import needs_of
from clew_evals.needs import Needs, Probe
from clew_evals.policies import POLICIES, EvalPolicy, clew_policy
from clew_evals.score import METRICS, Score, score_of, score_policy
from clew_evals.sessions import (
    Cut,
    CutCompaction,
    SessionFile,
    compactions_of,
    cuts_of,
    labels_near,
    read_labels,
    session_files,
)
from clew_evals.study import Study, StudyRow, study
from clew_evals.summary import ResultLine, agreement, summarise_rows

__all__ = [
    "METRICS",
    "POLICIES",
    "Cut",
    "CutCompaction",
    "EvalPolicy",
    "Needs",
    "Probe",
    "ResultLine",
    "Score",
    "SessionFile",
    "Study",
    "StudyRow",
    "agreement",
    "clew_policy",
    "compactions_of",
    "cuts_of",
    "labels_near",
    "needs_of",
    "read_labels",
    "score_of",
    "score_policy",
    "session_files",
    "study",
    "summarise_rows",
]
