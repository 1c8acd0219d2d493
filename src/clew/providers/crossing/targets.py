"""The capabilities of each wire format that a conversion depends on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from clew.message import Media, Native, Role
from clew.providers.known import WIRES
from clew.providers.media import kind_of_type
from clew.providers.wire import Wire, same_wire


@dataclass(frozen=True, slots=True)
class Target:
    """A wire format as the target of a conversion."""

    wire: Wire
    call_id: re.Pattern[str]
    tool_name: re.Pattern[str]
    longest_id: int
    longest_name: int
    takes_media: Callable[[Media, Role], bool]
    """Whether a medium is allowed in a message of this role; ``TOOL`` means inside a tool result."""
    error_flag: bool
    """A tool result has an error flag."""
    object_arguments: bool
    """The arguments of a call are an object, not text."""
    answers_follow: bool
    """The results of a message's calls must come right after it."""
    alternates: bool
    """Roles must alternate: consecutive messages of one role are joined."""
    calls_last: bool
    """The calls of a message must be its last parts."""
    instructions_anywhere: bool
    """System and developer messages may be anywhere in the list."""
    blank_text: bool
    """Text of white space only is accepted."""
    last_space: bool
    """The last assistant text may end in white space."""

    def native(self, native: Native | None) -> bool:
        """Whether a value was read in this format, so that it can be written unchanged."""
        return same_wire(native, self.wire.name)


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
    return _is_paper(media) and bool(media.data or _openai_file(media))


def _responses_takes(media: Media, role: Role) -> bool:
    known = media.kind == "image" or _is_paper(media)
    there = role in (Role.USER, Role.TOOL)
    return known and there and bool(media.data or media.url or _openai_file(media))


def _is_paper(media: Media) -> bool:
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
        wire=WIRES["anthropic"],
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
        instructions_anywhere=False,
        blank_text=False,
        last_space=False,
    ),
    "openai": Target(
        wire=WIRES["openai"],
        call_id=re.compile(r"[!-~]{1,40}"),
        longest_id=40,
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        longest_name=64,
        takes_media=_chat_takes,
        error_flag=False,
        object_arguments=False,
        answers_follow=True,
        alternates=False,
        calls_last=False,
        instructions_anywhere=True,
        blank_text=True,
        last_space=True,
    ),
    "responses": Target(
        wire=WIRES["responses"],
        call_id=re.compile(r"[!-~]{1,64}"),
        longest_id=64,
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        longest_name=64,
        takes_media=_responses_takes,
        error_flag=False,
        object_arguments=False,
        answers_follow=False,
        alternates=False,
        calls_last=False,
        instructions_anywhere=True,
        blank_text=True,
        last_space=True,
    ),
    "gemini": Target(
        wire=WIRES["gemini"],
        call_id=re.compile(r"[!-~]{1,64}"),
        longest_id=64,
        tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
        longest_name=64,
        takes_media=_gemini_takes,
        error_flag=True,
        object_arguments=True,
        answers_follow=True,
        alternates=True,
        calls_last=False,
        instructions_anywhere=False,
        blank_text=False,
        last_space=True,
    ),
}
