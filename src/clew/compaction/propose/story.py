"""The story of a span: requests and reports turn by turn, findings, and the edits of files.

Everything is quoted from the original messages, in whole sentences. The level of detail is the highest at
which all turns fit; if even the lowest does not fit, the latest turns are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.edits import edits, patch_blocks, written_text
from clew.compaction.propose.excerpt import STRUCTURE, excerpt
from clew.compaction.propose.file_text import is_inside
from clew.ledger.agent_findings import RankedFinding
from clew.ledger.artifacts import Artifact
from clew.ledger.shell import Action
from clew.ledger.turns import Turn, Turns
from clew.message import Cite, Message, ToolCall, ToolResult, Trust, message_number, words
from clew.message.parts import json_strings
from clew.message.patterns import AnyCasePattern

LEVELS = (8_000, 5_500, 4_000, 3_000, 2_200, 1_500, 1_100, 800, 560, 400, 280, 200)
"""Characters quoted of each request and report, highest level first. In steps of a third or so: with larger
ones much of the room stays unused."""
LONG_ASK = 2_000
"""Characters of a past request that are quoted at most levels of detail: a longer one holds a log or a page
that was pasted. Chosen by hand."""
OLDEST_NOTE = 30
"""Messages between a plan or status of the agent and the recent messages after which it is out of date."""
LONG_AGO = 20
"""Messages after which a step that such a text announces was taken, or given up; chosen by hand."""
MOST_TURNS = 400
"""Turns that are considered: the latest, and the first. No digest has room for more."""
MOST_FINDINGS = 600
EDIT_LINES, LONGEST_EDIT, MOST_ADDED = 6, 140, 400
"""Lines quoted of an edit, the characters of each, and lines considered."""
SHORTEST_SENTENCE = 12
LONGEST_STEP = 300
LONGEST_QUOTE = 3_600
"""Characters of one quote; a longer one becomes several, because the checks refuse a claim over 4,000."""
LEAD_IN = 0.1
"""Weight of a heading, of a sentence that introduces what follows, and of a question; chosen by hand."""
MOST_RUNS, RUN = 3, 300
"""Pieces in which a report is quoted, and characters from which it may be one more; many small pieces would
read as fragments."""
_BOUNDARY = re.compile(r"(?<=[.!?])\s+")
"""The end of a sentence within a line."""
_COURTESY = re.compile(
    r"(?:perfect|great|excellent|good|done|sure|ok(?:ay)?|absolutely|you'?re (?:absolutely )?right|got it"
    r"|understood|great question|good (?:point|catch|question|idea)|thanks?|i see)[\s!.,]*"
)
_STEP = re.compile(
    r"(?:(?:ok(?:ay)?|now|so|next|first|then)\b,?\s+)*let(?: me|[’']s)\b(?! know)", re.IGNORECASE
)
"""How a sentence begins that announces a step; "I will …" may be an offer."""
_OPENS_STEP = re.compile(f"{_STEP.pattern}|{_COURTESY.pattern}", re.IGNORECASE)
"""How a text begins that only announces one, unless it has a colon."""
_ANNOUNCES = re.compile(
    r"(?:(?:ok(?:ay)?|now|so|and|but first)\b,?\s+)*(?:here(?:[’']s| is| are)|below is|now)\b[^`\d]*[.!]",
    re.IGNORECASE,
)
"""A sentence that only announces what follows: "Here's the verdict.", "Now the real test."."""
_INTENDS = re.compile(
    r"(?:thoughts?:\s*)?(?:(?:ok(?:ay)?|now|so|next|first|then|also)\b,?\s+)*"
    r"(?:let(?: me|[’']?s)\b|i(?:[’']ll|[’']m going to| will| (?:also )?need to| have to| should| must)\b)",
    re.IGNORECASE,
)
"""A line in which the agent says what it does next."""
_VERDICT = re.compile(
    r"\b(?:not|never|only|cannot|can[’']t|won[’']t|must|decided|verdict|conclusion|result|recommend\w*"
    r"|root cause|bottom line|net:|works|fail\w*|blocked|dead end)\b",
    re.IGNORECASE,
)
"""What a sentence or a heading says that states an outcome."""
LEAST_HEADING = 4
"""Words of a heading that may state an outcome; a shorter one is a title. Chosen by hand."""
_SAYS_NOTHING = re.compile(r"</?[\w-]+>|[\W_]+")
"""A tag, or the line between the head and the rows of a table."""
_NUMBERED = re.compile(r"(?:#{1,6}\s+)?(?:\*\*)?\d{1,2}[.)]\s")
"""The beginning of a numbered point or heading."""
_POINT = re.compile(r"(?:[-*•+]|\d{1,2}[.)]|\[[ x~]\])\s")
_HEADING = re.compile(r"[*_]{2}[^*_]+[*_]{2}:?")
_DONE = re.compile(
    r"\b(?:fixed|added|removed|created|updated|changed|renamed|moved|implemented|committed|pushed|merged"
    r"|passe[sd]|pass|fail\w*|works?|because|cause|found|confirmed|now|no longer"
    r"|instead|decided|tests?|issue|problem|error)\b"
)

_TROUBLE = AnyCasePattern(
    r"\b(?:(?:tests?|build|check|suite) (?:still )?(?:fails?|failed)|failing tests?"
    r"|still (?:not|failing|broken)|(?:is|are) (?:failing|broken)|still fails?|never ran|not yet)\b"
)
"""A state that a passing run of the tests mostly ends."""

_OWN_FAULT = AnyCasePattern(
    r"\bmy (?:\w+ )?(?:fix|change|patch|approach|implementation|code|edit|attempt|solution)\b[^.]{0,80}"
    r"(?:\b(?:incorrect|wrong|broken|breaks?|broke|fails?|failed)\b"
    r"|\b(?:is|was|does|did|do)(?:n['’]t| not)\s(?:work|enough|applied|correct|see|handle|help))"
)
"""A fault of what the agent itself did, which its next edit mostly repairs."""
_POINTS_BACK = re.compile(
    r"(?:(?:good|great|perfect|ok(?:ay)?|yes|so|and|now|ah)\b[,.!: ]+)*"
    r"(?:it(?:[’']s| is| was)|this(?:[’']s| is| was| means)|that(?:[’']s| is| was| means)|they (?:are|were)"
    r"|these (?:are|were)|the (?:issue|problem|cause|bug) is (?:clear|obvious|here|there|now|simple))\b",
    re.IGNORECASE,
)
"""A sentence that says nothing without the one before it."""
_IN_PROGRESS = re.compile(
    r"(?:(?:now|next)[,: ]+)?(?:(?:i am|i[’']m) )?(?!nothing|something|everything|anything)[a-z]+ing\b"
    r"(?:.*[,;] (?:and )?then i\b|.*\bi[’']ll\b|[^:]*\bnow\b[.:])",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence on what the agent does at that moment: "Applying the last cleanup, then I'll run the tests."."""
_CORRECTS = re.compile(
    r"\b(?:actually|in fact|turns out|i was (?:wrong|mistaken)|contrary to|not true|after all)\b",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:(?:is|are|was|were|been|has|now|all) (?:now |been |all )?(?:fixed|resolved|solved|gone)|no longer"
    r"|(?:now|works?) (?:works?|passe?s?|now|correctly)|false alarm|not a (?:bug|problem))\b",
    re.IGNORECASE,
)
"""What a finding says after which a fault found before it is over..."""
_FAULT = re.compile(
    r"\b(?:bugs?|broken|breaks?|fail\w*|wrong\w*|missing|incorrect\w*|error\w*|issue|problem|cause[sd]?|not"
    r"|never|lacks?)\b|n[’']t\b",
    re.IGNORECASE,
)
"""...and what one says that finds a fault."""
SAME_WORDS = 0.7
"""Share of their words that two sentences share if the later one says the same; chosen by hand."""
_NAME = re.compile(r"`([^`\n]{3,80})`")
_REJECTS = re.compile(
    r"\W*(?:no[,.!]|no\s*$|nope\b|wrong\b|incorrect\b|not (?:at all|what i)\b|undo\b|revert\b"
    r"|stop\s*(?:[^\w\s]|$|(?:it|that|this|now)\b)"
    r"|that(?:'s| is|’s) (?:not|wrong|incorrect)\b|(?:this|it) is (?:wrong|not what)\b"
    r"|i(?:'ve| have|’ve)? (?:just )?(?:reverted|undone|rolled back|discarded)\b"
    r"|you(?:'re| are|’re) (?:wrong|mistaken)\b)",
    re.IGNORECASE,
)
"""An answer that rejects what the agent said or did; "no problem", "not yet", "stop the server" do not."""

ANSWERED_WITHIN = 6
"""Messages after a call in which its result is looked for: several calls may be answered one by one."""
_SAYS_LITTLE = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|import\b|from\b|use\b|using\b|package\b|#include)")
"""A comment or an import."""

Find = Callable[[str], Message | None]
"""Finds a message of the session in its original form."""


class _ToldTurn(NamedTuple):
    """A turn with the words of its request and report, as far as they leave the view."""

    turn: Turn
    asked: tuple[str, Trust] | None
    reported: tuple[str, Trust] | None
    length: int
    """The level of detail, in characters, from which on nothing of the turn is cut."""


def _longest_ask(level: int) -> int:
    """Return the characters of a past request that are quoted at a level of detail."""
    return min(level, max(LONG_ASK, level // 4))


def _level_of_ask(text: str) -> int:
    """Return the level of detail at which a past request is quoted whole."""
    length = len(text.strip())
    return length if length <= LONG_ASK else 4 * length


class Story:
    """The turns that leave the view with a span, as claims at any level of detail."""

    def __init__(
        self,
        turns: Turns,
        gone: Collection[str],
        find: Find,
        passed: int = 0,
        edited: int = 0,
        latest: int = 0,
    ) -> None:
        """Select the turns with a request or a report in ``gone``.

        ``passed`` is the number of the message with the last test run if it passed: troubles found before it
        are over. ``edited`` is that of the last edit: faults of the agent's own work found before it are.
        ``latest`` is that of the last message: steps that were announced long before it were taken.
        """
        self._find = find
        self._gone = gone
        self._turns = [self._read(turn) for turn in _told_turns(turns)]
        self._whole: dict[int, list[Claim]] = {}
        """The claims of turns, by index, from the level on at which nothing is cut."""
        self._at: dict[int, list[list[Claim]]] = {}
        self._notes = turns.notes
        self._latest = latest
        asked = turns.all[-1].ask.number if turns.all else 0
        self._rejected = list(_rejected(turns.all, find)) if turns.findings else []
        found = list(self._found(turns.findings, passed, edited, asked))
        self.findings = _in_force(found, list(self._words_of(turns.findings))) if found else found
        """What the agent found out: since the last request first, then by rank, latest first among equals."""

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The levels of detail that differ, highest first: a level at which nothing is cut is the highest."""
        longest = max((told.length for told in self._turns), default=0)
        return tuple(level for level in LEVELS if level == LEVELS[0] or level < longest)

    def entries(self, level: int) -> list[list[Claim]]:
        """Return the claims of each turn, oldest first, with at most ``level`` characters each."""
        found = self._at.get(level)
        if found is None:
            found = self._at[level] = list(self._entries(level))
        return found

    def _entries(self, level: int) -> Iterator[list[Claim]]:
        """Yield the claims of each turn, without requests that repeat the one before."""
        asked = ""
        for index, told in enumerate(self._turns):
            entry = self._entry(told, level) if told.length > level else self._whole_entry(index)
            if entry and entry[0].kind is ClaimKind.USER:
                repeated, asked = entry[0].text == asked, entry[0].text
                entry = entry[1:] if repeated else entry
            if entry:
                yield entry

    @cached_property
    def _last(self) -> int:
        """The number of the last message that leaves the view."""
        return max(map(message_number, self._gone), default=0)

    def notes(self, level: int, known: Collection[str] = ()) -> list[Claim]:
        """Return the agent's latest plan, status or list of facts, if it leaves the view.

        An agent often writes its facts and its plan as two texts in a row: the text just before the latest
        counts too. Lines that are ``known``, such as those of the goal, are left out.
        """
        latest = self._notes[-1].number if self._notes else 0
        if not self._notes or self._last - latest > OLDEST_NOTE:
            return []
        claims = []
        for cite in self._notes[-2:]:
            if cite.number >= latest - 1 and (said := self._quote(cite)):
                text, trust = said
                is_past = self._latest - cite.number > LONG_AGO
                for start, end in note_spans(text, level, known, is_past=is_past):
                    place = cite._replace(start=cite.start + start, end=cite.start + end)
                    claims.append(Claim("", ClaimKind.NEXT, text[start:end], (place,), trust, verbatim=True))
        return claims

    def _read(self, turn: Turn) -> _ToldTurn:
        asked = self._quote(turn.ask)
        reported = self._quote(turn.report) if turn.report else None
        length = max(_level_of_ask(asked[0]) if asked else 0, len(reported[0].strip()) if reported else 0)
        if asked and (not turn.asks or asked[1] < Trust.USER):
            asked = None
        return _ToldTurn(turn, asked, None if reported and announces(reported[0]) else reported, length)

    def _whole_entry(self, index: int) -> list[Claim]:
        """Return the claims of a turn of which nothing is cut; the same for several levels."""
        entry = self._whole.get(index)
        if entry is None:
            told = self._turns[index]
            entry = self._whole[index] = self._entry(told, told.length)
        return entry

    def _entry(self, told: _ToldTurn, level: int) -> list[Claim]:
        claims = []
        if told.asked:
            text, trust = told.asked[0].strip(), told.asked[1]
            most = _longest_ask(level)
            short = text if len(text) <= most else excerpt(text, most)
            claims.append(Claim("", ClaimKind.USER, short, (told.turn.ask,), trust, short == text))
        if told.reported and told.turn.report:
            text, trust = told.reported
            name, part, begin, _ = told.turn.report
            for start, end in _claim_sized(text, telling(text, level)):
                cite = Cite(name, part, begin + start, begin + end)
                claims.append(Claim("", ClaimKind.REPORT, text[start:end], (cite,), trust, verbatim=True))
        return claims

    def _quote(self, cite: Cite) -> tuple[str, Trust] | None:
        """Return the words that a cite points at, if they leave the view."""
        message = self._find(cite.message) if cite.message in self._gone else None
        if message is None or cite.part >= len(message.parts):
            return None
        part = message.parts[cite.part]
        text = words(part)[cite.start : cite.end]
        return (text, min(part.trust, Trust.USER)) if text.strip() else None

    def _words_of(self, findings: Sequence[RankedFinding]) -> Iterator[tuple[int, str]]:
        """Yield the latest findings, also those that stay in the view: their messages and their words."""
        for one in findings[-MOST_FINDINGS:]:
            message = self._find(one.source.message)
            if message is not None and one.source.part < len(message.parts):
                yield (
                    one.source.number,
                    words(message.parts[one.source.part])[one.source.start : one.source.end],
                )

    def _found(
        self, findings: Sequence[RankedFinding], passed: int, edited: int, asked: int
    ) -> Iterator[Claim]:
        """Yield findings: those since the last request first, then by rank, latest first."""
        count = 0
        latest_first = [(one.source.number, one) for one in reversed(findings)]
        for number, one in sorted(latest_first, key=lambda pair: (pair[0] < asked, pair[1].rank)):
            said = self._quote(one.source)
            if said is None or (number < passed and _TROUBLE.search(said[0])):
                continue
            if number < edited and _OWN_FAULT.search(said[0]):
                continue
            if _POINTS_BACK.match(said[0]) or _IN_PROGRESS.match(said[0]):
                continue
            if self._rejected and any(start < number < end for start, end in self._rejected):
                continue
            yield Claim("", ClaimKind.FINDING, said[0], (one.source,), said[1], verbatim=True)
            if (count := count + 1) == MOST_FINDINGS:
                return


def _in_force(claims: list[Claim], all_findings: Sequence[tuple[int, str]]) -> list[Claim]:
    """Return the findings that no later one corrects, settles or repeats: one that names the same.

    ``all_findings`` are the numbers and words of all findings, also of those that stay in the view.
    """
    later: dict[str, list[tuple[int, str]]] = {}
    for number, text in all_findings:
        for name in _names_in(text):
            later.setdefault(name, []).append((number, text))
    return [claim for claim in claims if not _is_past(claim, later)]


def _names_in(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text))


def _is_past(claim: Claim, later: Mapping[str, Sequence[tuple[int, str]]]) -> bool:
    """Whether a later finding that names all that a finding names corrects, settles or repeats it."""
    names, number = _names_in(claim.text), claim.sources[0].number
    others = later.get(next(iter(names)), ()) if names else ()
    for at, text in others:
        if at > number and names <= _names_in(text):
            is_settled = (
                _SETTLES.search(text) and _FAULT.search(claim.text) and not _SETTLES.search(claim.text)
            )
            if is_settled or _CORRECTS.search(text) or _is_said_again(claim.text, text):
                return True
    return False


def _is_said_again(text: str, other: str) -> bool:
    """Whether two sentences have nearly the same words."""
    first, second = set(text.lower().split()), set(other.lower().split())
    return len(first & second) >= SAME_WORDS * len(first | second)


def _rejected(turns: Sequence[Turn], find: Find) -> Iterator[tuple[int, int]]:
    """Yield the turns, from request to next request, whose outcome the user rejected in the next message."""
    for turn, after in pairwise(turns[-MOST_TURNS:]):
        message = find(after.ask.message)
        part = message.parts[after.ask.part] if message and after.ask.part < len(message.parts) else None
        if part is not None and _REJECTS.match(words(part), after.ask.start):
            yield turn.ask.number, after.ask.number


def _told_turns(turns: Turns) -> list[Turn]:
    """Return the turns that a story has room for: the first and the latest."""
    known = turns.all
    first = known[:1] if len(known) > MOST_TURNS else ()
    return [*first, *known[-MOST_TURNS:]]


def quoted_messages(turns: Turns) -> set[str]:
    """Return the ids of the messages that a story of these turns may quote."""
    cites = [turn.ask for turn in _told_turns(turns)] + [
        turn.report for turn in _told_turns(turns) if turn.report
    ]
    cites += [*turns.notes[-2:], *(one.source for one in turns.findings)]
    return {cite.message for cite in cites}


def last_edits(changed: Sequence[Artifact], gone: Collection[str], find: Find) -> Iterator[Claim]:
    """Yield what the last edit of each file inserted, as a small diff: new files first, then the latest.

    Files that were deleted since, perhaps with their folder, have none.
    """
    deleted = [(one.name, one.last.number) for one in changed if one.action is Action.DELETED]
    order = sorted(
        changed, key=lambda one: (not one.created, -one.last_change.number if one.last_change else 0)
    )
    for artifact in order:
        cite = artifact.last_change
        message = find(cite.message) if cite and cite.message in gone else None
        part = message.parts[cite.part] if message and cite and cite.part < len(message.parts) else None
        if cite is None or not isinstance(part, ToolCall):
            continue
        if any(cite.number < at and is_inside(artifact.name, folder) for folder, at in deleted):
            continue
        added = list(islice(_added(part, artifact.name), MOST_ADDED))
        added = _definitions(added) if _is_new(part, artifact.name) else _telling_lines(added)
        if added and artifact.name in words(part):  # JSON writes a Windows path differently
            lines = "".join(f"\n+ {line}" for line in added)
            cites = (Cite(cite.message, cite.part),)
            yield Claim("", ClaimKind.ARTIFACT, f"{artifact.name}{lines}", cites, Trust.UNTRUSTED)


def answer_to(cite: Cite, find: Find) -> tuple[Cite, str] | None:
    """Return where the result of a call is, and its text; None if it cannot be looked up."""
    message = find(cite.message)
    part = message.parts[cite.part] if message and cite.part < len(message.parts) else None
    if not isinstance(part, ToolCall):
        return None
    for number in range(cite.number + 1, cite.number + 1 + ANSWERED_WITHIN):
        answer = find(f"m{number}")
        for i, result in enumerate(answer.parts if answer else ()):
            if isinstance(result, ToolResult) and result.call_id == part.call_id:
                return Cite(f"m{number}", i), result.text
    return None


def _telling_lines(lines: list[str]) -> list[str]:
    """Return a few of the lines, in order: those that define something first, comments and imports last."""
    weight = [0 if STRUCTURE.match(line) else 2 if _SAYS_LITTLE.match(line) else 1 for line in lines]
    best = sorted(range(len(lines)), key=lambda i: weight[i])
    return [lines[i] for i in sorted(best[:EDIT_LINES])]


def _is_new(call: ToolCall, name: str) -> bool:
    """Whether a call writes a whole file, also as one of the files of a patch."""
    if written_text(call.arguments) is not None:
        return True
    patches = (text for text in json_strings(call.arguments) if "*** Add File" in text)
    blocks = (block for patch in patches for block in patch_blocks(patch))
    return any(block.is_whole_file and name.endswith(block.path) for block in blocks)


def _definitions(lines: list[str]) -> list[str]:
    """Return the first lines of a new file that define something: other lines of it say little alone."""
    return list(islice(filter(STRUCTURE.match, lines), EDIT_LINES))


def _added(call: ToolCall, name: str) -> Iterator[str]:
    """Yield the lines an edit inserts into a file, except those that look different in the call's JSON."""
    said = words(call)
    for old, new in edits(call.arguments, name):
        before = {line.strip() for text in old for line in text.split("\n")}
        for line in (line.strip() for text in new for line in text.split("\n")):
            if len(line) >= SHORTEST_SENTENCE and line not in before and line in said:
                yield line[:LONGEST_EDIT]


def announces(text: str) -> bool:
    """Whether a text only announces the next step; the last text of an interrupted turn often does."""
    bare = text.strip()
    if len(bare) > LONGEST_STEP or not (_OPENS_STEP.match(bare) or ":" in bare or bare.startswith("```")):
        return False
    sentences = (bare[start:end] for start, end in _sentences(bare))
    return all(one.endswith(":") or _STEP.match(one) or _COURTESY.fullmatch(one.lower()) for one in sentences)


def telling(text: str, most: int) -> list[tuple[int, int]]:
    """Return the spans of a text to quote: all of it, or its most informative sentences, in order.

    Sentences are taken by weight as long as they fit and form few pieces, each with the heading and the
    lead-in before it if these fit too.
    """
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    if stop - start <= most:
        return [(start, _without_last_steps(text, start, stop))]
    sentences = list(_sentences(text))
    weights = _weights([text[low:high] for low, high in sentences])
    apart = {i for i in range(1, len(sentences)) if text[sentences[i - 1][1] : sentences[i][0]].strip()}
    leads = {i for i, weight in enumerate(weights) if weight == LEAD_IN}
    points = [_POINT.match(text, low) is not None and i not in leads for i, (low, _) in enumerate(sentences)]
    for i in range(1, len(sentences)):  # of a list, the first points: the fourth alone says little
        if points[i] and points[i - 1] and i not in apart:
            weights[i] = min(weights[i], weights[i - 1])
    taken: set[int] = set()
    left, most_runs = most, max(MOST_RUNS, most // RUN)
    for i in sorted(set(range(len(sentences))) - leads, key=lambda i: -weights[i]):
        for group in _introduced(i, leads - taken, apart):
            size = sum(sentences[one][1] - sentences[one][0] for one in group)
            if weights[i] > 0 and size <= left and len(_runs(taken | group, apart)) <= most_runs:
                taken |= group
                left -= size
                break
    if not taken:  # only one long sentence, or code: quote its beginning
        cut = text.rfind(" ", start + 1, start + most)
        return [(start, cut if cut > start else start + most)]
    return [(sentences[first][0], sentences[last][1]) for first, last in _runs(taken, apart)]


def _without_last_steps(text: str, start: int, stop: int) -> int:
    """Return where a report ends without the steps that it announces at its end: they were made since."""
    if not _STEP.search(text, max(start, stop - LONGEST_STEP), stop):
        return stop
    ends = list(_sentences(text[:stop]))
    while len(ends) > 1 and (_STEP.match(text, *ends[-1]) or _ANNOUNCES.fullmatch(text, *ends[-1])):
        ends.pop()
    return ends[-1][1] if ends and "```" not in text[ends[-1][1] : stop] else stop


def _claim_sized(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans with long ones divided at the ends of lines."""
    for first, end in spans:
        start = first
        while end - start > LONGEST_QUOTE:
            cut = text.rfind("\n", start + 1, start + LONGEST_QUOTE)
            cut = cut if cut > start else start + LONGEST_QUOTE
            yield start, cut
            start = cut + (text[cut] == "\n")
        yield start, end


def _introduced(i: int, leads: Collection[int], apart: Collection[int]) -> Iterator[set[int]]:
    """Yield a sentence with all lines that introduce it, then with the last of them, then alone."""
    first = i
    while first - 1 in leads and first not in apart:
        first -= 1
    if first < i - 1:
        yield {*range(first, i + 1)}
    if first < i:
        yield {i - 1, i}
    yield {i}


def note_spans(
    text: str, most: int, known: Collection[str] = (), *, is_past: bool = False
) -> list[tuple[int, int]]:
    """Return the spans of a working note to quote: its lines that are not ``known``, the most informative.

    If it ``is_past``, without the lines that say what the agent does next.
    """
    lines: list[tuple[int, int]] = []
    at = 0
    for line in text.split("\n"):
        bare = line.strip()
        if (
            bare
            and not bare.startswith("```")
            and bare not in known
            and not (is_past and _INTENDS.match(bare))
        ):
            low = at + line.index(bare)
            lines.append((low, low + len(bare)))
        at += len(line) + 1
    taken = set(range(len(lines)))
    if sum(high - low for low, high in lines) > most:
        taken, left = set(), most
        weights = [_line_weight(text[low:high]) for low, high in lines]
        for i in sorted(range(len(lines)), key=lambda i: -weights[i]):
            if weights[i] > 0 and (size := lines[i][1] - lines[i][0]) <= left:
                taken.add(i)
                left -= size
    apart = {i for i in range(1, len(lines)) if text[lines[i - 1][1] : lines[i][0]].strip(" \t\n`")}
    return [(lines[first][0], lines[last][1]) for first, last in _runs(taken, apart)]


def _line_weight(line: str) -> float:
    """Rate a line of a plan or status: points of a list with details first, lead-ins last; chosen by hand."""
    weight = _weight(line, 2, 9)  # neither the first lines of the text nor the last
    return weight + 1.0 if weight > LEAD_IN and _POINT.match(line) else weight


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a text, line by line, without those inside code blocks."""
    at, fenced = 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        elif bare and not fenced:
            low = at + len(line) - len(line.lstrip())
            point = _POINT.match(bare) or _NUMBERED.match(bare)
            begin = low + (point.end() if point else 0)  # the number of a point is not a sentence
            cuts = [
                low,
                *(found.end() for found in _BOUNDARY.finditer(text, begin, at + len(line))),
                at + len(line),
            ]
            yield from ((one, one + len(text[one:other].rstrip())) for one, other in pairwise(cuts))
        at += len(line) + 1


def _runs(taken: set[int], apart: Collection[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers as (first, last).

    The numbers in ``apart`` begin a new run: an unquoted code block is before them.
    """
    runs: list[tuple[int, int]] = []
    for i in sorted(taken):
        if runs and runs[-1][1] == i - 1 and i not in apart:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return runs


def _weights(sentences: Sequence[str]) -> list[float]:
    """Rate the sentences of a report; those that only lead to another one do not count as its beginning."""
    weights: list[float] = []
    place = 0
    for i, sentence in enumerate(sentences):
        weights.append(_weight(sentence, place if place <= 1 else max(i, 2), len(sentences)))
        place += weights[-1] > LEAD_IN
    return weights


def _weight(sentence: str, place: int, count: int) -> float:
    """Rate a sentence of a report: facts first, courtesies and questions last. Weights chosen by hand."""
    text = sentence.strip()
    if len(text) < SHORTEST_SENTENCE or _COURTESY.fullmatch(text.lower()) or _SAYS_NOTHING.fullmatch(text):
        return -1.0
    is_heading = text.startswith("#") or _HEADING.fullmatch(text) is not None
    if is_heading and not (len(text.split()) > LEAST_HEADING and _VERDICT.search(text)):
        return LEAD_IN
    if text.endswith(("?", ":", ":**")) or _ANNOUNCES.fullmatch(text):
        return LEAD_IN  # or a question that the next turn answers
    if _STEP.match(text):
        return -1.0
    weight = 3.0 if place <= 1 else 1.2 if place >= count - 2 else 0.7  # reports begin with their result
    if text.startswith("|"):  # a row of a table says little without its head
        return 0.4
    if "`" in text or any(map(str.isdigit, text)) or "/" in text:
        weight += 0.5
    return weight + (0.5 if _VERDICT.search(text) else 0.0) + (1.0 if _DONE.search(text.lower()) else 0.0)


def in_order(entries: Iterable[Sequence[Claim]]) -> list[Claim]:
    """Return the claims of turns, oldest first."""
    return [claim for entry in entries for claim in entry]
