"""Targets of a conversion: what each wire format can represent, valid ids and names, and reported losses.

Anthropic, for example, wants results right after their calls (``answers_follow``) and no blank text. A valid
id or tool name is kept. The replacement of an invalid name depends only on that name and its earlier uses, so
a growing history always gets the same names; two different names never become the same.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from clew.message import Media, Message, Native, Pairing, Role, ToolCall
from clew.message.atoms import Place
from clew.providers.formats import WIRES
from clew.providers.media import kind_of_type
from clew.providers.wire import Wire, is_derived_id, same_wire


class ConversionLossKind(StrEnum):
    """What was lost or changed."""

    THINKING = "thinking"
    """Reasoning, which only its own provider accepts."""
    ERROR_FLAG = "error-flag"
    """The target cannot mark a result as failed; its text says so instead."""
    ARGUMENTS = "arguments"
    """Arguments that are not an object; put under ``input``."""
    MEDIA = "media"
    """An image, document or audio that the target does not accept there; replaced by a note."""
    SERVER_TOOL = "server-tool"
    """A tool that the other provider ran; became text."""
    APPROVAL = "approval"
    """An approval request or its answer; became text."""
    COMPACTION = "compaction"
    """Another provider's compaction; its summary became text, if it has one."""
    UNKNOWN = "unknown"
    """Content of unknown kind; its text, if it has any."""
    FIELDS = "fields"
    """Fields that the target does not have."""
    BLANK = "blank"
    """White space that the target refuses."""
    ROLE = "role"
    """A role that the target does not allow there."""
    MOVED = "moved"
    """Kept, but at another place."""
    RENAMED = "renamed"
    """A tool name that the target refuses."""
    DANGLING = "dangling"
    """A call without a result."""
    ORPHAN = "orphan"
    """A result without a call."""


@dataclass(frozen=True, slots=True)
class ConversionLoss:
    """One difference between the converted history and the original."""

    message: int
    """The index of the message in the original."""
    part: int | None
    """The index of the part in the message; None for the message itself."""
    kind: ConversionLossKind
    why: str

    def __str__(self) -> str:
        """Return the loss as one line."""
        place = f"messages[{self.message}]" + ("" if self.part is None else f" part {self.part}")
        return f"{place}: {self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """Options of a conversion."""

    thinking_as_text: bool = False
    """Keep another provider's reasoning as assistant text instead of dropping it."""
    repair: bool = True
    """Add a result to calls without one and turn results without a call into text, as APIs require."""


DEFAULT_OPTIONS = ConversionOptions()


@dataclass(frozen=True, slots=True)
class Target:
    """A wire format as the target of a conversion."""

    name: str
    call_id: re.Pattern[str]
    tool_name: re.Pattern[str]
    longest_id: int
    longest_name: int
    """Characters of a replacement. OpenAI documents 64 and was seen to accept 128: valid names are kept."""
    takes_media: Callable[[Media, Role], bool]
    """Whether a medium is allowed in a message of this role; ``TOOL`` means inside a tool result."""
    error_flag: bool = False
    """A tool result has an error flag."""
    object_arguments: bool = False
    """The arguments of a call are an object, not text."""
    answers_follow: bool = False
    """The results of a message's calls must come right after it."""
    alternates: bool = False
    """Roles must alternate: consecutive messages of one role are joined."""
    calls_last: bool = False
    """The calls of a message must be its last parts."""
    instructions_anywhere: bool = False
    """System and developer messages may be anywhere in the list."""
    allows_blank_text: bool = False
    """Text of white space only is accepted."""
    allows_trailing_space: bool = False
    """The last assistant text may end in white space."""

    @property
    def wire(self) -> Wire:
        """Return the wire format."""
        return WIRES[self.name]

    def is_native(self, native: Native | None) -> bool:
        """Whether a value was read in this format, so that it can be written unchanged."""
        return same_wire(native, self.name)


def _anthropic_takes(media: Media, role: Role) -> bool:
    if role not in (Role.USER, Role.TOOL) or media.kind not in ("image", "document"):
        return False
    if media.data is None:
        return bool(media.url)
    types = r"image/(png|jpeg|gif|webp)" if media.kind == "image" else r"application/pdf"
    return re.fullmatch(types, media.media_type or "") is not None


def _chat_takes(media: Media, role: Role) -> bool:
    if role is not Role.USER:
        return False
    if media.kind == "image":
        return bool(media.data or media.url)
    if media.kind == "audio":
        return bool(media.data) and media.media_type in ("audio/wav", "audio/mpeg")
    return _is_document(media) and bool(media.data or _openai_file(media))


def _responses_takes(media: Media, role: Role) -> bool:
    if role not in (Role.USER, Role.TOOL):
        return False
    return (media.kind == "image" or _is_document(media)) and bool(
        media.data or media.url or _openai_file(media)
    )


def _is_document(media: Media) -> bool:
    return media.kind == "document" and kind_of_type(media.media_type) not in ("audio", "video")


def _openai_file(media: Media) -> bool:
    """Whether a file id names a file stored by OpenAI."""
    return bool(media.file_id) and any(same_wire(media.native, wire) for wire in ("openai", "responses"))


def _gemini_takes(media: Media, role: Role) -> bool:
    return role in (Role.USER, Role.ASSISTANT) and bool(media.data or media.url)


# The lengths of ids are from the error texts and specification of Chat and Responses. For Anthropic and
# Gemini no limit is known; 64 is a length that all formats accept.
TARGETS: dict[str, Target] = {
    "anthropic": Target(
        name="anthropic",
        call_id=re.compile(r"[a-zA-Z0-9_-]+"),
        longest_id=64,
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        longest_name=128,
        takes_media=_anthropic_takes,
        error_flag=True,
        object_arguments=True,
        answers_follow=True,
        alternates=True,
        calls_last=True,
    ),
    "openai": Target(
        name="openai",
        call_id=re.compile(r"[!-~]{1,40}"),
        longest_id=40,
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        longest_name=64,
        takes_media=_chat_takes,
        answers_follow=True,
        instructions_anywhere=True,
        allows_blank_text=True,
        allows_trailing_space=True,
    ),
    "responses": Target(
        name="responses",
        call_id=re.compile(r"[!-~]{1,64}"),
        longest_id=64,
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        longest_name=64,
        takes_media=_responses_takes,
        instructions_anywhere=True,
        allows_blank_text=True,
        allows_trailing_space=True,
    ),
    "gemini": Target(
        name="gemini",
        call_id=re.compile(r"[!-~]{1,64}"),
        longest_id=64,
        tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
        longest_name=64,
        takes_media=_gemini_takes,
        error_flag=True,
        object_arguments=True,
        answers_follow=True,
        alternates=True,
        allows_trailing_space=True,
    ),
}


_MARK_LENGTH = 9
"""Characters that a replaced name ends with, to tell it from others: ``my_tool_3f9a01bc``."""


@dataclass(slots=True)
class Namer:
    """Assigns valid, distinct names."""

    accepted: re.Pattern[str]
    longest: int
    _names: dict[tuple[str, int], str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def name(self, wanted: str, use: int = 0) -> str:
        """Return the name for the ``use``-th thing with the name ``wanted``."""
        known = self._names.get((wanted, use))
        if known is not None:
            return known
        name = wanted if use == 0 and self.accepted.fullmatch(wanted) else self._candidate(wanted, use, 0)
        tries = 0
        while name in self._taken:
            tries += 1
            name = self._candidate(wanted, use, tries)
        self._names[wanted, use] = name
        self._taken.add(name)
        return name

    def _candidate(self, wanted: str, use: int, tries: int) -> str:
        seed = f"{use}.{tries}:{wanted}".encode("utf-8", "surrogatepass")
        mark = hashlib.sha256(seed).hexdigest()[: _MARK_LENGTH - 1]
        stem = re.sub(r"[^a-zA-Z0-9_-]", "_", wanted)[: self.longest - _MARK_LENGTH]
        name = f"{stem}_{mark}"
        return name if self.accepted.fullmatch(name) else f"t{name}"[: self.longest]


@dataclass(frozen=True, slots=True)
class CallNames:
    """The id and the tool name in the target, for each call and each paired result."""

    ids: dict[Place, str]
    tools: dict[Place, str]


def name_calls(messages: Sequence[Message], pairing: Pairing, target: Target) -> CallNames:
    """Assign ids and tool names to the calls of client tools and their results.

    Models reuse ids, so each call gets a unique id, and its result the same one.
    """
    ids, tools = Namer(target.call_id, target.longest_id), Namer(target.tool_name, target.longest_name)
    names = CallNames({}, {})
    uses: Counter[str] = Counter()
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            if not isinstance(part, ToolCall) or part.server_side:
                continue
            place, wanted = Place(i, j), part.call_id
            names.tools[place] = tools.name(part.name)
            if is_derived_id(target.wire.name, wanted):
                names.ids[place] = wanted  # read without an id, and written without one
            else:
                names.ids[place] = ids.name(wanted, uses[wanted])
                uses[wanted] += 1
    for result, call in pairing.answers.items():
        if call in names.ids:
            names.ids[result], names.tools[result] = names.ids[call], names.tools[call]
    return names
