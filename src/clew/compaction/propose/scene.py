"""The input of a proposal, and derived values that several rungs need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile

from clew.compaction.plan import Claim, Shrink
from clew.compaction.propose.current_text import MOST_MESSAGES, FileTexts, current_texts
from clew.compaction.propose.file_text import FilePassage, is_plan, passages
from clew.compaction.propose.focus import FOCUS_SHARE, Focus
from clew.compaction.propose.guides import guides_in
from clew.compaction.propose.line_kinds import FAILED
from clew.compaction.propose.lines import Span
from clew.compaction.propose.needs import MOST_REPORTS, of_running_work, told
from clew.compaction.propose.prune_calls import says_change
from clew.compaction.propose.shrink_context import ExcerptSources, Folds
from clew.compaction.propose.steps import WORTH_A_POINTER, Step, steps_of
from clew.compaction.propose.tail import (
    CHARACTERS_PER_TOKEN,
    FEW_SHARE,
    FEWER_AGENT_TOKENS,
    MOST_VERBATIM,
    RESERVED_SHARE,
    SHORT_RESULT,
    Fading,
    between,
    faded_sizes,
    last_cuts,
    opens_turn,
    tail_room,
    tail_start,
    unread_room,
)
from clew.compaction.propose.terms import LONGEST_REQUEST, RECENT, mentioned, terms_of
from clew.compaction.propose.thinking import without_thinking
from clew.compaction.propose.topics import Topics
from clew.compaction.propose.wanted_lines import wanted_spans
from clew.compaction.propose.worklist import LIST_SHARE, work_left
from clew.compaction.task import CompactionTask
from clew.ledger.tool_actions import CHANGING, ActionKind
from clew.message import Cite, Item, Message, Place, Role, Thinking, words
from clew.message.text import once

THINKING_SHARE = 0.2
"""Share of the room for recent messages that the thinking of the running turn may take; the steps themselves
say most of it. Chosen by hand."""
MOST_THINKING = 0.5
"""Share of that room from which on all thinking leaves. Chosen by hand."""
MOST_FOR_GUIDES = 120
"""Last messages among which texts that say how to work are looked for, and results that the next edits may
need: it bounds the cost of a compaction."""
LONGEST_FAILURE = 12_000
"""Characters at the end of a failed output that say which files the work is about; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the scenes of a plan compute of texts, so that none is computed twice."""

    excerpt_sources: dict[tuple[tuple[str, float], ...], ExcerptSources] = field(default_factory=dict)
    """Texts that excerpts were made of, by the terms that they look for."""
    folds: Folds = field(default_factory=dict)
    """Texts without repetitions."""
    topics: list[Topics] = field(default_factory=list)
    """What the work is about, once it is known."""
    texts: FileTexts = field(default_factory=dict)
    """The current text of files that the work is about."""
    steps: list[tuple[Sequence[Item], Sequence[Step]]] = field(default_factory=list)
    """The latest messages and their answered calls, once they are looked up..."""
    left: list[Claim | None] = field(default_factory=list)
    """...and what is left of the list that the agent works through."""


class Scene:
    """A compaction task with derived values, each computed once."""

    def __init__(
        self,
        task: CompactionTask,
        *,
        drop_thinking: bool = False,
        pruned: Sequence[Shrink] = (),
        protected: dict[str, list[Cite]] | None = None,
        shared: Shared | None = None,
    ) -> None:
        """Count tokens, as if ``pruned`` were applied and, with ``drop_thinking``, thinking removed.

        ``protected`` are the places that must stay readable once these prunings are applied. The scenes of a
        plan share what they compute of texts.
        """
        self.task = task
        self.drop_thinking = drop_thinking
        self.pruned = pruned
        self.protected = protected
        count = task.counter.count
        self.sizes_now = [count(item.message) for item in task.view] if task.sizes is None else task.sizes
        self.before = sum(self.sizes_now)
        smaller = {shrink.id: Item(shrink.id, shrink.message) for shrink in pruned}
        self.view = [smaller.get(item.id, item) for item in task.view] if smaller else task.view
        self.view = without_thinking(self.view) if drop_thinking else self.view
        self.sizes = (
            [
                size if item is known else count(item.message)
                for item, known, size in zip(self.view, task.view, self.sizes_now, strict=True)
            ]
            if drop_thinking or smaller
            else self.sizes_now
        )
        self.first = self._after_fixed()
        """Index after what stays in place: the system prompt, and another tool's summary if there is room."""
        self.fixed = sum(self.sizes[: self.first])
        self.room = task.target_tokens - self.fixed
        self.view_target = task.target_tokens - task.beside_tokens
        """What the view may have if no digest states the rules that are sent beside it."""
        self.focus = Focus(task.focus)
        self.shared = shared or Shared()

    def _after_fixed(self) -> int:
        summary = self.task.tool_summary
        room = self.task.target_tokens - sum(self.sizes[: summary.start])
        fits = sum(self.sizes[i] for i in summary) <= room * self.task.keep.summary_share
        return summary.stop if fits else summary.start

    def with_longer_tail(self, tokens: int) -> Scene:
        """Return the same scene with more room for recent messages."""
        keep = replace(self.task.keep, room=tokens)
        return self.derived(self.task.with_keep(keep, self.sizes_now))

    def derived(self, task: CompactionTask, *, drop_thinking: bool = False) -> Scene:
        """Return the scene of a changed task, with the same prunings and the excerpts made so far."""
        return Scene(
            task,
            drop_thinking=drop_thinking,
            pruned=self.pruned,
            protected=self.protected,
            shared=self.shared,
        )

    def with_more_pruned(self, shrinks: Sequence[Shrink]) -> Scene:
        """Return the same scene with more messages pruned, or again."""
        pruned = {shrink.id: shrink for shrink in (*self.pruned, *shrinks)}
        return Scene(
            self.task,
            drop_thinking=self.drop_thinking,
            pruned=[*pruned.values()],
            protected=self.protected,
            shared=self.shared,
        )

    def with_pruned(self, shrinks: Sequence[Shrink], start: int) -> list[Shrink]:
        """Return shrinks of messages from an index on, with the prunings that they do not replace."""
        known = {shrink.id for shrink in shrinks}
        stays = (*self.view[: self.first], *self.view[start:]) if self.pruned else ()
        kept = {item.id for item in stays}
        return [
            *shrinks,
            *(earlier for earlier in self.pruned if earlier.id in kept and earlier.id not in known),
        ]

    @once
    def lines_in_focus(self) -> list[Cite]:
        """The lines of the view, in its originals, that are about what a person named."""
        room = int(self.room * FOCUS_SHARE) * CHARACTERS_PER_TOKEN
        return self.focus.lines(self.originals(self.view), room)

    @once
    def floor(self) -> int:
        """The first index at which recent messages may begin: after an earlier digest."""
        name = self.task.shown[0] if self.task.shown else None
        found = (i for i, item in enumerate(self.view) if item.id == name)
        return max(self.first, next(found, -1) + 1) if name else self.first

    @once
    def loop(self) -> int:
        """The index of the user's last message, where the running turn begins."""
        spoken = (i for i in reversed(range(len(self.view))) if opens_turn(self.view[i].message))
        return next(spoken, 0)

    @once
    def _sizes_to_keep(self) -> tuple[list[int], list[int], int]:
        """The sizes whole and faded, and where such messages begin.

        Agent text fades further if otherwise too few messages would stay.
        """
        usual = None
        for most in (None, *FEWER_AGENT_TOKENS):
            whole, faded = self._faded_sizes(most)
            found = whole, faded, self._start(whole, faded)
            if self._fills(faded, found[2]):
                return found
            usual = usual or found
        return usual or found

    def _faded_sizes(self, most: int | None) -> tuple[list[int], list[int]]:
        fading = Fading(
            self.thinking,
            self._asked,
            most,
            self.loop,
            self._plan,
            self._guides_of_turn,
            self._failed,
            self._reports,
            self._edited,
        )
        return faded_sizes(self.view, self.sizes, self.tail_room, fading, self.task.counter.count_part)

    @once
    def _last_steps(self) -> list[Step]:
        """The calls and results of recent messages, the latest first."""
        start = max(self.floor, len(self.view) - max(RECENT, MOST_FOR_GUIDES))
        return steps_of(self.view, start)[::-1]

    def _steps_since(self, start: int) -> Iterator[Step]:
        """Yield those with a result at an index or later, the latest first."""
        return takewhile(lambda step: step.result.message >= start, self._last_steps)

    @once
    def _plan(self) -> int | None:
        """The index of the message with the latest text of a plan: read, written or presented."""
        start = max(self.floor, len(self.view) - RECENT)
        for step in self._steps_since(start):
            read, changed = step.files if step.action.subject else ("", [])
            if step.action.kind is ActionKind.PROPOSE and len(step.asked.input_text) >= WORTH_A_POINTER:
                return step.call.message
            is_written = step.action.kind is ActionKind.WRITE
            if is_plan(read) or (is_written and len(changed) == 1 and is_plan(changed[0])):
                return step.call.message if is_written else step.result.message
        return None

    @once
    def guides(self) -> frozenset[Place]:
        """The parts of recent messages that say how to work: skills, and files that the work began with."""
        start = max(self.floor, len(self.view) - MOST_FOR_GUIDES)
        asked = "\n".join(claim.text for claim in (self.task.request, self.task.goal) if claim)
        large = (i + start for i, size in enumerate(self.sizes[start:]) if size > SHORT_RESULT)
        return frozenset(guides_in(self.view, start, set(large), asked))

    @once
    def _guides_of_turn(self) -> frozenset[Place]:
        return frozenset(place for place in self.guides if place.message >= self.loop)

    @once
    def _failed(self) -> frozenset[int]:
        """The index of the message with the last test run, if it failed."""
        run = self.task.ledger.last_run
        return self._indices({run.source.message} if run and run.failed else ())

    @once
    def _reports(self) -> frozenset[Place]:
        """The last reports of other agents among recent messages."""
        start = max(self.floor, len(self.view) - MOST_FOR_GUIDES)
        reports = (step.result for step in self._steps_since(start) if step.asks_agent)
        return frozenset(islice(reports, MOST_REPORTS))

    @once
    def _edited(self) -> frozenset[Place]:
        """The newest result of each file's recent edits, of those whose calls do not say what they wrote."""
        start = max(self.floor, len(self.view) - MOST_FOR_GUIDES)
        found: dict[str, Place] = {}
        for step in self._steps_since(start):
            if step.action.kind in CHANGING and step.succeeded and not says_change(step):
                found = dict.fromkeys(step.files[1], step.result) | found
        return frozenset(found.values())

    @once
    def _asked(self) -> frozenset[int]:
        """The indices of the messages with the goal and with the request in progress."""
        said = (self.task.goal, self.task.request)
        return self._indices({claim.sources[0].message for claim in said if claim})

    def _indices(self, names: Collection[str]) -> frozenset[int]:
        """Return where messages with these ids are in the view."""
        return frozenset(i for i, item in enumerate(self.view) if item.id in names) if names else frozenset()

    def _fills(self, faded: Sequence[int], start: int) -> bool:
        """Whether messages from an index on use their room, or are all there are."""
        return start == self.floor or sum(faded[start:]) >= self.tail_room * FEW_SHARE

    @property
    def whole(self) -> list[int]:
        """The sizes of the view's messages; those of recent ones without the thinking of earlier turns."""
        return self._sizes_to_keep[0]

    @property
    def faded(self) -> list[int]:
        """The sizes of the view's messages with recent ones faded."""
        return self._sizes_to_keep[1]

    @once
    def stop(self) -> int:
        """The index of the first recent message, whole or faded."""
        stop = self._sizes_to_keep[2]
        if stop <= self.verbatim:
            return stop
        kept = len(self.view) - self.verbatim
        cuts = last_cuts(self.view, self.faded, self.floor, messages=kept, tokens=0)
        return max((cut for cut in cuts if cut <= self.verbatim), default=stop)

    def _start(self, whole: Sequence[int], faded: Sequence[int]) -> int:
        """Return where recent messages of these sizes begin: unanswered ones and those asked for first."""
        least = sum(faded[self.unread :])
        unread = max(least, unread_room(sum(whole[self.unread :]), self.tail_room)) - least
        held = sum(whole[self.verbatim :]) - sum(faded[self.verbatim :])
        room = self.tail_room - max(0, unread, held)
        needed = {place.message for place in self.needs if place.message >= self.loop}
        lost = sum(whole[i] - faded[i] for i in needed)
        reserved = self.loop, min(lost, int(room * between(RESERVED_SHARE, self.room)))
        return tail_start(self.view, faded, room, self.task.keep, self.floor, reserved)

    @once
    def needs(self) -> dict[Place, float]:
        """The parts of recent messages that the next steps need, with weights."""
        work = len(self.view) if self._has_ended else self.work
        found = told(self.view, self._last_steps, work)
        running = list(self._steps_since(work))
        read = of_running_work(running, self._topics, self.unread) if running else {}
        return read | {place: max(weight, read.get(place, 0.0)) for place, weight in found.items()}

    @once
    def read_files(self) -> dict[Place, str]:
        """The files that needed results show."""
        return {one.result: one.files[0] for one in self._last_steps if one.result in self.needs}

    def wanted_spans(self, place: Place, text: str) -> list[Span]:
        """Return the passages of a result that shows a file which the work names."""
        path = self.read_files.get(place)
        if not path:
            return []
        return wanted_spans(text, self._topics.lines_of(path), self._topics.asked_names)

    @once
    def work(self) -> int:
        """The index where the running work begins: words of the user between two calls do not end a turn."""
        start = self.loop
        while start > self.floor and not self._ends_turn(start):
            spoken = (i for i in reversed(range(start)) if opens_turn(self.view[i].message))
            start = next(spoken, self.floor)
        return start

    def _ends_turn(self, start: int) -> bool:
        """Whether the agent's last message before an index makes no call; True if it has said nothing."""
        said = (item.message for item in reversed(self.view[:start]) if item.message.role is Role.ASSISTANT)
        last = next(said, None)
        return last is None or not any(last.calls)

    @property
    def _topics(self) -> Topics:
        if not self.shared.topics:
            self.shared.topics.append(self._new_topics())
        return self.shared.topics[0]

    def _new_topics(self) -> Topics:
        asked = self.task.request or self.task.goal
        said = (
            asked.text[:LONGEST_REQUEST] if asked else "",
            self._work_left.text if self._work_left else "",
        )
        return Topics(self.view, filter(None, said), self._went_wrong, self._committed)

    @property
    def _committed(self) -> list[str]:
        """The files whose changes the running work has committed."""
        runs = (step for step in self._steps_since(self.work) if step.action.kind is ActionKind.SHELL)
        commits = (step for step in runs if "git commit" in step.action.subject and step.succeeded)
        if (last := next(commits, None)) is None:
            return []
        number = Cite(last.name).number
        changed = self.task.ledger.artifacts.changed
        return [one.name for one in changed if one.last_change and one.last_change.number < number]

    @property
    def _went_wrong(self) -> str:
        """The end of what failed in the running work: the last test run, the last check, the last failure."""
        ledger = self.task.ledger
        run, check = ledger.last_run, ledger.last_check
        cites = [
            *([run.source] if run and run.failed else ()),
            *([check.source] if check and FAILED.search(check.verdict) else ()),
            *[one.sources[0] for one in ledger.failures if one.sources and not one.is_fixed][-1:],
        ]
        failed = {cite.message: cite.part for cite in cites}
        texts = [
            words(self.view[i].message.parts[part])[-LONGEST_FAILURE:]
            for i in sorted(self._indices(failed))
            if i >= self.work and (part := failed[self.view[i].id]) < len(self.view[i].message.parts)
        ]
        return "\n".join(texts)

    @once
    def terms(self) -> dict[str, float]:
        """What the work is about now, with weights."""
        said = (self.task.request, self.task.goal)
        return terms_of(self.view, self.loop, *(claim.text if claim else "" for claim in said))

    @once
    def names(self) -> dict[str, float]:
        """The names among these terms."""
        return mentioned(self.terms)

    def file_passages(self, gone: Collection[str], visible: Collection[str] = ()) -> list[FilePassage]:
        """Return the passages of files that the work is about, given the ids of the messages that leave.

        ``visible`` are the lines shown of those that are only shortened.

        Not a cached property: Python 3.11 locks those, and looking up originals may wait for the store.
        """
        topics = self._topics
        if not self.shared.texts:
            items, steps = self._known_steps()
            self.shared.texts.update(current_texts(items, steps, topics))
        return passages(self.shared.texts, gone, topics, visible)

    def _known_steps(self) -> tuple[Sequence[Item], Sequence[Step]]:
        """Return the latest messages of the session in their original form, and the answered calls."""
        if not self.shared.steps:
            covered = self.task.shown[1].covers if self.task.shown else ()
            known = (Item(name, one) for name in covered[-MOST_MESSAGES:] if (one := self.source(name)))
            recent = self.originals(self.task.view[self.floor :][-2 * MOST_MESSAGES :])
            items = [*known, *recent]
            self.shared.steps.append((items, steps_of(items)))
        return self.shared.steps[0]

    def work_left(self, gone: Collection[str]) -> Claim | None:
        """Return what is left of the list that the agent works through, if it leaves the view."""
        left = self._work_left
        return left if left and left.sources[0].message in gone else None

    @property
    def _work_left(self) -> Claim | None:
        if not self.shared.left:
            room = int(self.room * LIST_SHARE) * CHARACTERS_PER_TOKEN
            self.shared.left.append(work_left(self._known_steps()[1], room))
        return self.shared.left[0]

    @once
    def unread(self) -> int:
        """The index after the last reply: the model has not read these messages yet."""
        last = (i for i in reversed(range(len(self.view))) if self.view[i].message.role is Role.ASSISTANT)
        return next(last, -1) + 1

    @property
    def _has_ended(self) -> bool:
        """Whether the view ends with a reply that makes no call: the user speaks next."""
        return self.unread == len(self.view) and bool(self.view) and not any(self.view[-1].message.calls)

    @once
    def verbatim(self) -> int:
        """The index from which messages stay verbatim.

        As many tokens as the caller asked for, and the reply that ends a turn, not yet answered by the user.
        """
        wanted, most = self.task.keep.tokens or 0, int(self.tail_room * MOST_VERBATIM)
        first = len(self.view)
        held = 0
        if first > self.floor and self._has_ended:
            wanted = max(wanted, 1)  # one message, if it fits
        while first > self.floor and held < wanted and held + self.sizes[first - 1] <= most:
            first -= 1
            held += self.sizes[first]
        return first

    @once
    def thinking(self) -> int:
        """The index from which thinking stays when messages fade: the running turn, or what stays verbatim.

        Of a long running turn, the thinking of its last steps, as far as it fits into a share of the room. A
        provider may ask for the reasoning before a call, so the agent's messages in a row are not divided.
        """
        first = min(self.loop, self.verbatim)
        left = int(self.tail_room * THINKING_SHARE)
        for i in reversed(range(first, self.verbatim)):
            left -= self._thinking_tokens(i)
            if left < 0 and i < self._last_reply:
                first = i + 1
                break
        while self.floor < first < len(self.view) and all(
            item.message.role is Role.ASSISTANT for item in self.view[first - 1 : first + 1]
        ):
            first -= 1
        return first

    def _thinking_tokens(self, index: int) -> int:
        parts = self.view[index].message.parts
        return sum(self.task.counter.count_part(part) for part in parts if isinstance(part, Thinking))

    @property
    def is_mostly_thinking(self) -> bool:
        """Whether the thinking that stays of recent messages takes over half of their room."""
        stays = {self.opens_loop(self.floor), *range(self.thinking, len(self.view))} - {len(self.view)}
        return sum(map(self._thinking_tokens, stays)) > self.tail_room * MOST_THINKING

    @property
    def _last_reply(self) -> int:
        """The index of the agent's last message."""
        return self.unread - 1

    def opens_loop(self, start: int) -> int:
        """Return the index of the first step of the running turn in a view from ``start`` on.

        It keeps its thinking: a provider may refuse a running turn that does not begin with thinking.
        Reasoning that is an item of its own, as in the Responses API, may leave: then no step is returned.
        """
        steps = range(max(start, self.loop), len(self.view))
        first = next((i for i in steps if self.view[i].message.role is Role.ASSISTANT), len(self.view))
        return len(self.view) if first < len(self.view) and _is_item(self.view[first].message) else first

    @once
    def tail_room(self) -> int:
        """The tokens for recent messages; larger ones fade."""
        return tail_room(self.room, self.task.keep, focused=bool(self.focus))

    @once
    def size_by_id(self) -> dict[str, int]:
        """The tokens of the view's messages, by id."""
        return {item.id: size for item, size in zip(self.view, self.sizes_now, strict=True)}

    def original(self, name: str) -> Message | None:
        """Return a message of the view in its original form; None if the view does not have it."""
        shown_message = self.task.by_id.get(name)
        if shown_message is None or self.task.originals is None:
            return shown_message
        return self.task.originals(name) or shown_message

    def source(self, name: str) -> Message | None:
        """Return any message of the session in its original form, also one that a digest covers."""
        return self.task.source(name)

    def originals(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield messages of the view in their original form."""
        if self.task.originals is None:
            yield from items
            return
        for item in items:
            original = self.task.originals(item.id)
            yield item if original is None or original is item.message else Item(item.id, original)

    def tokens(self, start: int, stop: int | None = None) -> int:
        """Return the tokens of a range of the view."""
        return sum(self.sizes[start:stop])

    def tokens_with(self, shrinks: Sequence[Shrink], since: int = 0) -> int:
        """Return the tokens of the view from an index on, with these shrinks applied."""
        smaller = {shrink.id: self.task.counter.count(shrink.message) for shrink in shrinks}
        sizes = zip(self.view[since:], self.sizes[since:], strict=True)
        return sum(smaller.get(item.id, size) for item, size in sizes)


def _is_item(message: Message) -> bool:
    """Whether a message is nothing but reasoning items of the Responses API."""
    return all(
        isinstance(part, Thinking) and part.native is not None and part.native.wire == "responses"
        for part in message.parts
    )
