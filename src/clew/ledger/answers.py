"""Decide whether the user's words answer a question of the model, or only tell it to continue.

"Postgres" answers "Which database?"; "go on" does not; "What does the log say?" asks for something else.
``Talk`` closes the questions that are answered and puts off the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from clew.ledger.request_words import asks_for_something
from clew.ledger.stems import stems
from clew.message.text import lazy_pattern
from clew.rules.languages import is_english
from clew.rules.speech import USER, Utterance
from clew.rules.words import words_again

_READ = 600
"""Characters of the user's words that are read; chosen by hand."""
_FEW_WORDS = 5
"""Words of an answer up to which it answers no more questions than it has clauses; chosen by hand."""
_OF_ITS_OWN = 3
"""Content words from which a question says what it is about; a shorter one needs the words around it."""


def goes_on(utterance: Utterance) -> bool:
    """Return True if the user only tells the model to continue."""
    return utterance.speaker is USER and _GO_ON.fullmatch(utterance.text[:_READ]) is not None


def answers(question: str, utterance: Utterance, around: Collection[str]) -> bool:
    """Return True unless the user only tells the model to continue, or asks for something else.

    "Go on" answers a question if a yes comes with it, or if the model asked for permission. A request or a
    question of the user does not answer one that it shares no word with. ``around`` are the stems of the
    words around the question; without them (a question of a tool) any words but "go on" answer it.
    """
    text = utterance.text[:_READ]
    about = stems(question)
    if _puts_off(text, about):
        return False
    if around and _only_asks(text) and (_IS_CHOICE.search(question) or not _IS_OPEN.search(question)):
        return not stems(text).isdisjoint((*about, *around))  # a question on another matter answers none
    if _ASKS_LEAVE.search(question):
        return True
    if goes_on(utterance):
        return _YES_OR_NO.search(text) is not None
    if not around or _IS_OPEN.search(question) or _IS_ANSWER.search(text) or not asks_for_something(text):
        return True
    return not stems(text).isdisjoint(about if len(about) >= _OF_ITS_OWN else around)


def _puts_off(text: str, about: Collection[str]) -> bool:
    """Return True if a text only says that the answer will come later: "let me check with Ana"."""
    rest = _without_postponed(text)
    if rest is None:
        return False
    clauses = [clause for clause in _CLAUSE.split(rest) if not asks_for_something(clause)]
    return not any(_DECIDES.search(clause) or not stems(clause).isdisjoint(about) for clause in clauses)


def _without_postponed(text: str) -> str | None:
    """Return a text without the clauses that put an answer off; None if it has no such clause."""
    if not any(map(text.lower().__contains__, _POSTPONING_SIGNS)) or not _POSTPONES.search(text):
        return None
    return ". ".join(clause for clause in _CLAUSE.split(text) if not _POSTPONES.search(clause))


def _only_asks(text: str) -> bool:
    """Return True if a text is one question in English, and not part of an answer."""
    is_question = text.rstrip().endswith("?") and _ENDS_WITHIN.search(text) is None
    return is_question and not _CHOOSES.search(text) and is_english(text, words_again(text))


def unanswered(questions: Sequence[str], utterance: Utterance, around: Collection[str]) -> set[int]:
    """Return which of several questions, asked in one text, the user's words do not answer.

    Words that speak of one question, and say no more than that, leave the others open.
    """
    left = {place for place, question in enumerate(questions) if not answers(question, utterance, around)}
    if len(questions) < 2 or goes_on(utterance):
        return left
    text = utterance.text[:_READ]
    rest = _without_postponed(text)
    text = text if rest is None else rest
    said = stems(text)
    about = [stems(question) for question in questions]
    shared = {word for place, words in enumerate(about) for word in words if _in_others(word, about, place)}
    spoken_of = {place for place, words in enumerate(about) if not said.isdisjoint(words - shared)}
    if not spoken_of:
        return left | _left_by_few_words(questions, text)
    clauses = [clause for clause in _CLAUSE.split(text) if _says_something(clause)]
    if len(clauses) < len(questions):
        return set(range(len(questions))) - spoken_of
    postponed = stems(utterance.text[:_READ]) - said
    return {place for place, words in enumerate(about) if not postponed.isdisjoint(words)} - spoken_of


def _left_by_few_words(questions: Sequence[str], text: str) -> set[int]:
    """Return which questions a few words leave open: "yes" names nothing, a name is no yes or no."""
    clauses = [clause for clause in _CLAUSE.split(text) if any(map(str.isalnum, clause))]
    if len(text.split()) > _FEW_WORDS or len(clauses) >= len(questions) or _ANSWERS_ALL.search(text):
        return set()
    open_ones = [n for n, question in enumerate(questions) if not _ASKS_YES_OR_NO.match(question)]
    if _YES_OR_NO.search(text):
        return set(open_ones) if len(open_ones) < len(questions) else set()
    if not open_ones or _IS_ANSWER.search(text):
        return set()
    return set(range(len(questions))) - set(open_ones[: len(clauses)])


def _in_others(word: str, about: Sequence[frozenset[str]], place: int) -> bool:
    return any(word in words for other, words in enumerate(about) if other != place)


def _says_something(clause: str) -> bool:
    return _YES_OR_NO.sub("", clause).strip(" .!\n") != ""


# What the patterns recognise ---------------------------------------------------------------------------

_GO_ON = lazy_pattern(
    r"""\W*+(?:(?:yes|yeah|yep|ok|okay|sure|no|fine|please|thanks|thank\ you|great|good|nice
      |perfect|cool|and|then|now|just|so|bitte|dann|por\ favor)\b\W*+)*+
    (?:go\ on|go\ ahead|keep\ going|carry\ on|move\ on|continue|proceed|resume|next|go
      |weiter(?:machen)?|mach\ weiter|fahr\ fort
      |continue[rz]|vas-y|contin[uú]a|sigue|prosegui|vai\ avanti|продолжай(?:те)?|继续|繼續|続けて)
    (?:\W++(?:please|then|now|on|with\ (?:it|that|this)|thanks|bitte|吧|ください))*+\W*+""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that only tell the model to continue, perhaps after a yes. No group captures: in a possessive
repetition that makes ``re`` fail with a SystemError in Python 3.11."""
_YES_OR_NO = lazy_pattern(r"\b(?:yes|yeah|yep|ok|okay|sure|no|fine)\b", re.IGNORECASE)
"""A yes or no anywhere in the answer."""
_ASKS_LEAVE = lazy_pattern(
    r"""\b(?:shall|should|can|may|could)\ (?:i|we)\b|\bme\ to\b|\byou\ (?:like|want)\b
    |\b(?:ok|okay|fine|good|ready)(?:\W*$|\ (?:to|if|with)\b)|^\W*(?:proceed|continue|go\ (?:on|ahead))\b
    |\b(?:soll(?:en|te)?\ (?:ich|wir)|möchtest\ du|dois-je|veux-tu|quieres\ que|vuoi\ che)\b
    |要我|继续|よろしい""",
    re.VERBOSE | re.IGNORECASE,
)
"""A question whether to continue, which "go on" answers."""
_IS_OPEN = lazy_pattern(
    r"""\b(?:what|which|how|where)\b.{0,60}
      \b(?:next|else|first|now|start|proceed|continue|help|do|work\ on|like|want|prefer|approach|direction)\b
    | \b(?:any|anything|additional|something\ else|other|ready|want\ to|make\ sense|questions)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""A question that any request answers: what to do next, or anything else."""
_IS_ANSWER = lazy_pattern(
    r"""\b(?:yes|yeah|yep|yup|ok|okay|sure|no|nope|nah|fine|both|either|neither|none|first|second|third|last
      |latter|former|option|whatever|always|never|keep|leave|skip|ignore|instead|prefer|rather|actually|use
      |do\ it|do\ that|go\ with|up\ to\ you|your\ choice|don[’']t\ know|not\ sure|it|its|it[’']s|that|this
      |them|they|these|those|one)\b | ^\W*(?:[a-d]|\d{1,2})\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that show that the user answers, or refers to what the model said."""
_CHOOSES = lazy_pattern(
    r"\b(?:yes|yeah|yep|yup|ok|okay|sure|no|nope|both|either|neither|first|second|latter|former|option)\b",
    re.IGNORECASE,
)
"""Words of an answer that may come with a question of the user's own."""
_IS_CHOICE = lazy_pattern(r"\b(?:which|prefer)\b", re.IGNORECASE)
"""A question that lets the user choose: "Which one do you prefer?"."""
_ENDS_WITHIN = lazy_pattern(r"[.!?…;:]\s+\w|\n")
"""The end of a sentence before the end of the text."""
_POSTPONES = lazy_pattern(
    r"""\b(?:let\ me|lemme|gotta|i(?:[’']?ll|\ will)|(?:i|we)(?:[’']ll|\ will)?\ (?:need|have)\ to|i\ must)
      \ (?:\w+\ )?
      (?:(?:check|confirm|clarify|think)(?:\ (?:it|that|this|over|first|again))*
          \ *(?:\bwith\b|\babout\b|[^\w\s]|\Z)
        |ask\b(?!\ you)|get\ back\b|find\ out\b|let\ you\ know\b|come\ back\ to\ (?:you|that|this)\b
        |sleep\ on\b|talk\ to\b|discuss\ (?:it|that|this)\b|consult\b|look\ (?:it|that|this)\ up\b)
    | \bget\ back\ to\ you\b | \b(?:ask|remind)\ me\ (?:again\ )?(?:later|tomorrow|next)\b
    | \b(?:not\ sure|don[’']?t\ know|can[’']?t\ say|no\ idea|no\ decision|undecided)\ yet\b
    | \b(?:(?:i|we)(?:[’']?ll|\ will)|let[’']?s)\ (?:decide|answer|settle|see)
      \ (?:\w+\ ){0,3}(?:later|tomorrow|soon)\b
    | \btbd\b | \bto\ be\ decided\b
    | \bwaiting\ (?:for|on)\ (?:\w+\ ){1,4}?(?:answer|reply|decision|approval|confirmation)\b
    | \b(?:muss|werde)\ ich\ (?:\w+\ ){0,4}?(?:fragen|klären|nachfragen|prüfen|überlegen)\b
    | \bich\ (?:kläre|frage|überlege|melde\ mich)\b | \bweiß\ ich\ noch\ nicht\b
    | \bje\ (?:vais\ )?(?:demander?|vérifier?|reviens\ vers)\b
    | \b(?:te\ aviso|tengo\ que\ preguntar|lo\ consulto)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that put an answer off: "let me check with ops", "I'll get back to you"."""
_POSTPONING_SIGNS = (
    *("let me", "lemme", "gotta", "i ", "i'", "i’", "we", "ill ", "get back", "me again", "me later"),
    *("yet", "let's", "let’s", "tbd", "decided", "waiting", "ich", "je ", "te aviso", "tengo", "consulto"),
)
"""Substrings of which each text that puts an answer off has one, as a prefilter."""
_DECIDES = lazy_pattern(
    r"\b(?:yes|yeah|yep|no|nope|use|go\ with|keep|leave|for\ now|up\ to\ you|you\ (?:decide|choose)|either"
    r"|whichever|whatever|stick|pick|take|option)\b",
    re.IGNORECASE,
)
"""Words that answer after all: "I'll ask, but use UTC for now"."""
_ANSWERS_ALL = lazy_pattern(
    r"\b(?:both|all|either|neither|none|whatever|whichever|up\ to\ you|you\ (?:decide|choose)"
    r"|your\ (?:call|choice)|everything|care|preference)\b",
    re.IGNORECASE,
)
"""A few words for all of several questions: "up to you"."""
_ASKS_YES_OR_NO = lazy_pattern(
    r"(?!.*\bor\b)[\W\d]*(?:(?:and|so|also|then)\b\W*)*"
    r"(?:should|shall|do|does|did|is|are|was|were|can|could|may|will|would|has|have)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A question that wants a yes or no; "should I use A or B" wants a name."""
_CLAUSE = lazy_pattern(r"[.;,!?\n]+\s*|\s+and\s+", re.IGNORECASE)
"""What separates the clauses of an answer: "the first, and use Postgres"."""
