"""Smaller forms of message parts, and messages without their thinking blocks.

A smaller form is always made from the original, and used only if it is smaller and hides nothing that must
stay readable. A signed thinking block is removed whole or not at all.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import zip_longest
from typing import TypeAlias

from clew.compaction.plan import Rung, Shrink
from clew.compaction.propose.edits import counterpart
from clew.compaction.propose.excerpt import LINE_SHARE, TWO_ENDS, ExcerptSource, both_ends
from clew.compaction.propose.fold import folded
from clew.compaction.propose.lines import LONGEST_LINE, Span, gap_note
from clew.message import (
    Cite,
    Item,
    Json,
    JsonObject,
    Message,
    Native,
    Part,
    Place,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    words,
)
from clew.message.parts import json_strings
from clew.tokens import TokenCounter


def document_text(part: Part) -> str | None:
    """Return the text of a document part; None for any other part."""
    match part:
        case Unknown(
            native=Native(value={"type": "document", "source": {"type": "text", "data": str(text)}})
        ):
            return text
        case _:
            return None


def with_document_text(part: Part, text: str) -> Part:
    """Return a document part with this text instead of its own; any other part unchanged."""
    block = part.native.value if part.native and document_text(part) is not None else None
    source = block.get("source") if isinstance(block, dict) else None
    if not (part.native and isinstance(block, dict) and isinstance(source, dict)):
        return part
    shorter: JsonObject = {**block, "source": {**source, "data": text}}
    return replace(part, native=Native(part.native.wire, shorter))


NAME_TOKENS = 8
"""Tokens of the note that says where the whole of an excerpt is kept."""
LEAST_CHARACTERS = 80
"""The least size of an excerpt: a first and a last line identify a result; less says nothing."""
SHORT_ARGUMENT = 200
"""Characters of an argument that always stay whole: a path, a pattern, a command."""
SHORT_LINE = 60
"""Characters of a line that always stay whole."""
REMINDER_END = "</system-reminder>"
REMINDER = re.compile(rf"\s*<system-reminder>(?:(?!</?system-reminder>).)*+{REMINDER_END}\s*\Z", re.DOTALL)
"""What a harness adds at the end of a result."""
_REMARK = re.compile(
    r"\s*(?:\([^()\n]{0,160}\b(?:in your context|no need to (?:re-?)?read)\b[^()\n]{0,160}\)"
    r"|\bRefer to that earlier (?:tool_result|result|read|output)\b[^.\n]{0,80}\.)\s*\Z",
    re.IGNORECASE,
)
_REMARK_SIGNS = ("in your context", "no need to ", "efer to that earlier ")
"""Substrings of which every such remark has one, checked first."""
_GAP = re.compile(r"\[… ([\d,]+ (?:lines?|characters?))\]")


def without_remark(text: str) -> str:
    """Return a result without a last remark of the harness on what the context shows.

    After a compaction it may not be true: "file state is current in your context".
    """
    end = text[-_REMARK_WITHIN:]
    if not any(sign in end for sign in _REMARK_SIGNS):
        return text
    remark = _REMARK.search(end)
    return text[: len(text) - len(end) + remark.start()] if remark and remark.start() else text


_REMARK_WITHIN = 400
"""Characters at the end of a result in which such a remark is looked for."""


class Wrote(Enum):
    """What wrote a text: a tool or a person, or the agent as prose or as an argument of a call."""

    TOOL = "tool"
    GUIDE = "guide"
    """A tool or a harness: a text that says how to work."""
    PROSE = "prose"
    ARGUMENT = "argument"


Tellings: TypeAlias = dict[tuple[str, Wrote], ExcerptSource]
Folds: TypeAlias = dict[tuple[str, tuple[Span, ...]], tuple[str, list[Span]]]


@dataclass(frozen=True, slots=True)
class Page:
    """A view to shrink, and the places in it that must stay readable."""

    view: Sequence[Item]
    counter: TokenCounter
    original: Callable[[str], Message | None] | None = None
    """Finds a message in its original form; without it, the view has the originals."""
    held: dict[str, list[Cite]] = field(default_factory=dict)
    """Places in the originals that must stay readable, by message."""
    about: Mapping[str, float] = field(default_factory=dict)
    """Terms of the current work with their weights, which excerpts look for."""
    tellings: Tellings = field(default_factory=dict, repr=False)
    """Texts that excerpts were made of, so that none is searched twice."""
    sizes: Sequence[int] | None = None
    """The tokens of the view's messages, if they are known."""
    guides: Collection[Place] = ()
    """Parts that say how to work: a skill, a task file."""
    names: Mapping[str, float] = field(default_factory=dict)
    """The names among the terms, all with the same weight, for what the agent wrote and for guides."""
    folds: Folds = field(default_factory=dict, repr=False)
    """Texts without colours and repeated lines, by what must stay readable in them."""
    unpruned: Sequence[Item] | None = None
    """The view before pruning; without it, nothing has been pruned."""

    def may_free(self, place: Place, tokens: int) -> bool:
        """Return False if the message of a part is too small for a smaller form that frees so much."""
        return self.sizes is None or self.sizes[place.message] >= tokens

    def said(self, place: Place) -> Part:
        """Return a part in its original form."""
        return self._originals(place.message)[place.part][1]

    def _originals(self, index: int) -> Sequence[tuple[int, Part]]:
        """Return the original of each part that the view shows of a message, with its number there.

        An earlier compaction may have removed thinking blocks from the view.
        """
        item = self.view[index]
        message = (self.original(item.id) if self.original else None) or item.message
        parts = list(enumerate(message.parts))
        if len(parts) != len(item.message.parts):
            parts = [(number, part) for number, part in parts if not isinstance(part, Thinking)]
        return parts if len(parts) == len(item.message.parts) else list(enumerate(item.message.parts))

    def is_pruned(self, place: Place) -> bool:
        """Whether a rule of this compaction has left out lines of a part."""
        if self.unpruned is None:
            return False
        return self.unpruned[place.message].message.parts[place.part] is not self.shown(place)

    def shown(self, place: Place) -> Part:
        """Return a part as the view shows it."""
        return self.view[place.message].message.parts[place.part]

    def spans(self, place: Place) -> list[Span]:
        """Return the characters of a part that must stay readable."""
        cites = self.held.get(self.view[place.message].id, ())
        if not cites:
            return []
        number, part = self._originals(place.message)[place.part]
        end = len(words(part))
        return [(cite.start, end if cite.end is None else cite.end) for cite in cites if cite.part == number]

    def hold(self, place: Place, quote: str) -> None:
        """Keep words of a part readable."""
        name = self.view[place.message].id
        number, part = self._originals(place.message)[place.part]
        start = words(part).find(quote)
        if start >= 0:
            self.held.setdefault(name, []).append(Cite(name, number, start, start + len(quote)))

    def folded(self, text: str, held: Sequence[Span]) -> tuple[str, list[Span]]:
        """Return a text without colours and repeated lines, and the held spans in it."""
        key = text, tuple(held)
        if key not in self.folds:
            self.folds[key] = folded(text, held)
        return self.folds[key]

    def telling(self, text: str, wrote: Wrote = Wrote.TOOL) -> ExcerptSource:
        """Return a text to excerpt; of the agent's arguments, as much as there is room for."""
        found = self.tellings.get((text, wrote))
        if found is None:
            about = self.about if wrote is Wrote.TOOL else self.names
            fill, is_guide = wrote is Wrote.ARGUMENT, wrote is Wrote.GUIDE
            found = ExcerptSource(text, about, fill=fill, is_guide=is_guide)
            self.tellings[text, wrote] = found
        return found


class Stubs:
    """Collects smaller forms of parts."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._parts: dict[int, dict[int, Part]] = {}
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        """Return how many messages would be shown smaller."""
        return len(self._parts)

    def take(self, place: Place, text: str, reason: str, least: int = 1, instead: Place | None = None) -> int:
        """Show a part as this text if that frees at least ``least`` tokens; return how many it frees.

        What must stay readable has to be in the text or in ``instead``, a part that says the same and then
        has to stay readable itself.
        """
        page = self._page
        if place.part in self._parts.get(place.message, {}):
            return 0
        shown = page.shown(place)
        part = with_text(page.said(place), text)
        freed = page.counter.count_part(shown) - page.counter.count_part(part)
        if freed < least:
            return 0
        hidden = self._hidden(place, part)
        if hidden and (instead is None or not all(quote in self._text(instead) for quote in hidden)):
            return 0
        if instead is not None:
            for quote in hidden:
                page.hold(instead, quote)
        self._parts.setdefault(place.message, {})[place.part] = part
        self._reasons.setdefault(place.message, reason)
        return freed

    def _hidden(self, place: Place, part: Part) -> list[str]:
        """Return what must stay readable and would no longer be."""
        spans = self._page.spans(place)
        if not spans:
            return []
        said, before, after = (words(one) for one in (self._page.said(place), self._page.shown(place), part))
        quotes = (said[slice(*span)] for span in spans)
        return [quote for quote in quotes if quote in before and quote not in after]

    def _text(self, place: Place) -> str:
        """Return what a part will show."""
        smaller = self._parts.get(place.message, {}).get(place.part)
        return words(smaller or self._page.shown(place))

    def shrinks(self, rung: Rung = Rung.PRUNE) -> list[Shrink]:
        """Return the collected smaller forms, in the order of the view."""
        return [
            Shrink(self._page.view[i].id, self._message(i), self._reasons[i], rung)
            for i in sorted(self._parts)
        ]

    def _message(self, i: int) -> Message:
        message = self._page.view[i].message
        parts = self._parts[i]
        return replace(message, parts=tuple(parts.get(j, part) for j, part in enumerate(message.parts)))


REPEATED = "repeated in "
"""How the reason of a stub begins that points to the same output, further down."""
_OUTDATED = "[outdated: "


def pointer(name: str) -> str:
    """Return what is shown instead of an output that the message ``name`` repeats."""
    return f"[the same output as further down, in {name}]"


def with_true_pointers(shrinks: Sequence[Shrink], view: Sequence[Item]) -> list[Shrink]:
    """Return shrinks in which each pointer to the same output says what is shown there.

    What it leads to may be shortened by then, or outdated.
    """
    smaller = {shrink.id: shrink.message for shrink in shrinks}
    targets = {
        one.id: one.reason.removeprefix(REPEATED) for one in shrinks if one.reason.startswith(REPEATED)
    }
    shortened = {name for name in targets.values() if name in smaller}
    whole = {item.id: item.message for item in view if item.id in shortened} if shortened else {}
    return [
        replace(one, message=_pointing(one, name, whole[name], smaller[name]))
        if (name := targets.get(one.id)) in whole
        else one
        for one in shrinks
    ]


def _pointing(shrink: Shrink, name: str, whole: Message, smaller: Message) -> Message:
    """Return a message whose pointers to the message ``name`` are true of what is shown of that."""
    changed = [part.text for part in smaller.results if part not in whole.parts]
    if not any(f"kept as {name}]" in text for text in changed):  # such as repeated lines, counted
        return shrink.message
    note = f"[same output as {name}, shown in part there]"  # not longer than the pointer
    if changed[0].startswith(_OUTDATED):
        note = changed[0].replace(f"kept as {name}", f"kept as {shrink.id}")
    parts = tuple(
        with_text(part, note) if isinstance(part, ToolResult) and part.text == pointer(name) else part
        for part in shrink.message.parts
    )
    return replace(shrink.message, parts=parts)


def shorten(page: Page, places: Iterable[int], most_tokens: int, rung: Rung = Rung.TRUNCATE) -> list[Shrink]:
    """Propose excerpts of every part of these messages that has more than ``most_tokens``."""
    stubs = Stubs(page)
    for i in places:
        for j in range(len(page.view[i].message.parts)):
            place = Place(i, j)
            if not has_smaller(page.shown(place)):
                continue
            tokens = page.counter.count_part(page.shown(place))
            if tokens > most_tokens:
                reason = f"{tokens:,} tokens are more than there is room for"
                stubs.take(place, excerpted(page, place, most_tokens), reason)
    return stubs.shrinks(rung)


def has_smaller(part: Part) -> bool:
    """Whether a part has a smaller form: it has text and is not signed."""
    return isinstance(part, _SAYING) or document_text(part) is not None


_SAYING = (Text, ToolResult, ToolCall)


def excerpted(page: Page, place: Place, most_tokens: int) -> str:
    """Return an excerpt of a part, with its size and the id of the whole."""
    spans = page.spans(place)
    part = page.shown(place) if page.is_pruned(place) and not spans else page.said(place)
    text = document_text(part) or words(part)
    if isinstance(part, ToolResult) and not spans and text.rstrip().endswith(REMINDER_END):
        text = REMINDER.sub("", text)
    if isinstance(part, ToolResult) and not spans:
        text = without_remark(text)
    tokens = max(1, page.counter.count_part(part))
    name = page.view[place.message].id
    characters = max(0, most_tokens - NAME_TOKENS) * len(text) // tokens
    if isinstance(part, ToolCall) and part.input is not None:
        long = sum(len(leaf) > SHORT_ARGUMENT for leaf in json_strings(part.input))
        shorter = _shorter(page, part.input, name, characters // max(1, long))
        return json.dumps(shorter, ensure_ascii=False)
    characters = max(LEAST_CHARACTERS, characters)
    text, spans = page.folded(text, spans)
    is_short = isinstance(part, ToolResult) and characters < TWO_ENDS < len(text) and not spans
    if is_short and (outline := page.telling(text, _wrote(page, place)).outline(characters)):
        return f"[{len(text.splitlines()):,} lines, kept as {name}: {outline}]"
    shown = None
    is_user = isinstance(part, Text) and page.view[place.message].message.role is Role.USER
    if is_user and place not in page.guides:
        shown = both_ends(text, characters)
    if shown is None or any(text[slice(*span)] not in shown for span in spans):
        shown = page.telling(text, _wrote(page, place)).fullest(characters, spans, _line(characters))
    return _naming(shown, name)


def _wrote(page: Page, place: Place) -> Wrote:
    if place in page.guides:
        return Wrote.GUIDE
    message = page.view[place.message].message
    is_prose = message.role is Role.ASSISTANT and isinstance(message.parts[place.part], Text)
    return Wrote.PROSE if is_prose else Wrote.TOOL


def _naming(shown: str, name: str) -> str:
    """Add the id of the whole to the first omission note of an excerpt."""
    found = _GAP.search(shown)
    if found is None:
        return shown
    return f"{shown[: found.start()]}[… {found[1]}, kept as {name}]{shown[found.end() :]}"


def _line(characters: int) -> int:
    """Return how much of one line among many an excerpt of this size shows."""
    return min(LONGEST_LINE, max(SHORT_LINE, int(characters * LINE_SHARE)))


def _shorter(page: Page, value: Json, name: str, characters: int) -> Json:
    """Return arguments with long strings excerpted; keys and short strings stay."""
    if isinstance(value, str):
        if len(value) <= max(characters, SHORT_ARGUMENT):
            return value
        short = max(LEAST_CHARACTERS, characters)
        return _naming(page.telling(value, Wrote.ARGUMENT).fullest(short, longest_line=_line(short)), name)
    if isinstance(value, dict):
        changed = _changed_only(value, max(characters, SHORT_ARGUMENT))
        return {key: _shorter(page, child, name, characters) for key, child in changed.items()}
    if isinstance(value, list):
        return [_shorter(page, child, name, characters) for child in value]
    return value


CONTEXT = 2
"""Lines shown before and after what an edit changes."""


def _changed_only(arguments: JsonObject, characters: int) -> JsonObject:
    """Return arguments; those of a long edit without the lines that it leaves as they are."""
    shorter = dict(arguments)
    for key, old in arguments.items():
        new = arguments.get(counterpart(key))
        if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > characters:
            shorter[key], shorter[counterpart(key)] = _without_common_lines(old, new)
    return shorter


def _without_common_lines(old: str, new: str) -> tuple[str, str]:
    """Return both texts of an edit without most of the lines that they begin and end with in common."""
    before, after = old.split("\n"), new.split("\n")
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    rest = most - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    head, tail = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    return _middle(before, head, tail), _middle(after, head, tail)


def _middle(lines: list[str], head: int, tail: int) -> str:
    shown = lines[head : len(lines) - tail]
    first = [gap_note(head)] if head else []
    return "\n".join((*first, *shown, *([gap_note(tail)] if tail else ())))


def with_text(part: Part, text: str) -> Part:
    """Return a part with this text; a part without text is returned as it is."""
    match part:
        case ToolResult():
            return replace(part, parts=(Text(text, trust=part.trust),))
        case ToolCall():
            arguments = json.loads(text) if isinstance(part.arguments, dict) else text
            return replace(part, arguments=arguments)
        case Text():
            return replace(part, text=text)
        case _:
            return with_document_text(part, text)


_LEFT_OUT = Thinking("")
"""A placeholder for a thinking block, so that part indices stay valid while a cut is searched."""
_INSTEAD = Text("[thinking left out]", trust=Trust.ASSISTANT)
"""Replaces a message that has only thinking: providers accept no empty message."""
_REASON = "there is no room for its thinking"
_EARLIER = "thinking of an earlier turn"


def without_thinking(items: Iterable[Item]) -> list[Item]:
    """Return messages with placeholders for their thinking blocks."""
    return [Item(item.id, _with_gaps(item.message)) if has_thinking(item.message) else item for item in items]


def _with_gaps(message: Message) -> Message:
    parts = tuple(_LEFT_OUT if isinstance(part, Thinking) else part for part in message.parts)
    return replace(message, parts=parts if _has_more(message) else (_INSTEAD, *parts[1:]))


def has_thinking(message: Message) -> bool:
    """Whether a message has a thinking block."""
    return any(isinstance(part, Thinking) for part in message.parts)


def _has_more(message: Message) -> bool:
    return not all(isinstance(part, Thinking) for part in message.parts)


def left_out(
    items: Sequence[Item], shrinks: Iterable[Shrink], *, of_earlier_turns: bool = False
) -> list[Shrink]:
    """Return shrinks that remove the thinking of messages, on top of the given shrinks.

    Removing that of earlier turns is pruning: providers do not read it either. A message that has nothing
    else is shown no more if another one of the agent follows; otherwise a note stays in its place.
    """
    smaller = {shrink.id: shrink for shrink in shrinks}
    linked: set[str] = set()
    for item, following in zip_longest(items, items[1:]):
        linked = linked if item.message.role is Role.ASSISTANT else set()
        linked |= set(_wires_of_items(item.message))
        known = smaller.get(item.id)
        message = _unlinked(known.message if known else item.message, linked)
        if has_thinking(item.message):
            spoken = tuple(part for part in message.parts if not isinstance(part, Thinking))
            is_followed = following is not None and following.message.role is Role.ASSISTANT
            message = replace(message, parts=spoken or (() if is_followed else (_INSTEAD,)))
        if message is not (known.message if known else item.message):
            reason, rung = (_EARLIER, Rung.PRUNE) if of_earlier_turns else (_REASON, Rung.TRUNCATE)
            if known:
                reason, rung = known.reason, known.rung if of_earlier_turns else rung
            smaller[item.id] = Shrink(item.id, message, reason, rung)
    return [smaller[item.id] for item in items if item.id in smaller]


# Messages linked to a reasoning item -----------------------------------------------------------------


def _wires_of_items(message: Message) -> Iterator[str]:
    """Yield the wire formats in which a thinking block of this message is an item with its own id."""
    for part in message.parts:
        if isinstance(part, Thinking) and part.item_id and part.native:
            yield part.native.wire


def _unlinked(message: Message, wires: set[str]) -> Message:
    """Return the message without the id that links it to a reasoning item the provider would ask for."""
    if not wires:
        return message
    parts = tuple(_part_unlinked(part, wires) for part in message.parts)
    native = _without_id(message.native, wires)
    same = native is message.native and all(map(operator.is_, parts, message.parts))
    return message if same else replace(message, parts=parts, native=native)


def _part_unlinked(part: Part, wires: set[str]) -> Part:
    native = _without_id(part.native, wires)
    return part if native is part.native else replace(part, native=native)


def _without_id(native: Native | None, wires: set[str]) -> Native | None:
    if native is None or native.wire not in wires or not isinstance(native.value, dict):
        return native
    if "id" not in native.value:
        return native
    return Native(native.wire, {key: value for key, value in native.value.items() if key != "id"})
