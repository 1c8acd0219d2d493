"""How good a compaction is, measured on real sessions with no model. See README.md."""

from clew_evals.asking import needs_of, read_labels
from clew_evals.cuts import Compaction, Cut, compactions_of, cuts_of
from clew_evals.files import SessionFile, labels_near, session_files
from clew_evals.needs import Needs
from clew_evals.policies import POLICIES, Policy, clew_policy
from clew_evals.probe import Probe
from clew_evals.score import METRICS, Score, score_of, scored
from clew_evals.study import Row, Study, study
from clew_evals.summary import Line, agreement, summarised

__all__ = [
    "METRICS",
    "POLICIES",
    "Compaction",
    "Cut",
    "Line",
    "Needs",
    "Policy",
    "Probe",
    "Row",
    "Score",
    "SessionFile",
    "Study",
    "agreement",
    "clew_policy",
    "compactions_of",
    "cuts_of",
    "labels_near",
    "needs_of",
    "read_labels",
    "score_of",
    "scored",
    "session_files",
    "study",
    "summarised",
]
