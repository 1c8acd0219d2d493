"""Open work of the conversation: the user's requests and questions, the model's questions and announcements.

Whether a text of the model is its report is known only afterwards: a report is the last text before the user
speaks again, with no call after it. Until then it counts provisionally, and a call after it cancels that.
``Talk`` is a small state machine over four kinds of events (the user speaks, the model speaks, the model
calls tools, a tool brings the user's answer), with one object for each thing that it waits for:

- ``LastReply``: what the model said since the user last spoke, and whether that reports anything;
- ``CompoundRequests``: the parts of open requests, of which a report may leave some out;
- ``Announcements``: what the model said it would do next, until it is done;
- ``DeferredRequests``: what was put off; only a report that mentions it closes it.

If the model only acknowledged or promised something and the user moves on, the item is put off. A request
repeated in the same words is one item. A report on a part of what one message asked for closes the request,
and the other parts stay open on their own. A report that says itself that the work is not done ("seven of the
twelve", "not started yet") closes no request to do something; what a long one leaves is open by itself. A
bare command ("/review") asks for something only if the model works on it before the user speaks again;
otherwise it was for the harness. A user who only says "go on" closes nothing: the request in progress stays
open, whatever the model reported, and so does a question of the model that these words do not answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clew.ledger.announcements import Announcements, announced_steps
from clew.ledger.answers import answers, goes_on, unanswered
from clew.ledger.awaiting import asks_about, needs_answer, reports_work
from clew.ledger.checklist import only_lists_open_tasks
from clew.ledger.compound import CompoundRequests
from clew.ledger.deferred import DeferredRequests
from clew.ledger.exchange import Asked, Exchange, Reading
from clew.ledger.last_reply import LastReply, is_before
from clew.ledger.loop import DECLINED, OF_THE_USER, Closed, Loop, LoopKind, take_closed_by_hand
from clew.ledger.non_requests import asks_nothing_new, is_command, is_confirmation, is_tag, states_only
from clew.ledger.outcome import Ended
from clew.ledger.questions import (
    LAST_WORDS,
    LONGEST_REQUEST,
    NO_TASK,
    last_questions,
    questions_in_call,
    questions_of_user,
    says_more_than,
)
from clew.ledger.replies import is_refusal, is_report
from clew.ledger.request_parts import request_parts
from clew.ledger.request_words import verbs_of_work
from clew.ledger.stems import stems
from clew.ledger.tool_actions import CHANGING, ActionKind
from clew.ledger.turns import is_acknowledgement
from clew.ledger.unfinished import DividedReply, divided, may_be_answered, speaks_of_itself
from clew.ledger.withdrawals import Withdrawal, withdrawal_in
from clew.message import Cite
from clew.rules.pasted import pasted_document
from clew.rules.speech import ASSISTANT, USER, Utterance

_MOST_LATER = 16
"""Requests after the quoted beginning of a message; with more it is a plan or a specification, and its
excerpt says how much it leaves out. Chosen by hand: of 425 long messages of real users, 87 have up to 6 of
them, 2 have 9 or 11, none has more."""
_CHANGING = tuple(CHANGING)
"""The same as a tuple, which is searched without a call."""
_MOST_ENDED_WORDS = 256
"""Index entries of closed items that are tolerated before the index is rebuilt; chosen by hand."""


@dataclass(slots=True)
class Talk:
    """Tracks the work items of the conversation: requests, questions and announcements."""

    open: dict[str, Loop] = field(default_factory=dict)
    """By id: what was open when the user last spoke, and what was opened since."""
    ended: list[Loop] = field(default_factory=list)
    count: int = 0
    reply: LastReply = field(default_factory=LastReply)
    compound: CompoundRequests = field(default_factory=CompoundRequests)
    announced: Announcements = field(default_factory=Announcements)
    put_off: DeferredRequests = field(default_factory=DeferredRequests)
    command: Loop | None = None
    """The user's last words if they are a bare command and the model has not reacted to it."""
    _promised: list[str] = field(init=False, default_factory=list)
    _asked_by_tools: list[str] = field(init=False, default_factory=list)
    """Ids of the last announcements, and of questions asked by calls; may include closed ones."""
    _declined: list[str] = field(init=False, default_factory=list)
    """Ids of what the model's last text refused; may include closed ones."""
    _by_words: dict[tuple[LoopKind, str], str] = field(init=False, default_factory=dict)
    """Ids of the user's requests and questions by their words; may include closed ones."""

    def __post_init__(self) -> None:
        for loop in (*self.put_off.held.values(), *self.open.values()):
            self._index(loop)
        for loop in self.open.values():
            if loop.kind in OF_THE_USER:
                self.compound.add(loop)

    def _index(self, loop: Loop) -> None:
        if loop.kind is LoopKind.PROMISE:
            self._promised.append(loop.id)
        elif loop.kind is LoopKind.ASKED:
            self._asked_by_tools.append(loop.id)
        elif loop.kind in OF_THE_USER:
            self._by_words[loop.kind, loop.text] = loop.id
            self._declined += [loop.id] if loop.status == DECLINED else []

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Return what is open now, taking the latest report into account."""
        waiting = (loop for loop in self.open.values() if not self.reply.closes(loop))
        return (*waiting, *self.reply.left, *self.reply.asked, *self.put_off.loops)

    @property
    def closed(self) -> tuple[Loop, ...]:
        """Return what was closed, including what the latest report closes."""
        return (*self.ended, *self._closed_by_report())

    def _closed_by_report(self) -> Iterator[Loop]:
        report = self.reply.report
        if report is None:
            return
        reported = (loop for loop in self.open.values() if self.reply.closes(loop))
        for loop in (*self.put_off.spoken_of, *reported):
            how = Closed.ANSWERED if loop.kind is LoopKind.QUESTION else Closed.REPORTED
            yield loop.ended(how, report)

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for exchange in reading.exchanges:
            if exchange.action.kind is ActionKind.ASK:
                self._replied(exchange)
        if reading.exchanges and self.announced.undone:
            done = self.announced.carried_out(self.open, underway=True)
            self._end(done, Closed.DONE, reading.exchanges[-1].answered)
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

    # The user speaks -------------------------------------------------------------------------------------

    def _user_spoke(self, utterance: Utterance) -> None:
        self.command = None
        self._settle(utterance)
        withdrawn = withdrawal_in(utterance.text)
        if withdrawn is not None and self._cancel(withdrawn, utterance):
            if withdrawn.asks:
                self._ask(utterance)
            return
        questions = list(questions_of_user(utterance))
        if not questions or says_more_than(utterance.text, questions):
            self._request(utterance, questions)  # with the words around its questions
            return
        for start, end in questions:
            self._open(LoopKind.QUESTION, utterance.text[start:end], utterance.cite(start, end))

    def _cancel(self, withdrawn: Withdrawal, utterance: Utterance) -> bool:
        """Cancel the open requests that the user withdraws; return whether there are any.

        Without a name, it is what was asked for last.
        """
        asked = [
            loop for loop in (*self.put_off.held.values(), *self.open.values()) if loop.kind in OF_THE_USER
        ]
        if not withdrawn.words:
            last = max((loop.source.number for loop in asked), default=0)
            asked = [loop for loop in asked if loop.source.number == last]
        by = utterance.cite(0, len(utterance.text))
        cancelled = [loop for loop in asked if withdrawn.is_of(_main_part(loop))]
        for loop in cancelled:
            if self.put_off.take(loop.id) is None:
                self.open.pop(loop.id)
            self.ended.append(loop.ended(Closed.CANCELLED, by))
        self.compound.keep(self._messages_waiting())
        return bool(cancelled)

    def _settle(self, utterance: Utterance) -> None:
        """Close what the model's last report closed; the user's words answer its questions.

        Without a report nothing else is examined, so a thousand user messages in a row stay cheap.
        """
        continues, reply = goes_on(utterance), self.reply
        if reply.report is not None:
            self._close_reported(continues)
        elif reply.stated is not None and not continues:
            self._answered_on_the_way(reply.stated)
        is_left = bool(reply.unfinished) if reply.report else reply.settles_nothing and not reply.stated
        is_answered = self._answer(utterance, continues)
        if is_left and not (is_answered or continues or asks_nothing_new(utterance.text)):
            self._put_off()
        self.reply = LastReply()

    def _close_reported(self, continues: bool) -> None:
        """Close what the report closed, and put off what it left out; "go on" closes no request."""
        for loop in tuple(self._closed_by_report()):
            if not (continues and loop.kind is LoopKind.REQUEST and loop.id in self.open):
                self.open.pop(loop.id, None)
                self.ended.append(loop)
        self.put_off.settle()
        for part in () if continues else self.reply.left:
            self.put_off.put(part)
            self._index(part)
        self.compound.keep(self._messages_waiting())

    def _put_off(self) -> None:
        for loop in [loop for loop in self.open.values() if loop.kind is not LoopKind.ASKED]:
            self.put_off.put(self.open.pop(loop.id))
            self.compound.forget(loop.source.message)

    def _answered_on_the_way(self, by: Cite, about: Collection[str] = ()) -> None:
        """Close the user's questions: the model said something, went on working, and the user moved on.

        If the user has not, only those that share a word with what the model said.
        """
        questions = [loop for loop in self.open.values() if loop.kind is LoopKind.QUESTION]
        if about:
            questions = [loop for loop in questions if not stems(loop.text).isdisjoint(about)]
        self._end([loop.id for loop in questions if is_before(loop, by)], Closed.ANSWERED, by)

    def _answer(self, utterance: Utterance, continues: bool) -> bool:
        """Close the questions of the model that the user's words answer; put off the others.

        Return whether they answer one of its last text: then the work that needed the answer goes on.
        """
        asked = self.reply.asked
        if not (asked or self._asked_by_tools or self.put_off.holds_questions):
            return False  # as nearly always
        by_tools = [self.open.pop(id_) for id_ in self._asked_by_tools if id_ in self.open]
        self._asked_by_tools = []
        by = utterance.cite(0, len(utterance.text))
        answered = [(loop, answers(loop.text, utterance, ())) for loop in by_tools]
        left = unanswered([loop.text for loop in asked], utterance, self.reply.asked_about)
        answered += [(loop, place not in left) for place, loop in enumerate(asked)]
        for loop, is_answered in answered:
            if is_answered:
                self.ended.append(loop.ended(Closed.ANSWERED, by))
            else:
                self.put_off.put(loop)
        for id_ in () if continues else self.put_off.questions_in(utterance.text):
            question = self.put_off.take(id_)
            self.ended += [question.ended(Closed.ANSWERED, by)] if question is not None else []
        return len(left) < len(asked)

    def _request(self, utterance: Utterance, questions: Iterable[tuple[int, int]] = ()) -> None:
        if NO_TASK.fullmatch(utterance.text[:LONGEST_REQUEST]) or states_only(utterance.text):
            return
        if is_tag(utterance.text) or is_confirmation(utterance.text):
            return
        if is_command(utterance.text):  # to the harness, unless the model works on it
            self.command = self._new(LoopKind.REQUEST, utterance, _stripped(utterance.text))
            return
        if goes_on(utterance) and (self.open or self.put_off.held):
            return  # with what is open
        self._ask(utterance, questions)

    def _ask(self, utterance: Utterance, questions: Iterable[tuple[int, int]] = ()) -> None:
        """Open what a text of the user asks for."""
        start, whole = _stripped(utterance.text)
        end = min(whole, start + LONGEST_REQUEST)
        accepts = self._answered_with(utterance)
        self._open(LoopKind.REQUEST, utterance.text[start:end], utterance.cite(start, end), accepts)
        if end < whole:
            self._request_more(utterance, end, questions)
        self.compound.add_sections(utterance.text, utterance.cite(0, len(utterance.text)))

    def _answered_with(self, utterance: Utterance) -> str:
        """Return the question of the model to which these words only say yes; "" if there is none."""
        last = self.ended[-1] if self.ended else None
        if last is None or last.kind is not LoopKind.ASKED or not is_acknowledgement(utterance.text):
            return ""
        is_answered = last.closed_by == utterance.cite(0, len(utterance.text))
        return last.text.strip(" *_") if is_answered else ""

    def _request_more(self, utterance: Utterance, after: int, questions: Iterable[tuple[int, int]]) -> None:
        """Open what a long message asks for after its quoted beginning; of too many, only the questions."""
        whole = utterance.cite(0, len(utterance.text))
        plan = pasted_document(utterance.text)  # one request, however many steps it has
        more = [
            part
            for part in request_parts(utterance.text, whole, after=after)
            if not part.is_beside and not plan.start <= part.source.start - whole.start < plan.end
        ]
        if len(more) > _MOST_LATER:
            more = [part for part in more if not part.only_names]
        if len(more) <= _MOST_LATER:
            for part in more:
                if part.words:
                    self._open(LoopKind.REQUEST, part.text, part.source)
            return
        for start, end in questions:
            if end > after:
                self._open(LoopKind.QUESTION, utterance.text[start:end], utterance.cite(start, end))

    # The model speaks ------------------------------------------------------------------------------------

    def _model_spoke(self, utterance: Utterance) -> None:
        """Record what a text of the model means for open work: report, refusal, question, announcement."""
        if self.command is not None:
            self._take_up_command(self.command)
        cite, reply = utterance.cite(0, len(utterance.text)), self.reply
        self._end(self.announced.carried_out(self.open), Closed.DONE, cite)
        spans = last_questions(utterance)
        if is_report(utterance.text):
            awaiting = self._awaiting(utterance.text, spans, cite) if spans else []
            self._reported(utterance.text, cite, awaiting)
        elif only_lists_open_tasks(utterance.text):
            reply.continue_working()
        elif reply.report is not None and reply.report.message != cite.message:
            reply.report = cite  # a text after a report continues it; what it announces itself stays open
        reply.settles_nothing = reply.report is None
        self._take_up_declined()
        if reply.settles_nothing and is_refusal(utterance.text):
            self._decline()
        reply.asked = [self._new(LoopKind.ASKED, utterance, span) for span in spans]
        if spans:
            reply.asked_about = sorted(stems(utterance.text[-LAST_WORDS:]))
        self._announce(utterance)

    def _reported(self, text: str, cite: Cite, awaiting: list[str]) -> None:
        """Record a report: what it says was done, and which parts of requests it leaves out.

        ``awaiting`` are the ids of requests that wait for the user's answer: then no work was done.
        """
        self.reply.report = self.reply.stated = cite
        asked = any(loop.kind is LoopKind.QUESTION for loop in self.open.values())
        self.reply.stated_stems = sorted(stems(text)) if asked else []
        said = divided(text)
        self.put_off.hear(said.done)
        self.reply.left = []
        if self.compound.is_open and not awaiting:
            by_hand = (loop.source for loop in self.ended if loop.closed is Closed.BY_HAND)
            for part in self.compound.left_by(text, self._messages_waiting(), by_hand):
                self.reply.left.append(self._numbered(*part))
        self.reply.unfinished = awaiting if awaiting or self.reply.left else self._unfinished_by(said, cite)
        if said.left and self._asks_to_do(cite):
            self.reply.left += [
                self._numbered(LoopKind.LEFT, text[start:end], _within(cite, start, end))
                for start, end in said.left
            ]

    def _awaiting(self, text: str, spans: Sequence[tuple[int, int]], cite: Cite) -> list[str]:
        """Return the ids of the requests for which a reply only asks the user something, and did no work."""
        if self.reply.changed or reports_work(text[: spans[0][0]]):
            return []
        questions = [text[start:end] for start, end in spans]
        is_needed = any(map(needs_answer, questions))
        return [
            loop.id
            for loop in self.open.values()
            if loop.kind is LoopKind.REQUEST and is_before(loop, cite) and not may_be_answered(loop.text)
            if is_needed or any(asks_about(question, loop.text) for question in questions)
        ]

    def _asks_to_do(self, report: Cite) -> bool:
        """Return True if a request that the report is about asks for more than an answer."""
        asked = (loop for loop in self.open.values() if loop.kind is LoopKind.REQUEST)
        return any(is_before(loop, report) and not may_be_answered(loop.text) for loop in asked)

    def _unfinished_by(self, said: DividedReply, cite: Cite) -> list[str]:
        """Return the ids of the requests that a report may call unfinished, or that it says failed.

        Not those of which it names all words as done, and none as undone: "REF-1 is refunded. I have not
        sent the e-mail yet."
        """
        if not said.not_done and not said.failed:
            return []
        undone = named = stems(f"{said.not_done} {said.failed}")
        done = stems(said.done)
        must_name = self.put_off.speaks_of_any(said.not_done)
        if not said.not_done and not speaks_of_itself(said.failed):
            must_name, named = True, named - stems(said.done)
        return [
            loop.id
            for loop in self.open.values()
            if loop.kind is LoopKind.REQUEST and is_before(loop, cite) and not may_be_answered(loop.text)
            if not must_name or not named.isdisjoint(stems(loop.text))
            if not _is_reported(stems(loop.text) - verbs_of_work(), done, undone)
        ]

    def _messages_waiting(self) -> set[str]:
        return {loop.source.message for loop in self.open.values() if loop.kind in OF_THE_USER}

    def _announce(self, utterance: Utterance) -> None:
        """Open what the model says it will do later or next; that replaces earlier announcements."""
        steps = announced_steps(utterance.text)
        for span in steps.later:
            self.put_off.put(self._new(LoopKind.PROMISE, utterance, span))
        if not steps.next:
            return
        self._end(self._promised, Closed.REPLACED, utterance.cite(steps.next[0][0], steps.next[-1][1]))
        self._promised = []
        self.announced.clear()
        for start, end in steps.next:
            text = utterance.text[start:end]
            self._open(LoopKind.PROMISE, text, utterance.cite(start, end))
            self.announced.add(self._promised[-1], text)

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

    # The model works -------------------------------------------------------------------------------------

    def _called(self, calls: list[Asked]) -> None:
        """Stop counting the last text as a report, because the model continued; add questions of calls."""
        if self.command is not None:
            self._take_up_command(self.command)
        self.reply.continue_working()
        self.put_off.forget_report()
        self._take_up_declined()
        self.compound.work(calls)
        stated, about = self.reply.stated, self.reply.stated_stems
        if stated and about and any(asked.action.kind in CHANGING for asked in calls):
            self._answered_on_the_way(stated, about)
        self.announced.work(calls, self.open)
        for asked in calls:
            if asked.action.kind in _CHANGING:
                self.reply.changed = True
            elif asked.action.kind is ActionKind.ASK:
                for text in questions_in_call(asked.action.arguments):
                    self._open(LoopKind.ASKED, text, asked.cite)

    def _take_up_command(self, command: Loop) -> None:
        """Open the command that the model reacts to."""
        self.open[command.id] = command
        self._index(command)
        self.command = None

    def tested(self, by: Cite, *, passed: bool) -> None:
        """Close what a test run or check shows to be done: announcements, and failures that were reported."""
        self._end(self.announced.tested(by, self.open, passed=passed), Closed.DONE, by)
        for loop in self.put_off.failures if passed else ():
            self.put_off.take(loop.id)
            self.ended.append(loop.ended(Closed.PASSED, by))

    def _replied(self, exchange: Exchange) -> None:
        """Close the questions that a tool asked the person, now that the result is here."""
        how = Closed.ANSWERED if exchange.outcome.ended is Ended.OK else Closed.REFUSED
        open_ones = [self.open[id_] for id_ in self._asked_by_tools if id_ in self.open]
        self._end([loop.id for loop in open_ones if loop.source == exchange.asked], how, exchange.answered)
        self._asked_by_tools = [loop.id for loop in open_ones if loop.id in self.open]

    # Items -----------------------------------------------------------------------------------------------

    def _end(self, ids: Iterable[str], how: Closed, by: Cite) -> None:
        """Close those of these ids that are still open."""
        for id_ in ids:
            loop = self.open.pop(id_, None)
            if loop is not None:
                self.ended.append(loop.ended(how, by))

    def _new(self, kind: LoopKind, utterance: Utterance, span: tuple[int, int]) -> Loop:
        return self._numbered(kind, utterance.text[slice(*span)], utterance.cite(*span))

    def _numbered(self, kind: LoopKind, text: str, source: Cite, accepts: str = "") -> Loop:
        self.count += 1
        return Loop(f"q{self.count}", kind, text, source, accepts=accepts)

    def _open(self, kind: LoopKind, text: str, source: Cite, accepts: str = "") -> None:
        if kind in OF_THE_USER and self._is_asked_again(kind, text):
            return
        loop = self._numbered(kind, text, source, accepts)
        self.open[loop.id] = loop
        self._index(loop)
        if kind in OF_THE_USER:
            self.compound.add(loop)

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
        self.reply.without(id_)
        self.ended.append(loop.closed_by_hand(why))
        return self.ended[-1]

    def reopen(self, id_: str) -> Loop | None:
        """Reopen an item that was closed by hand; None if it is not one of these."""
        loop = take_closed_by_hand(self.ended, id_)
        if loop is None:
            return None
        if self.reply.closes(loop):
            self.put_off.put(loop)  # that report came before: only one that mentions it closes it
        else:
            self.open[id_] = loop
        self._index(loop)
        return loop


def _is_reported(words: frozenset[str], done: frozenset[str], undone: frozenset[str]) -> bool:
    """Return True if all words of a request are named as done, and none as undone."""
    return bool(words) and words <= done and words.isdisjoint(undone)


def _main_part(loop: Loop) -> str:
    """Return the first of several things that a request asks for: a later one is withdrawn on its own."""
    parts = request_parts(loop.text, loop.source)
    return parts[0].text if len(parts) > 1 else loop.text


def _within(cite: Cite, start: int, end: int) -> Cite:
    """Return the place of a part of cited words."""
    return cite._replace(start=cite.start + start, end=cite.start + end)


def _stripped(text: str) -> tuple[int, int]:
    """Return the span of a text without the white space around it."""
    return len(text) - len(text.lstrip()), len(text.rstrip())
