"""Excerpts of long texts: both ends, and in between passages about the current work and errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, dropwhile, islice, takewhile

from clew.compaction.propose.guides import order_steps, step_lines
from clew.compaction.propose.lines import (
    LONGEST_LINE,
    Span,
    by_line,
    cut_line,
    fill,
    gap_note,
    line_end,
    line_size,
    lines_backwards,
    lines_of,
    lines_with,
)
from clew.compaction.propose.tail import diff_start, water_level
from clew.ledger.error_lines import error_spans
from clew.message.once import once
from clew.message.patterns import LINE_NUMBER, AnyCasePattern

EDGES = (0.3, 0.3)
"""Shares of the room for the beginning and for the end; the rest is for lines about errors."""
REQUEST_HEAD = 0.65
"""Share of the room for the beginning of a request; the rest is for its end."""
LEAST_HEAD = 300
"""Characters that the first lines of a request must have if there is room: a title or a greeting does not say
what is asked for. Chosen by hand."""
RELATED_EDGES = (0.15, 0.15)
"""The same if passages about the current work are found."""
TWO_ENDS = 200
"""Characters from which an excerpt shows the end of a text too, not only a verdict."""
LINE_SHARE = 0.8
"""Share of an excerpt that one line may take."""
ENDLESS = 5
"""How many times as long as what is shown of it a line is that is shown around a term in it, too."""
SHORT_GAP, WIDEST_GAP, GAP_SHARE = 40, 90, 0.1
"""Characters between two shown lines that are shown too: a note would save nothing. In a larger excerpt it
is this share of it, up to the widest: a block with a line or two missing is hard to use."""

AROUND = 2
"""Lines shown before and after a line that names a term of the current work."""
BEHIND_ASKED = 6
"""More lines shown behind one that names what the user or a search of the agent asks for, if they fit."""
SEARCHED = 200_000
"""Characters of a text that are searched for terms; so a giant costs no more than a large one."""
COMMON_TERM, COMMON_SHARE = 8, 0.05
"""A term in more lines of a text than both of these (a number, a share) does not point to a passage in it."""
MOST_PASSAGES = 40
USUAL_WORD_SHARE = 0.15
"""If more of the lines than this mention errors, the text is code or a log where that says little."""

_MATTERS = (
    *("error", "fail", "exception", "traceback", "fatal", "panic", "warn", "assert", "denied", "not found"),
    *("undefined", "undeclared", "cannot", "invalid", "✗", "✘", "✖", "❌", "  × "),
    *("\ne  ", " e  ", "|e  "),  # the prefixes of pytest's failure lines
)
"""In lower case, searched one by one: one pattern for all of them takes many times as long."""
_LONGEST_VERDICT = 300
_VERDICT = re.compile(
    rf"^(?=.{{1,{_LONGEST_VERDICT}}}$).*?(?:\d (?:tests? |specs? )?"
    r"(?:passed|failed|passing|failing|pass|fail|errors?|problems?|warnings?)\b"
    r"|\b(?:passed|failed|failures)[:=] ?\d|\ball (?:\w+ )?(?:tests?|checks?) (?:have )?(?:passed|pass)\b"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?:? -?\d|\bBUILD (?:SUCCESS|FAIL)).*$"
    r"|^(?:FAIL[ \t]\S.*|PASS|FAIL|OK)$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line with the result of a test run, a check or a build..."""
_VERDICT_WORDS = ("pass", "fail", "error", "problem", "warning", "exit", "build", "ok")
"""...and of these words, in lower case, each has at least one, unless it has letters beyond ASCII."""
_FAILED = AnyCasePattern(
    r"(?<![\d.])[1-9]\d* (?:tests? |specs? )?(?:failed|failing|fail|errors?|problems?)\b"
    r"|\b(?:failed|failures)[:=] ?[1-9]"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?:? -?[1-9]|\breturncode\W{1,3}[1-9]|\bbuild fail|^fail\b"
)
"""A verdict that says that a run failed: then what went wrong comes first."""
EXIT_CODE_WITHIN = 60
"""Characters at the beginning of a text in which harnesses state the exit code."""
ERRORS_SHARE = 0.6
"""Share of an excerpt's room for what went wrong in a run that failed; chosen by hand."""
SURROUNDINGS = 200
"""Characters around an output that are left out without a note if they say nothing; chosen by hand."""
_SAYS_NOTHING = re.compile(
    rf"\s*(?:{LINE_NUMBER})?[\W_]*"
    r"|<[^<>\n]{0,200}>(?:(?:file|directory|0)</\w+>)?|<path>[^<>\n]+</path>"
    r"|(?:Exit code|Process exited with code):? 0|\((?:End of file|Showing lines) [^()\n]*\)"
    r"|(?:Chunk ID|Wall time|Original token count|Total output lines|Output):.*|> [\w@].*"
    r"|(?:\[[\w:-]+\] )?\$ .*"
)
"""A line without a word, or one that a harness or a package manager puts around an output."""
_LISTING = re.compile(rf"(?:<path>.*\n<type>file.*\n<content>)?\s*{LINE_NUMBER}")
"""How the text of a file with line numbers begins."""
NUMBERED_LINE = re.compile(rf"^\s*{LINE_NUMBER}")
"""The beginning of a line that quotes a file with line numbers."""
_COURTESY = re.compile(
    r"(?:Perfect|Great|Excellent|Good|Now|I now have|I have|Let me|Here(?: is|[’']s)|Based on)\b"
    r"[^\n]{0,160}[.!:]"
)
"""How another agent begins its report."""
_ID = re.compile(
    r"https?://\S+/\S|(?<![\w/.])(?:#\d{1,6}\b|[A-Za-z]{2,8}_(?=\w*\d)[A-Za-z0-9]{6,}\b|\d{8,}\b"
    r"|(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}\b)"
)
"""A URL, the number of an issue or a run, or an id made of letters and digits."""
_STRUCTURE = (
    r"[ \t]*+(?:\d++[:\t→|]?[ \t]*+)?(?:(?:export|default|public|private|protected|static|abstract|async|pub"
    r"|final|override)[ \t]++)*+"
    r"(?:(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace)[ \t]++[\w(<]"
    r"|(?:const|let|var)[ \t]++\w++[ \t]*+=[ \t]*+(?:async[ \t]*+)?(?:\(|function)"
    r"|#{1,4}[ \t]++\w|(?:describe|it|test)\().*$"
)
STRUCTURE = re.compile(_STRUCTURE, re.MULTILINE)
"""A line with a definition in a source file, or with a heading, also after a line number..."""
_AFTER_BREAK = re.compile(rf"\n{_STRUCTURE}", re.MULTILINE)
"""...and with the line break before it: what begins with a known character is found several times as fast."""
MOST_STRUCTURE, WITH_STRUCTURE = 60, 600
"""How many such lines are considered, and the characters of an excerpt from which they are shown..."""
IS_CODE = 3
"""...and from how many a text counts as code, in which words for errors say nothing about its result."""
_DEFINED = re.compile(
    r"(?P<margin>[ \t]*)(?:(?P<number>\d++)(?:[:→|]?)(?P<indent>[ \t]*+))?"
    r"(?:(?:export|default|public|private|protected|static|abstract|async|pub|final|override)[ \t]++)*+"
    r"(?:(?P<heading>#{1,4})[ \t]++(?P<title>.*)|(?:describe|it|test)\([\"'`](?P<test>[^\"'`]*).*"
    r"|\w++[ \t]++(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]++)(?P<rest>.*))"
)
"""The parts of such a line: a line number and the name of what it defines."""
LEAST_OUTLINE = 2
"""Definitions from which their names say more about a file than one of its lines."""
_DIFF = re.compile(r"^(?:diff --git .*|@@ .*)$", re.MULTILINE)
"""A line with which the changes to a file, or one hunk of them, begin."""
_FILE_CHANGE = ("deleted file", "new file", "rename from", "rename to")
FEWEST_HUNKS, FILES_IN_DIFF = 2, 0.5
"""Such lines from which a text counts as a diff, and the share of its excerpt for the names of files; chosen
by hand."""
VERDICT_WITHIN, MOST_VERDICTS = 3_000, 1
"""Characters at the end of a text that are searched for such lines, and how many are shown."""
_BLOCK = 16_384
"""Characters searched at a time, so that little is read beyond what there is room for."""


def excerpt(
    text: str, most_characters: int, held: Sequence[Span] = (), longest_line: int = LONGEST_LINE
) -> str:
    """Return about ``most_characters`` of a text, with omissions marked.

    The spans in ``held`` are always shown, whatever room they take.
    """
    return ExcerptSource(text).excerpt(most_characters, held, longest_line)


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
    return ExcerptSource(text).shown({*head, *tail}, most_characters)


class ExcerptSource:
    """A text to excerpt; which of its lines are about errors is found once, as far as needed."""

    def __init__(
        self,
        text: str,
        about: Mapping[str, float] | None = None,
        *,
        fill: bool = False,
        is_guide: bool = False,
    ) -> None:
        """Prepare a text; ``about`` are terms of the current work with their weights.

        Of a guide, such as a skill, the lines that give orders come first, then its steps.

        With ``fill``, room that nothing telling needs goes to more lines of both ends.
        """
        self.text = text
        self._fill = fill or is_guide
        self._is_guide = is_guide
        self._about = about or {}
        self._found: list[Span] = []
        self._more = _lines_that_matter(text)

    def excerpt(
        self, most_characters: int, held: Sequence[Span] = (), longest_line: int = LONGEST_LINE
    ) -> str:
        """Return at most about so many characters, with omissions marked."""
        text = self.text
        if len(text) <= most_characters:
            return text
        pieces = by_line(text, held)
        lines = {*self._choose(most_characters, longest_line), *pieces}
        gap = max(SHORT_GAP, min(WIDEST_GAP, int(most_characters * GAP_SHARE)))
        return self.shown(lines, longest_line, pieces if held else None, gap)

    def fullest(
        self, most_characters: int, held: Sequence[Span] = (), longest_line: int = LONGEST_LINE
    ) -> str:
        """Return the same, or a part of every line if all lines fit that way.

        So of a text in one endless line more than ``longest_line`` characters are shown.
        """
        level = self._level(most_characters)
        if level <= longest_line or len(self.text) <= most_characters:
            return self.excerpt(most_characters, held, longest_line)
        return self.shown(set(lines_of(self.text)), level, by_line(self.text, held))

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
        if self._diff:
            return self._of_diff(most_characters, longest)
        if most_characters < TWO_ENDS < len(self.text):
            return self._most_telling(most_characters, longest)
        return self._chosen(most_characters, longest)

    def _most_telling(self, room: int, longest: int) -> set[Span]:
        """Return one or two lines: the cause, the result, an error, an id, a definition, or the first."""
        causes = self._causes[:1] if self.has_failed else ()
        troubles = () if self._is_code else islice(self._matter(), 1)
        first = islice(_informative(self.text, lines_of(self.text)), 1)
        best, *others = chain(causes, self._verdicts, troubles, self._identifying, self._structure[:1], first)
        fits = others and line_size(others[0], longest) <= room - line_size(best, longest)
        return {best, others[0]} if fits else {best}

    def outline(self, most_characters: int) -> str:
        """Return the names that a file defines, or its headings, with line numbers; "" if it has too few.

        Those at the left margin come first. It tells which part to read again.
        """
        if self.has_failed or self._verdicts or not self._is_code or self._is_guide:
            return ""
        found = [(*one, at) for at, line in enumerate(self._structure) for one in self._names(line)]
        is_prose = any(is_heading and depth > 1 for is_heading, depth, *_ in found)  # in code: comments
        found = [one for one in found if one[0] == is_prose] or found
        left = most_characters
        taken: dict[int, str] = {}
        for _, _, name, at in sorted(found, key=lambda one: (one[1], one[3])):
            if len(name) + 2 <= left:
                taken[at] = name
                left -= len(name) + 2
        if len(taken) < LEAST_OUTLINE:
            return ""
        more = len(found) - len(taken)
        return ", ".join(taken[at] for at in sorted(taken)) + (f" and {more} more" if more else "")

    def _names(self, line: Span) -> Iterator[tuple[bool, int, str]]:
        """Yield whether a line is a heading, its depth, and the name that it defines with its line number."""
        parts = _DEFINED.fullmatch(self.text[slice(*line)].rstrip("\r"))
        if parts is None or (parts["name"] and parts["rest"].strip() == ","):  # a name that is imported
            return
        indent = parts["margin"] if parts["number"] is None else parts["indent"]
        depth = len(parts["heading"] or indent.expandtabs(4))
        name = parts["title"] or parts["test"] or parts["name"] or ""
        if name.strip():
            number = f"{parts['number']} " if parts["number"] else ""
            yield parts["heading"] is not None, depth, f"{number}{name.strip()}"

    def _chosen(self, most_characters: int, longest: int) -> set[Span]:
        verdicts = fill(iter(self._verdicts), most_characters // 2, longest) if self._verdicts else []
        left = most_characters - sum(line_size(line, longest) for line in verdicts)
        head, tail = self._edges(left, longest)
        chosen = {*head, *tail, *verdicts}
        room = most_characters - sum(line_size(line, longest) for line in chosen)
        if self.has_failed:
            errors = self._errors(chosen, room * ERRORS_SHARE, longest)
            chosen |= errors
            room -= sum(line_size(line, longest) for line in errors)
        room -= self._add_related(chosen, room, longest) if room > 0 else 0
        for line in self._structure if most_characters >= WITH_STRUCTURE else ():
            cost = line_size(line, longest)
            if line not in chosen and cost <= room:
                chosen.add(line)
                room -= cost
        for line in self._matter() if room > 0 and not self._is_code else ():
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
        first = _informative(self.text, lines_of(self.text))
        last = _informative(self.text, lines_backwards(self.text))
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

    def _of_diff(self, room: int, longest: int) -> set[Span]:
        """Return what precedes a diff, the names of its files, hunks, and the changed lines of others.

        Hunks about the current work come first, whole if they fit. Of the others, changed lines come before
        the lines around them.
        """
        before = takewhile(lambda line: line[0] < self._diff[0][0][0], lines_of(self.text))
        files = (line for hunk in self._diff for line in self._names_file(hunk))
        chosen = set(fill(before, int(room * RELATED_EDGES[0]), longest))
        chosen.update(fill(files, int(room * FILES_IN_DIFF), longest))
        room -= sum(line_size(line, longest) for line in chosen)
        hunks = [hunk for hunk in self._related_hunks if not any(self._names_file(hunk))]
        related = [hunk for hunk in hunks if self._terms_in(hunk)]
        changed = [self._changed_lines(hunk) for hunk in hunks]
        begun = False
        for lines in (*related, *changed, *hunks):
            new = [line for line in lines if line not in chosen]
            cost = sum(line_size(line, longest) for line in new)
            if cost > room and not begun and room >= TWO_ENDS and lines in changed:
                begun, new = True, fill(iter(new), room, longest)
                cost = sum(line_size(line, longest) for line in new)
            if cost <= room:
                chosen.update(new)
                room -= cost
        return chosen

    def _names_file(self, hunk: Sequence[Span]) -> Iterator[Span]:
        """Yield the lines that say which file changes, and whether it is new, deleted or renamed."""
        if self.text.startswith("diff", hunk[0][0]):
            yield hunk[0]
            yield from (line for line in hunk[1:] if self.text.startswith(_FILE_CHANGE, line[0]))

    def _changed_lines(self, hunk: Sequence[Span]) -> list[Span]:
        """Return the header of a hunk and the lines that it adds or removes.

        Nothing of the header of a file, nor of a hunk that removes a whole file: that its name says.
        """
        first = self.text[slice(*hunk[0])]
        if first.startswith("diff") or " +0,0 @@" in first:
            return []
        return [hunk[0], *(line for line in hunk[1:] if self.text[line[0] : line[0] + 1] in ("+", "-"))]

    @once
    def _related_hunks(self) -> list[list[Span]]:
        """The hunks of a diff, those with the most terms of the current work first."""
        return sorted(self._diff, key=lambda hunk: -self._terms_in(hunk))

    def _terms_in(self, hunk: Sequence[Span]) -> float:
        """Return the weight of the terms of the current work that a hunk names."""
        text = self.text[hunk[0][0] : hunk[-1][1]]
        return sum(weight for term, weight in self._about.items() if term in text)

    @once
    def _diff(self) -> list[list[Span]]:
        """The lines of each file header and each hunk, if the text is a diff."""
        first = diff_start(self.text)
        if first < 0:
            return []
        text = self.text[:SEARCHED]
        starts = [one.start() for one in _DIFF.finditer(text, first)]
        if len(starts) < FEWEST_HUNKS:
            return []
        hunks: list[list[Span]] = []
        for line in lines_of(text, starts[0]):
            if len(hunks) < len(starts) and line[0] == starts[len(hunks)]:
                hunks.append([])
            hunks[-1].append(line)
        return hunks

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

    def _errors(self, chosen: set[Span], room: float, longest: int) -> set[Span]:
        """Return the lines that say what went wrong, the first in any case, each with those after it."""
        found = set(fill(iter(self._causes), int(room), longest)) - chosen if self._causes else set()
        room -= sum(line_size(line, longest) for line in found)
        for line in chain(self._causes, self._matter()):
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
    def has_failed(self) -> bool:
        """Whether this is the output of a run that failed."""
        return any(map(_FAILED.search, (self.verdict, self.text[:EXIT_CODE_WITHIN])))

    @once
    def _verdicts(self) -> list[Span]:
        """The last lines with the result of a run, latest first."""
        first = self.text.rfind("\n", 0, max(0, len(self.text) - VERDICT_WITHIN)) + 1
        lines = takewhile(lambda line: line[0] >= first, lines_backwards(self.text))
        found = (line for line in lines if _is_verdict(self.text, *line))
        return list(
            islice((one for one in found if not _SAYS_NOTHING.fullmatch(self.text, *one)), MOST_VERDICTS)
        )

    @once
    def _identifying(self) -> list[Span]:
        """The first line of an output that names something by an id, such as a commit, a review or a run.

        The next calls need it, and nothing else says it. Code names other things.
        """
        text = self.text[:VERDICT_WITHIN]
        if self._is_code:
            return []
        lines = (line for line in lines_of(text) if _ID.search(text, *line))
        return list(islice((line for line in lines if not _SAYS_NOTHING.fullmatch(text, *line)), 1))

    @once
    def _is_code(self) -> bool:
        """Whether this is the text of a file: words for errors, or ids, say nothing about a result in it."""
        return _LISTING.match(self.text) is not None or len(self._structure) >= IS_CODE

    @once
    def _structure(self) -> list[Span]:
        """The lines that name what a source file defines, if it is one."""
        found = islice(_AFTER_BREAK.finditer(f"\n{self.text[:SEARCHED]}"), MOST_STRUCTURE)
        return [(line.start(), line.end() - 1) for line in found]

    @once
    def _related(self) -> list[list[Span]]:
        """The passages about the current work, most related first."""
        return list(_passages(self.text[:SEARCHED], self._about)) if self._about else []

    def _matter(self) -> Iterator[Span]:
        """Yield the lines about errors, in order."""
        yield from self._found
        for line in self._more:
            self._found.append(line)
            yield line

    def shown(
        self,
        lines: set[Span],
        longest: int,
        pieces: Mapping[Span, Sequence[Span]] | None = None,
        short_gap: int = SHORT_GAP,
    ) -> str:
        """Return these lines, with longer gaps marked; ``pieces`` are always shown of a line."""
        text = self.text
        shown: list[str] = []
        done, is_free = 0, pieces is None
        for line in sorted(lines):
            if line[0] > done and not (is_free and done == 0 and _says_nothing(text, 0, line[0] - 1)):
                is_short = line[0] - 1 - done <= short_gap
                gap = text[done : line[0] - 1] if is_short else gap_note(text.count("\n", done, line[0]))
                shown.append(gap)
            whole = text[slice(*line)]
            held = (pieces or {}).get(line, ())
            shown.append(cut_line(whole, longest, held or self._match(whole, longest)))
            done = line[1] + 1
        if done <= len(text) and not (is_free and _says_nothing(text, done, len(text))):
            shown.append(gap_note(text.count("\n", done) + 1))
        return "\n".join(shown)


def _informative(text: str, lines: Iterator[Span]) -> Iterator[Span]:
    """Yield lines from the first one on that says something; if none does, only the first."""
    first = next(lines)
    found = dropwhile(
        lambda line: _SAYS_NOTHING.fullmatch(text, *line) or _COURTESY.fullmatch(text, *line),
        chain([first], lines),
    )
    yield next(found, first)
    yield from found


def _says_nothing(text: str, start: int, end: int) -> bool:
    """Whether no line between two offsets says anything, and there are few of them."""
    return end - start <= SURROUNDINGS and all(map(_SAYS_NOTHING.fullmatch, text[start:end].split("\n")))


def _is_verdict(text: str, start: int, end: int) -> bool:
    """Whether a line states the result of a run; most lines are ruled out without the slow pattern."""
    line = text[start : min(end, start + _LONGEST_VERDICT)]
    if line.isascii() and not any(map(line.lower().__contains__, _VERDICT_WORDS)):
        return False
    return _VERDICT.match(text, start, end) is not None and not _SAYS_NOTHING.fullmatch(text, start, end)


def _lines_that_matter(text: str) -> Iterator[Span]:
    """Yield the lines that mention an error early on. Takes linear time."""
    start = 0
    while start < len(text):
        end = line_end(text, start + _BLOCK)
        # In lower case one letter may become two, which would shift all offsets after it.
        block = "\n" + text[start:end].replace("İ", "i").lower()
        found = {line for word in _MATTERS if word in block for line in lines_with(block, word)}
        if len(found) > max(5, block.count("\n") * USUAL_WORD_SHARE):
            found = set()
        yield from ((start + first - 1, start + last - 1) for first, last in sorted(found))
        start = end + 1


def _passages(text: str, about: Mapping[str, float]) -> Iterator[list[Span]]:
    """Yield passages around the lines that name terms, best first: rare terms count more than common ones."""
    common = max(COMMON_TERM, int(text.count("\n") * COMMON_SHARE))
    weights: dict[Span, float] = {}
    asked: set[Span] = set()
    for term, weight in about.items():
        if term not in text:
            continue
        lines = list(islice(lines_with(text, term), common + 1))
        if len(lines) <= common:
            asked.update(lines if weight > 1 else ())
            for line in lines:
                weights[line] = weights.get(line, 0.0) + weight / len(lines)
    best = sorted(weights, key=lambda line: (-weights[line], line))
    for line in best[:MOST_PASSAGES]:
        passage = [line]
        for _ in range(AROUND):
            if (start := passage[0][0]) > 0:
                passage.insert(0, (text.rfind("\n", 0, start - 1) + 1, start - 1))
            if (end := passage[-1][1]) < len(text):
                passage.append((end + 1, line_end(text, end + 1)))
        if line in asked:
            yield [*passage, *islice(lines_of(text, passage[-1][1] + 1), BEHIND_ASKED)]
        yield passage
