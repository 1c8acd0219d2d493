"""Assemble the next request of a session: the view, and what belongs around it.

``Session.request`` is the public method; the chat uses the same one. Around the view go clauses on how to
read a digest, the project's instruction files, the state that the view no longer shows (rehydration), what
memory recalls, and the caller's own pieces; data is fenced, and Anthropic's cache marks are set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.log import INSTRUCTION, MESSAGE
from clew.memory import Injection
from clew.message import Item, Origin, Role, last_user_message
from clew.request.assemble import FENCE_TOKENS, Parts, Room, assemble, tool_tokens
from clew.request.assembled import AssembledRequest, Marks, OfferedTool
from clew.request.instructions import changes, load, pieces_of, settled_ids, skill_index
from clew.request.instructions.files import Disk, InstructionScope, Roots, fold_path
from clew.request.instructions.load import Instruction, LoadedInstructions, Refused
from clew.request.pieces import Fence, clauses_for, memory_pieces, restated_rules, rules_by_hand, session_key
from clew.request.rehydration import RequestStatus, invoked_skills, rehydrate
from clew.request.sections import INSTRUCTIONS, Piece
from clew.secrets.find import own_key
from clew.session.instruction_writers import InstructionWriters

if TYPE_CHECKING:
    from clew.session.session import Session

MOST_EVENTS = 10_000
"""Last events in which the skills of a compacted session are looked for, once; chosen by hand."""
WRITTEN_BY_SESSION = (
    "this session wrote it, or may have, and it is not trusted; in the chat, /trust FILE trusts it"
)
"""Why an instruction file is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestParts:
    """What the caller of ``Session.request`` adds to the view."""

    tools: Sequence[OfferedTool] = ()
    instructions: Path | None = None
    memory: bool = False
    pieces: tuple[Piece, ...] = ()
    recalled: Injection | None = None
    fence_results: bool = False


USUAL_CACHE_MINIMUM = 1_024
"""Tokens of a prefix from which most providers cache it, for models that clew does not know."""


def is_first_request(session: Session, view: Sequence[Item]) -> bool:
    """Whether nothing was answered yet, and the provider does not cache the little that is sent.

    Such a request is sent as a plain client sends it. The prompt gets its clauses with the next one, before a
    tool result can come: changed later, or after a first message that is cached, it would cost that cache.
    """
    if any(item.message.role is Role.ASSISTANT or any(item.message.results) for item in view):
        return False
    return session.tokens < (session.gauge.model.cache_minimum_tokens or USUAL_CACHE_MINIMUM)


class RequestAssembler:
    """Assembles the requests of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._files: InstructionFiles | None = None
        self._files_read_at: int | None = None
        """The last compaction when the instruction files were read."""
        self._recalled: tuple[str, Injection] | None = None
        """What memory recalled, with the id of the user's message that it was recalled for."""
        self._skills: dict[str, None] = {}
        """The skills invoked so far, known up to the event ``_skills_upto``."""
        self._skills_upto = -1

    def assemble(self, parts: RequestParts) -> AssembledRequest:
        """Return the next request before it is written in a wire format; switched off, a plain client's."""
        session = self._session
        view, off, gauge = session.view(), session.is_off, session.gauge
        assembled = assemble(
            Parts(
                view=view,
                pieces=() if off else tuple(self._pieces(view, parts)),
                tools=() if off else parts.tools,
                fence=Fence(session_key(own_key(), session.ctx.workspace, session.name)),
                room=Room(gauge.window.usable_tokens, gauge.policy),
                off=off,
                fence_results=parts.fence_results,
            ),
            session.counter,
        )
        return replace(assembled, marks=Marks(gauge.model.cache_minimum_tokens))

    def _pieces(self, view: list[Item], parts: RequestParts) -> Iterator[Piece]:
        """Yield what goes around the view, section by section."""
        compacted = any(item.message.origin is Origin.SUMMARY for item in view)
        adds_nothing = parts.instructions is None and not parts.pieces
        has_untrusted_data = not (adds_nothing and is_first_request(self._session, view))
        pieces = [*self._instructions(parts.instructions), *parts.pieces]
        pins = self._session.ledger.pins
        restated = restated_rules(pins.active, view, self._session.counter.count_text) if compacted else None
        rules = filter(None, (rules_by_hand(pins.changed_by_hand, view), restated))
        recalled = parts.recalled or (self._recall(view) if parts.memory else None)
        clauses = clauses_for(compacted=compacted, memory=bool(parts.tools), data=has_untrusted_data)
        before = [*clauses, *pieces, *rules]
        after = [*memory_pieces(recalled)] if recalled else []
        yield from before
        now = self._current_state(pieces, parts, view)
        if compacted:
            now = replace(
                now, used_tokens=self._session.tokens + self._added_tokens(parts, (*before, *after))
            )
        if state := rehydrate(self._session.ledger, view, now):
            yield state
        yield from after

    def _added_tokens(self, parts: RequestParts, pieces: Iterable[Piece]) -> int:
        """Return the tokens of a request besides its view: tools and pieces, without the state itself."""
        counter = self._session.counter
        added = (counter.count_text(piece.text) + (FENCE_TOKENS if piece.fenced else 0) for piece in pieces)
        return sum(added) + sum(tool_tokens(tool, counter) for tool in parts.tools)

    def _instructions(self, root: Path | None) -> list[Piece]:
        """Return the instruction files of a project, read again after a compaction."""
        if root is None:
            return []
        made = self._session.last_compaction
        if self._files is None or self._files.root != root:
            self._files = InstructionFiles(self._session, root)
        elif made != self._files_read_at:
            self._files.settle()
        else:
            self._files.refresh()
        self._files_read_at = made
        return self._files.pieces()

    def _current_state(
        self, pieces: Iterable[Piece], parts: RequestParts, view: Sequence[Item]
    ) -> RequestStatus:
        return RequestStatus(
            used_tokens=self._session.tokens,
            usable_tokens=self._session.gauge.window.usable_tokens,
            instructions=tuple(piece.source for piece in pieces if piece.section is INSTRUCTIONS),
            skills=self._invoked_skills(view),
            tools=tuple(tool.name for tool in parts.tools),
            workspace=(f"root {parts.instructions}",) if parts.instructions else (),
        )

    def _invoked_skills(self, view: Sequence[Item]) -> tuple[str, ...]:
        """Return the skills in use, also those whose calls a compaction removed from the view."""
        session = self._session
        if not session.last_compaction:
            return invoked_skills(item.message for item in view)
        head = session.store.head(session.ctx).seq
        after = max(0, head - MOST_EVENTS) if self._skills_upto < 0 else self._skills_upto
        for stored in session.store.read(session.ctx, after, head, [MESSAGE.name]):
            messages = MESSAGE.messages(MESSAGE.current(stored).event.body)
            self._skills.update(dict.fromkeys(invoked_skills(messages)))
        self._skills_upto = head
        return tuple(self._skills)

    def _recall(self, view: Sequence[Item]) -> Injection | None:
        """Return what memory recalls for the user's last message, searched and recorded once for each."""
        last = last_user_message(view)
        if last is None:
            return None
        if self._recalled is None or self._recalled[0] != last.id:
            gauge, memory = self._session.gauge, self._session.memory
            room = gauge.policy.memory.of(gauge.window.usable_tokens)
            self._recalled = last.id, memory.inject(last.message.text, room)
            memory.shown(self._recalled[1])
        return self._recalled[1]


PLAUSIBLE = 2.0
"""A report that differs by more than this factor from the count is about other content, such as one without
the tokens read from a cache. Chosen by hand: far wider than the error of the token estimate."""
_INPUT_FIELDS = ("input_tokens", "prompt_tokens", "prompt_token_count", "promptTokenCount")
_CACHED_APART = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's names of what its ``input_tokens`` leave out."""


def reported_input(usage: object) -> int:
    """Return all input tokens of a usage: an SDK's object, a dictionary, ``clew.Usage`` or a number.

    Anthropic's ``input_tokens`` leave out cached tokens, which it reports separately; the fields of all other
    providers include them, also where a proxy adds Anthropic's names.
    """
    if isinstance(usage, int):
        return usage
    fields = usage if isinstance(usage, Mapping) else _Attributes(usage)
    names = [name for name in _INPUT_FIELDS if isinstance(fields.get(name), int)]
    if not names:
        what = f"no input tokens in a usage of type {type(usage).__name__}"
        raise InputError(what, "pass the usage of a reply, or the number of all its input tokens")
    apart = _CACHED_APART if names[0] == "input_tokens" else ()
    cached = [fields.get(name) for name in apart]
    return int(fields.get(names[0]) or 0) + sum(item for item in cached if isinstance(item, int))


class _Attributes:
    """The attributes of an object, read like those of a mapping."""

    def __init__(self, value: object) -> None:
        self._value = value

    def get(self, name: str) -> Any:  # noqa: ANN401  # an SDK's object
        return getattr(self._value, name, None)


def is_plausible(counted: int, reported: int) -> bool:
    """Whether a reported number of tokens can be of the counted content."""
    return counted / PLAUSIBLE <= reported <= counted * PLAUSIBLE


class InstructionFiles:
    """The instruction files of a project in force for a session, recorded in its log.

    They are read at the start and after each compaction. In between, only files of folders are added that the
    work has just reached, so that the cached prefix stays the same. A file that the session itself wrote, or
    may have written, does not count: the model would give itself instructions.
    """

    def __init__(self, session: Session, root: Path | None, *, trusted: bool = True) -> None:
        """Read the files below ``root``. Those of a root that the user does not trust are only data."""
        self._session = session
        self.root = root
        self._roots = Roots(project=root.resolve().as_posix(), trusted=trusted) if root else None
        self.loaded = LoadedInstructions()
        self._settled: frozenset[str] = frozenset()
        self._writers = InstructionWriters(session)
        self._skills = self._skill_index()
        if self._roots:
            self._take(self._load())
            self._settled = settled_ids(session.events())

    def refresh(self) -> None:
        """Add the files of folders that were touched since; those in force stay as they were read."""
        loaded = self._load()
        new = [
            instruction
            for instruction in loaded.instructions
            if self.loaded.get(instruction.id) is None
            and (instruction.scope is InstructionScope.FOLDER or instruction.patterns)
        ]
        self._take(LoadedInstructions((*self.loaded.instructions, *new), loaded.refused))

    def settle(self) -> None:
        """Read all files again, for the stable part: a compaction has rewritten the prefix anyway."""
        self._take(self._load())
        self._settled = frozenset(instruction.id for instruction in self.loaded.instructions)
        self._skills = self._skill_index()

    def pieces(self) -> list[Piece]:
        """Return them as pieces of a request."""
        return [*pieces_of(self.loaded, self._settled), *([self._skills] if self._skills else [])]

    def _skill_index(self) -> Piece | None:
        """Return the index of the skills of a trusted root."""
        if self.root is None or self._roots is None or not self._roots.trusted:
            return None
        own = {fold_path(file) for file in self._changed_files()}
        return skill_index(
            self.root, lambda file: fold_path(file) in own or self._writers.may_have_written(file)
        )

    def _take(self, loaded: LoadedInstructions) -> None:
        for body in changes(self.loaded, loaded):
            self._session.record(INSTRUCTION.name, body)
        self.loaded = loaded

    def _load(self) -> LoadedInstructions:
        """Return the files as they are now; those that the session wrote, as they were before."""
        if self._roots is None:
            return LoadedInstructions()
        loaded = load(Disk(), self._roots, self._touched_files())
        own = {fold_path(file) for file in self._changed_files()}
        kept_instructions: list[Instruction] = []
        refused = list(loaded.refused)
        for instruction in loaded.instructions:
            if all(
                self._is_trusted(file, sha)
                or not (fold_path(file) in own or self._writers.may_have_written(file, sha))
                for file, sha in files_of(instruction)
            ):
                kept_instructions.append(instruction)
                continue
            refused.append(Refused(instruction.path, WRITTEN_BY_SESSION))
            before = self.loaded.get(instruction.id)
            kept_instructions += [before] if before else []
        return LoadedInstructions(tuple(kept_instructions), tuple(refused))

    def _touched_files(self) -> list[str]:
        return [file.name for file in self._session.ledger.artifacts.files]

    def _changed_files(self) -> Iterator[str]:
        """Yield the files below the root that the session changed."""
        if self.root is None:
            return
        base = self.root.resolve()
        for name in self._written_names():
            try:
                place = (base / name).resolve()
            except (OSError, RuntimeError, ValueError):  # a loop of links, a null character
                continue
            if place.is_relative_to(base):
                yield place.as_posix()

    def _written_names(self) -> Iterable[str]:
        return [artifact.name for artifact in self._session.ledger.artifacts.changed]

    def _is_trusted(self, _path: str, _sha256: str) -> bool:
        """Whether a person said that a file which the session wrote counts.

        Only the chat asks a person (``/trust FILE``): its ``InstructionTracker`` overrides this.
        """
        return False


def files_of(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """Yield the files that an instruction consists of, each with its hash."""
    yield instruction.path, instruction.sha256
    yield from instruction.includes
