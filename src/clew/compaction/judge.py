"""Have the summariser judge which sentences of the user are rules: the question, and what its answer says.

One call before a compaction that a model writes, about the sentences since the last one. It is not part of
the summary request: which rules there are must be known before the digest is planned, a digest is asked for
again if it is refused, and a summary covers only the messages that leave the view.

The model gets numbers and answers with numbers. Code decides which numbers count: the words of a rule are
clew's own copy of the user's, and ``Pins.judge`` limits what an answer can change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, NamedTuple

from clew.compaction.bill import ModelBill, count_calls
from clew.compaction.decide import DecidedCompaction, Writer
from clew.compaction.propose.ladder import outline
from clew.compaction.propose.summary.transcript import escape_marks, fenced, nonce
from clew.compaction.task import CompactionTask
from clew.errors import BudgetExceeded, ModelError
from clew.message import Cite, Item, JsonObject, Trust, message_number
from clew.providers.model import Ask, Steps, Stop
from clew.rules.active import ActiveRules
from clew.rules.candidates import AskedSentence, sentences_to_judge
from clew.rules.judgement import Judgement
from clew.rules.pins import Pins
from clew.rules.retire import retire
from clew.rules.rule import MadeBy, Rule, RuleRef, Verdict

PROMPT_VERSION = "judge-2"
"""The version of the prompt, which judgements name. A released version never changes: write the next."""
MOST_SENTENCES = 120
"""Sentences that one call asks about: the likeliest rules first, of equal ones the oldest. In public sessions
a user's message has 1.3 of them, so this is a session of about ninety messages. Chosen by hand."""
MOST_IN_FORCE = 40
"""Rules in force that are shown, the newest ones, so that the model can say which of them are over."""
AROUND = 160
"""Characters of the text before and after a sentence that are shown; chosen by hand."""
FRAME_TOKENS, SENTENCE_TOKENS = 2_000, 120
"""Tokens of a question and its answer without the sentences, and of a sentence with the text around it, with
a margin: 63 on average, 90 in Chinese. A model with a smaller window is asked about fewer sentences."""
ANSWER_TOKENS, NUMBER_TOKENS = 400, 8
"""Tokens of an answer: the JSON around the numbers, and each number."""
CONTROLS = (
    ("Never edit files in the folder zz-control/, now or later.", True),
    ("Please fix the typo in the title of page zz-control.", False),
)
"""The first and the last sentence of every question, clew's own, and whether it is a rule. An answer that
does not label them so is not used: it comes from a model that cannot do this, or that follows text among the
sentences."""
_LABELS = tuple(verdict.value for verdict in Verdict)
_NUMBERS: JsonObject = {"type": "array", "items": {"type": "integer"}}
_END: JsonObject = {
    "type": "object",
    "properties": {"rule": {"type": "integer"}, "by": {"type": "integer"}},
    "required": ["rule", "by"],
    "additionalProperties": False,
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {**dict.fromkeys(_LABELS, _NUMBERS), "ended": {"type": "array", "items": _END}},
    "required": [*_LABELS, "ended"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class RuleQuestion:
    """What a model is asked: sentences to judge, and rules in force that may be over."""

    in_force: tuple[Rule, ...]
    """Numbered from 1."""
    sentences: tuple[AskedSentence, ...]
    """Numbered after those and the first control, in the order in which they were said."""
    upto: int
    """The number of the last message that is asked about."""

    def ask(self) -> Ask:
        """Return the request to the model."""
        words = sections()
        lines = "\n".join(self._lines())
        instruction = (
            f"{words['material']}\n\n{fenced('sentences', nonce([lines]), lines)}\n\n{words['answer']}"
        )
        most = ANSWER_TOKENS + NUMBER_TOKENS * len(self.sentences)
        return Ask(
            system=words["task"],
            instruction=instruction,
            max_output_tokens=most,
            schema=SCHEMA,
            purpose="judge",
        )

    @property
    def numbers(self) -> range:
        """Return the numbers of the sentences to judge; that of each control is next to them."""
        first = len(self.in_force) + 2
        return range(first, first + len(self.sentences))

    def _lines(self) -> Iterator[str]:
        for number, rule in enumerate(self.in_force, start=1):
            yield f"{number} (in force): {_line(f'{rule.lead} {rule.quote}')}"
        yield from ("", f"{self.numbers.start - 1}: {CONTROLS[0][0]}")
        numbered = zip(self.numbers, self.sentences, strict=True)
        for _, group in groupby(numbered, key=lambda one: (one[1].rule.source or Cite(""))[:2]):
            yield from _shown(list(group))
        yield from ("", f"{self.numbers.stop}: {CONTROLS[1][0]}")

    def rule(self, number: int) -> Rule | None:
        """Return the rule in force or the sentence with this number; None if there is none."""
        if number in self.numbers:
            return self.sentences[number - self.numbers.start].rule
        return self.in_force[number - 1] if 0 < number <= len(self.in_force) else None


def _shown(group: Sequence[tuple[int, AskedSentence]]) -> Iterator[str]:
    """Yield the lines of the sentences of one text, with the text around them."""
    yield ""
    at, heading = 0, ""
    for number, one in group:
        yield from _context(one.text[at : one.start], first=at == 0)
        over = " / ".join(filter(None, (one.heading, one.rule.lead)))
        if over and over != heading:
            yield f"| (under: {_line(over)})"
        heading = over
        yield f"{number}: {_line(one.rule.quote)}"
        at = one.start + len(one.rule.quote)
    last = group[-1][1].text
    if _line(last[at : at + 2 * AROUND]):
        yield f"| {_cut(last[at:], head=True)}"


def _context(text: str, *, first: bool) -> Iterator[str]:
    """Yield the text between two sentences: its start and its end."""
    line = _line(text) if len(text) <= 2 * AROUND else ""
    if line:
        yield f"| {line}"
    elif len(text) > 2 * AROUND:
        yield f"| {'' if first else _cut(text, head=True)}{_cut(text, head=False)}"


def _cut(text: str, *, head: bool) -> str:
    """Return the start or the end of a text on one line, with a mark where it is cut."""
    line = _line(text[:AROUND] if head else text[-AROUND:])
    if len(text) <= AROUND:
        return line
    return f"{line} […] " if head else f"[…] {line}"


def _line(text: str) -> str:
    """Return a text on one line; nothing in it can look like a tag of the fence."""
    return escape_marks(" ".join(text.split()))


@cache
def sections() -> Mapping[str, str]:
    """Return the texts of the prompt by section name."""
    text = files("clew.compaction").joinpath("prompts", f"{PROMPT_VERSION}.md").read_text(encoding="utf-8")
    _, *pieces = re.split(r"^# (\w+)$", text, flags=re.MULTILINE)
    return {name: words.strip() for name, words in zip(pieces[::2], pieces[1::2], strict=True)}


# What is asked ---------------------------------------------------------------------------------------


def question(pins: Pins, view: Iterable[Item], most: int = MOST_SENTENCES) -> RuleQuestion | None:
    """Return what to ask about the messages of a view, at most so many sentences; None if nothing is new."""
    new = [item for item in view if message_number(item.id) > pins.judged_upto]
    by_user = (rule for rule in pins.active if rule.made_by is MadeBy.FOUND and rule.trust is Trust.USER)
    found = {rule.ref: rule for rule in by_user}
    unjudged = {ref: rule for ref, rule in found.items() if rule.verdict is None and ref.source}
    asked: dict[str, AskedSentence] = {}
    for sentence in (one for item in new for one in sentences_to_judge(item)):
        words = " ".join(sentence.rule.quote.casefold().split())
        rule = unjudged.pop(sentence.rule.ref, None)
        known = pins.worded(sentence.rule.quote) or pins.match(sentence.rule.ref)
        if rule or not (known or pins.is_refused(sentence.rule.quote) or words in asked):
            asked[words] = sentence
    # Rules whose message is no longer in view, or which another version cut differently.
    gone = [AskedSentence(rule, 0) for rule in unjudged.values()]
    chosen = sorted((*gone, *asked.values()), key=lambda one: (one.rank, _place(one)))[:most]
    if not chosen:
        return None
    confirmed = [rule for rule in found.values() if rule.verdict is not None and rule.ref.source]
    upto = max((message_number(item.id) for item in new), default=pins.judged_upto)
    return RuleQuestion(tuple(confirmed[-MOST_IN_FORCE:]), tuple(sorted(chosen, key=_place)), upto)


def _place(one: AskedSentence) -> tuple[int, int, int]:
    source = one.rule.source or Cite("")
    return source.number, source.part, source.start


# What the answer says --------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The numbers of an answer that count."""

    verdicts: dict[int, Verdict]
    ended: list[tuple[int, int]]


def read_answer(text: str, asked: RuleQuestion) -> Answer | None:
    """Return the usable part of an answer; None if there is none, or if it gets the controls wrong.

    Only numbers that were given count; one with two labels has none.
    """
    value = _object_in(text)
    if value is None:
        return None
    controls = (asked.numbers.start - 1, asked.numbers.stop)
    judged = range(controls[0], controls[1] + 1)
    verdicts: dict[int, Verdict] = {}
    twice: set[int] = set()
    for label in _LABELS:
        listed = value.get(label)
        for number in listed if isinstance(listed, list) else ():
            if type(number) is not int or number not in judged:
                continue
            if verdicts.setdefault(number, Verdict(label)) is not Verdict(label):
                twice.add(number)
    for number in twice:
        del verdicts[number]
    for number, (_, is_rule) in zip(controls, CONTROLS, strict=True):
        if number not in verdicts or (verdicts.pop(number) is Verdict.STANDING) != is_rule:
            return None
    return Answer(verdicts, list(_ends(value.get("ended"), verdicts, asked.numbers))) if verdicts else None


def _ends(listed: Any, verdicts: Mapping[int, Verdict], judged: range) -> Iterator[tuple[int, int]]:  # noqa: ANN401  # JSON
    for one in listed if isinstance(listed, list) else ():
        rule, by = (one.get("rule"), one.get("by")) if isinstance(one, dict) else (None, None)
        if type(rule) is not int or type(by) is not int or by not in judged or not 0 < rule < by:
            continue
        if rule < judged.start - 1 or verdicts.get(rule) is Verdict.STANDING:
            yield rule, by


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the first JSON object of an answer; models put words or a code fence around it."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def judgement_of(answer: Answer, asked: RuleQuestion, by: str, view: Sequence[Item], pins: Pins) -> Judgement:
    """Return what an answer says about rules that were found, sentences that were not, ends and decisions."""
    judged: list[tuple[RuleRef, Verdict]] = []
    added: list[Rule] = []
    chosen: list[Rule] = []
    for number, one in zip(asked.numbers, asked.sentences, strict=True):
        verdict = answer.verdicts.get(number)
        if verdict is None:
            continue
        pin = pins.match(one.rule.ref)
        if pin is not None:
            judged.append((pin.ref, verdict))
        elif verdict is Verdict.STANDING:
            added.append(one.rule)
        elif verdict is Verdict.DECISION:
            chosen.append(one.rule)
    added = _still_hold(added, view)
    decided = tuple(rule.ref for rule in _still_hold(chosen, view))
    over = [(asked.rule(rule), asked.rule(by)) for rule, by in answer.ended]
    ended = tuple((rule.ref, end.source) for rule, end in over if rule and end and end.source)
    return Judgement(
        by, PROMPT_VERSION, asked.upto, len(asked.sentences), tuple(judged), tuple(added), ended, decided
    )


def _still_hold(rules: Sequence[Rule], view: Iterable[Item]) -> list[Rule]:
    """Return those of some rules, oldest first, that no words said since end.

    They were not known to be rules when these words came. One pass for all of them, since a session has
    thousands of messages.
    """
    held, active, begun = {str(number): rule for number, rule in enumerate(rules)}, ActiveRules(), 0
    for item in view:
        while begun < len(rules) and _number(rules[begun]) < message_number(item.id):
            active.put(replace(rules[begun], id=str(begun)))
            begun += 1
        for end in retire(active, item.message) if active else ():
            if end.certain:
                active.drop(end.rule)
                held.pop(end.rule)
    return list(held.values())


def _number(rule: Rule) -> int:
    return rule.source.number if rule.source else 0


# Asking ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RuleCall:
    """What came of asking a model about rules: a judgement, or why there is none, and the cost."""

    judgement: Judgement | None = None
    problem: str = ""
    """Why there is no judgement although the model was asked."""
    bill: ModelBill = field(default_factory=ModelBill)

    def added_to(self, outcome: DecidedCompaction) -> DecidedCompaction:
        """Return the outcome of a compaction with the cost of this call, and the problem if it failed."""
        bill = ModelBill(outcome.calls + self.bill.calls, self.bill.usage)
        bill.add(outcome.usage)
        return replace(outcome, not_judged=self.problem, calls=bill.calls, usage=bill.usage)


def judge_rules(task: CompactionTask, writer: Writer | None) -> Steps[RuleCall]:
    """Ask the model that writes a digest about the rules, once, if there is anything new to judge.

    An answer that fails or cannot be used changes nothing. A compaction that makes no digest asks nothing.
    """
    if writer is None or not writer.judges_rules:
        return RuleCall()
    asked = _question_for(writer, task.ledger.pins, task.view)
    if asked is None or not _makes_digest(task):
        return RuleCall()
    return (yield from _called(asked, writer, task.ledger.pins, task.view))


def judge_view(pins: Pins, view: Sequence[Item], writer: Writer) -> Steps[RuleCall]:
    """Ask a model about the new sentences of a view, if there are any, without a compaction."""
    asked = _question_for(writer, pins, view)
    return (yield from _called(asked, writer, pins, view)) if asked else RuleCall()


def _question_for(writer: Writer, pins: Pins, view: Sequence[Item]) -> RuleQuestion | None:
    """Return what to ask a model, as far as its window allows."""
    most = (writer.window_tokens - FRAME_TOKENS) // SENTENCE_TOKENS
    return question(pins, view, max(0, min(most, MOST_SENTENCES)))


def _called(asked: RuleQuestion, writer: Writer, pins: Pins, view: Sequence[Item]) -> Steps[RuleCall]:
    """Ask, and return what the answer says."""
    call = RuleCall()
    answer = yield from count_calls(_answered(asked), call.bill)
    if isinstance(answer, str):
        return replace(call, problem=answer)
    return replace(call, judgement=judgement_of(answer, asked, writer.name, view, pins))


def _makes_digest(task: CompactionTask) -> bool:
    """Whether a compaction writes a digest; if pruning suffices, no model is asked."""
    try:
        return outline(task) is not None
    except BudgetExceeded:  # a larger target will be tried
        return True


def _answered(asked: RuleQuestion) -> Steps[Answer | str]:
    """Ask once; return the answer, or why there is none."""
    try:
        reply = yield asked.ask()
    except ModelError as error:
        return str(error)
    answer = read_answer(reply.text, asked)
    if answer is not None:
        return answer
    if reply.stop is Stop.MAX_TOKENS:
        return "its answer about rules was cut off"
    return "its answer about rules cannot be used: a plain sentence has the wrong label, or none has one"
