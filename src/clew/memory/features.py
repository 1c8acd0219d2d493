"""Ranking features of a search candidate, from its words and its vector; weights in ``weights.toml``.

A candidate becomes one number per field of ``LexicalFeatures`` (and of ``DenseFeatures``, with vectors). The
sum of these, each times its weight, is its score. Scores of words are relative to the best one that the
question could get, so that one set of weights works for short and long questions, small and large stores.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from clew.memory.index import Analysed, Entry, IndexRow, IndexStats
from clew.memory.question import ParsedQuestion, occurs_in
from clew.memory.terms import NAMES_SHIFT, Trait, marks_to_find, stem, surface

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


class LexicalFeatures(NamedTuple):
    """What speaks for a candidate by its words, role and date; yes and no are 1 and 0."""

    words: float
    """The BM25 score of its text."""
    window: float
    """The BM25 score of its text together with those before and after it."""
    window_if_short: float
    """The same, less for a long text."""
    covered: float
    """The share of the question's words that it has; rare words count more."""
    covered_squared: float
    window_covered: float
    """The share that it has together with the texts before and after it."""
    session_words: float
    """The share that all candidates of its session have."""
    close_together: float
    """The share that is close to the next word of the question."""
    speaker: float
    """The question names its speaker; 0.5 if it names two speakers."""
    asker: float
    """The question is about the asker (*what did I say*), and the user said it."""
    assistant: float
    """The question is about the assistant (*what did you say*), and the assistant said it."""
    asks: float
    """It ends with a question."""
    holds_question: float
    answers: float
    """The text before it ends with a question."""
    length: float
    """The logarithm of its length in words."""
    date_wanted: float
    """The question asks for a date (*when*), and it has one."""
    number_wanted: float
    """The question asks for a number (*how many*), and it has one."""
    name_wanted: float
    """The question asks for a name (*who*), and it has one."""
    dated: float
    """It has a date."""
    numbered: float
    """It has a number."""
    date_named: float
    """It mentions the date that the question is about."""
    date_said: float
    """It was said on that date; 0.5 if soon after."""
    output: float
    """It is the output of a tool."""
    names: float
    """The logarithm of the number of words in its compound names (``alphaSession``: 3)."""
    exact_alone: float
    """The share of the question's exact values that it has as whole words..."""
    exact: float
    """...and the share that it has at all."""


class DenseFeatures(NamedTuple):
    """The similarity of its vector to the question's vector."""

    meaning: float
    window_meaning: float
    """Of the sum of its vector and those of the texts before and after it."""
    before_meaning: float
    """Of the text before it."""
    session_meaning: float
    """Of the most similar candidate of its session."""


# As plain integers, because they are tested for every candidate.
ASKS, HOLDS_QUESTION, DATED, COUNTS, NAMES = (int(trait) for trait in Trait)

K1, B = 1.2, 0.75
"""The usual parameters of BM25."""
MOST_PLACES = 8
"""Positions of a word that are compared with those of the next one; bounds the time for long texts."""
NEAR = 4
"""Words at most this far apart count as close together (chosen by hand)."""
SIMILAR = 0.7
"""Share of letters, in order, that two spellings of a name have in common (``Akim``, ``Akib``: 0.75)."""
SOON = timedelta(days=10)
"""People often report an event some days later (chosen by hand)."""

# A capitalised word that does not begin the question: "what did Akim say".
_NAME_INSIDE = re.compile(r"(?<=\s)[A-Z][a-z]{3,}")


class QueryTerms(NamedTuple):
    """The parts of a text that the ranking needs."""

    at: Mapping[str, list[int]]
    """The positions of each of the question's terms."""
    length: int
    """The number of its words that are not stop words."""
    traits: int


Place: TypeAlias = tuple[str, str, int]
"""The position of a row: session, kind, number within both."""


class Candidate(NamedTuple):
    """A candidate with its neighbours, if these are candidates too.

    It does not refer to other candidates: reference cycles would be left to the garbage collector.
    """

    row: IndexRow
    own_terms: QueryTerms
    before: QueryTerms | None
    """Of the row before it in its session..."""
    after: QueryTerms | None
    """...and of the row after it."""
    place: Place


def to_candidates(
    question: ParsedQuestion, rows: Sequence[IndexRow], known: Mapping[int, QueryTerms] | None = None
) -> list[Candidate]:
    """Return the candidates with their neighbours, if these are among them.

    ``known`` holds texts already read for the same question, by key.
    """
    texts: dict[Place, QueryTerms] = {}
    for row in rows:
        entry = row.analysed.entry
        terms = known.get(row.key) if known else None
        texts[entry.session, entry.kind, row.place] = terms or _read(question.terms, row.analysed)
    beside = texts.get
    return [
        Candidate(
            row, terms, beside((session, kind, n - 1)), beside((session, kind, n + 1)), (session, kind, n)
        )
        for row, ((session, kind, n), terms) in zip(rows, texts.items(), strict=True)
    ]


def _read(terms: Sequence[str], analysed: Analysed) -> QueryTerms:
    at = {}
    text = f" {analysed.terms} "
    for term in terms:
        # Most terms are in few texts: splitting every text into words takes twice as long.
        if term in text and (places := _places(f" {term} ", text)):
            at[term] = places
    return QueryTerms(at, analysed.length, analysed.traits)


def _places(word: str, text: str) -> list[int]:
    """Return the positions, counted in words, of a space-delimited word in a text."""
    places = []
    place = text.find(word)
    while place >= 0:
        places.append(text.count(" ", 0, place))
        place = text.find(word, place + len(word) - 1)
    return places


class FeatureExtractor:
    """Computes the features of candidates for one question."""

    def __init__(self, question: ParsedQuestion, stats: IndexStats, seen: Sequence[Candidate]) -> None:
        self.question = question
        speakers = {candidate.row.entry.speaker for candidate in seen}
        self.named = _named_speakers(question, speakers)
        similar = _similar_names(question, speakers - self.named.keys(), seen)
        self.named |= similar
        names = frozenset().union(*self.named.values())
        self.terms = [t for t in question.terms if t not in names] or list(question.terms)
        self._rarity = {term: rarity(stats, term) for term in self.terms}
        self._best = sum(self._rarity.values()) or 1.0
        self._mean_length = stats.mean_length or 1.0
        self._sessions = self._session_words(seen)
        self._marks = frozenset(marks_to_find(question.spans))
        self._days: dict[str, tuple[frozenset[str], float]] = {}
        self._values = sum(map(len, question.values)) or 1

    def lexical(self, candidate: Candidate, exact: Sequence[str] = ()) -> LexicalFeatures:
        """Return the features of a candidate that contains these exact values of the question."""
        question, entry, terms = self.question, candidate.row.analysed.entry, candidate.own_terms
        traits, length = terms.traits, terms.length
        words, covered = window, window_covered = self._words(terms.at, length, 1)
        if candidate.before or candidate.after:
            window, window_covered = self._window(candidate)
        date_named, date_said = self._dates(candidate) if self._marks else (0.0, 0.0)
        exact_alone, exact_at_all = self._exactness(candidate, exact) if exact else (0.0, 0.0)
        return LexicalFeatures(
            words=words,
            window=window,
            window_if_short=window / (1 + length / 20),
            covered=covered,
            covered_squared=covered * covered,
            window_covered=window_covered,
            session_words=self._sessions.get(entry.session, 0.0),
            close_together=self._close_together(terms.at) if len(terms.at) > 1 else 0.0,
            speaker=self._speaker(entry, covered),
            asker=1.0 if question.of_me and entry.role == "user" else 0.0,
            assistant=1.0 if question.of_you and entry.role == "assistant" else 0.0,
            asks=1.0 if traits & ASKS else 0.0,
            holds_question=1.0 if traits & HOLDS_QUESTION else 0.0,
            answers=1.0 if candidate.before and candidate.before.traits & ASKS else 0.0,
            length=math.log(1 + length),
            date_wanted=1.0 if traits & DATED and question.wants_date else 0.0,
            number_wanted=1.0 if traits & COUNTS and question.wants_number else 0.0,
            name_wanted=1.0 if traits & NAMES and question.wants_name else 0.0,
            dated=1.0 if traits & DATED else 0.0,
            numbered=1.0 if traits & COUNTS else 0.0,
            date_named=date_named,
            date_said=date_said,
            output=1.0 if entry.role == "tool" else 0.0,
            names=math.log(1 + (traits >> NAMES_SHIFT)),
            exact_alone=exact_alone,
            exact=exact_at_all,
        )

    def _speaker(self, entry: Entry, covered: float) -> float:
        """Return whether the question names the speaker; the user as such only with another word of it."""
        if self.question.of_user and entry.role == "user" and covered:
            return 1.0
        return 1 / len(self.named) if entry.speaker in self.named else 0.0

    def exact(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the question's exact values that a candidate contains."""
        if not self.question.values:
            return ()
        text = candidate.row.entry.text.lower()
        return tuple(value for value in self.question.values if value.lower() in text)

    def _exactness(self, candidate: Candidate, exact: Sequence[str]) -> tuple[float, float]:
        """Return the share of the question's values that a candidate contains: as whole words, and at all."""
        text = candidate.row.entry.text
        alone = sum(len(value) for value in exact if occurs_in(value, text))
        return alone / self._values, sum(map(len, exact)) / self._values

    def _words(self, at: Mapping[str, Sequence[int]], length: int, texts: int) -> tuple[float, float]:
        """Return the BM25 score and the coverage of the question's words, weighted by rarity.

        Both are shares of the best possible value.
        """
        if not at:
            return 0.0, 0.0
        norm = K1 * (1 - B + B * length / (self._mean_length * texts))
        score = covered = 0.0
        for term, places in at.items():
            weight = self._rarity.get(term, 0.0)
            count = len(places)
            score += weight * count * (K1 + 1) / (count + norm)
            covered += weight
        return score / self._best, covered / self._best

    def _window(self, candidate: Candidate) -> tuple[float, float]:
        """Return the same for a text together with its neighbours."""
        at = dict(candidate.own_terms.at)
        length, texts = candidate.own_terms.length, 1
        for terms in (candidate.before, candidate.after):
            if terms:
                for term, places in terms.at.items():
                    at[term] = at[term] + places if term in at else places
                length += terms.length
                texts += 1
        return self._words(at, length, texts)

    def _session_words(self, candidates: Sequence[Candidate]) -> Mapping[str, float]:
        """Return for each session the coverage of the question by its candidates."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for candidate in candidates:
            session_terms = counts[candidate.place[0]]
            for term, places in candidate.own_terms.at.items():
                session_terms[term] += len(places)
        return {
            session: sum(self._rarity.get(t, 0.0) * n / (n + 2) for t, n in terms.items()) / self._best
            for session, terms in counts.items()
        }

    def _close_together(self, at: Mapping[str, list[int]]) -> float:
        """Return the weight of the neighbouring words of the question that are close together in a text."""
        total = 0.0
        for term, following in pairwise(self.terms):
            if term in at and following in at:
                gaps = (abs(a - b) for a in at[term][:MOST_PLACES] for b in at[following][:MOST_PLACES])
                if min(gaps) <= NEAR:
                    total += self._rarity[term] + self._rarity[following]
        return total / self._best

    def _dates(self, candidate: Candidate) -> tuple[float, float]:
        """Return whether it mentions the date asked about, and whether it was said then or soon after."""
        day = candidate.row.analysed.entry.time[:10]
        if day not in self._days:
            self._days[day] = self._day(date.fromisoformat(day))
        own_marks, nearness = self._days[day]
        named = self._marks.intersection(candidate.row.analysed.days)
        return float(not named <= own_marks), nearness

    def _day(self, day: date) -> tuple[frozenset[str], float]:
        """Return the date marks of every entry of a day, and how near the day is to the date asked about."""
        own = frozenset((f"d{day:%Y%m%d}", f"m{day:%Y%m}", f"y{day:%Y}"))
        for late, nearness in ((timedelta(), 1.0), (SOON, 0.5)):
            if any(span.first <= day and day - span.last <= late for span in self.question.spans):
                return own, nearness
        return own, 0.0


def rarity(stats: IndexStats, term: str) -> float:
    """Return the inverse document frequency of a term."""
    having = stats.having.get(term, 0)
    return math.log(1 + (stats.entries - having + 0.5) / (having + 0.5)) if stats.entries > having else 0.1


def _named_speakers(question: ParsedQuestion, speakers: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the speakers that a question names, each with the terms that name it."""
    terms = frozenset(question.terms)
    named = {speaker: terms.intersection(map(stem, surface(speaker))) for speaker in speakers}
    return {speaker: names for speaker, names in named.items() if names}


def _similar_names(
    question: ParsedQuestion, speakers: Iterable[str], candidates: Sequence[Candidate]
) -> dict[str, frozenset[str]]:
    """Return the same for speakers whose name the question spells differently: ``Muhammad``, ``Mohammed``.

    People seldom use their own name. A name in a speaker's own messages is therefore that of somebody else.
    """
    used = {
        (candidate.row.entry.speaker, term) for candidate in candidates for term in candidate.own_terms.at
    }
    result: dict[str, frozenset[str]] = {}
    for word in _NAME_INSIDE.findall(question.text):
        term = stem(word.lower())
        similar = [speaker for speaker in speakers if _is_similar(word.lower(), speaker)]
        if len(similar) == 1 and term in question.terms and (similar[0], term) not in used:
            result[similar[0]] = result.get(similar[0], frozenset()) | {term}
    return result


def _is_similar(name: str, speaker: str) -> bool:
    return any(
        word[0] == name[0] and SequenceMatcher(None, name, word).ratio() >= SIMILAR
        for word in surface(speaker)
    )


def dense_features(query_vector: bytes, candidates: Sequence[Candidate]) -> list[DenseFeatures]:
    """Return the features of each candidate by its vector."""
    import numpy as np

    places = {candidate.place: n for n, candidate in enumerate(candidates)}
    vectors = _matrix([candidate.row.vector for candidate in candidates], len(query_vector))
    beside = places.get
    before = np.array([beside((session, kind, n - 1), -1) for session, kind, n in places])
    after = np.array([beside((session, kind, n + 1), -1) for session, kind, n in places])
    padded = np.vstack([vectors, np.zeros((1, len(query_vector)), dtype="f4")])
    window = padded[before] + vectors + padded[after]
    question = _matrix([query_vector], len(query_vector))[0]
    own = vectors @ question
    around = window @ question / np.maximum(np.sqrt((window**2).sum(axis=1)), 1e-6)
    previous = padded[before] @ question
    best: dict[str, float] = {}
    for (session, _, _), near in zip(places, own.tolist(), strict=True):
        best[session] = max(near, best.get(session, -1.0))
    sessions = [best[session] for session, _, _ in places]
    return list(map(DenseFeatures, own.tolist(), around.tolist(), previous.tolist(), sessions))


def _matrix(vectors: Sequence[bytes], numbers: int) -> NDArray[numpy.float32]:
    """Return vectors as rows of unit length; a missing one is all zeros."""
    import numpy as np

    whole = b"".join(v if len(v) == numbers else bytes(numbers) for v in vectors)
    rows = np.frombuffer(whole, dtype=np.int8).reshape(len(vectors), numbers).astype(np.float32)
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit: NDArray[numpy.float32] = rows / np.maximum(lengths, 1e-6)
    return unit
