"""``clew show``: print a session as readable text or as JSON lines."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from rich.text import Text as Styled

from clew.cli.inputs import OWN_FORMAT, Input, open_arguments, problem_line
from clew.cli.terminal import Terminal
from clew.cli.text import arguments_line, count, one_line, printable
from clew.errors import InputError, NotFound
from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Message,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
)
from clew.message.codec import message_to_plain_json
from clew.tokens import counter_for
from clew.transcripts import Boundary, Cleared, Dropped, Entry, Problem, Record, Start, Transcript
from clew.transcripts.transcript import collect, tool_compactions

if TYPE_CHECKING:
    from rich.console import Console


_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where a word begins inside a name such as ``ToolCall``."""


def record_to_json(record: Record) -> JsonObject:
    """Return a record as JSON; ``type`` says which: start, message, boundary, cleared, dropped or problem."""
    if isinstance(record, Entry):
        return {"type": "message", **message_to_plain_json(record.message), **_fields(record, but="message")}
    kind = _WORD.sub("_", type(record).__name__).lower()
    return {"type": kind, **_fields(record)}


def _fields(value: Record, but: str = "") -> JsonObject:
    """Return the fields that are not null, empty or the default."""
    fields: JsonObject = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.name in ("native", but) or item == field.default or item is None:
            continue
        fields[field.name] = _plain(item)
    return fields


def _plain(item: object) -> Json:
    match item:
        case Trust():
            return item.label
        case tuple():
            return [_plain(inner) for inner in item]
        case _ if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return {field.name: _plain(getattr(item, field.name)) for field in dataclasses.fields(item)}
        case _:
            return cast(Json, item)


FOLD_LINES = 12
LINE_CHARACTERS = 400
INDENT = 5

# A sign with every colour, so that colour is not the only way to see who speaks.
SIGNS = {
    "user": ("❯", "bold cyan"),
    "assistant": ("●", "bold green"),
    "tool": ("◂", "bold yellow"),
    "system": ("⚙", "bold magenta"),
    "developer": ("⚙", "bold magenta"),
    "injected": ("◦", "dim"),
    "summary": ("≡", "bold red"),
}


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the session."""
    source = open_arguments(args)
    wanted = _of_session(source.records(), args.session)
    if args.ref:
        wanted = iter(_only(source, list(wanted), args.ref))
    if args.json:
        for record in wanted:
            if isinstance(record, Problem) and not args.records:
                term.note(printable(problem_line(record)))
            elif isinstance(record, Entry) or args.records:
                term.write_json(record_to_json(record))
        return 0
    with term.paged(not args.no_pager) as console:
        page = _Page(console, None if args.full or args.ref else FOLD_LINES)
        # Whole sessions, because a later record may take a message back, which changes the numbers.
        for session in collect(wanted, Start(source.name, source.format or "unknown")):
            page.print_session(session)
    return 0


def _only(source: Input, records: Sequence[Record], ref: str) -> Sequence[Record]:
    """Return one message of a view, with the session it belongs to."""
    if not source.is_clew:
        advice = f"`clew expand {source.name} {ref}` shows it"
        raise InputError(f"{source.name} is not a session of clew's log", advice)
    entries = [record for record in records if isinstance(record, Entry) and record.id == ref]
    if not entries:
        advice = "`clew expand` prints its sources, `clew trace` explains why it was dropped"
        raise NotFound(f"{ref} is not in view", advice)
    return [*(record for record in records if isinstance(record, Start)), *entries]


def _of_session(records: Iterator[Record], session: str | None) -> Iterator[Record]:
    """Yield the records of one session, or all of them."""
    inside = session is None
    for record in records:
        if isinstance(record, Start) and session is not None:
            inside = record.session_id == session
        if inside:
            yield record


class _Page:
    """Prints the records of sessions one after another, each message with its name."""

    def __init__(self, console: Console, fold: int | None) -> None:
        self._console = console
        self._fold = fold
        """Lines of a long text that are printed; None for all."""
        self._names: dict[str, str] = {}
        """The name of each entry, such as m12, by its id."""
        self._sizes: dict[str, str] = {}
        """The sizes before and after each compaction of the tool, by its id."""
        self._compactions = 0
        self._tools: dict[str, str] = {}
        """The name of the tool of each call, by the call's id."""

    def print_session(self, session: Transcript) -> None:
        own = session.format == OWN_FORMAT  # there, the id is the name
        self._names = {entry.id: entry.id for entry in session.entries} if own else session.names()
        counter = counter_for(session.model or "")
        self._sizes = {
            compaction.boundary.id: str(compaction.sizes(counter)) for compaction in tool_compactions(session)
        }
        self._compactions = 0
        self._rule(_start_line(session.start), "bold")
        for record in session.records:
            self.print(record)

    def print(self, record: Record) -> None:
        match record:
            case Entry():
                self._entry(record)
            case Boundary():
                sizes = self._sizes.get(record.id, "taken back later")
                self._compactions += record.id in self._sizes
                self._rule(_boundary_line(record, self._compactions, sizes), "bold red")
            case Dropped():
                gone = count(len(record.ids), "message")
                self._rule(f"taken back above ({record.reason}): {gone}", "dim")
            case Cleared():
                calls = count(len(record.call_ids), "call")
                self._rule(f"the output of {calls} above was hidden from its model", "dim")
            case Problem():
                self._line(problem_line(record), "red")

    def _rule(self, title: str, style: str) -> None:
        self._console.rule(Styled(printable(title), style=style), style=style)

    def _line(self, text: str, style: str = "", indent: int = 0) -> None:
        styled = Styled(printable(text.expandtabs(4)), style=style)
        if not text.strip():
            self._console.print()
        else:
            for row in styled.wrap(self._console, max(20, self._console.width - indent)):
                row.rstrip()
                self._console.print(Styled(" " * indent) + row, no_wrap=True, overflow="ignore", crop=False)

    def _entry(self, entry: Entry) -> None:
        who = speaker(entry.message)
        sign, style = SIGNS[who]
        head = Styled(f"{printable(self._names.get(entry.id, '–')):>4} ", style="dim")
        head.append(f"{sign} {who}", style=style)
        beside = [
            f"sub-agent {entry.sidechain}" if entry.sidechain else "",
            entry.model or "",
            _clock(entry.time),
            f"{entry.usage.input_tokens:,} tokens in" if entry.usage and entry.usage.input_tokens else "",
        ]
        head.append("".join(f" · {printable(word)}" for word in beside if word), style="dim")
        self._console.print(head)
        self._tools.update((call.call_id, call.name) for call in entry.message.calls)
        for part in entry.message.parts:
            is_hidden = isinstance(part, ToolResult) and part.call_id in entry.hidden_results
            self._part(part, "hidden from its model" if is_hidden else "")

    def _part(self, part: Part, note: str = "", indent: int = INDENT) -> None:
        text, style = part_words(part, self._tools)
        if note:
            self._line(f"({note})", "dim italic", indent)
        for line in self._folded(text):
            self._line(line, style, indent)
        if isinstance(part, ToolResult):
            for inner in part.parts:
                self._part(inner, indent=indent + 2)

    def _folded(self, text: str) -> Iterator[str]:
        lines = text.splitlines()
        shown = lines if self._fold is None else lines[: self._fold]
        for line in shown:
            cut = self._fold is not None and len(line) > LINE_CHARACTERS
            yield f"{line[:LINE_CHARACTERS]}… {len(line):,} characters" if cut else line
        if len(shown) < len(lines):
            yield f"… {count(len(lines) - len(shown), 'more line')} (--full shows them)"


def speaker(message: Message) -> str:
    """Return who wrote a message, whatever its role is."""
    return message.origin.value if message.origin is not Origin.SPOKEN else message.role.value


def _clock(time: str | None) -> str:
    return time[:19].replace("T", " ") if time else ""


def _start_line(start: Start) -> str:
    words = (start.format, start.session_id, start.title, start.directory, start.model, _clock(start.time))
    return " · ".join(one_line(word, 60) for word in words if word)


def _boundary_line(boundary: Boundary, number: int, sizes: str) -> str:
    kept = f"{count(len(boundary.keeps), 'message')} above kept" if boundary.keeps else ""
    how = (boundary.trigger, sizes, kept)
    return f"c{number}: compacted by its tool{''.join(f', {word}' for word in how if word)}"


def part_words(part: Part, tools: Mapping[str, str]) -> tuple[str, str]:
    """Return the text of a part and its style."""
    match part:
        case Text():
            return part.text, ""
        case Thinking():
            return f"✻ {part.text or '[thinking, hidden by the provider]'}", "dim italic"
        case ToolCall() | ApprovalRequest():
            return f"▸ {part.name}({arguments_line(part.arguments, LINE_CHARACTERS)})", "yellow"
        case ToolResult():
            name = part.name or tools.get(part.call_id, part.call_id)
            return (f"✗ {name} failed", "red") if part.is_error else (f"✓ {name}", "dim")
        case Media():
            return _media_line(part), "magenta"
        case Compacted():
            sealed = f"[{part.kind}: sealed by the provider, {len(part.encrypted or ''):,} characters]"
            return part.text or sealed, "red"
        case ApprovalAnswer():
            answer = "✓ allowed" if part.approved else "✗ refused"
            return f"{answer} {part.approval_id} {part.reason or ''}", "bold yellow"
        case Unknown():
            return f"[{part.kind}]", "dim"


def _media_line(part: Media) -> str:
    what = part.media_type or part.url or part.file_id or ""
    size = f", {len(part.data) * 3 // 4:,} bytes" if part.data else ""
    return f"[{part.kind} {what}{size}]"
