"""How good one view of one cut is: shares between 0 and 1, and None if nothing could be asked.

If the continuation needed five values of the compacted part and the view holds four of them, ``retained`` is
0.8. ``docs/concepts/measure.md`` defines every figure.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from clew.errors import BudgetExceeded, CompactionRefused
from clew.message import Item
from clew.providers.conversion import convert
from clew.providers.conversion.targets import ConversionOptions
from clew.providers.rules import CheckScope
from clew_evals.answerers import read_plainly, reader_of
from clew_evals.binding import binding_of
from clew_evals.composition import composition, unsupported
from clew_evals.finished_work import presents_deleted, presents_finished, presents_overruled, states_goal
from clew_evals.layout import layout_of
from clew_evals.needs import Needs, Probe
from clew_evals.next_action import reasons_in_view, targets_in_view
from clew_evals.obligations import Superseded
from clew_evals.passages import PassageSpeaker, view_text
from clew_evals.policies.policy import EvalPolicy, Recall
from clew_evals.questions import Answerer, ReaderQuestion
from clew_evals.sessions import COUNTER, Cut
from clew_evals.turns import plain
from clew_evals.words import Survival, first_place, key_of

RULE_SHARE = 0.8
"""Of a rule's words, within 40 words of the view, for it to have survived..."""
TASK_SHARE = 0.7
"""...and of a task's, or of what a failure said."""
RANKED = ("next_action", "goal", "reports", "roundtrip", "current")
"""What continuity is the mean of."""
NO_REPAIR = ConversionOptions(repair=False)
WIRE = "anthropic"
"""The strictest of the providers: what it takes, the others take converted."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one view kept. Every field is a mean over what was asked at this cut."""

    share: float | None
    """The tokens of the view, of those of what was compacted."""
    retained: float | None
    far: float | None
    rare: float | None
    hard: float | None
    user: float | None
    """Of values that the user named first: no tool can fetch those again."""
    need: float | None
    """Retained, with the values that had to be fetched again counted in."""
    in_context: float | None
    in_context_far: float | None
    explained: float | None
    explained_far: float | None
    answered: float | None
    """Of questions about the values, those that a plain reader answers from the view alone."""
    roundtrip: float | None
    """Of questions about the history, needed later or not, those that the reader answers from the view."""
    constraints: float | None
    decisions: float | None
    rules: float | None
    open: float | None
    files: float | None
    failed: float | None
    tests: float | None
    stale: float | None
    """Of replaced values, those where the view says the old one and not the new: the less the better."""
    current: float | None
    """Of replaced values, those where the new one is what the view says last."""
    unsupported: float | None
    """Of the values in what the policy wrote itself, those that are nowhere in the session."""
    continuity: float | None
    """What policies are ranked by: the mean of next action, goal, reports, roundtrip and current, as far as
    they are asked here, less what redo weighs as one of them."""
    next_action: float | None
    """Of the targets and stated reasons of the first three calls after the cut, those in view."""
    next_target: float | None
    next_reason: float | None
    goal: float | None
    """1 if the view states the goal as the request that the continuation works on."""
    redo: float | None
    """1 if it presents as open what was finished, or as valid what was overruled or deleted."""
    redo_finished: float | None
    redo_overruled: float | None
    redo_deleted: float | None
    reports: float | None
    """Of the sentences of the agent's end-of-turn reports, those in view as a whole, report by report; asked
    if all of them fit half of the room."""
    verbatim: float | None
    """Of the view's tokens, those of message parts as they were..."""
    user_words: float | None
    agent_prose: float | None
    tool_lines: float | None
    bare_values: float | None
    """...and those of lines that the policy wrote, by what they hold."""
    recoverable: float | None
    """Retained, or brought back by one search for the value itself."""
    recalled: float | None
    """Retained, or brought back by one search for the words around its use."""
    refetch_tokens: float | None
    """What it costs to fetch again the values that were lost."""
    tokens: float | None
    rewritten: float | None
    """Tokens from the first message that is not as it was: what a provider's cache has to read again."""
    calls: float | None
    """How often a model was asked."""
    over: float | None
    """1 if the view is larger than its budget."""
    refused: float | None
    """1 if the policy gave up: what must be kept did not fit."""
    invalid: float | None
    """1 if a provider's API would refuse it and did not refuse the session as it was."""
    seconds: float | None


METRICS = tuple(field.name for field in fields(Score))


def score_policy(cut: Cut, policy: EvalPolicy, answerer: Answerer = read_plainly) -> Score:
    """Let a policy compact a cut, and score what it returns; questions go to the answerer."""
    begun = time.perf_counter()
    try:
        view = policy.compact(cut if policy.sees_future else cut.blind())
    except (BudgetExceeded, CompactionRefused):
        return score_refusal(cut, time.perf_counter() - begun, policy)
    return score_of(cut, view, time.perf_counter() - begun, policy, answerer)


def score_refusal(cut: Cut, seconds: float, policy: EvalPolicy) -> Score:
    """Score a policy that gave up: nothing was sent, so nothing was kept."""
    return replace(score_of(cut, (), seconds, policy), refused=1.0, invalid=0.0)


def score_of(
    cut: Cut,
    view: Sequence[Item],
    seconds: float,
    policy: EvalPolicy | None = None,
    answerer: Answerer = read_plainly,
) -> Score:
    """Score a view of a cut."""
    needs = cut.needs
    assert needs is not None, "a cut is scored after its needs were found"
    text = view_text(view)
    tokens = COUNTER.count_all(item.message for item in view)
    asked = _ProbeResults(cut, needs, text, policy)
    survives = Survival(text).share
    going_on = continuity_scores(cut, needs, view, text)
    roundtrip = _mean(_answers(text, needs.questions, answerer))
    current = _mean(_is_current(change, text) for change in needs.superseded)
    return Score(
        share=tokens / max(1, cut.tokens),
        **asked.reuse(),
        roundtrip=roundtrip,
        constraints=_mean(survives(constraint) >= RULE_SHARE for constraint in needs.constraints),
        decisions=_mean(survives(decision) >= RULE_SHARE for decision in needs.decisions),
        rules=_mean(survives(rule) >= RULE_SHARE for rule in needs.rules),
        open=_mean(survives(task) >= TASK_SHARE for task in needs.open),
        files=_mean(first_place(text, "path", key_of("path", file)) >= 0 for file in needs.files),
        failed=_mean(survives(failure) >= TASK_SHARE for failure in needs.failed),
        tests=_mean([all(test in text for test in needs.tests)] if needs.tests else []),
        stale=_mean(_is_stale(change, text) for change in needs.superseded),
        current=current,
        unsupported=unsupported(cut, view),
        continuity=_continuity({**going_on, "roundtrip": roundtrip, "current": current}),
        **going_on,
        **composition(cut, view),
        tokens=float(tokens),
        rewritten=float(_rewritten(cut, view)),
        calls=0.0,
        over=float(tokens > cut.budget_tokens > 0),
        refused=0.0,
        invalid=float(_is_invalid(cut, view)),
        seconds=seconds,
    )


def continuity_scores(cut: Cut, needs: Needs, view: Sequence[Item], text: str) -> dict[str, float | None]:
    """Return how well an agent can go on from a view, by the names of the fields."""
    targets = targets_in_view(needs.next_calls, text)
    reasons = reasons_in_view(needs.next_calls, Survival(text))
    settled, layout = needs.settled, layout_of(view)
    # What each kind of finished work is wrongly presented; None if there is nothing of the kind.
    wrong = {
        "redo_finished": presents_finished(settled, layout) if settled.finished or settled.ended else None,
        "redo_overruled": presents_overruled(settled, layout) if settled.overruled else None,
        "redo_deleted": presents_deleted(settled, layout) if settled.deleted else None,
    }
    return {
        "next_action": _mean([*targets, *reasons]),
        "next_target": _mean(targets),
        "next_reason": _mean(reasons),
        "goal": float(states_goal(settled, layout)) if settled.goals else None,
        "redo": float(any(wrong.values())) if settled.is_asked else None,
        **{name: None if texts is None else float(bool(texts)) for name, texts in wrong.items()},
        "reports": _reports_kept(needs, text) if 2 * needs.report_tokens <= cut.budget_tokens else None,
    }


def _continuity(figures: Mapping[str, float | None]) -> float | None:
    """Return the mean of what is asked of it, less redo with the weight of one figure; None if nothing is."""
    asked = [value for name in RANKED if (value := figures[name]) is not None]
    return (sum(asked) - (figures["redo"] or 0.0)) / len(asked) if asked else None


def _reports_kept(needs: Needs, text: str) -> float | None:
    """Return the mean share of a report's sentences that the view holds."""
    flat = plain(text)
    return _mean(sum(sentence in flat for sentence in report) / len(report) for report in needs.reports)


class _ProbeResults:
    """The values that the continuation needed again (probes), each looked for in the view once."""

    def __init__(self, cut: Cut, needs: Needs, text: str, policy: EvalPolicy | None) -> None:
        self._cut = cut
        self._text = text
        self._by_value = policy.recall if policy else None
        self._by_words = policy.recall_by_words if policy else None
        self._all = needs.probes
        self._probes = [probe for probe in needs.probes if not probe.refetched]
        """Those that count: what a tool showed again in time was not missed."""
        self._kept = {probe.key for probe in needs.probes if self._holds(text, probe)}

    @staticmethod
    def _holds(text: str, probe: Probe) -> bool:
        return first_place(text, probe.kind, probe.key) >= 0

    def reuse(self) -> dict[str, float | None]:
        """Return the scores of the reuse probes by the names of their fields."""
        kept, probes = self._kept, self._probes
        bindings = {probe.key: binding_of(probe) for probe in probes}
        in_context = {key: binding.is_in_context(self._text) for key, binding in bindings.items()}
        explained = {key: binding.is_explained(self._text) for key, binding in bindings.items()}
        far = [probe for probe in probes if probe.far]
        return {
            "retained": _mean(probe.key in kept for probe in probes),
            "far": _mean(probe.key in kept for probe in far),
            "rare": _mean(probe.key in kept for probe in probes if probe.rare),
            "hard": _mean(probe.key in kept for probe in probes if probe.hard),
            "user": _mean(probe.key in kept for probe in probes if probe.origin is PassageSpeaker.USER),
            "need": _mean(probe.key in kept for probe in self._all),
            "in_context": _mean_of_asked(in_context[probe.key] for probe in probes),
            "in_context_far": _mean_of_asked(in_context[probe.key] for probe in far),
            "explained": _mean_of_asked(explained[probe.key] for probe in probes),
            "explained_far": _mean_of_asked(explained[probe.key] for probe in far),
            "answered": _mean_of_asked(map(reader_of(self._text).answers, probes)),
            "recoverable": _mean(self._is_kept_or_found(probe, self._by_value) for probe in probes),
            "recalled": _mean(self._is_kept_or_found(probe, self._by_words) for probe in probes),
            "refetch_tokens": self._refetch_tokens(),
        }

    def _is_kept_or_found(self, probe: Probe, recall: Recall | None) -> bool:
        if probe.key in self._kept:
            return True
        return recall is not None and self._holds(recall(self._cut.blind(), probe), probe)

    def _refetch_tokens(self) -> float:
        """Return the tokens of the smallest outputs that hold what was lost, each counted once."""
        lost = (probe.fetch for probe in self._all if probe.key not in self._kept)
        return float(sum(fetch.tokens for fetch in {fetch for fetch in lost if fetch}))


def _answers(text: str, questions: Sequence[ReaderQuestion], answerer: Answerer) -> Iterator[bool]:
    """Yield for each question whether it is answered right; nothing if the reader could not be asked."""
    answers = answerer(text, questions) if questions else None
    if answers is not None:
        for question, answer in zip(questions, answers, strict=True):
            yield first_place(answer, question.kind, question.answer) >= 0


def _is_stale(change: Superseded, text: str) -> bool:
    return _said_last(text, change.old, change.words) >= 0 > _said_last(text, change.new, change.words)


def _is_current(change: Superseded, text: str) -> bool:
    new = _said_last(text, change.new, change.words)
    return new >= 0 and new >= _said_last(text, change.old, change.words)


def _said_last(text: str, value: str, words: Sequence[str]) -> int:
    """Return where the last line begins that holds the value and half of its other words; -1 without."""
    at = text.rfind(value)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start : end if end >= 0 else len(text)]
        if sum(word in line for word in words) * 2 >= len(words):
            return start
        at = text.rfind(value, 0, start) if start else -1
    return -1


def _rewritten(cut: Cut, view: Sequence[Item]) -> int:
    """Return the tokens of a view behind the messages at its front that are as they were."""
    same = 0
    while same < min(len(view), len(cut.items)) and view[same].message == cut.items[same].message:
        same += 1
    return COUNTER.count_all(item.message for item in view[same:])


def _is_invalid(cut: Cut, view: Sequence[Item]) -> bool:
    """Whether a provider would refuse the view for what it would not refuse the session for."""
    refused = _rules_broken((*cut.system, *view)) if view else {"empty"}
    return bool(refused) and bool(refused - _rules_broken((*cut.system, *cut.items)))


def _rules_broken(items: Sequence[Item]) -> set[str]:
    written = convert([item.message for item in items], WIRE, NO_REPAIR)
    return set(written.wire.check(written.body, scope=CheckScope.MESSAGES).rule_ids)


def _mean(hits: Iterable[float]) -> float | None:
    asked = list(hits)
    return sum(asked) / len(asked) if asked else None


def _mean_of_asked(hits: Iterable[bool | None]) -> float | None:
    return _mean(hit for hit in hits if hit is not None)
