"""A session's log as entries of the index, kept up to date as events are appended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from clew.log import KINDS, Kind
from clew.memory.words import analyse
from clew.message import Json, Message, ToolCall, lowest, words
from clew.ports import Ctx, Store, Stored
from clew.ports.index import Entry, Index

PASSAGE = 8_000
"""Characters of one entry: longer texts are several, so that a hit leads to the place and not to the heap."""
AT_ONCE = 500
"""Entries that are put in together."""
_FILE_KEYS = frozenset({"path", "file_path", "filename", "file", "notebook_path", "target_file"})


def catch_up(store: Store, ctx: Ctx, index: Index, kinds: Mapping[str, Kind] = KINDS) -> int:
    """Index the events of a session that are not in the index yet; return how many there were.

    Costs what is new. Stopped half-way it goes on where it was: what was read and how far are kept together.
    """
    _, upto = index.stats(ctx.workspace, (), ctx.session)
    batch: list[Entry] = []
    seq = read = upto
    for stored in store.read(ctx, after=upto):
        batch += entries_of(ctx, stored, kinds)
        seq = stored.seq
        if len(batch) >= AT_ONCE:
            index.add(ctx.workspace, [analyse(entry) for entry in batch], {ctx.session: seq})
            batch, read = [], seq
    if seq > read:
        index.add(ctx.workspace, [analyse(entry) for entry in batch], {ctx.session: seq})
    return seq - upto


def entries_of(ctx: Ctx, stored: Stored, kinds: Mapping[str, Kind] = KINDS) -> Iterator[Entry]:
    """Yield what can be found of an event: each of its messages, long ones as passages."""
    kind = kinds.get(stored.event.kind)
    for nth, message in enumerate(kind.messages(stored.event.body) if kind else ()):
        ref = f"{stored.event.id}.{nth}" if nth else stored.event.id
        yield from passages(_entry(ctx, stored, ref, message))


def _entry(ctx: Ctx, stored: Stored, ref: str, message: Message) -> Entry:
    return Entry(
        ref=ref,
        session=ctx.session,
        time=stored.event.time,
        role=message.role,
        trust=lowest(part.trust for part in message.parts),
        text="\n".join(said for part in message.parts if (said := words(part))),
        files=tuple(sorted({name for call in message.calls for name in _files(call)})),
    )


def _files(call: ToolCall) -> Iterator[str]:
    for key, value in (call.input or {}).items():
        if key in _FILE_KEYS and _is_name(value):
            yield str(value)


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and 0 < len(value) < 1_000 and "\n" not in value


def passages(entry: Entry) -> Iterator[Entry]:
    """Yield an entry in pieces of at most ``PASSAGE`` characters, cut at line ends where there are any."""
    text, start = entry.text, 0
    while len(text) - start > PASSAGE:
        cut = text.rfind("\n", start + PASSAGE // 2, start + PASSAGE) + 1 or start + PASSAGE
        yield replace(entry, text=text[start:cut], start=entry.start + start)
        start = cut
    if text[start:] or not start:
        yield replace(entry, text=text[start:], start=entry.start + start)
