"""Excerpts of long texts: both ends, and in between passages about the current work and errors.

``ExcerptSource(text, about).excerpt(600)`` returns about 600 characters of a text in whole lines, each gap
marked with a note. What is shown depends on what the text is: a failed run shows its errors and its result,
a source file its definitions, a diff its files and hunks (``diff_excerpt.py``), a guide its orders. Used for
every part that is shown shorter than it is (``shrink.py``) and for long requests::

    $ pytest -q
    [… 310 lines]
    E   assert rate(3) == 7
    1 failed, 41 passed in 2.10s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, dropwhile, islice, takewhile

from clew.compaction.propose.diff_excerpt import Diff
from clew.compaction.propose.failure_blocks import failure_blocks
from clew.compaction.propose.file_outline import Definition, outline_of
from clew.compaction.propose.guides import order_steps, step_lines
from clew.compaction.propose.line_kinds import (
    AROUND,
    FAILED,
    HEADER,
    ID,
    LISTING,
    SAYS_NOTHING,
    SEARCHED,
    STRUCTURE_AFTER_BREAK,
    find_error_lines,
    informative_lines,
    is_verdict,
    lines_about,
    lists_hits,
    passages_about,
    says_nothing,
    status_counts,
)
from clew.compaction.propose.lines import (
    LEAST_GAP,
    LONGEST_LINE,
    WORTH_A_GAP,
    Span,
    by_line,
    cut_line,
    fill,
    gap_note,
    is_worth_a_gap,
    line_end,
    line_size,
    lines_backwards,
    lines_of,
)
from clew.compaction.propose.source_excerpt import Source
from clew.compaction.propose.tail import water_level
from clew.ledger.error_lines import error_spans
from clew.message.text import once

EDGES = (0.3, 0.3)
"""Shares of the room for the beginning and for the end; the rest is for lines about errors."""
RELATED_EDGES = (0.15, 0.15)
"""The same if passages about the current work are found."""
CODE_EDGES = (0.1, 0.1)
"""The same in a source file: imports are added to the first lines, and tests behind the last."""
REQUEST_HEAD = 0.65
"""Share of the room for the beginning of a request; the rest is for its end."""
LEAST_HEAD = 300
"""Characters that the first lines of a request must have if there is room: a title or a greeting does not say
what is asked for. Chosen by hand."""
TWO_ENDS = 200
"""Characters from which an excerpt shows the end of a text too, not only a verdict."""
LINE_SHARE = 0.8
"""Share of an excerpt that one line may take."""
ENDLESS = 5
"""How many times as long as what is shown of it a line is that is shown around a term in it, too."""
MOST_STRUCTURE, IS_CODE = 200, 3
"""How many lines with definitions are considered, and from how many a text counts as code, in which words for
errors say nothing about its result."""
LONGEST_OUTLINE = 600
"""Characters of the names in one note; chosen by hand."""
NAMES_SHARE = 0.2
"""Share of an excerpt of code for the names of what it leaves out; chosen by hand."""
EXIT_CODE_WITHIN = 60
"""Characters at the beginning of a text in which harnesses state the exit code."""
ERRORS_SHARE = 0.6
"""Share of an excerpt's room for what went wrong in a run that failed; chosen by hand."""
FAILURES_SHARE = 0.9
"""The same for failed tests with both values: what they say is why the run is looked at. Chosen by hand."""
FIRST_ERRORS, LEAST_ERROR = 3, 20
"""Lines about errors of which one is shown if there is room for no more: the first that says more than
"Error:", of at least so many characters."""
VERDICT_WITHIN, MOST_VERDICTS = 3_000, 1
"""Characters at the end of a text that are searched for such lines, and how many are shown."""


def excerpt(
    text: str, most_characters: int, protected: Sequence[Span] = (), longest_line: int = LONGEST_LINE
) -> str:
    """Return about ``most_characters`` of a text, with omissions marked.

    The spans in ``protected`` are always shown, whatever room they take.
    """
    return ExcerptSource(text).excerpt(most_characters, protected, longest_line)


def both_ends(text: str, most_characters: int) -> str | None:
    """Return the first and last lines of a request: what is asked for, and the conditions it ends with.

    Returns None if a line would have to be cut to show what is asked for: half a sentence may say the
    opposite of the whole, so the caller decides what to show instead.
    """
    if len(text) <= most_characters:
        return text
    for_head = int(most_characters * REQUEST_HEAD)
    head = fill(lines_of(text), for_head, most_characters)
    end = line_end(text, head[-1][1] + 1)
    if end <= most_characters:  # a long line is often the request itself: rather that than the end
        head.append((head[-1][1] + 1, end))
    elif head[-1][1] > most_characters or head[-1][1] < min(LEAST_HEAD, for_head // 2):
        return None
    left = most_characters - head[-1][1]
    tail = [line for line in fill(lines_backwards(text), left, most_characters) if left >= line[1] - line[0]]
    return ExcerptSource(text).render({*head, *tail}, most_characters, least_gap=WORTH_A_GAP)


class ExcerptSource:
    """A text to excerpt; which of its lines are about errors is found once, as far as needed."""

    def __init__(
        self,
        text: str,
        about: Mapping[str, float] | None = None,
        *,
        fill: bool = False,
        is_guide: bool = False,
        is_prose: bool = False,
        is_outlined: bool = False,
    ) -> None:
        """Prepare a text; ``about`` are terms of the current work with their weights.

        With ``is_prose``, it is what the agent said, never a file.

        Of a guide, such as a skill, the lines that give orders come first, then its steps.

        With ``fill``, room that nothing telling needs goes to more lines of both ends. With ``is_outlined``,
        the note of a gap names what it leaves out of a source file.
        """
        self.text = text
        self._is_prose, self._is_outlined = is_prose, is_outlined
        self._fill = fill or is_guide
        self._is_guide = is_guide
        self._about = about or {}
        self._found: list[Span] = []
        self._more = find_error_lines(text)
        self._diff = Diff(text, self._about)

    def excerpt(
        self,
        most_characters: int,
        protected: Sequence[Span] = (),
        longest_line: int = LONGEST_LINE,
        least_gap: int = WORTH_A_GAP,
    ) -> str:
        """Return at most about so many characters, with omissions marked."""
        text = self.text
        if len(text) <= most_characters:
            return text
        pieces = by_line(text, protected)
        lines = {*self._choose(most_characters, longest_line), *pieces}
        names = (
            int(most_characters * NAMES_SHARE)
            if self._is_outlined and not self._diff.hunks and self._is_source
            else 0
        )
        return self.render(lines, longest_line, pieces if protected else None, least_gap, names)

    def fullest(
        self,
        most_characters: int,
        protected: Sequence[Span] = (),
        longest_line: int = LONGEST_LINE,
        least_gap: int = WORTH_A_GAP,
    ) -> str:
        """Return the same, or a part of every line if all lines fit that way.

        So of a text in one endless line more than ``longest_line`` characters are shown.
        """
        level = self._level(most_characters)
        if level <= longest_line or len(self.text) <= most_characters:
            return self.excerpt(most_characters, protected, longest_line, least_gap)
        return self.render(set(lines_of(self.text)), level, by_line(self.text, protected), least_gap)

    def _level(self, most_characters: int) -> int:
        """Return the characters of each line there is room for; 0 if there are too many lines."""
        room = most_characters - self.text.count("\n") - 1
        if room <= 0:
            return 0
        level = water_level(list(map(len, self.text.split("\n"))), room)
        return min(level, int(most_characters * LINE_SHARE))

    def _choose(self, most_characters: int, longest: int) -> set[Span]:
        """Return the lines to show, by what the text is and how much room there is."""
        if self._is_guide:
            return self._of_guide(most_characters, longest)
        if self._diff.hunks:
            return self._diff.choose(most_characters, longest)
        if most_characters < TWO_ENDS < len(self.text):
            return self._one_or_two(most_characters, longest)
        if self._is_source:
            return self._of_source(most_characters, longest)
        return self._of_output(most_characters, longest)

    def _one_or_two(self, room: int, longest: int) -> set[Span]:
        """Return one or two lines: the cause, the result, an error, an id, a definition, or the first."""
        best, *others = islice(self._telling(), 2)
        fits = others and line_size(others[0], longest) <= room - line_size(best, longest)
        return {best, others[0]} if fits else {best}

    def _telling(self) -> Iterator[Span]:
        """Yield the most telling lines, best first; each kind is searched for only if it is asked for."""
        yield from self._causes[:1] if self.has_failed else ()
        yield from self._verdicts
        if self.lists_hits:
            yield from lines_about(self.text[:SEARCHED], self._about)[0][:2]
        errors = () if self._is_code else islice(self._error_lines(), FIRST_ERRORS)
        yield from sorted(errors, key=lambda line: line[1] - line[0] < LEAST_ERROR)[:1]
        yield from self._identifying
        yield from self._structure[:1]
        yield from islice(informative_lines(self.text, lines_of(self.text)), 1)

    def outline(self, most_characters: int) -> str:
        """Return the names that a file defines, as ``outline_of``, or how many lines have which status.

        Other texts have no outline: then it is "".
        """
        if self.has_failed or self._verdicts or self._is_guide:
            return ""
        if not self._is_code:
            return status_counts(self.text)
        return outline_of(self._source.definitions, most_characters)

    def _of_source(self, room: int, longest: int) -> set[Span]:
        """Return whole blocks of a source file; of a document its beginning and end, too."""
        is_document = self._source.is_document
        edges = self._both_ends(room, RELATED_EDGES if is_document else CODE_EDGES, longest)
        for_names = int(room * NAMES_SHARE) if self._is_outlined else 0
        lines = self._source.choose(room, longest, [*edges[0], *edges[1]], for_names)
        return set(dropwhile(lambda line: SAYS_NOTHING.fullmatch(self.text, *line), lines)) or set(lines)

    @once
    def _source(self) -> Source:
        return Source(self.text, self._about, self._structure)

    @once
    def _is_source(self) -> bool:
        """Whether this is a source file or a document, of which whole blocks are shown."""
        if not self._is_code or self._is_prose:
            return False
        if LISTING.match(self.text):  # of a table or a log, each line is a block
            return self._source.is_nested
        if "```" in self.text and not self._source.is_document:  # words about code
            return False
        return not self.has_failed and not self._verdicts

    def _of_output(self, most_characters: int, longest: int) -> set[Span]:
        verdicts = fill(iter(self._verdicts), most_characters // 2, longest) if self._verdicts else []
        left = most_characters - sum(line_size(line, longest) for line in verdicts)
        head, tail = self._edges(left, longest)
        chosen = {*head, *tail, *verdicts}
        room = most_characters - sum(line_size(line, longest) for line in chosen)
        if self.has_failed:
            failures = self._failures(chosen, room * FAILURES_SHARE, longest)
            of_failures = sum(line_size(line, longest) for line in failures)
            chosen |= failures
            errors = self._errors(chosen, room * ERRORS_SHARE - of_failures, longest)
            chosen |= errors
            room -= of_failures + sum(line_size(line, longest) for line in errors)
        room -= self._add_related(chosen, room, longest) if room > 0 else 0
        for line in self._error_lines() if room > 0 and not self._is_code else ():
            if tail and line[0] >= tail[-1][0]:
                break
            if line[0] > head[-1][0] and line not in chosen:
                chosen.add(line)
                room -= line_size(line, longest)
                if room <= 0:
                    break
        return chosen | self._more_of_both_ends(chosen, room, longest) if self._fill else chosen

    def _of_guide(self, room: int, longest: int) -> set[Span]:
        """Return the beginning of a guide, the lines that give orders, its steps, then the rest in order."""
        chosen = set(fill(lines_of(self.text), int(room * RELATED_EDGES[0]), longest))
        room -= sum(line_size(line, longest) for line in chosen)
        for lines in chain(self._orders, ([line] for line in self._steps)):
            new = [line for line in lines if line not in chosen]
            cost = sum(line_size(line, longest) for line in new)
            if cost <= room:  # whole steps: half of one may say the opposite
                chosen.update(new)
                room -= cost
        return chosen | self._more_of_both_ends(chosen, room, longest)

    @once
    def _orders(self) -> list[list[Span]]:
        return list(order_steps(self.text))

    @once
    def _steps(self) -> list[Span]:
        return list(step_lines(self.text))

    def _edges(self, room: int, longest: int) -> tuple[list[Span], list[Span]]:
        """Return the lines of the beginning and of the end; fewer if there is more to show in between."""
        head, tail = self._both_ends(room, EDGES, longest)
        # One line of each is always shown: then it need not be known what else there is.
        if max(len(head), len(tail)) > 1 and (self.has_failed or self._related):
            return self._both_ends(room, RELATED_EDGES, longest)
        return head, tail

    def _both_ends(
        self, room: int, shares: tuple[float, float], longest: int
    ) -> tuple[list[Span], list[Span]]:
        """Return the first and the last lines that say something."""
        first = informative_lines(self.text, lines_of(self.text))
        last = informative_lines(self.text, lines_backwards(self.text))
        return fill(first, int(room * shares[0]), longest), fill(last, int(room * shares[1]), longest)

    def _add_related(self, chosen: set[Span], room: int, longest: int) -> int:
        """Add the passages about the current work that fit; return the room they take."""
        left = room
        for passage in self._related:
            new = [line for line in passage if line not in chosen]
            cost = sum(line_size(line, longest) for line in new)
            if cost <= left:
                chosen.update(new)
                left -= cost
        return room - left

    def _more_of_both_ends(self, chosen: set[Span], room: int, longest: int) -> set[Span]:
        """Return further lines from the beginning and the end, as many as fit in the room that is left."""
        more: set[Span] = set()
        for lines, share in ((lines_of(self.text), 0.5), (lines_backwards(self.text), 1.0)):
            left = room * share
            for line in lines:
                if line in chosen or line in more:
                    continue
                size = line_size(line, longest)
                if size > left:
                    break
                more.add(line)
                left -= size
                room -= size
        return more

    def _failures(self, chosen: set[Span], room: float, longest: int) -> set[Span]:
        """Return the lines of each failed test that there is room for: a message with its values."""
        found: set[Span] = set()
        for block in self._blocks:
            new = [line for line in block if line not in chosen]
            cost = sum(line_size(line, longest) for line in new)
            if cost <= room:  # half of a comparison says nothing
                found.update(new)
                room -= cost
        return found

    @once
    def _blocks(self) -> list[list[Span]]:
        """The lines that tell of each failed test."""
        return list(failure_blocks(self.text))

    def _errors(self, chosen: set[Span], room: float, longest: int) -> set[Span]:
        """Return the lines that say what went wrong, the first in any case, each with those after it."""
        if room <= 0 and not chosen.isdisjoint(self._causes):
            return set()
        found = set(fill(iter(self._causes), int(room), longest)) - chosen if self._causes else set()
        room -= sum(line_size(line, longest) for line in found)
        for line in chain(self._causes, self._error_lines()):
            for one in islice(lines_of(self.text, line[0]), 1 + AROUND):
                if one not in chosen and one not in found:
                    room -= line_size(one, longest)
                    if room < 0:
                        return found
                    found.add(one)
        return found

    @once
    def _causes(self) -> list[Span]:
        """The lines of a failed output that name the cause."""
        starts = (self.text.rfind("\n", 0, start) + 1 for start, _ in error_spans(self.text))
        return [(start, line_end(self.text, start)) for start in starts]

    def _match(self, line: str, longest: int) -> list[Span]:
        """Return what an endless line, such as a hit in minified code, says around the longest term in it."""
        if len(line) < ENDLESS * longest or longest < LONGEST_LINE:
            return []
        read = line[:SEARCHED]
        term = max((term for term in self._about if term in read), key=len, default="")
        at = read.find(term)
        return [(max(0, at - longest), min(len(line), at + longest))] if term else []

    @property
    def verdict(self) -> str:
        """The last line with the result of a run; "" if there is none."""
        return self.text[slice(*self._verdicts[0])].strip() if self._verdicts else ""

    @once
    def lists_hits(self) -> bool:
        """Whether this lists what a search found."""
        return lists_hits(self.text)

    @once
    def has_failed(self) -> bool:
        """Whether this is the output of a run that failed."""
        return any(map(FAILED.search, (self.verdict, self.text[:EXIT_CODE_WITHIN])))

    @once
    def _verdicts(self) -> list[Span]:
        """The last lines with the result of a run, latest first."""
        first = self.text.rfind("\n", 0, max(0, len(self.text) - VERDICT_WITHIN)) + 1
        lines = takewhile(lambda line: line[0] >= first, lines_backwards(self.text))
        found = (line for line in lines if is_verdict(self.text, *line))
        return list(
            islice((one for one in found if not SAYS_NOTHING.fullmatch(self.text, *one)), MOST_VERDICTS)
        )

    @once
    def _identifying(self) -> list[Span]:
        """The first line of an output that names something by an id, such as a commit, a review or a run.

        The next calls need it, and nothing else says it. Code names other things.
        """
        text = self.text[:VERDICT_WITHIN]
        if self._is_code:
            return []
        lines = (line for line in lines_of(text) if ID.search(text, *line))
        return list(islice((line for line in lines if not SAYS_NOTHING.fullmatch(text, *line)), 1))

    @once
    def _is_code(self) -> bool:
        """Whether this is the text of a file: words for errors, or ids, say nothing about a result in it."""
        return LISTING.match(self.text) is not None or len(self._structure) >= IS_CODE

    @once
    def _structure(self) -> list[Span]:
        """The lines that name what a source file defines, if it is one."""
        found = islice(STRUCTURE_AFTER_BREAK.finditer(f"\n{self.text[:SEARCHED]}"), MOST_STRUCTURE)
        return [(line.start(), line.end() - 1) for line in found]

    @once
    def _related(self) -> list[list[Span]]:
        """The passages about the current work, most related first."""
        return list(passages_about(self.text[:SEARCHED], self._about)) if self._about else []

    def _error_lines(self) -> Iterator[Span]:
        """Yield the lines about errors, in order."""
        yield from self._found
        for line in self._more:
            self._found.append(line)
            yield line

    def render(
        self,
        lines: set[Span],
        longest: int,
        pieces: Mapping[Span, Sequence[Span]] | None = None,
        least_gap: int = LEAST_GAP,
        room_for_names: int = 0,
    ) -> str:
        """Return these lines, with longer gaps marked; ``pieces`` are always shown of a line."""
        text = self.text
        shown: list[str] = []
        done, is_free = 0, pieces is None
        said = [*dropwhile(lambda line: is_free and HEADER.fullmatch(text, *line), sorted(lines))]
        named = self._source.not_shown(lines, room_for_names) if room_for_names else []
        for line in said or sorted(lines):
            if line[0] > done and not (is_free and done == 0 and says_nothing(text, 0, line[0] - 1)):
                is_worth = is_worth_a_gap(text, done, line[0] - 1, least_gap)
                shown.append(self._gap(done, line[0], named) if is_worth else text[done : line[0] - 1])
            whole = text[slice(*line)]
            protected = (pieces or {}).get(line, ())
            shown.append(cut_line(whole, longest, protected or self._match(whole, longest), least_gap))
            done = line[1] + 1
        if done <= len(text) and not (is_free and says_nothing(text, done, len(text))):
            is_worth = is_worth_a_gap(text, done, len(text), least_gap)
            shown.append(self._gap(done, len(text) + 1, named) if is_worth else text[done:])
        return "\n".join(shown)

    def _gap(self, start: int, end: int, named: Sequence[Definition]) -> str:
        """Return the note on lines that are left out, with the names that they define."""
        count = self.text.count("\n", start, end) + (end > len(self.text))
        if self._is_outlined and self._diff.hunks:
            return gap_note(count, self._diff.left_out(start, end))
        inside = [one for one in named if start <= one.start < end]
        return gap_note(count, outline_of(inside, LONGEST_OUTLINE, 1))
