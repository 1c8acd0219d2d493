"""Open work of the conversation: the user's requests and questions, the model's questions and announcements.

Whether a text of the model is its report is known only afterwards: a report is the last text before the user
speaks again, with no call after it. Until then it counts provisionally, and a call after it cancels that.

If the model only acknowledged or promised something and the user moves on, the item is postponed: only a
report that mentions it closes it. A request repeated in the same words is one item.

A report on a part of what one message asked for ("Implement login, then logout.": "Login is implemented.")
closes the request, and the other parts stay open on their own (see ``request_parts``).

A bare command ("/review") asks for something only if the model works on it before the user speaks again;
otherwise it was for the harness. An announcement is closed if the calls after it name most of its words and
the model speaks of something else, or if files are changed after it and the tests pass then.

A user who only says "go on" closes nothing: the request in progress stays open, whatever the model reported,
and so does a question of the model that these words do not answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from clew.ledger.answers import answers, goes_on, unanswered
from clew.ledger.exchange import Asked, Ended, Exchange, Reading
from clew.ledger.goal import asks_nothing_new, is_command, states_only
from clew.ledger.loop import DECLINED, OF_THE_USER, Closed, Loop, LoopKind, take_closed_by_hand
from clew.ledger.part_reports import announced_stems, left_out, named_in, told_of, work_of
from clew.ledger.phrases import Phrases, is_foreign, sentence_around, sentences_with
from clew.ledger.replies import DeferredRequests, is_refusal, is_report
from clew.ledger.request_parts import MessageParts, request_parts
from clew.ledger.sections import RequestSection, left_sections, numbered_sections
from clew.ledger.stems import stems
from clew.ledger.tool_actions import CHANGING, ActionKind
from clew.message import Cite, Json
from clew.message.patterns import AnyCasePattern, lazy_pattern
from clew.rules.pasted import foreign
from clew.rules.sentences import sentences
from clew.rules.speech import ASSISTANT, USER, Utterance

_LONGEST_REQUEST = 600
_MOST_QUESTIONS, _MOST_ASKED = 12, 4
_MOSTLY = 0.9
"""Share of a text from which it only asks questions; chosen by hand."""
_MOST_BEHIND = 16
"""Requests behind the quoted beginning of a message; with more it is a plan or a specification, and its
excerpt says how much it leaves out. Chosen by hand: of 425 long messages of real users, 87 have up to 6 of
them, 2 have 9 or 11, none has more."""
_MOST_COMPOUND = 8
"""Messages with several parts, the latest, that a report is compared with; chosen by hand."""
_MOST_ENDED_WORDS = 256
"""Index entries of closed items that are tolerated before the index is rebuilt; chosen by hand."""
_LAST_WORDS = 900
_RUNS_TESTS = lazy_pattern(
    r"\b(?:re-?run|run|execute|verify|validate)\b[^.;]*\b(?:tests?|suite|checks?|lint\w*|type-?check\w*)\b",
    re.IGNORECASE,
)
_AFTER_TESTS = lazy_pattern(
    r"\b(?:commit|push|merge|deploy|release|publish|pull\ request|PR|docs?|documentation|README|changelog"
    r"|report|summar\w+|clean\ ?up|then)\b(?!\s+I\b)",
    re.IGNORECASE,
)
"""Steps that follow the tests, or a second step."""
_FEWEST_WORDS, _MISSING = 3, 0.4
"""Content words of an announcement from which it can be recognised in calls, and the share of them that the
calls which carry it out need not name; chosen by hand."""
_NO_TASK = lazy_pattern(
    r"\W*(?:(?:hi|hello|hey|thanks?|thank you|thx|cool|great|nice|perfect|awesome|ok|okay|good|lovely|wow"
    r"|haha|sorry|job|work|very|much|so)\W*)+",
    re.IGNORECASE,
)
_LATER = r"(?:i|we)(?:[’']?ll|\s+(?:will|shall))\s+(?:\w[^.!?\n]{0,120}\s)?(?:later|afterwards|tomorrow)\b"
_PUT_OFF = AnyCasePattern(rf"\b{_LATER}")
"""A promise for another time: the next report does not keep it."""
_PROMISE = AnyCasePattern(
    rf"""
    \b(?:
      (?:next|then|after\s+that|afterwards|once\s+[^.\n]{{3,80}}?)\b,?\s+
      (?:i[’']?ll|i\s+will|i[’']m\s+going\s+to|we[’']?ll)\s+\w+
    | i[’']?(?:ll|\s+will)\s+(?:then|next)\s+\w+
    | next\s+(?:i[’']m|step\s+is|up\s+is|up:|i\s+(?:need|want)\s+to)\b
    | {_LATER}
    )
  | ^\W*(?:next\s+steps?|remaining(?:\s+(?:work|tasks?|steps?))?|still\s+(?:to\s+do|open|left)|to\s+do\s+next
      |follow-?ups?)\W*:\s*\S
    """,
    re.VERBOSE | re.MULTILINE,
)
_OFFER = lazy_pattern(
    r"\W*(?:if|when|once)\s+you(?:[’']d|\s+would)?\s+(?:want|like|prefer|wish|agree|approve)\b", re.IGNORECASE
)
"""How the model offers a step; it is open work only if the user asks for it."""
_PROMISE_PHRASES = Phrases(
    ("next then after afterwards once later tomorrow", "ll ill well will shall going"),
    ("next", "step steps up need want m do"),
    ("still", "do open left"),
    ("remaining followup followups",),
    ("follow", "up ups"),
)
_PROMISE_SIGNS = (
    *("next", "Next", "hen I", "hen,", "hen we", "ll then", "fter that", "fterwards", "nce ", "emaining"),
    *("till to", "till open", "till left", "o do next", "ollow-up", "ollowup", " later", " tomorrow"),
)
"""Substrings of which every announcement contains at least one, as a prefilter."""


@dataclass(slots=True)
class Talk:
    """Tracks the work items of the conversation: requests, questions and announcements.

    Items are closed when the user speaks again, by what the model said last:

    - a report (``report``): what was open is reported done or answered;
    - a statement, and then more calls (``stated``): the user's questions are answered, requests stay open; a
      question that it shares a word with is answered as soon as the model changes files;
    - a refusal, a promise or "ok" (``settles_nothing``): what was open is put off. ``put_off`` keeps it until
      a report mentions its words (``hear`` compares them, ``settle`` removes what was mentioned).

    A call after a text shows that the model went on working, so that text is no report.
    """

    open: dict[str, Loop] = field(default_factory=dict)
    """By id: what was open when the user last spoke, and what was opened since."""
    ended: list[Loop] = field(default_factory=list)
    count: int = 0
    report: Cite | None = None
    """The model's last text, until a call follows it."""
    asked: list[Loop] = field(default_factory=list)
    """The questions at the end of that text."""
    asked_about: list[str] = field(default_factory=list)
    """Stems of the words around that question."""
    settles_nothing: bool = False
    """The model's last text only acknowledged, promised or refused, and no call followed it."""
    put_off: DeferredRequests = field(default_factory=DeferredRequests)
    stated: Cite | None = None
    """The model's last statement since the user last spoke, even if calls followed it."""
    stated_stems: list[str] = field(default_factory=list)
    """Stems of its words, if a question of the user is open."""
    left: list[Loop] = field(default_factory=list)
    """The parts of requests that the report leaves out."""
    sections: list[RequestSection] = field(default_factory=list)
    """The numbered sections of open requests: listed as open only if a report leaves them out."""
    touched: dict[str, bool] = field(default_factory=dict)
    """By stem of a word: what the model stated and worked on since a request of several parts was made; False
    for what it only read."""
    worked: bool = False
    """Whether a call was made since the last text that counted as a report on those parts."""
    command: Loop | None = None
    """The user's last words if they are a bare command and the model has not reacted to it."""
    undone: dict[str, list[str]] = field(default_factory=dict)
    """By id of an announcement: the stems of its words that no call after it names."""
    begun: list[str] = field(default_factory=list)
    """Ids of announcements after which files were changed."""
    _promised: list[str] = field(init=False, default_factory=list)
    _asked_by_tools: list[str] = field(init=False, default_factory=list)
    """Ids of the last announcements, and of questions asked by calls; may include closed ones."""
    _declined: list[str] = field(init=False, default_factory=list)
    """Ids of what the model's last text refused; may include closed ones."""
    _by_words: dict[tuple[LoopKind, str], str] = field(init=False, default_factory=dict)
    """Ids of the user's requests and questions by their words; may include closed ones."""
    _parts: dict[str, MessageParts] = field(init=False, default_factory=dict)
    """By message: the parts of the user's requests and questions in it."""
    _compound: bool = field(init=False, default=False)
    """Whether a message with several parts is open."""

    def __post_init__(self) -> None:
        for loop in (*self.put_off.held.values(), *self.open.values()):
            self._index(loop)
        for loop in self.open.values():
            self._split(loop)
        self._compound |= bool(self.sections)

    def _index(self, loop: Loop) -> None:
        if loop.kind is LoopKind.PROMISE:
            self._promised.append(loop.id)
        elif loop.kind is LoopKind.ASKED:
            self._asked_by_tools.append(loop.id)
        elif loop.kind in OF_THE_USER:
            self._by_words[loop.kind, loop.text] = loop.id
            self._declined += [loop.id] if loop.status == DECLINED else []

    def _split(self, loop: Loop) -> None:
        """Note the parts of a request or question of the user."""
        if loop.kind in OF_THE_USER:
            parts = self._parts.setdefault(loop.source.message, MessageParts())
            parts.add(loop.text, loop.source)
            self._compound |= len(parts.several) > 1

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Return what is open now, taking the latest report into account."""
        waiting = (
            loop for loop in self.open.values() if self.report is None or not _reported(loop, self.report)
        )
        return (*waiting, *self.left, *self.asked, *self.put_off.loops)

    @property
    def closed(self) -> tuple[Loop, ...]:
        """Return what was closed, including what the latest report closes."""
        return (*self.ended, *(self._closed_by_report() if self.report else ()))

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for exchange in reading.exchanges:
            if exchange.action.kind is ActionKind.ASK:
                self._replied(exchange)
        for utterance in reading.said:
            if utterance.speaker is USER:
                self._user_spoke(utterance)
            elif utterance.speaker is ASSISTANT:
                self._model_spoke(utterance)
            else:  # a program or another agent that speaks in the user's place
                self._settle(utterance)
                self._request(utterance)
        if reading.calls:
            self._called(reading.calls)

    def _called(self, calls: list[Asked]) -> None:
        """Stop counting the last text as a report, because the model continued; add questions of calls."""
        self._take_up_command()
        self.report = None
        self.asked = []
        self.settles_nothing = False
        self.left = []
        self.put_off.forget_report()
        self._take_up_declined()
        if self._compound:
            done, looked = work_of(calls)
            self.touched |= dict.fromkeys(sorted(looked - self.touched.keys()), False)
            self.touched |= dict.fromkeys(sorted(done), True)
            self.worked = True
        if self.stated and self.stated_stems and any(asked.action.kind in CHANGING for asked in calls):
            self._answered_on_the_way(self.stated, self.stated_stems)
        if self.undone:
            self._carry_out(calls, calls[0].cite.message)
        for asked in calls:
            if asked.action.kind is ActionKind.ASK:
                for text in _questions_in(asked.action.arguments):
                    self._open(LoopKind.ASKED, text, asked.cite)

    def _take_up_command(self) -> None:
        """Open the command that the model reacts to."""
        if self.command is not None:
            self.open[self.command.id] = self.command
            self._index(self.command)
            self.command = None

    def _carry_out(self, calls: list[Asked], message: str) -> None:
        """Note which words of announcements in earlier messages calls name that do more than look."""
        text = named_in(calls)
        for id_, words in self.undone.items():
            if text and id_ in self.open and self.open[id_].source.message != message:
                self.undone[id_] = [word for word in words if word not in text]
                if id_ not in self.begun and any(asked.action.kind in CHANGING for asked in calls):
                    self.begun.append(id_)

    def tested(self, by: Cite, *, passed: bool) -> None:
        """Close the announcements that a test run or check shows to be carried out."""
        for id_ in tuple(self.undone):
            loop = self.open.get(id_)
            if loop is None or loop.source.message == by.message or _AFTER_TESTS.search(loop.text):
                continue
            if (passed and id_ in self.begun) or _RUNS_TESTS.search(loop.text):
                self._end([id_], Closed.DONE, by)
                del self.undone[id_]

    def _user_spoke(self, utterance: Utterance) -> None:
        self.command = None
        self._settle(utterance)
        questions = list(_questions(utterance))
        if not questions or _says_more(utterance.text, questions):
            self._request(utterance, questions)  # with the words around its questions
            return
        for start, end in questions:
            self._open(LoopKind.QUESTION, utterance.text[start:end], utterance.cite(start, end))

    def _request(self, utterance: Utterance, questions: Iterable[tuple[int, int]] = ()) -> None:
        if _NO_TASK.fullmatch(utterance.text[:_LONGEST_REQUEST]) or states_only(utterance.text):
            return
        if is_command(utterance.text):  # to the harness, unless the model works on it
            self.command = self._new(LoopKind.REQUEST, utterance.text.strip(), _stripped(utterance))
            return
        if goes_on(utterance) and (self.open or self.put_off.held):
            return  # with what is open
        start = len(utterance.text) - len(utterance.text.lstrip())
        end = min(len(utterance.text.rstrip()), start + _LONGEST_REQUEST)
        self._open(LoopKind.REQUEST, utterance.text[start:end], utterance.cite(start, end))
        whole = utterance.cite(0, len(utterance.text))
        more = request_parts(utterance.text, whole, after=end)
        if len(more) > _MOST_BEHIND:
            more = [part for part in more if not part.thing]
        for part in (part for part in more if part.words and len(more) <= _MOST_BEHIND):
            self._open(LoopKind.REQUEST, part.text, part.source)
        for first, last in questions if len(more) > _MOST_BEHIND else ():
            if last > end:
                self._open(LoopKind.QUESTION, utterance.text[first:last], utterance.cite(first, last))
        self.sections += numbered_sections(utterance.text, whole)
        self._compound |= bool(self.sections)

    def _settle(self, utterance: Utterance) -> None:
        """Close what the model's last report closed; the user's words answer its question.

        Without a report nothing else is examined, so a thousand user messages in a row stay cheap.
        """
        continues = goes_on(utterance)
        if self.report is not None:
            for loop in tuple(self._closed_by_report()):
                if not (continues and loop.kind is LoopKind.REQUEST and loop.id in self.open):
                    self.open.pop(loop.id, None)
                    self.ended.append(loop)
            self.put_off.settle()
            for part in () if continues else self.left:
                self.put_off.put(part)
                self._index(part)
            self._forget_parts()
        elif self.stated is not None and not continues:
            self._answered_on_the_way(self.stated)
        elif self.settles_nothing and not continues and not asks_nothing_new(utterance.text):
            self._put_off()
        self._answer(utterance, continues)
        self.report = self.stated = None
        self.asked = []
        self.settles_nothing = False
        self.left = []

    def _forget_parts(self) -> None:
        """Forget the parts of requests that are closed, and what was done since if none is left."""
        waiting = {loop.source.message for loop in self.open.values() if loop.kind in OF_THE_USER}
        self._parts = {message: parts for message, parts in self._parts.items() if message in waiting}
        self.sections = [section for section in self.sections if section.source.message in waiting]
        self._compound = bool(self.sections) or any(len(one.several) > 1 for one in self._parts.values())
        if not self._compound:
            self.touched = {}

    def _leave_out(self, report: str) -> None:
        """Open the parts of requests that a report leaves out, and note what it says is done."""
        done, not_done = told_of(report)
        in_sections = {section.source.message for section in self.sections}
        by_hand = [loop.source for loop in self.ended if loop.closed is Closed.BY_HAND]
        waiting = {loop.source.message for loop in self.open.values() if loop.kind in OF_THE_USER}
        for message, parts in list(self._parts.items())[-_MOST_COMPOUND:]:
            several = parts.several if message not in in_sections else ()
            for part in left_out(several, report, done, not_done, self.touched, self.worked):
                if not any(_holds(closed, part.source) for closed in by_hand):
                    self.left.append(self._new(part.kind, part.text, part.source))
        for section in left_sections(self.sections, report, done, self.touched):
            closed = any(_holds(closed, section.source) for closed in by_hand)
            if section.source.message in waiting and not closed:
                self.left.append(self._new(LoopKind.REQUEST, section.text, section.source))
        self.touched |= dict.fromkeys(sorted(done), True)
        self.worked = False

    def _answered_on_the_way(self, by: Cite, about: Collection[str] = ()) -> None:
        """Close the user's questions: the model said something, went on working, and the user moved on.

        If the user has not, only those that share a word with what the model said.
        """
        questions = [loop for loop in self.open.values() if loop.kind is LoopKind.QUESTION]
        if about:
            questions = [loop for loop in questions if not stems(loop.text).isdisjoint(about)]
        self._end([loop.id for loop in questions if _reported(loop, by)], Closed.ANSWERED, by)

    def _answer(self, utterance: Utterance, continues: bool) -> None:
        """Close the questions of the model that the user's words answer; keep those that "go on" does not."""
        by = utterance.cite(0, len(utterance.text))
        by_tools = [self.open.pop(id_) for id_ in self._asked_by_tools if id_ in self.open]
        answered = [(loop, answers(loop.text, utterance, ())) for loop in by_tools]
        left = unanswered([loop.text for loop in self.asked], utterance, self.asked_about)
        answered += [(loop, place not in left) for place, loop in enumerate(self.asked)]
        self._asked_by_tools = []
        for loop, is_answered in answered:
            if is_answered:
                self.ended.append(loop.ended(Closed.ANSWERED, by))
            else:
                self.put_off.put(loop)
        for id_ in () if continues else self.put_off.questions_in(utterance.text):
            question = self.put_off.take(id_)
            self.ended += [question.ended(Closed.ANSWERED, by)] if question is not None else []

    def _put_off(self) -> None:
        for loop in [loop for loop in self.open.values() if loop.kind is not LoopKind.ASKED]:
            self.put_off.put(self.open.pop(loop.id))
            self._parts.pop(loop.source.message, None)

    def _closed_by_report(self) -> Iterator[Loop]:
        if self.report is None:
            return
        reported = (loop for loop in self.open.values() if _reported(loop, self.report))
        for loop in (*self.put_off.spoken_of, *reported):
            how = Closed.ANSWERED if loop.kind is LoopKind.QUESTION else Closed.REPORTED
            yield loop.ended(how, self.report)

    def _model_spoke(self, utterance: Utterance) -> None:
        """Note what a text of the model means for open work: report, refusal, question, announcement."""
        self._take_up_command()
        self._close_carried_out(utterance)
        self.asked = []
        cite = utterance.cite(0, len(utterance.text))
        if is_report(utterance.text):
            self.report = self.stated = cite
            asked = any(loop.kind is LoopKind.QUESTION for loop in self.open.values())
            self.stated_stems = sorted(stems(utterance.text)) if asked else []
            self.put_off.hear(utterance.text)
            self.left = []
            if self._compound:
                self._leave_out(utterance.text)
        elif self.report is not None and self.report.message != cite.message:
            self.report = cite  # a text after a report continues it; what it announces itself stays open
        self.settles_nothing = self.report is None
        self._take_up_declined()
        if self.settles_nothing and is_refusal(utterance.text):
            self._decline()
        for span in _last_questions(utterance):
            self.asked.append(self._new(LoopKind.ASKED, utterance.text[slice(*span)], utterance.cite(*span)))
        if self.asked:
            self.asked_about = sorted(stems(utterance.text[-_LAST_WORDS:]))
        if _PROMISE_PHRASES.may_match(utterance.text):
            found = sentences_with(_PROMISE, _PROMISE_SIGNS, utterance.text)
            promises = [span for span in found if not _OFFER.match(utterance.text, *span)]
            if promises:
                self._announce(utterance, promises)

    def _close_carried_out(self, utterance: Utterance) -> None:
        """Close the announcements that calls carried out, now that the model speaks again."""
        if not self.undone:
            return
        for id_, missing in tuple(self.undone.items()):
            loop = self.open.get(id_)
            words = announced_stems(loop.text) if loop else ()
            if loop is None:
                del self.undone[id_]
            elif len(words) >= _FEWEST_WORDS and len(missing) <= len(words) * _MISSING:
                self._end([id_], Closed.DONE, utterance.cite(0, len(utterance.text)))
                del self.undone[id_]

    def _decline(self) -> None:
        """Mark what the user asked last as declined."""
        last = ""
        for loop in reversed(self.open.values()):
            if loop.kind in OF_THE_USER:
                if last and loop.source.message != last:
                    return
                last = loop.source.message
                self.open[loop.id] = replace(loop, status=DECLINED)
                self._declined.append(loop.id)

    def _take_up_declined(self) -> None:
        """Remove that mark, because the model continues after all."""
        for id_ in self._declined:
            if id_ in self.open:
                self.open[id_] = replace(self.open[id_], status="")
        self._declined = []

    def _announce(self, utterance: Utterance, promises: list[tuple[int, int]]) -> None:
        """Open what the model says it will do later or next; it replaces earlier announcements."""
        later = [span for span in promises if _PUT_OFF.search(utterance.text, *span)]
        for start, end in later:
            self.put_off.put(
                self._new(LoopKind.PROMISE, utterance.text[start:end], utterance.cite(start, end))
            )
        coming = [span for span in promises if span not in later]
        if not coming:
            return
        self._end(self._promised, Closed.REPLACED, utterance.cite(coming[0][0], coming[-1][1]))
        self._promised = []
        self.undone, self.begun = {}, []
        for start, end in coming:
            self._open(LoopKind.PROMISE, utterance.text[start:end], utterance.cite(start, end))
            self.undone[self._promised[-1]] = sorted(announced_stems(utterance.text[start:end]))

    def _replied(self, exchange: Exchange) -> None:
        """Close the questions that a tool asked the person, now that the result is here."""
        how = Closed.ANSWERED if exchange.outcome.ended is Ended.OK else Closed.REFUSED
        open_ones = [self.open[id_] for id_ in self._asked_by_tools if id_ in self.open]
        self._end([loop.id for loop in open_ones if loop.source == exchange.asked], how, exchange.answered)
        self._asked_by_tools = [loop.id for loop in open_ones if loop.id in self.open]

    def _end(self, ids: Iterable[str], how: Closed, by: Cite) -> None:
        """Close those of these ids that are still open."""
        for id_ in ids:
            loop = self.open.pop(id_, None)
            if loop is not None:
                self.ended.append(loop.ended(how, by))

    def _new(self, kind: LoopKind, text: str, source: Cite) -> Loop:
        self.count += 1
        return Loop(f"q{self.count}", kind, text, source)

    def _open(self, kind: LoopKind, text: str, source: Cite) -> None:
        if kind in OF_THE_USER and self._is_asked_again(kind, text):
            return
        loop = self._new(kind, text, source)
        self.open[loop.id] = loop
        self._index(loop)
        self._split(loop)

    def _is_asked_again(self, kind: LoopKind, text: str) -> bool:
        """Return True if the same words are open already; if they were postponed, they are open again."""
        held = self.put_off.held
        if len(self._by_words) > 2 * (len(held) + len(self.open)) + _MOST_ENDED_WORDS:
            self._by_words = {
                (loop.kind, loop.text): id_ for id_, loop in (*held.items(), *self.open.items())
            }
        id_ = self._by_words.get((kind, text), "")
        put_off = self.put_off.take(id_)
        if put_off is not None:
            self.open[id_] = replace(put_off, status="")
        return id_ in self.open

    # What a person does by hand --------------------------------------------------------------------------

    def close(self, id_: str, why: str) -> Loop | None:
        """Close an item by hand; None if it is not one of these, or not open."""
        loop = next((loop for loop in self.loops if loop.id == id_), None)
        if loop is None:
            return None
        self.open.pop(id_, None)
        self.put_off.take(id_)
        self.left = [part for part in self.left if part.id != id_]
        self.asked = [question for question in self.asked if question.id != id_]
        self.ended.append(loop.closed_by_hand(why))
        return self.ended[-1]

    def reopen(self, id_: str) -> Loop | None:
        """Reopen an item that was closed by hand; None if it is not one of these."""
        loop = take_closed_by_hand(self.ended, id_)
        if loop is None:
            return None
        if self.report is not None and _reported(loop, self.report):
            self.put_off.put(loop)  # that report came before: only one that mentions it closes it
        else:
            self.open[id_] = loop
        self._index(loop)
        return loop


def _reported(loop: Loop, report: Cite) -> bool:
    """Return True if a report closes an item: everything opened before it, not what it announces itself."""
    return loop.kind is not LoopKind.ASKED and loop.source.message != report.message


def _stripped(utterance: Utterance) -> Cite:
    text = utterance.text
    return utterance.cite(len(text) - len(text.lstrip()), len(text.rstrip()))


def _holds(outer: Cite, inner: Cite) -> bool:
    """Return True if a place is within another one."""
    if outer[:2] != inner[:2]:
        return False
    return outer.start <= inner.start and (outer.end is None or (inner.end or outer.end + 1) <= outer.end)


def _says_more(text: str, questions: list[tuple[int, int]]) -> bool:
    """Return True if the user's own words say more than these questions; pasted text does not count."""
    asked = sum(end - start for start, end in questions)
    if len(text) <= _LONGEST_REQUEST:
        return asked < len(text.strip()) * _MOSTLY
    pasted = foreign(text)
    own = sum(
        sentence.end - sentence.start
        for sentence in sentences(text)
        if not any(start <= sentence.start < end for start, end in pasted)
        and not _NO_TASK.fullmatch(sentence.text)
    )
    return asked < own * _MOSTLY


def _questions(utterance: Utterance) -> Iterator[tuple[int, int]]:
    """Yield the questions in the user's own words, not those in pasted text."""
    if "?" not in utterance.text and "？" not in utterance.text:
        return
    found = 0
    for sentence in sentences(utterance.text):
        if sentence.text.rstrip("\"'”’)*_` ").endswith(("?", "？")) and len(sentence.text) > 3:
            yield sentence.start, sentence.end
            found += 1
            if found == _MOST_QUESTIONS:
                return


def _last_questions(utterance: Utterance) -> list[tuple[int, int]]:
    """Return the question that ends a text of the model, with those right before it."""
    text = utterance.text.rstrip()
    at = max(text.rfind("?"), text.rfind("？"))
    if at < max(0, len(text) - _LAST_WORDS) or is_foreign(text, at):
        return []
    start, end = sentence_around(text, at, at + 1)
    if text[end - 1] not in "?？\"'”’)*_`" or len(text) - end >= _LAST_WORDS // 2:
        return []
    found = [(start, end)]
    from_ = max(0, len(text) - _LAST_WORDS)
    if "?" in text[from_:start]:
        before = [one for one in sentences(text[from_:start]) if any(map(str.isalpha, one.text))]
        for sentence in reversed(before[1 - _MOST_ASKED :]):
            if not sentence.text.endswith("?"):
                break
            found.insert(0, (sentence.start + from_, sentence.end + from_))
    return found


def _questions_in(arguments: dict[str, Json]) -> Iterator[str]:
    rows = arguments.get("questions")
    for row in rows if isinstance(rows, list) else [arguments]:
        text = row.get("question") if isinstance(row, dict) else None
        if isinstance(text, str) and text:
            yield text
