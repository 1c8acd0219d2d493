"""Which sentences of a report to quote if there is no room for all of it.

``quoted_spans`` takes a text and a number of characters and returns spans (start, end) of whole sentences:
those that state results first, courtesies and announced steps last. ``note_spans`` does the same by lines,
for the agent's plans and status notes. Of "Great! I fixed `parse.py`. Let me look at the docs." within
30 characters, "I fixed `parse.py`." is quoted. The weights of sentences were chosen by hand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

SHORTEST_SENTENCE = 12
LONGEST_STEP = 300
LONGEST_QUOTE = 3_600
"""Characters of one quote; a longer one becomes several, because the checks refuse a claim over 4,000."""
LEAD_IN = 0.1
"""Weight of a heading, of a sentence that introduces what follows, and of a question; chosen by hand."""
LEAST_HEADING = 4
"""Words of a heading that may state an outcome; a shorter one is a title. Chosen by hand."""
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
_SAYS_NOTHING = re.compile(r"</?[\w-]+>|[\W_]+")
"""A tag, or a line of dashes."""
_RULER = re.compile(r"\|[\s:|-]*-[\s:|-]*")
"""The line between the head and the rows of a table."""
_NUMBERED = re.compile(r"(?:#{1,6}\s+)?(?:\*\*)?\d{1,2}[.)]\s")
"""The beginning of a numbered point or heading."""
_POINT = re.compile(r"(?:[-*•+]|\d{1,2}[.)]|\[[ x~]\])\s")
_HEADING = re.compile(r"[*_]{2}[^*_]+[*_]{2}:?")
_DONE = re.compile(
    r"\b(?:fixed|added|removed|created|updated|changed|renamed|moved|implemented|committed|pushed|merged"
    r"|passe[sd]|pass|fail\w*|works?|because|cause|found|confirmed|now|no longer"
    r"|instead|decided|tests?|issue|problem|error)\b"
)


def quoted_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return the spans of a text to quote: all of it, or its most informative sentences, in order.

    Sentences are taken by weight as long as they fit and form few pieces, each with the heading and the
    lead-in before it if these fit too.
    """
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    if start >= stop:
        return []
    if stop - start <= most:
        return [(start, _without_last_steps(text, start, stop))]
    sentences = list(_sentences(text))
    # An unquoted code block is between such a sentence and the one before it.
    apart = {i for i in range(1, len(sentences)) if text[sentences[i - 1][1] : sentences[i][0]].strip()}
    taken = _best_sentences(text, sentences, apart, most)
    if not taken:  # only one long sentence, or code: quote its beginning
        cut = text.rfind(" ", start + 1, start + most)
        return [(start, cut if cut > start else start + most)]
    return [(sentences[first][0], sentences[last][1]) for first, last in _runs(taken, apart)]


def _best_sentences(
    text: str, sentences: Sequence[tuple[int, int]], apart: Collection[int], most: int
) -> set[int]:
    """Return the indices of the sentences with the highest weights that fit."""
    weights = _weights([text[low:high] for low, high in sentences])
    leads = {i for i, weight in enumerate(weights) if weight == LEAD_IN}
    points = [_is_point(text, low) and i not in leads for i, (low, _) in enumerate(sentences)]
    for i in range(1, len(sentences)):  # of a list or table, the first: the fourth alone says little
        if points[i] and points[i - 1] and i not in apart:
            weights[i] = min(weights[i], weights[i - 1])
    taken: set[int] = set()
    left, most_runs = most, max(MOST_RUNS, most // RUN)
    for i in sorted(set(range(len(sentences))) - leads, key=lambda i: -weights[i]):
        for group in _introduced(i, leads - taken, apart):
            size = sum(sentences[one][1] - sentences[one][0] for one in group)
            if text.startswith("|", sentences[i][0]) and group == {i} and i - 1 not in taken:
                continue  # a row of a table says nothing without its head
            if weights[i] > 0 and size <= left and len(_runs(taken | group, apart)) <= most_runs:
                taken |= group
                left -= size
                break
    return taken


def _is_point(text: str, low: int) -> bool:
    """Whether a sentence begins as a point of a list or is a row of a table."""
    return text.startswith("|", low) or _POINT.match(text, low) is not None


def _without_last_steps(text: str, start: int, stop: int) -> int:
    """Return where a report ends without the steps that it announces at its end: they were made since."""
    end = text[max(start, stop - LONGEST_STEP) : stop]
    if "let" not in end.lower() or not _STEP.search(end):
        return stop
    ends = list(_sentences(text[:stop]))
    while len(ends) > 1 and (_STEP.match(text, *ends[-1]) or _ANNOUNCES.fullmatch(text, *ends[-1])):
        ends.pop()
    return ends[-1][1] if ends and "```" not in text[ends[-1][1] : stop] else stop


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


def claim_sized(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans with long ones divided at the ends of lines."""
    for first, end in spans:
        start = first
        while end - start > LONGEST_QUOTE:
            cut = text.rfind("\n", start + 1, start + LONGEST_QUOTE)
            cut = cut if cut > start else start + LONGEST_QUOTE
            yield start, cut
            start = cut + (text[cut] == "\n")
        yield start, end


def announces(text: str) -> bool:
    """Whether a text only announces the next step; the last text of an interrupted turn often does."""
    bare = text.strip()
    if len(bare) > LONGEST_STEP or not (_OPENS_STEP.match(bare) or ":" in bare or bare.startswith("```")):
        return False
    sentences = (bare[start:end] for start, end in _sentences(bare))
    return all(one.endswith(":") or _STEP.match(one) or _COURTESY.fullmatch(one.lower()) for one in sentences)


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
        outdated = is_past and _INTENDS.match(bare)
        if bare and not bare.startswith("```") and bare not in known and not outdated:
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
    """Yield the sentences of a text, line by line, without those inside code blocks; rows of tables whole."""
    at, fenced = 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        elif bare and not fenced:
            low = at + len(line) - len(line.lstrip())
            point = _POINT.match(bare) or _NUMBERED.match(bare)
            begin = low + (point.end() if point else 0)  # the number of a point is not a sentence
            ends = _BOUNDARY.finditer(text, begin, at + len(line)) if bare[0] != "|" else ()
            cuts = [low, *(found.end() for found in ends), at + len(line)]
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
        # The head of a table and the line below it come with a row, or not at all.
        is_head = any(map(_RULER.fullmatch, sentences[i : i + 2]))
        weights.append(
            LEAD_IN if is_head else _weight(sentence, place if place <= 1 else max(i, 2), len(sentences))
        )
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
    if text.startswith("|"):  # rows of a table count for less than what is said about them
        return 0.4
    if "`" in text or any(map(str.isdigit, text)) or "/" in text:
        weight += 0.5
    return weight + (0.5 if _VERDICT.search(text) else 0.0) + (1.0 if _DONE.search(text.lower()) else 0.0)
