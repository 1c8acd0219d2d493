"""Choose the optional content of a digest, and divide its room among the kinds of content.

In goes what a digest is made from (``DigestInput``) and a number of tokens; out come claims that fit: the
ledger's, the agent's own notes, a model's prose, requests and reports, text of files, findings, edits, lines
in focus. Each kind has a share of the room (the constants below); what one kind does not need goes to others.
``digest_builder.py`` asks for claims of different sizes until the rendered digest fits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from clew.compaction.ledger_claims import is_restated
from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.propose.brief import Written
from clew.compaction.propose.citations import label_of, trust_at
from clew.compaction.propose.claim_overlap import by_turn, is_quoted, is_said, place, without_repeats
from clew.compaction.propose.claim_sizer import ClaimSizer
from clew.compaction.propose.digest_input import NEVER_LEFT_OUT, DigestInput
from clew.compaction.propose.file_text import FilePassage, file_of, repeats
from clew.compaction.propose.file_text import claims as text_claims
from clew.compaction.propose.focus import FOCUS_SHARE
from clew.compaction.propose.last_edits import last_edits
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.named_parts import heading_level
from clew.compaction.propose.pointed_to import orders_in, said_next
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.story import LEVELS, Story, in_order
from clew.compaction.propose.tail import CHARACTERS_PER_TOKEN
from clew.message import Cite, Item, Message, words
from clew.message.text import once

CHANGES_SHARE = 0.2
"""Share of a view's room up to which the names of changed files are mandatory, if all else fits..."""
FILES_SHARE = 0.8
"""...and shares of a digest's room: for changed files, if there are very many..."""
DECISIONS_SHARE = 0.8
"""...for decisions, a person's first..."""
LEDGER_SHARE = 0.2
"""...for other optional claims of the ledger..."""
TASKS_SHARE = 0.8
"""...for the items of a list that the request points at, before all else: they say what the work is..."""
NOTES_SHARE = 0.4
"""...for the agent's own plan or status, if a model has not written one..."""
STORY_SHARE = 0.75
"""...for what was asked and reported..."""
FINDINGS_SHARE = 0.2
"""...for findings, before the rest of the story..."""
EDITS_SHARE = 0.2
"""...and for the last edits of files, as small diffs. All fitted on ``bench/reader`` and ``clew eval``."""
MOST_READ = 5_000
"""Messages that are searched for lines in focus, the latest; chosen by hand."""
MOST_TEXT_SHARE = 0.2
"""Share of the view's room for text of files if nothing else in a digest needs it: up to this share a reading
model continues as well (``bench/results/reader.md``)."""
MOST_CHARACTERS_PER_TOKEN = 5
"""Of code: a passage that would not fit even so is not tried."""
WRITTEN_SHARE = 0.6
"""Share of what the ledger leaves, for a model's prose; the rest is for exact quotes."""
_PROSE = (ClaimKind.DECISION, ClaimKind.ERROR, ClaimKind.ARTIFACT, ClaimKind.FINDING, ClaimKind.FACT)
STORY = (ClaimKind.USER, ClaimKind.REPORT)


class DigestContent:
    """The optional content of a digest, by kind and priority."""

    def __init__(
        self, scene: Scene, inputs: DigestInput, written: Written | None = None, *, is_last: bool = False
    ) -> None:
        """Collect ledger claims, prose, story, findings, edits and lines in focus.

        ``is_last`` says that recent messages need no more of the room: then text of more files is shown.
        """
        self._focus = scene.focus
        self._mandatory = inputs.must
        self._ledger = scene.focus.first(list(_optional_ledger_claims(inputs)))
        self._prose = _prose(scene, inputs, written)
        self._story = _story(scene, inputs)
        self._goal_lines = _goal_lines(inputs.must, scene.source)
        # Carried over from an earlier digest only if the originals that it covers cannot be looked up.
        earlier = inputs.earlier.claims if inputs.earlier and not _knows(scene, inputs) else ()
        carried = [claim for claim in earlier if claim.kind in STORY]
        self._carried = without_repeats(carried, above=(*inputs.must, *self._prose, *self._ledger))
        self._tasks = _tasks(scene, inputs)
        self._edits = list(last_edits(scene.task.ledger.artifacts.changed, inputs.gone, scene.source))
        self._for_text = scene.task.keep.for_text
        self._most_text = max(self._for_text, int(scene.room * MOST_TEXT_SHARE))
        passages = _file_passages(scene, inputs) if self._for_text or is_last else []
        self._passages = [one for one in passages if one.is_needed]
        self._spare_passages = [one for one in passages if not one.is_needed] if is_last else []
        self._findings = scene.focus.first(self._story.findings)
        self._for_focus = int(scene.room * FOCUS_SHARE) if scene.focus else 0
        self._in_focus = list(_lines_in_focus(scene, inputs.gone, self._for_focus * CHARACTERS_PER_TOKEN))
        if carried:
            self._findings += [claim for claim in earlier if claim.kind is ClaimKind.FINDING]
        turns = in_order(self._story.entries(self._story.levels[-1]))
        sample = [*self._ledger, *self._prose, *self._carried, *turns, *self._in_focus]
        self._sizer = ClaimSizer(scene.task.counter, sample)
        self._noted: set[str] = set()
        """Messages whose text the digest quotes as the agent's plan or status."""
        self._unsaid_at: dict[int, tuple[list[list[Claim]], list[float]]] = {}
        """What ``_unsaid`` returned, by level."""
        self._story_is_whole = False
        self.is_all = False
        """Whether the last choice included everything there was."""

    def room_to_write(self, room: int) -> int:
        """Return the tokens for a model's prose, given the room for all optional content."""
        _, cost = self._known(room)
        return max(0, int((room - cost) * WRITTEN_SHARE))

    def claims(self, room: int) -> list[Claim]:
        """Return what fits: ledger claims, prose, story, text of files, findings, edits, lines in focus."""
        tasks, for_tasks = self._fill(self._tasks, room * TASKS_SHARE)
        known_claims, cost = self._known(room - for_tasks)
        remaining = room - for_tasks - cost
        notes, cost = self._working_notes(min(remaining, room * NOTES_SHARE))
        remaining -= cost
        prose, cost = self._fill(self._prose, remaining)
        remaining -= cost
        if (noted := {claim.sources[0].message for claim in notes}) != self._noted:
            self._noted, self._unsaid_at = noted, {}
        story, cost = self._story_claims(min(remaining, room * STORY_SHARE))
        remaining -= cost
        texts, for_texts = self._texts(min(remaining, self._for_text))
        remaining -= for_texts
        quoted = by_turn((*self._mandatory, *notes, *story))
        new = [claim for claim in self._findings if not is_said(claim, quoted)]
        findings, cost = self._fill(new, min(remaining, room * FINDINGS_SHARE))
        remaining -= cost
        quoted_files = {file_of(claim) for claim in texts}
        unquoted = [claim for claim in self._edits if not _is_of(claim, quoted_files)]
        edits, cost = self._fill(unquoted, min(remaining, room * EDITS_SHARE))
        remaining -= cost
        in_focus, cost = self._fill(self._in_focus, min(remaining, self._for_focus))
        remaining -= cost
        taken = {id(claim) for claim in (*known_claims, *findings)}
        rest = [claim for claim in (*self._ledger, *new) if id(claim) not in taken]
        more, cost = self._fill(rest, remaining)
        remaining -= cost
        if remaining > 0 and not self._story_is_whole:  # room that nothing else needs
            before = sum(map(self._sizer.claim, story))
            story, cost = self._story_claims(before + remaining)
            remaining -= cost - before
        if remaining > 0:
            texts, _ = self._texts(min(for_texts + remaining, self._most_text), self._spare_passages)
        tasks = [claim for one in tasks if (claim := _unshown(one, texts))]
        self.is_all = len(more) == len(rest) and len(prose) == len(self._prose) and self._story_is_whole
        taken.update(map(id, more))
        known_claims = [claim for claim in self._ledger if id(claim) in taken]
        all_findings = sorted((claim for claim in new if id(claim) in taken), key=place)
        return [*known_claims, *notes, *tasks, *edits, *texts, *prose, *story, *all_findings, *in_focus]

    def _texts(self, room: float, more: Sequence[FilePassage] = ()) -> tuple[list[Claim], float]:
        """Return the best passages of files that fit, one claim for each file, and their tokens."""
        chosen: list[FilePassage] = []
        best: list[Claim] = []
        cost = 0.0
        for passage in (*self._passages, *more):
            if cost + passage.size / MOST_CHARACTERS_PER_TOKEN > room or repeats(passage, chosen):
                continue
            claims = list(text_claims([*chosen, passage]))
            size = sum(map(self._sizer.claim, claims))
            if size <= room:
                chosen.append(passage)
                best, cost = claims, size
        return best, cost

    def _working_notes(self, room: float) -> tuple[list[Claim], float]:
        """Return the agent's latest plan or status as fully as fits, and its tokens."""
        if any(claim.kind is ClaimKind.NEXT for claim in self._prose):
            return [], 0.0
        for level in LEVELS:
            notes = self._story.notes(level, self._goal_lines)
            cost = sum(map(self._sizer.claim, notes))
            if cost <= room:
                return notes, cost
        return [], 0.0

    def _story_claims(self, room: float) -> tuple[list[Claim], float]:
        """Return the story at the highest level of detail that fits, or its latest turns; and its tokens."""
        carried, cost = self._fill(self._carried, room)
        left = room - cost
        level = self._highest_level(left)
        self._story_is_whole = level == LEVELS[0]
        entries, costs = self._unsaid(level or self._story.levels[-1])
        if level is not None:
            return [*carried, *in_order(entries)], cost + sum(costs)
        taken: list[int] = []
        for i in self._by_weight(entries):
            if costs[i] > left:
                break
            taken.append(i)
            left -= costs[i]
        return [*carried, *in_order(entries[i] for i in sorted(taken))], room - left

    def _highest_level(self, room: float) -> int | None:
        """Return the highest level of detail at which the story fits; None if it fits at none."""
        levels = self._story.levels
        if sum(self._unsaid(levels[0])[1]) <= room:
            return levels[0]
        # Each level costs no more than the one before it.
        at = bisect_left(levels, True, 1, key=lambda level: sum(self._unsaid(level)[1]) <= room)
        return levels[at] if at < len(levels) else None

    def _by_weight(self, entries: Sequence[Sequence[Claim]]) -> list[int]:
        """Return turn indices by priority: those in focus, the first, then latest to oldest."""
        order = [0, *reversed(range(1, len(entries)))] if entries else []
        if not self._focus:
            return order
        meets = self._focus.meets
        return sorted(order, key=lambda i: not any(meets(claim.text) for claim in entries[i]))

    def _unsaid(self, level: int) -> tuple[list[list[Claim]], list[float]]:
        """Return the claims of each turn at a level, without what mandatory claims say, and their tokens."""
        found = self._unsaid_at.get(level)
        if found is None:
            entries = list(filter(None, map(self._new_in, self._story.entries(level))))
            costs = [sum(map(self._sizer.claim, entry)) for entry in entries]
            found = self._unsaid_at[level] = entries, costs
        return found

    def _new_in(self, entry: Sequence[Claim]) -> list[Claim]:
        """Return the claims of a turn that say something new."""
        new = []
        for claim in entry:
            name = claim.sources[0].message
            asked = claim.kind is ClaimKind.USER and name in self._goals
            if not asked and name not in self._noted and not is_quoted(claim, self._said):
                new.append(claim)
        return new

    @once
    def _said(self) -> dict[str, list[str]]:
        """What mandatory claims, prose and ledger say, by turn."""
        return by_turn((*self._mandatory, *self._prose, *self._ledger))

    @once
    def _goals(self) -> frozenset[str]:
        """The messages that mandatory claims quote as the goal or the request."""
        asked = (ClaimKind.GOAL, ClaimKind.NEXT)
        return frozenset(claim.sources[0].message for claim in self._mandatory if claim.kind in asked)

    def _known(self, room: float) -> tuple[list[Claim], float]:
        """Take ledger claims: changed files, decisions, some of the others; return them and their tokens."""
        changes = [claim for claim in self._ledger if claim.topic is Topic.FILES_CHANGED]
        decided = [claim for claim in self._ledger if claim.kind is ClaimKind.DECISION]
        others = [
            claim for claim in self._ledger if claim.kind is not ClaimKind.DECISION and claim not in changes
        ]
        named_claims, cost = self._fill(changes, room * FILES_SHARE)
        decided.sort(key=lambda claim: -claim.trust)
        firm, more = self._fill(decided, min(room - cost, room * DECISIONS_SHARE))
        cost += more
        known_claims, more = self._fill(others, min(room - cost, room * LEDGER_SHARE))
        return [*named_claims, *firm, *known_claims], cost + more

    def _fill(self, claims: Iterable[Claim], room: float) -> tuple[list[Claim], float]:
        """Take claims in order as long as they fit; return them and their tokens."""
        taken_claims = []
        left = room
        for claim in claims:
            if left < self._sizer.per_turn:
                break
            cost = self._sizer.claim(claim)
            if cost <= left:
                taken_claims.append(claim)
                left -= cost
        return taken_claims, room - left


def _optional_ledger_claims(inputs: DigestInput) -> Iterator[Claim]:
    """Yield the claims of the ledger that are not mandatory, and that the mandatory ones do not repeat."""
    states_plan = any(claim.topic is Topic.PLAN for claim in inputs.must)
    for claim in (*inputs.hidden, *inputs.brief.claims):
        is_stated = claim.kind in (*NEVER_LEFT_OUT, ClaimKind.INSTRUCTION) or claim in inputs.must
        if is_stated or claim.topic is Topic.DELETED_AGAIN:
            continue
        is_plan_again = claim.topic is Topic.PLAN and states_plan
        is_request_again = claim.kind in (ClaimKind.USER, ClaimKind.DECISION) and inputs.asks(claim)
        if not is_plan_again and not is_request_again:
            yield claim


def _prose(scene: Scene, inputs: DigestInput, written: Written | None) -> list[Claim]:
    """Return what a model wrote; without new prose, that of the earlier digest."""
    if written is not None:
        return [claim._replace(trust=label_of(claim, scene.original)) for claim in written.claims]
    earlier = inputs.earlier.claims if inputs.earlier else ()
    return [claim for claim in earlier if claim.kind in _PROSE and not _is_exact(claim)]


def _story(scene: Scene, inputs: DigestInput) -> Story:
    """Return the turns that leave the view; findings before a passing run or a later edit may be over."""
    ledger = scene.task.ledger
    run = ledger.last_run
    passed = run.source.number if run and not run.failed else 0
    changes = [one.last_change.number for one in ledger.artifacts.changed if one.last_change]
    edited = max(changes, default=0)
    return Story(ledger.turns, inputs.gone, scene.source, passed, edited, len(ledger))


def _tasks(scene: Scene, inputs: DigestInput) -> list[Claim]:
    """Return what files and skills that the request points to order, and what they say is next."""
    asked = [one for one in (inputs.request, inputs.goal) if one]
    files, turn = scene.task.ledger.artifacts.files, inputs.span[max(0, scene.loop - scene.first) :]
    left = scene.work_left({*inputs.gone, *inputs.shortened})
    stated = {
        cite.message for claim in inputs.must if claim.topic is Topic.FILE_TEXT for cite in claim.sources
    }
    orders = orders_in(asked, files, turn, inputs.gone, scene.source)
    return [
        *([left] if left else ()),
        *(claim for claim in orders if claim.sources[-1].message not in stated),
        *said_next(asked, files, inputs.gone, scene.source, scene.room * CHARACTERS_PER_TOKEN),
    ]


def _lines_in_focus(scene: Scene, gone: Collection[str], room: int) -> Iterator[Claim]:
    """Yield the lines of messages that leave the view which are about what a person named."""
    for cite in scene.focus.lines(_leaving(scene, gone), room) if scene.focus else ():
        message = scene.source(cite.message)
        trust = trust_at(message, cite) if message else None
        if message and trust is not None:
            text = words(message.parts[cite.part])[cite.start : cite.end]
            lead = len(text) - len(text.lstrip())
            place = cite._replace(start=cite.start + lead, end=cite.start + len(text.rstrip()))
            yield Claim("", ClaimKind.FACT, text.strip(), (place,), trust, verbatim=True)


def _leaving(scene: Scene, gone: Collection[str]) -> Iterator[Item]:
    """Yield the latest messages that leave the view, in their original form."""
    for name in sorted(gone, key=lambda name: Cite(name).number)[-MOST_READ:]:
        if message := scene.source(name):
            yield Item(name, message)


def _file_passages(scene: Scene, inputs: DigestInput) -> list[FilePassage]:
    """Return the passages of files that leave the view or are cut out of recent results."""
    results = (result for message in inputs.shortened.values() for result in message.results)
    lines = (line for result in results for line in result.text.split("\n"))
    visible = {NUMBERED_LINE.sub("", line).strip() for line in lines}
    return scene.file_passages({*inputs.gone, *inputs.shortened}, visible)


def _unshown(claim: Claim, texts: Sequence[Claim]) -> Claim | None:
    """Return a claim on a file without the lines that passages from the same messages show.

    None if only headings are left.
    """
    same = [text for text in texts if set(claim.sources) <= set(text.sources)]
    shown = {line.strip() for text in same for line in text.text.split("\n")}
    opening, *lines = claim.text.split("\n")
    new = [line for line in lines if line.strip() not in shown]
    if len(new) == len(lines):
        return claim
    has_more = any(line.strip() and not heading_level(line) for line in new)
    return claim._replace(text="\n".join((opening, *new))) if has_more else None


def _is_of(edit: Claim, paths: Iterable[str]) -> bool:
    """Whether a claim on an edit is about one of these files."""
    name = edit.text.partition("\n")[0]
    return any(name == path or name.endswith(f"/{path}") for path in paths)


def _knows(scene: Scene, inputs: DigestInput) -> bool:
    """Whether the originals of what the earlier digest covers can still be looked up."""
    earlier = inputs.earlier
    return earlier is None or any(scene.source(name) is not None for name in earlier.covers[:1])


def _goal_lines(claims: Iterable[Claim], find: Callable[[str], Message | None]) -> frozenset[str]:
    """Return the lines of the messages that state the goal; plans often repeat them."""
    names = {claim.sources[0].message for claim in claims if claim.kind is ClaimKind.GOAL}
    messages = [message for name in names if (message := find(name))]
    texts = (words(part) for message in messages for part in message.parts)
    return frozenset(line.strip() for text in texts for line in text.split("\n"))


def _is_exact(claim: Claim) -> bool:
    """Whether code made a claim: a quote, or one that the ledger restates in each digest."""
    return claim.verbatim or is_restated(claim)
