"""Turn the ledger into the mandatory claims and rules of a digest."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote, Topic
from clew.compaction.plan.digest import (
    APPROVED_PLAN,
    EDITED_SINCE,
    FIXED,
    FIXED_OTHERWISE,
    NOT_FIXED,
    NOT_REPEATED,
    PARTLY_REDONE,
)
from clew.ledger.artifacts import Artifact
from clew.ledger.decisions import DecidedBy, Decision
from clew.ledger.failures import Failure
from clew.ledger.goal import Goal
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.shell import CHANGES, Action, simple_commands, without_prefixes
from clew.message import Cite, Item, Trust
from clew.message.text import omission_note, without_colours

MOST_FAILURES = 12
_SAYS_WHY = re.compile(r"(?:[^\W\d_]{2,}\W+){2}[^\W\d_]{2,}")
"""Three words in a row: less than that does not say what failed."""
RECENT_MESSAGES = 60
"""Messages after which a failure that was never retried counts as worked around; chosen by hand."""
JUST_NOW = 6
"""Messages since a failure within which the agent had no time to try again; chosen by hand."""
LONG_AFTER = 20
"""Messages after which a to-do list or an announcement is told with its age; chosen by hand."""
FEW_TESTS = 10
"""Failing tests up to which each says if files were edited since; the line on the last run does. By hand."""
REPEATED = 3
"""Attempts from which a failure is worth a line although it was fixed; chosen by hand."""
MOST_REFUSALS = 8
MOST_ENDED = 8
MOST_DECISIONS, MOST_OF_USER = 20, 60
"""Decisions that a digest may state: the latest, and more of the user's."""
MOST_READ = 12
MOST_EDITED = 4
MOST_DELETED = 20
MOST_COMMANDS, LAST_COMMANDS = 5, 40
"""Commands that are listed, and among how many of the last ones they are looked for."""
READ_OFTEN = 3
"""Reads from which a file is one that the work is about; chosen by hand."""
LONGEST_COMMAND = 120
LONGEST_QUOTE = 600
LONGEST_WHOLE_GOAL = 1_200
"""Characters of the goal that nearly every view has room for."""
FILES_PER_CLAIM = 10
"""Files per claim: with too little room, a session with many files loses some of them, never all."""
_EVERYDAY = re.compile(
    r"ls|cat|cd|head|tail|less|nl|wc|grep|rg|egrep|find|fd|tree|sed|awk|sort|uniq|cut|tr|xargs|echo|printf|pwd"
    r"|mkdir|touch|cp|mv|rm|chmod|git|true|test|which|type|sleep|stat|file|diff|jq|"
)
"""Programs that every session runs."""
_COMMIT = re.compile(r"\bgit\b[^|;&\n]{0,60}\bcommit\b")
_LAST_BREAK = re.compile(r".*\s", re.DOTALL)
_TESTED = "last test run: "
_CHECKED = "last check: "
DELETED = f"{Action.DELETED.value}: "
_REFUSED = "refused: "
_ENDED = "no longer holds: "
_VERDICTS = {"mocha": ("passing", "failing"), "bun": ("pass", "fail")}
"""What test runners call passing and failing tests, if not passed and failed."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger: an open item or a decision."""

    id: str
    text: str
    """Verbatim."""
    source: Cite


@dataclass(frozen=True, slots=True)
class MandatoryContent:
    """What must survive a compaction, as the ledger has it."""

    pins: tuple[RuleQuote, ...] = ()
    """The active rules."""
    claims: tuple[Claim, ...] = ()
    """What a digest should say, most important first. These need no grounding, because code made them."""
    open_items: tuple[LedgerEntry, ...] = ()
    decisions: tuple[LedgerEntry, ...] = ()
    past_goals: tuple[LedgerEntry, ...] = ()
    """Goals that the user has moved on from."""
    collapsed: tuple[RuleQuote, ...] = ()
    """Active rules that a line of the claims stands for, because there is no room for their words."""


@dataclass(frozen=True, slots=True)
class LedgerContent:
    """All that a ledger has for a digest, whatever the digest covers."""

    content: MandatoryContent
    """With every claim."""
    repeated: frozenset[int]
    """The indices of the claims that every digest repeats; others only if their source leaves the view."""

    def of_span(
        self,
        span: Sequence[Item],
        shown: tuple[str, Digest] | None = None,
        unseen: Collection[str] = (),
    ) -> MandatoryContent:
        """Return the mandatory content of a digest of this span; see ``mandatory_content``."""
        dropped_ids = {*unseen, *(item.id for item in span)}
        if shown is not None and shown[0] in dropped_ids:
            dropped_ids.update(shown[1].covers)
        claims = tuple(
            claim
            for number, claim in enumerate(self.content.claims)
            if number in self.repeated or _leaves(claim, dropped_ids)
        )
        return replace(self.content, claims=claims)


def mandatory_content(
    ledger: Ledger,
    span: Sequence[Item],
    shown: tuple[str, Digest] | None = None,
    unseen: Collection[str] = (),
) -> MandatoryContent:
    """Return the mandatory content of a digest of this span, most important first.

    Always repeated: rules, goal, open items, facts, changed files, the last test run and check. The rest only
    if its source leaves the view.
    ``shown`` is the digest in the view with the id of its message: if that is in the span, all that it covers
    leaves the view too. ``unseen`` are messages that left it before, without a digest.
    """
    return ledger_content(ledger).of_span(span, shown, unseen)


def ledger_content(ledger: Ledger) -> LedgerContent:
    """Return what a ledger has for any digest, most important first."""
    first = [*_goal(ledger), *_open(ledger), *_fact_claims(ledger)]
    early = [*_early_words(ledger)]
    state = [*_changed_files(ledger), *_last_run(ledger), *_last_check(ledger)]
    rest = (
        *_deleted_again(ledger),
        *_ended_rule_claims(ledger),
        *_plan(ledger),
        *_refusals(ledger),
        *_failures(ledger),
        *_decisions(ledger),
        *_looked_at(ledger),
    )
    before_state = len(first) + len(early)
    return LedgerContent(
        MandatoryContent(
            tuple(_pins(ledger)),
            (*first, *early, *state, *rest),
            tuple(LedgerEntry(loop.id, loop.text, loop.source) for loop in ledger.loops.collapsed),
            tuple(LedgerEntry(decision.id, decision.quote, decision.source) for decision in ledger.decisions),
            tuple(_past_goals(ledger)),
        ),
        frozenset((*range(len(first)), *range(before_state, before_state + len(state)))),
    )


def cited_by(ledger: Ledger) -> Iterator[Cite]:
    """Yield the places of rules, early words, refusals, failures and decisions that a digest may state."""
    yield from (pin.source for pin in ledger.pins.active if pin.source)
    yield from (words.source for words in ledger.user_quotes)
    yield from (refusal.asked for refusal in ledger.refusals[-MOST_REFUSALS:])
    yield from (plan.asked for plan in (ledger.plan,) if plan)
    yield from (cite for failure in ledger.failures for cite in failure.sources[-1:])
    yield from (decision.source for decision in ledger.decisions[-MOST_DECISIONS:])


def _leaves(claim: Claim, dropped_ids: set[str]) -> bool:
    return any(cite.message in dropped_ids for cite in claim.sources)


def _pins(ledger: Ledger) -> Iterator[RuleQuote]:
    # System rules too: those in the prompt are never pinned, but later system messages may leave the view.
    for pin in ledger.pins.active:
        yield RuleQuote(pin.id, pin.quote, pin.source or Cite("by-hand"), pin.trust, pin.needed_lead)


def _goal(ledger: Ledger) -> Iterator[Claim]:
    if goal := ledger.goal:
        yield _quote_claim(ClaimKind.GOAL, goal.quote, goal.source, goal.trust)
        yield from _ended_since(ledger, goal)


def _past_goals(ledger: Ledger) -> Iterator[LedgerEntry]:
    """Yield the goals before the current one, each of them once."""
    by_quote = {goal.quote: goal for goal in reversed(ledger.goals)}
    for goal in reversed(by_quote.values()):
        if ledger.goal is None or goal.quote != ledger.goal.quote:
            yield LedgerEntry(goal.id, goal.quote, goal.source)


def _ended_since(ledger: Ledger, goal: Goal) -> Iterator[Claim]:
    """Yield the ended rules that the goal's quote still contains."""
    for pin in ledger.pins.all:
        in_goal = pin.source is not None and pin.source.message == goal.source.message
        if in_goal and not pin.is_active and pin.ended_by is not None and pin.quote in _beginning(goal.quote):
            yield Claim(
                "",
                ClaimKind.GOAL,
                f'{_ENDED}"{pin.quote}"',
                (pin.ended_by,),
                Trust.ASSISTANT,
                topic=Topic.ENDED_RULE,
            )


def _ended_rule_claims(ledger: Ledger) -> Iterator[Claim]:
    """Yield the rules that ended last: a quote of one elsewhere would seem to be in force."""
    goal = ledger.goal.source.message if ledger.goal else ""
    ended = [
        (pin.quote, pin.ended_by)
        for pin in ledger.pins.all
        if not pin.is_active and pin.ended_by and pin.source and pin.source.message != goal
    ]
    for quote, by in ended[-MOST_ENDED:]:
        yield Claim(
            "", ClaimKind.DECISION, f'{_ENDED}"{_clip(quote)}"', (by,), Trust.USER, topic=Topic.ENDED_RULE
        )


def _quote_claim(kind: ClaimKind, quote: str, source: Cite, trust: Trust) -> Claim:
    """Return a quote as a claim; a long one is cut, with the omission marked."""
    start = _beginning(quote)
    if start == quote:
        return Claim("", kind, quote, (source,), trust, verbatim=True)
    text = f"{start}{omission_note(len(quote) - len(start))}"
    return Claim("", kind, text, (source._replace(end=source.start + len(start)),), trust)


def _beginning(quote: str, most: int = LONGEST_QUOTE) -> str:
    """Return a quote, or the whole words at its beginning."""
    if len(quote) <= most:
        return quote
    words = _LAST_BREAK.match(quote, 0, most)
    # Text without spaces is cut anywhere, rather than to one or two words.
    return words[0].rstrip() if words and len(words[0]) * 3 > most * 2 else quote[:most]


def shorten_claim(claim: Claim, most: int) -> Claim:
    """Return a goal or open item cut to its beginning; its citation leads to the whole."""
    start = _beginning(claim.text, most)
    if start == claim.text:
        return claim
    whole, _, _ = start.partition("[… ")  # without half of an omission note
    return claim._replace(text=f"{whole.rstrip()}…", verbatim=False)


def _open(ledger: Ledger) -> Iterator[Claim]:
    for loop in ledger.loops.collapsed:
        if loop.kind is LoopKind.REQUEST and ledger.goal and _is_goal(loop, ledger.goal):
            continue  # the goal quotes it word for word
        status = _status(loop, ledger)
        text = f"{loop.kind.value}: {_clip(loop.text)}{f' ({status})' if status else ''}"
        # A test's name comes from a tool; other open items were stated by a person or the model.
        trust = Trust.UNTRUSTED if loop.kind is LoopKind.TEST else Trust.ASSISTANT
        yield Claim("", ClaimKind.OPEN, text, (loop.source,), trust)


def _status(loop: Loop, ledger: Ledger) -> str:
    """Say how an open item stands, by what the messages after it show."""
    if loop.kind is LoopKind.TEST:
        if len(ledger.loops.tests.open) > FEW_TESTS:
            return ""
        return "edited since, not run again" if _edited_after(ledger, loop.source) else ""
    if loop.kind is LoopKind.PROMISE and not loop.status:
        return f"as of {loop.source.message}" if _is_old(loop.source, ledger) else ""
    if loop.kind is not LoopKind.TODO:
        return loop.status
    written = ledger.loops.tasks.as_of(loop)
    if not _is_old(written, ledger):
        return loop.status
    if _looks_done(ledger, written):
        return f"as of {written.message}, not updated since"
    return f"{loop.status} as of {written.message}".strip()


def _is_old(cite: Cite, ledger: Ledger) -> bool:
    return cite.number > 0 and len(ledger) - cite.number > LONG_AFTER


def _looks_done(ledger: Ledger, since: Cite) -> bool:
    """Whether work was finished after this place: a commit, or tests that pass with the files as they are."""
    run = ledger.last_run
    if run and run.failed == 0 and run.source.number > since.number and not _edited_after(ledger, run.source):
        return True
    return any(
        command.last.number > since.number and command.ended is Ended.OK and _COMMIT.search(command.name)
        for command in ledger.artifacts.commands
    )


def _fact_claims(ledger: Ledger) -> Iterator[Claim]:
    for fact in ledger.facts.all:
        yield Claim("", ClaimKind.FACT, fact.quote, (fact.source,), fact.trust, verbatim=True)


def _early_words(ledger: Ledger) -> Iterator[Claim]:
    """Yield early statements of the user, unless a rule or the goal quotes them.

    Of a long goal a small view shows only a part, which begins like the goal.
    """
    quoted = {pin.quote.casefold() for pin in ledger.pins.all}
    goal = _beginning(ledger.goal.quote, LONGEST_WHOLE_GOAL) if ledger.goal else ""
    for words in ledger.user_quotes:
        if words.quote.casefold() not in quoted and words.quote not in goal:
            yield _quote_claim(ClaimKind.USER, words.quote, words.source, words.trust)


def _is_goal(loop: Loop, goal: Goal) -> bool:
    """Whether a request is the goal: part of its message, or the same words."""
    if loop.source.message != goal.source.message:
        return loop.text == goal.quote
    start = _beginning(goal.quote)
    return loop.text in start or (loop.text in goal.quote and loop.text.startswith(start))


def _clip(text: str) -> str:
    start = _beginning(text)
    return text if start == text else f"{start}…"


def _changed_files(ledger: Ledger) -> Iterator[Claim]:
    """Yield every file that the session left changed, by action, a few per claim."""
    by_action: dict[str, list[Artifact]] = {}
    for artifact in ledger.artifacts.changed:
        if artifact.created and artifact.action is Action.DELETED:
            continue  # it was there neither before nor now
        verb = "created" if artifact.created and artifact.exists else _change(artifact).value
        by_action.setdefault(verb, []).append(artifact)
    for action, artifacts in by_action.items():
        yield from _file_claims(action, artifacts)


def _deleted_again(ledger: Ledger) -> Iterator[Claim]:
    """Yield the files that the session created and deleted. A digest lists only those that it names."""
    gone = [one for one in ledger.artifacts.changed if one.created and one.action is Action.DELETED]
    for artifact in gone[-MOST_DELETED:]:
        cites = tuple(dict.fromkeys((artifact.first, artifact.last_change or artifact.last)))
        text = f"{DELETED}{artifact.name}"
        yield Claim("", ClaimKind.ARTIFACT, text, cites, Trust.UNTRUSTED, topic=Topic.DELETED_AGAIN)


def _change(artifact: Artifact) -> Action:
    """Return what was done to a file; one that was changed and then read counts as changed."""
    return artifact.action if artifact.action in CHANGES else Action.MODIFIED


def _file_claims(action: str, artifacts: Sequence[Artifact]) -> Iterator[Claim]:
    remaining_artifacts = iter(artifacts)
    while few := list(islice(remaining_artifacts, FILES_PER_CLAIM)):
        folder = _folder_of(tuple(artifact.name for artifact in few))
        names = ", ".join(artifact.name[len(folder) :] for artifact in few)
        where = f" in {folder}" if folder else ""
        cites = tuple(dict.fromkeys(artifact.last_change or artifact.last for artifact in few))
        topic = Topic.FILES_READ if action == Action.READ else Topic.FILES_CHANGED
        text = f"{action}{where}: {names}"
        yield Claim("", ClaimKind.ARTIFACT, text, cites, Trust.UNTRUSTED, topic=topic)


@lru_cache(maxsize=1_024)  # several digests are tried per plan, and most files stay the same between plans
def _folder_of(names: tuple[str, ...]) -> str:
    """Return the folder that full paths share, with its slash; each keeps at least one folder of its own.

    So files stay recognisable, and the common prefix is written once.
    """
    shared = posixpath.commonprefix([posixpath.dirname(name) for name in names])
    folder = shared[: shared.rfind("/") + 1]
    return folder if folder.count("/") > 1 and not any(map(str.isspace, folder)) else ""


def _looked_at(ledger: Ledger) -> Iterator[Claim]:
    """Yield the last commands and the files that were read last, first those that occur again and again."""
    failed = {one.attempts[-1] for one in ledger.failures if one.attempts and not one.is_fixed}
    latest_first = sorted(ledger.artifacts.commands, key=_last_touched, reverse=True)
    telling = (one for one in latest_first[:LAST_COMMANDS] if not _is_everyday(one.name))
    run = list(islice(telling, MOST_COMMANDS))[::-1]
    often = [command for command in run if command.count > 1]
    yield from (_command_claim(command, failed) for command in often)
    read = [artifact for artifact in ledger.artifacts.files if not artifact.changed]
    latest = sorted(read, key=_last_touched)[-MOST_READ:]
    read_often = [artifact for artifact in latest if artifact.count >= READ_OFTEN]
    yield from _file_claims(Action.READ.value, read_often)
    yield from _file_claims(Action.READ.value, [one for one in latest if one not in read_often])
    yield from (_command_claim(command, failed) for command in run if command not in often)


def _command_claim(command: Artifact, failed: Collection[Cite]) -> Claim:
    """Return what was run last, and how it ended if not well."""
    outcome = f" (exit {command.exit_code})" if command.exit_code else ""
    if not outcome and command.last in failed:
        outcome = " (failed)"
    text = f"ran: {_first_line(command.name)}{outcome}"
    return Claim("", ClaimKind.ARTIFACT, text, (command.last,), Trust.UNTRUSTED, topic=Topic.COMMAND)


@lru_cache(maxsize=1_000)
def _is_everyday(line: str) -> bool:
    """Whether a command line only looks at files or moves them about: it says nothing about how to work."""
    programs = ((without_prefixes(simple.words) or [""])[0] for simple in simple_commands(line))
    return all(map(_EVERYDAY.fullmatch, programs))


def _last_touched(artifact: Artifact) -> int:
    return artifact.last.number


def _first_line(command: str) -> str:
    line, _, more = command.strip().partition("\n")
    return f"{line[:LONGEST_COMMAND]}…" if more or len(line) > LONGEST_COMMAND else line


def _last_run(ledger: Ledger) -> Iterator[Claim]:
    if run := ledger.last_run:
        passes, fails = _VERDICTS.get(run.runner, ("passed", "failed"))
        passed = "" if run.passed is None else f"{run.passed} {passes}, "
        text = f"{_TESTED}{_first_line(run.command)}: {passed}{run.failed} {fails}"
        text += _edited_after(ledger, run.source)
        yield Claim("", ClaimKind.ARTIFACT, text, (run.source,), Trust.UNTRUSTED, topic=Topic.TEST_RUN)


def _edited_after(ledger: Ledger, run: Cite) -> str:
    """Name the files that were changed after a run: its result may no longer hold."""
    later = [
        posixpath.basename(artifact.name)
        for artifact in ledger.artifacts.changed
        if artifact.last_change and artifact.last_change.number > run.number > 0
    ]
    more = f" and {len(later) - MOST_EDITED} more" if len(later) > MOST_EDITED else ""
    return f" (edited after it: {', '.join(later[:MOST_EDITED])}{more})" if later else ""


def _last_check(ledger: Ledger) -> Iterator[Claim]:
    if check := ledger.last_check:
        text = f"{_CHECKED}{_first_line(check.command)}: {check.verdict}{_edited_after(ledger, check.source)}"
        yield Claim("", ClaimKind.ARTIFACT, text, (check.source,), Trust.UNTRUSTED, topic=Topic.CHECK)


def _plan(ledger: Ledger) -> Iterator[Claim]:
    """Yield the plan that the person approved, in the agent's words."""
    if (plan := ledger.plan) and plan.answered:
        text = f"{APPROVED_PLAN}{plan.plan}"
        sources = (plan.asked, plan.answered)
        yield Claim("", ClaimKind.DECISION, text, sources, Trust.ASSISTANT, topic=Topic.PLAN)


def _refusals(ledger: Ledger) -> Iterator[Claim]:
    """Yield the calls that the host marked as refused, with the result's words as a quote."""
    for refusal in ledger.refusals[-MOST_REFUSALS:]:
        quote = refusal.words or refusal.result
        words = f': "{_clip(quote)}"' if quote else ""
        sources = (refusal.asked, refusal.answered) if refusal.answered else (refusal.asked,)
        text = f"{_REFUSED}{_clip(refusal.what)}{words}"
        # Labelled lower if its sources are.
        yield Claim("", ClaimKind.ERROR, text, sources, Trust.USER, topic=Topic.REFUSAL)


_MISTYPED = re.compile(r"syntax error near unexpected token|unexpected EOF while looking for matching")
"""What a shell says about a command that it cannot read: nothing was run."""


def _failures(ledger: Ledger) -> Iterator[Claim]:
    teaching = [
        open_failure
        for open_failure in ledger.failures
        if (
            open_failure.count >= REPEATED or (not open_failure.fixed_by and _is_recent(open_failure, ledger))
        )
        and _SAYS_WHY.search(said := " ".join(open_failure.lines))
        and not _MISTYPED.search(said)
    ]
    for failure in teaching[-MOST_FAILURES:]:
        yield Claim(
            "",
            ClaimKind.ERROR,
            _failure_text(failure, len(ledger)),
            failure.sources,
            Trust.UNTRUSTED,
            topic=Topic.FAILURE,
        )


def _failure_text(failure: Failure, messages: int) -> str:
    lines = _clip(" / ".join(without_colours(line).strip() for line in failure.lines))
    tries = f", failed {failure.count} times" if failure.count > 1 else ""
    return f"{failure.subject[:120] or failure.tool}{tries}: {lines}.{_state(failure, messages)}"


def _state(failure: Failure, messages: int) -> str:
    """Say what became of a failure, by what the messages after it show."""
    if failure.fixed_by:
        return FIXED_OTHERWISE if failure.otherwise else FIXED
    if failure.redone:
        return PARTLY_REDONE
    if failure.changed and not failure.files:
        return EDITED_SINCE
    return NOT_FIXED if messages - failure.last_number <= JUST_NOW else NOT_REPEATED


def _is_recent(failure: Failure, ledger: Ledger) -> bool:
    """Whether a failure is so recent that work may still be about it; others were worked around."""
    number = failure.sources[-1].number if failure.sources else 0
    return not number or len(ledger) - number <= RECENT_MESSAGES


def _decisions(ledger: Ledger) -> Iterator[Claim]:
    latest = _latest_decisions(ledger)
    for decision in latest:
        if not decision.chosen and any(decision.quote in one.quote for one in latest if one is not decision):
            continue
        if decision.chosen and decision.offered:
            text = f'{_clip(decision.quote)} (offered: "{decision.chosen}")'
            sources = (decision.source, decision.offered)
            yield Claim("", ClaimKind.DECISION, text, sources, Trust.ASSISTANT)
        else:
            yield _quote_claim(ClaimKind.DECISION, decision.quote, decision.source, decision.trust)


def _latest_decisions(ledger: Ledger) -> list[Decision]:
    """Return the user's last decisions and, fewer, those of the model, oldest first."""
    of_user = [decision for decision in ledger.decisions if decision.by is DecidedBy.USER][-MOST_OF_USER:]
    kept = {decision.id for decision in (*of_user, *ledger.decisions[-MOST_DECISIONS:])}
    return [decision for decision in ledger.decisions if decision.id in kept]


def is_restated(claim: Claim) -> bool:
    """Whether a claim of an earlier digest is one that the ledger restates in its current form."""
    return claim.topic is not None or claim.kind in (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.NEXT)
