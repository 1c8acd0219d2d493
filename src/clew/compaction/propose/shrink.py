"""Shorter forms of message parts: excerpts, outlines and pointers to a message that shows the same.

``shorten`` cuts every part above a number of tokens down to an excerpt. Pruning rules pass texts of their own
to a ``ShrinkCollector``. Both return ``Shrink`` operations for a plan, and both use a shorter form only if it
saves tokens and hides nothing that must stay readable. A tool result of 900 lines becomes, for example::

    collected 412 items
    [… 896 lines, kept as m14]
    3 failed, 409 passed in 8.21s
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.compaction.plan import Rung, Shrink
from clew.compaction.propose.edits import counterpart
from clew.compaction.propose.excerpt import LINE_SHARE, TWO_ENDS, ExcerptSource, both_ends
from clew.compaction.propose.line_kinds import LISTING
from clew.compaction.propose.lines import LEAST_GAP, LONGEST_LINE, WORTH_A_GAP, gap_note
from clew.compaction.propose.shrink_context import ShrinkContext, TextKind
from clew.ledger.tool_actions import changed_file
from clew.message import (
    Item,
    Json,
    JsonObject,
    Message,
    Native,
    Part,
    Place,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    words,
)
from clew.message.parts import json_strings

NAME_TOKENS = 8
"""Tokens of the note that says where the whole of an excerpt is kept."""
LEAST_CHARACTERS = 80
"""The least size of an excerpt: a first and a last line identify a result; less says nothing."""
SHORT_ARGUMENT = 200
"""Characters of an argument that always stay whole: a path, a pattern, a command."""
SHORT_LINE = 60
"""Characters of a line that always stay whole."""
CONTEXT = 2
"""Lines shown before and after what an edit changes."""
LONGEST_PATH = 60
"""Characters shown of the path of a changed file in a short note on a result."""
REPEATED = "repeated in "
"""How the reason of a stub begins that points to the same output, further down."""
_OUTDATED = "[outdated: "
_AS_IN = re.compile(r"\[… [\d,]+ lines, as in [\w-]+\]")
"""A note on lines that a later message shows."""
LEAST_SHOWN = 0.25
"""Share of an output from which a pointer says that it is shown elsewhere in part; of less, it names the
whole. Chosen by hand."""
REMINDER_END = "</system-reminder>"
REMINDER = re.compile(rf"\s*<system-reminder>(?:(?!</?system-reminder>).)*+{REMINDER_END}\s*\Z", re.DOTALL)
"""What a harness adds at the end of a result."""
_REMARK = re.compile(
    r"\s*(?:\([^()\n]{0,160}\b(?:in your context|no need to (?:re-?)?read)\b[^()\n]{0,160}\)"
    r"|\bRefer to that earlier (?:tool_result|result|read|output)\b[^.\n]{0,80}\.)\s*\Z",
    re.IGNORECASE,
)
"""What a harness says at the end of a result about the context."""
_REMARK_SIGNS = ("in your context", "no need to ", "efer to that earlier ")
"""Substrings of which every such remark has one, checked first."""
_REMARK_WITHIN = 400
"""Characters at the end of a result in which a remark is looked for."""
_OUTLINED = re.compile(r"^\[(?:… )?[\d,]+ lines?(?:, kept as [\w-]+)?: .*\]$", re.MULTILINE)
_LINE_NUMBER = re.compile(r"([:,] )\d+ (?=\S)")
"""A note that names what it leaves out, and a line number in it."""
_GAP = re.compile(r"\[… ([\d,]+ (?:lines?|characters?))(?=\]|: | in )")


def shorten(
    context: ShrinkContext, places: Iterable[int], most_tokens: int, rung: Rung = Rung.TRUNCATE
) -> list[Shrink]:
    """Propose excerpts of every part of these messages that has more than ``most_tokens``."""
    collector = ShrinkCollector(context)
    for i in places:
        for j in range(len(context.view[i].message.parts)):
            place = Place(i, j)
            if not has_smaller(context.shown_part(place)):
                continue
            tokens = context.counter.count_part(context.shown_part(place))
            if tokens > most_tokens:
                reason = f"{tokens:,} tokens are more than there is room for"
                collector.add(place, excerpted(context, place, most_tokens), reason)
    return collector.shrinks(rung)


def has_smaller(part: Part) -> bool:
    """Whether a part has a smaller form: it has text and is not signed."""
    return isinstance(part, _SAYING) or document_text(part) is not None


_SAYING = (Text, ToolResult, ToolCall)


class ShrinkCollector:
    """Collects smaller forms of parts."""

    def __init__(self, context: ShrinkContext) -> None:
        self._context = context
        self._parts: dict[int, dict[int, Part]] = {}
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        """Return how many messages would be shown smaller."""
        return len(self._parts)

    def add(self, place: Place, text: str, reason: str, least: int = 1, instead: Place | None = None) -> int:
        """Show a part as this text if that frees at least ``least`` tokens; return how many it frees.

        What must stay readable has to be in the text or in ``instead``, a part that says the same and then
        has to stay readable itself.
        """
        context = self._context
        if place.part in self._parts.get(place.message, {}):
            return 0
        shown = context.shown_part(place)
        part = with_text(context.original_part(place), text)
        freed = context.counter.count_part(shown) - context.counter.count_part(part)
        if freed < least:
            return 0
        hidden = self._hidden(place, part)
        if hidden and (instead is None or not all(quote in self._text(instead) for quote in hidden)):
            return 0
        if instead is not None:
            for quote in hidden:
                context.protect(instead, quote)
        self._parts.setdefault(place.message, {})[place.part] = part
        self._reasons.setdefault(place.message, reason)
        return freed

    def _hidden(self, place: Place, part: Part) -> list[str]:
        """Return what must stay readable and would no longer be."""
        spans = self._context.protected_spans(place)
        if not spans:
            return []
        said, before, after = (
            words(one) for one in (self._context.original_part(place), self._context.shown_part(place), part)
        )
        quotes = (said[slice(*span)] for span in spans)
        return [quote for quote in quotes if quote in before and quote not in after]

    def _text(self, place: Place) -> str:
        """Return what a part will show."""
        smaller = self._parts.get(place.message, {}).get(place.part)
        return words(smaller or self._context.shown_part(place))

    def shrinks(self, rung: Rung = Rung.PRUNE) -> list[Shrink]:
        """Return the collected smaller forms, in the order of the view."""
        return [
            Shrink(self._context.view[i].id, self._message(i), self._reasons[i], rung)
            for i in sorted(self._parts)
        ]

    def _message(self, i: int) -> Message:
        message = self._context.view[i].message
        parts = self._parts[i]
        return replace(message, parts=tuple(parts.get(j, part) for j, part in enumerate(message.parts)))


def without_remark(text: str) -> str:
    """Return a result without a last remark of the harness on what the context shows.

    After a compaction it may not be true: "file state is current in your context".
    """
    end = text[-_REMARK_WITHIN:]
    if not any(sign in end for sign in _REMARK_SIGNS):
        return text
    remark = _REMARK.search(end)
    return text[: len(text) - len(end) + remark.start()] if remark and remark.start() else text


def excerpted(context: ShrinkContext, place: Place, most_tokens: int) -> str:
    """Return an excerpt of a part, with its size and the id of the whole."""
    spans = context.protected_spans(place)
    part = (
        context.shown_part(place) if context.is_pruned(place) and not spans else context.original_part(place)
    )
    text = document_text(part) or words(part)
    if isinstance(part, ToolResult) and not spans and text.rstrip().endswith(REMINDER_END):
        text = REMINDER.sub("", text)
    if isinstance(part, ToolResult) and not spans:
        text = without_remark(text)
    tokens = max(1, context.counter.count_part(part))
    name = context.view[place.message].id
    characters = max(0, most_tokens - NAME_TOKENS) * len(text) // tokens
    if isinstance(part, ToolCall) and part.input is not None:
        long = sum(len(leaf) > SHORT_ARGUMENT for leaf in json_strings(part.input))
        shorter = _shorter(context, part.input, name, characters // max(1, long))
        return json.dumps(shorter, ensure_ascii=False)
    characters = max(LEAST_CHARACTERS, characters)
    text, spans = context.folded(text, spans)
    kind = _text_kind(context, place)
    source = context.result_source(text, kind, place)
    is_short = isinstance(part, ToolResult) and characters < TWO_ENDS < len(text) and not spans
    note = _note_instead(text, source, name, characters) if is_short else ""
    shown: str | None = note or None
    is_user = isinstance(part, Text) and context.view[place.message].message.role is Role.USER
    if is_user and place not in context.guides:
        shown = both_ends(text, characters)
    if shown is None or any(text[slice(*span)] not in shown for span in spans):
        least_gap = LEAST_GAP if most_tokens < NAME_TOKENS else WORTH_A_GAP
        shown = source.fullest(characters, spans, _line(characters), least_gap)
    if LISTING.match(text) and _OUTLINED.search(shown) and context.changed_later(place):
        shown = _OUTLINED.sub(lambda found: _LINE_NUMBER.sub(r"\1", found[0]), shown)
    return shown if note else _naming(shown, name)


def _note_instead(text: str, source: ExcerptSource, name: str, characters: int) -> str:
    """Return what a result is about, if that says more than one or two of its lines; "" if not."""
    lines = f"{len(text.splitlines()):,} lines"
    if path := changed_file(text):
        shorter = path if len(path) <= LONGEST_PATH else f"…{path[path.find('/', -LONGEST_PATH) :]}"
        return f"[{lines} about {shorter}, kept as {name}]"
    outline = source.outline(characters)
    return f"[{lines}, kept as {name}: {outline}]" if outline else ""


def _text_kind(context: ShrinkContext, place: Place) -> TextKind:
    if place in context.guides:
        return TextKind.GUIDE
    message = context.view[place.message].message
    is_prose = message.role is Role.ASSISTANT and isinstance(message.parts[place.part], Text)
    return TextKind.PROSE if is_prose else TextKind.TOOL


def _naming(shown: str, name: str) -> str:
    """Add the id of the whole to the first omission note of an excerpt."""
    found = _GAP.search(shown)
    if found is None:
        return shown
    return f"{shown[: found.end()]}, kept as {name}{shown[found.end() :]}"


def _line(characters: int) -> int:
    """Return how much of one line among many an excerpt of this size shows."""
    return min(LONGEST_LINE, max(SHORT_LINE, int(characters * LINE_SHARE)))


def _shorter(context: ShrinkContext, value: Json, name: str, characters: int) -> Json:
    """Return arguments with long strings excerpted; keys and short strings stay."""
    if isinstance(value, str):
        if len(value) <= max(characters, SHORT_ARGUMENT):
            return value
        short = max(LEAST_CHARACTERS, characters)
        return _naming(
            context.excerpt_source(value, TextKind.ARGUMENT).fullest(short, longest_line=_line(short)), name
        )
    if isinstance(value, dict):
        changed = _changed_only(value, max(characters, SHORT_ARGUMENT))
        return {key: _shorter(context, child, name, characters) for key, child in changed.items()}
    if isinstance(value, list):
        return [_shorter(context, child, name, characters) for child in value]
    return value


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
    kept = re.compile(rf"kept as {re.escape(name)}[\]:]")
    if not any(kept.search(text) or _AS_IN.search(text) for text in changed):  # repeated lines, counted
        return shrink.message
    said = sum([len(part.text) for part in whole.results if part not in smaller.parts])
    # No note is longer than the pointer.
    if _AS_IN.fullmatch(changed[0]):
        note = changed[0]
    elif changed[0].startswith(_OUTDATED):
        note = changed[0].replace(f"kept as {name}", f"kept as {shrink.id}")
    elif sum(map(len, changed)) < LEAST_SHOWN * said:
        note = f"[same output as {name}; kept as {shrink.id}]"
    else:
        note = f"[same output as {name}, shown in part there]"
    parts = tuple(
        with_text(part, note) if isinstance(part, ToolResult) and part.text == pointer(name) else part
        for part in shrink.message.parts
    )
    return replace(shrink.message, parts=parts)
