"""Decide whether a reply of the model reports a result, or leaves what was asked open.

"Noted.", "I will look at it", "I won't" and "I don't know" finish no open work: a text that only
acknowledges, promises, refuses or does not know is not a report (``is_report``). "The login works now." is
one. ``Talk`` closes requests by it; ``part_reports`` reads the single sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.checklist import only_lists_open_tasks
from clew.message.text import lazy_pattern
from clew.rules.prefilter import CHUNKS, MARKS

LONGEST_HOLLOW = 400
"""Characters above which a text always counts as a report; chosen by hand."""
_LONGEST_REFUSAL = 1_200
"""Characters of a text that only refuses or does not know; chosen by hand."""


def is_report(text: str) -> bool:
    """Return True if a text of the model can finish open work: it states a result or what was done."""
    if _unsettled(text) or only_lists_open_tasks(text):
        return False
    if len(text) <= LONGEST_HOLLOW and _breaks_off(text):
        return False
    return len(text) > LONGEST_HOLLOW or any(
        _states_result(sentence[0]) for sentence in _SENTENCE.finditer(text)
    )


def _breaks_off(text: str) -> bool:
    if text.isascii() and not MARKS[text] & _NOT_FINISHED_MARK:
        return False
    return _NOT_FINISHED.search(text) is not None


def is_refusal(text: str) -> bool:
    """Return True if a text of the model refuses what was asked, and offers nothing instead."""
    found = _unsettled(text)
    return found is not None and found["refuses"] is not None


def _unsettled(text: str) -> re.Match[str] | None:
    """Return the refusal or "don't know" that a text begins with; None if it offers something instead."""
    if len(text) > _LONGEST_REFUSAL:
        return None
    found = _UNSETTLED.match(text, _opener_end(text))
    return found if found and not _OFFERS_INSTEAD.search(text, found.end()) else None


def _states_result(sentence: str) -> bool:
    text = sentence.strip()
    if text[-1:] == "?" or not any(map(str.isalnum, text)):
        return False
    start = _opener_end(text)
    if start == len(text) and _COURTESIES.fullmatch(text):
        return False
    ahead = _AHEAD.match(text, start)
    return ahead is None or _RESULT_AFTER_COLON.search(text, ahead.end()) is not None


def _opener_end(text: str) -> int:
    """Return where a text goes on after courtesies and words such as "yes" and "now"."""
    first = _FIRST_WORD.match(text)
    word = first[1].lower() if first else ""
    if first and word.isascii() and word not in _OPENING_WORDS and word[:2] != "hm":
        return first.start(1)  # most texts: this takes a third of the time of the whole pattern
    opener = _OPENER.match(text)
    return opener.end() if opener else 0


def result_sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text of the model, each with whether it states a result."""
    for sentence in _SENTENCE.finditer(text):
        if sentence[0].strip():
            yield sentence[0], _states_result(sentence[0])


def says_all_done(text: str) -> bool:
    """Return True if a text says that everything is done."""
    if text.isascii() and not MARKS[text] & _ALL_MARK:
        return False
    return _ALL_DONE.search(text) is not None


# What the patterns recognise ---------------------------------------------------------------------------

_SENTENCE = lazy_pattern(r"[^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
"""One sentence or line; a full stop within a word does not end it."""
_COURTESY = (
    r"(?:thanks?(?:\ you|\ a\ lot)?|thx|ok(?:ay)?|noted|understood|got\ it|i\ see|i\ understand"
    r"|sure(?:\ thing)?"
    r"|certainly|of\ course|absolutely|alright|all\ right|right|great|good|fine|perfect|acknowledged"
    r"|roger|copy\ that|makes\ sense|sounds\ good|no\ (?:problem|worries)|you[’']?re\ welcome|my\ pleasure"
    r"|happy\ to(?:\ (?:help|assist)(?:\ you)?(?:\ with\ (?:that|this|it))?)?"
    r"|sorry|apologies|i\ apologi[sz]e|good\ (?:point|catch|question|idea)|interesting|hm+|hi|hello|hey"
    r"|for\ (?:that|this|the\ \w+|your\ (?:\w+\ ){0,2}\w+|letting\ me\ know|flagging\ (?:it|this|that))"
    r"|verstanden|alles\ klar|(?:das\ )?mache?\ ich(?:\ gleich)?|d[’']accord|compris|entendido|capito"
    r"|понял[аи]?|хорошо|了解(?:しました|です)?|承知しました|わかりました|好的|明白了?)"
)
"""One courtesy, in several languages: "got it", "verstanden"."""
_COURTESIES = lazy_pattern(rf"\W*+(?:{_COURTESY}\b\W*+)*+", re.IGNORECASE)
"""A text of courtesies only: "Okay, thanks!"."""
_OPENER = lazy_pattern(rf"\W*+(?:(?:{_COURTESY}|yes|yeah|yep|no|so|and|then|but|now)\b\W*+)*+", re.IGNORECASE)
"""Courtesies, "yes", "so" and the like at the beginning of a text."""
_FIRST_WORD = lazy_pattern(r"\W*+(\w*+)")
"""The first word of a text."""
_OPENING_WORDS = frozenset(
    """
    thank thanks thx ok okay noted understood got i sure certainly of absolutely alright all right great good
    fine perfect acknowledged roger copy makes sounds no you youre my happy sorry apologies interesting hi
    hello hey for yes yeah yep so and then but now verstanden alles das mach mache d compris entendido capito
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""The first words of all that it matches but "hm"."""
_AHEAD = lazy_pattern(
    r"""(?:first(?:\ of\ all)?\b\W*)?+(?:
      (?:i|we)(?:[’']ll|\ will|\ shall|[’']?m\ going\ to|\ am\ going\ to|[’']re\ going\ to)\b
    | (?:i|we)\ (?:have\ to|need\ to|must|should|want\ to)\ (?:\w+\ )?
      (?:check|look|see|think|find\ out|investigate|ask)\b
    | (?:let\ me|let[’']?s|allow\ me\ to|give\ me\ a|one\ (?:moment|sec)|just\ a\ (?:moment|sec)|hold\ on)\b
    | on\ it\b
    | (?:i|we)\ can\ (?:\w+ly\ )?(?:do|handle|check|take\ care\ of|look\ into)\ (?:that|this|it|both|all)\b
    | (?:i|we)(?:\ can|\ could|[’']?m|\ am|\ are|[’']d|\ would)
      \ (?:(?:be|happy|glad|here|\w+ly|more|than|to)\ )*+(?:help|assist)\b
    | (?:to\b[^.!?\n,]{1,120},\ )?(?:i|we)(?:[’']ll|\ will)?\ (?:\w+\ )?(?:need|require)
      \ (?:your|the\ following|you)\b
    | please\ (?:\w+ly\ )?
      (?:provide|share|tell|send|give|specify|confirm|clarify|choose|select|enter|let\ me\ know)\b
    | (?:will|going\ to|about\ to)\s
    | (?:i[’']?m\ |i\ am\ |now\ )?
      (?:starting|beginning|looking|working|checking|investigating|getting\ started|proceeding)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Openings of sentences about future work, or about what the user should say first."""
_UNSETTLED = lazy_pattern(
    r"""(?:unfortunately,?\ )?(?:
      i\ (?:really\ |honestly\ )?(?:don[’']?t|do\ not)[ ]
      (?:know|have\ (?:an?\ answer|any\ idea|that\ information))\b
    | i[’']?m\ not\ (?:sure|certain)\b | i\ am\ not\ (?:sure|certain)\b | (?:i\ have\ )?no\ idea\b
    | i\ (?:can[’']?t|cannot|can\ not)\ (?:tell|say|answer)\b | not\ sure\b | don[’']?t\ know\b
    | i\ (?:could\ not|couldn[’']?t|was(?:\ not|n[’']?t)\ able\ to|failed\ to|ran\ out\ of|have\ no\ tool)\b
    | (?P<refuses>
        i\ (?:won[’']?t|will\ not|refuse|decline|must\ decline|have\ to\ decline|would\ rather\ not)\b
      | i[’']?m\ not\ (?:going|willing|able)\ to\b | i[’']?m\ unable\ to\b
      | i\ am\ (?:not\ able|unable)\ to\b
      | i\ (?:can[’']?t|cannot|can\ not)\ (?:do|help|assist|comply|fulfil)
      | (?:that[’']?s\ |this\ is\ |request\ )?declined\b)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Openings of sentences that refuse, failed, or know no answer."""
_NOT_FINISHED = lazy_pattern(
    r"""\A\W*(?:request\ (?:interrupted|timed\ out|aborted)|(?:api\ )?error\b[^\n]{0,80}?
      (?:\b[45]\d\d\b|overloaded|timed?\ ?out|rate\ limit))
    | \b(?:had\ to\ stop|half[ -](?:done|finished)|ran\ out\ of\ (?:tokens|context|time)
      |before\ (?:finishing|completing))\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What a short text says that ends the work before it is done, such as the error of a provider."""
_NOT_FINISHED_MARK = CHUNKS.mark_words(
    ("request", "api", "error", "stop", "half", "ran", "finishing", "completing")
)
"""Set for texts with a word of ``_NOT_FINISHED``; others are not searched."""
_OFFERS_INSTEAD = lazy_pattern(r"\b(?:but|however|though|instead|because\ it|so\ i)\b", re.IGNORECASE)
"""A refusal that offers something else: "I can't push, but the branch is ready"."""
_RESULT_AFTER_COLON = lazy_pattern(r":\s+(?:\S+\s+){2}\S")
"""A result after an announcement: "Let me explain: the cache was stale"."""
_ALL_DONE = lazy_pattern(
    r"""\b(?:everything(?!\ else)\b[^.!?\n]{0,40}
    | all(?:\ of)?(?:\ (?:the|these|those|your|my|our|that|this|it|them))?
      (?:\ (?:\d+|two|three|four|five|six|seven|eight|nine|ten))?
      (?:\ (?:[\w-]+\ ){0,2}(?:tasks?|items?|points?|things?|requests?|changes?|steps?|parts?|fixes|to-?dos?
        |requirements?|questions?|issues?|bugs?|work|slices?|phases?|stages?|milestones?|features?|actions?|edits?
        |findings?|comments?)(?:\ (?:from|for|of|identified|across)\ [^.!?\n]{1,30}?)?)?
      (?:,?\ (?:is|are|was|were|has|have|been|now|should|be|you|i|we|that|which|asked|for|requested|wanted
        |listed|above|below|already|successfully|fully))*\ )
    \b(?:done|finished|completed?|in\ place|implemented|fixed|resolved)\b
    | \b(?:alles|alle\ \w+|todo|tout|tutto|tudo)\b[^.!?\n]{0,40}
    \b(?:erledigt|fertig|gemacht|hecho|listo|fait|terminé|fatto|feito|klaar|gedaan)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""That everything is done, or all of the work; "all tests are in place" speaks of the tests alone."""
_ALL_MARK = CHUNKS.mark_words(("all", "everything", "alles", "alle", "todo", "tout", "tutto", "tudo"))
"""Set for texts with a word of ``_ALL_DONE``; others are not searched."""
