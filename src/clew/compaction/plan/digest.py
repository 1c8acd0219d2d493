"""Digests: the condensed form of a span of messages, as claims with exact sources.

A claim is one line: ``Claim("d1.4", ClaimKind.DECISION, "use tabs", (Cite("m12"),), Trust.USER)``. The
messages that a digest covers are written ``m1-m3,m7`` (``spans``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from clew.message import LONGEST_RULE, Cite, Item, Message, Role, Trust, words


class ClaimKind(StrEnum):
    """What a claim is about, in the order in which kinds are rendered."""

    INSTRUCTION = "instruction"
    """What a system or developer message behind the prompt said, verbatim."""
    NEXT = "next"
    """The request in progress, the plan and the current step."""
    GOAL = "goal"
    """The request that set the goal of the work."""
    OPEN = "open"
    """What is still open: a task, a question, a promise, a failing test."""
    USER = "user"
    """What the user said, verbatim; rendered in one story with reports."""
    REPORT = "report"
    """What the agent reported at the end of a turn, verbatim."""
    DECISION = "decision"
    FINDING = "finding"
    """What the agent found out: a verdict or a reason."""
    ERROR = "error"
    """What went wrong, why, what was tried, what fixed it."""
    ARTIFACT = "artifact"
    """A file, command or address that was touched, and how."""
    FACT = "fact"
    """A line that holds exact values."""


ORDER = {kind: place for place, kind in enumerate(ClaimKind)}
"""The position of each kind in a digest; requests and reports form one story, oldest first."""
ORDER[ClaimKind.REPORT] = ORDER[ClaimKind.USER]


class Topic(StrEnum):
    """What a claim of the ledger reports. The ledger restates such claims in every digest."""

    TEST_RUN = "test-run"
    CHECK = "check"
    REFUSAL = "refusal"
    PLAN = "plan"
    """The plan that a person approved."""
    ENDED_RULE = "ended-rule"
    FILES_CHANGED = "files-changed"
    DELETED_AGAIN = "deleted-again"
    """A file that was created and deleted in the same session."""
    FILES_READ = "files-read"
    FILE_TEXT = "file-text"
    """Passages of a file that the work is about."""
    FOLDER = "folder"
    """The folder in which the agent works."""
    COMMAND = "command"
    FAILURE = "failure"
    NAMES = "names"
    """A bare value, or a list of them as versions before 0.2 wrote it."""


VALUE_SEPARATOR = " · "
"""Between the bare values of a line."""


APPROVED_PLAN = "approved plan: "
WORKING_FOLDER = "working directory: "
ORDERS_OPENING = "orders in the text of "
"""How a claim begins that quotes some lines of a file, not a passage of it."""
NUMBERS = re.compile(r", lines (\d+)-(\d+)$")
"""What says, behind the path, which lines of a file are quoted."""
LEFT_OPENING = "listed, and not changed since:"
"""How a claim begins that quotes the rest of a list that the agent works through."""
_OPENINGS = (
    (ClaimKind.ARTIFACT, "last test run: ", Topic.TEST_RUN),
    (ClaimKind.ARTIFACT, "last check: ", Topic.CHECK),
    (ClaimKind.ARTIFACT, WORKING_FOLDER, Topic.FOLDER),
    (ClaimKind.ARTIFACT, "text of ", Topic.FILE_TEXT),
    (ClaimKind.ARTIFACT, ORDERS_OPENING, Topic.FILE_TEXT),
    (ClaimKind.ARTIFACT, LEFT_OPENING, Topic.FILE_TEXT),
    (ClaimKind.ERROR, "refused: ", Topic.REFUSAL),
    (ClaimKind.DECISION, "the user refused: ", Topic.REFUSAL),
    (ClaimKind.DECISION, APPROVED_PLAN, Topic.PLAN),
    (ClaimKind.DECISION, "no longer holds: ", Topic.ENDED_RULE),
    (ClaimKind.GOAL, "no longer holds: ", Topic.ENDED_RULE),
    (ClaimKind.FACT, "also: ", Topic.NAMES),
)
_CHANGED = re.compile(r"(?:created|deleted|modified|moved|written)(?: in |: )")
_ACTION = re.compile(r"(read|ran|fetched)(?: in (?:[A-Za-z]:)?/\S*/)?: ")
FIXED, FIXED_OTHERWISE = " Fixed.", " Succeeded since with other arguments."
NOT_FIXED, NOT_REPEATED, EDITED_SINCE = " Not fixed.", " Not tried again.", " Edited since, not run again."
PARTLY_REDONE, EDITED_OTHERWISE = " Partly done again since.", " The file was edited otherwise since."
# Earlier versions wrote "Mended".
_FAILURE_ENDS = (
    *(FIXED, FIXED_OTHERWISE, NOT_FIXED, NOT_REPEATED, EDITED_SINCE, PARTLY_REDONE, EDITED_OTHERWISE),
    *(" Mended.", " Not mended."),
)


def topic_by_wording(kind: ClaimKind, text: str) -> Topic | None:
    """Recognise the topic of a claim that was stored or rendered without it, by its wording."""
    for of_kind, opening, topic in _OPENINGS:
        if kind is of_kind and text.startswith(opening):
            return topic
    match kind:
        case ClaimKind.ARTIFACT if _CHANGED.match(text):
            return Topic.FILES_CHANGED
        case ClaimKind.ARTIFACT if action := _ACTION.match(text):
            return Topic.COMMAND if action[1] == "ran" else Topic.FILES_READ
        case ClaimKind.ERROR if text.endswith(_FAILURE_ENDS):
            return Topic.FAILURE
    return None


class Claim(NamedTuple):
    """One line of a digest. A named tuple because a pass creates thousands of candidates."""

    id: str
    """Unique in its session, short enough to cite: ``d3.17``."""
    kind: ClaimKind
    text: str
    sources: tuple[Cite, ...]
    """Where it comes from. Never empty: a claim without a source is refused."""
    trust: Trust
    """The lowest label of its sources."""
    verbatim: bool = False
    """The text is a quote of its first source, not a paraphrase."""
    topic: Topic | None = None
    """What it reports, if the ledger made it and will restate it."""


@dataclass(frozen=True, slots=True)
class RuleQuote:
    """An active rule, word for word. No rung of the ladder may remove it."""

    id: str
    quote: str
    source: Cite
    trust: Trust
    """Of the speaker: user, developer or system."""
    lead: str = ""
    """The line above the list that the quote is an item of: "Please don't:"."""

    @property
    def shown(self) -> tuple[str, str, str, Trust]:
        """Return what a rendered digest says of it: lead and quote, its message and its speaker's label."""
        return self.lead, self.quote, self.source.message, self.trust

    @property
    def is_cut(self) -> bool:
        """Whether the quote is only the beginning of what its source says."""
        return (self.source.end or 0) - self.source.start > max(LONGEST_RULE, len(self.quote))


@dataclass(frozen=True, slots=True)
class Digest:
    """The condensed form of a span of a session."""

    id: str
    """``d1``, ``d2``, …: counted in the session."""
    level: int
    """0 over messages; one more than the highest digest it folds."""
    covers: tuple[str, ...]
    """The ids of the messages it replaces, in order, including those of folded digests."""
    checksum: str
    """Hash over the covered messages, so that a changed source is detected."""
    claims: tuple[Claim, ...]
    pins: tuple[RuleQuote, ...] = ()
    """The rules that were active when it was made; rendered above its claims."""
    folds: tuple[str, ...] = ()
    """The ids of the digests that were folded into it."""
    author: str = "clew"
    """``clew`` for the model-free digest, else the model's name."""
    prompt_version: str | None = None
    """The version of the prompt the model was given."""
    drawn: Message | None = field(default=None, init=False, repr=False, compare=False)
    """The rendered message, cached by ``digest_message``: a pass asks for it several times."""

    @property
    def trust(self) -> Trust:
        """Return the lowest label of its claims; untrusted if it has none."""
        return min((claim.trust for claim in self.claims), default=Trust.UNTRUSTED)


def checksum(items: Iterable[Item], before: str = "") -> str:
    """Return the hash over messages, chained to that of the digests they are folded with.

    Where one part of a message ends and the next begins is not hashed; stored checksums depend on that.
    """
    state = hashlib.sha256(before.encode())
    texts: list[str] = []
    for name, message in items:
        parts = message.parts
        if len(parts) == 1:  # the common case
            texts.append(f"\n{name} {_ROLES[message.role]}{words(parts[0])}")
        else:
            texts.append(f"\n{name} {_ROLES[message.role]}")
            texts += map(words, parts)
        if len(texts) >= _AT_ONCE:
            state.update("".join(texts).encode("utf-8", "surrogatepass"))
            texts.clear()
    state.update("".join(texts).encode("utf-8", "surrogatepass"))
    return f"sha256:{state.hexdigest()}"


_AT_ONCE = 100
"""Texts hashed per update: faster than one by one, and still small in memory."""
_ROLES = {role: role.value for role in Role}


MOST_IDS = 10_000_000
"""Upper bound on the ids one text may expand to, against hostile input; far above any real session."""
_ID = re.compile(r"([a-z]+)([1-9][0-9]{0,9})")
_LAST = 9_999_999_999
_RUN = re.compile(r"([a-z]+)([1-9][0-9]{0,9})-\1([1-9][0-9]{0,9})")


def spans(ids: Iterable[str]) -> str:
    """Write ids in order, with runs of consecutive ones as first-last."""
    return _spans(tuple(ids))


@lru_cache(maxsize=4)  # a digest is rendered several times per pass and may cover a million messages
def _spans(ids: tuple[str, ...]) -> str:
    runs: list[list[str]] = []
    word, number, following = "", 0, None
    for name in ids:
        if name == following:
            runs[-1][1:] = (name,)
            number += 1
        else:
            runs.append([name])
            match = _ID.fullmatch(name)
            word, number = (match[1], int(match[2])) if match else ("", 0)
        following = f"{word}{number + 1}" if word and number < _LAST else None
    return ",".join("-".join(run) for run in runs)


def expand_spans(text: str, most: int = MOST_IDS) -> tuple[str, ...]:
    """Expand the notation; raise ``ValueError`` if the text expands to more than ``most`` ids.

    What is no run, such as ``by-hand`` or ``m9-m3``, is one id.
    """
    ids: list[str] = []
    for piece in text.split(",") if text else ():
        run = _RUN.fullmatch(piece)
        first, last = (int(run[2]), int(run[3])) if run else (0, 0)
        count = last - first + 1
        if len(ids) + max(1, count) > most:
            raise ValueError(f"{piece} expands to too many messages")
        if run and count > 0:
            ids.extend(f"{run[1]}{number}" for number in range(first, last + 1))
        else:
            ids.append(piece)
    return tuple(ids)
