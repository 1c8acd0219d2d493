"""What was asked and reported in the turns that leave the view, quoted for the digest.

In go the session's turns and the ids of the messages that leave; out come claims, turn by turn, in whole
sentences of the originals. There are several levels of detail (``LEVELS``, in characters of each text); the
digest takes the highest level at which all turns fit, or the latest turns. Two claims of one turn::

    USER    Why does the build fail on Windows?
    REPORT  The path separator was hard-coded in `build.py`. All 12 tests pass now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.citations import Find, quote_at
from clew.compaction.propose.excerpt import excerpt
from clew.compaction.propose.findings import MOST_TURNS, current_findings
from clew.compaction.propose.prune_prompts import latest_likes, may_repeat, without_lines
from clew.compaction.propose.report_quotes import announces, claim_sized, note_spans, quoted_spans
from clew.ledger.turns import Turn, Turns
from clew.message import Cite, Trust, message_number
from clew.message.text import once

LEVELS = (8_000, 5_500, 4_000, 3_000, 2_200, 1_500, 1_100, 800, 560, 400, 280, 200)
"""Characters quoted of each request and report, highest level first. In steps of a third or so: with larger
ones much of the room stays unused."""
LONG_ASK = 2_000
"""Characters of a past request that are quoted at most levels of detail: a longer one holds a log or a page
that was pasted. Chosen by hand."""
OLDER_REPORTS = ((16, 280), (8, 560), (4, 1_100), (0, LEVELS[0]))
"""Turns since a report, and the characters of it that are quoted at most: the work has left its topic. So
``bench/probes.py`` finds 0.80 and 0.93 of the sentences of reports at 10 and 20 % instead of 0.81 and 0.97,
and all else as before, while a story of answered questions halves and recent messages get its room. With
560 characters for all but the last two turns it finds 0.75 and 0.87."""
OLDEST_NOTE = 30
"""Messages between a plan or status of the agent and the recent messages after which it is out of date."""
LONG_AGO = 20
"""Messages after which a step that such a text announces was taken, or given up; chosen by hand."""


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
        """Select the turns with a request or a report in ``gone``, the ids of the messages that leave.

        ``passed`` and ``edited`` are the numbers of the last test run that passed and of the last edit, as
        for ``current_findings``; ``latest`` is that of the last message.
        """
        self._find = find
        self._gone = gone
        considered = _considered_turns(turns)
        self._own = self._own_lines(considered)
        self._turns = [self._read(turn) for turn in considered]
        self._whole: dict[int, list[Claim]] = {}
        """The claims of turns, by index, from the level on at which nothing is cut."""
        self._at: dict[int, list[list[Claim]]] = {}
        self._notes = turns.notes
        self._latest = latest
        self.findings = current_findings(turns, gone, find, passed, edited)

    @once
    def levels(self) -> tuple[int, ...]:
        """The levels of detail that differ, highest first: a level at which nothing is cut is the highest."""
        longest = max((turn_text.length for turn_text in self._turns), default=0)
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
        for index, turn_text in enumerate(self._turns):
            most = self._most_of(index, level)
            is_whole = turn_text.length <= most
            entry = self._whole_entry(index) if is_whole else self._entry(turn_text, level, most)
            if entry and entry[0].kind is ClaimKind.USER:
                repeated, asked = entry[0].text == asked, entry[0].text
                entry = entry[1:] if repeated else entry
            if entry:
                yield entry

    def _most_of(self, index: int, level: int) -> int:
        """Return how many characters of the report of a turn to quote at a level: fewer of one long past."""
        later = len(self._turns) - index - 1
        return min(level, next(most for least, most in OLDER_REPORTS if later >= least))

    @once
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

    def _own_lines(self, turns: Iterable[Turn]) -> dict[Cite, str]:
        """Return the requests most of which a later one repeats, without those lines: slash commands, say."""
        asks = [turn.ask for turn in turns if turn.asks]
        found = [(cite, said[0]) for cite in asks if (said := quote_at(cite, (cite.message,), self._find))]
        long = [(cite, text) for cite, text in found if may_repeat(text)]
        likes = latest_likes([text for _, text in long])
        return {long[n][0]: without_lines(long[n][1], runs) for n, (_, runs) in likes.items()}

    def _read(self, turn: Turn) -> _TurnText:
        asked = self._quote(turn.ask)
        if asked and turn.ask in self._own:
            asked = self._own[turn.ask], asked[1]
        reported = self._quote(turn.report) if turn.report else None
        length = max(_level_of_ask(asked[0]) if asked else 0, len(reported[0].strip()) if reported else 0)
        if asked and (not turn.asks or asked[1] < Trust.USER):
            asked = None
        return _TurnText(turn, asked, None if reported and announces(reported[0]) else reported, length)

    def _whole_entry(self, index: int) -> list[Claim]:
        """Return the claims of a turn of which nothing is cut; the same for several levels."""
        entry = self._whole.get(index)
        if entry is None:
            turn_text = self._turns[index]
            entry = self._whole[index] = self._entry(turn_text, turn_text.length, turn_text.length)
        return entry

    def _entry(self, turn_text: _TurnText, level: int, most_reported: int) -> list[Claim]:
        claims = []
        if turn_text.asked:
            text, trust = turn_text.asked[0].strip(), turn_text.asked[1]
            most = _longest_ask(level)
            short = text if len(text) <= most else excerpt(text, most)
            is_whole = short == text and turn_text.turn.ask not in self._own
            claims.append(Claim("", ClaimKind.USER, short, (turn_text.turn.ask,), trust, is_whole))
        if turn_text.reported and turn_text.turn.report:
            text, trust = turn_text.reported
            name, part, begin, _ = turn_text.turn.report
            for start, end in claim_sized(text, quoted_spans(text, most_reported)):
                cite = Cite(name, part, begin + start, begin + end)
                claims.append(Claim("", ClaimKind.REPORT, text[start:end], (cite,), trust, verbatim=True))
        return claims

    def _quote(self, cite: Cite) -> tuple[str, Trust] | None:
        return quote_at(cite, self._gone, self._find)


class _TurnText(NamedTuple):
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


def _considered_turns(turns: Turns) -> list[Turn]:
    """Return the turns that a story has room for: the first and the latest."""
    known = turns.all
    first = known[:1] if len(known) > MOST_TURNS else ()
    return [*first, *known[-MOST_TURNS:]]


def quoted_messages(turns: Turns) -> set[str]:
    """Return the ids of the messages that a story of these turns may quote."""
    cites = [turn.ask for turn in _considered_turns(turns)] + [
        turn.report for turn in _considered_turns(turns) if turn.report
    ]
    cites += [*turns.notes[-2:], *(one.source for one in turns.findings)]
    return {cite.message for cite in cites}


def in_order(entries: Iterable[Sequence[Claim]]) -> list[Claim]:
    """Return the claims of turns, oldest first."""
    return [claim for entry in entries for claim in entry]
