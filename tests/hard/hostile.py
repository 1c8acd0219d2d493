"""What must hold of any input whatever: each function takes bytes and fails where a promise is broken."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from clew.compaction.plan.digest import expand_spans
from clew.compaction.plan.render import parse_digest
from clew.errors import ClewError
from clew.log import import_session, message_from_json, message_to_json
from clew.log.store import MemoryStore
from clew.message import Message, Origin, Role, ToolResult, Trust
from clew.providers import WIRES, Body, CheckScope, ConversionOptions, convert
from clew.session.handoff_headings import parse_handoff, render_handoff
from clew.transcripts import FORMATS, Start, Transcript, detect, open_source
from clew.transcripts.transcript import collect

Promise = Callable[[bytes], None]


def read_as(name: str, data: bytes) -> list[Transcript]:
    """Read bytes as a format, and check what every reader promises."""
    source = open_source(data, f"session.{name}")
    FORMATS[name].sniff(source)
    records = list(FORMATS[name].read(source))  # never raises, not even an error of ours
    sessions = list(collect(iter(records), Start("unnamed", name)))
    for session in sessions:
        ids = [entry.id for entry in session.entries]
        assert len(ids) == len(set(ids)), "an id is used twice"
        session.current()
        session.stats()
        for message in session.full():
            _check_labels(message)
            _check_stored(message)
    return sessions


def _check_labels(message: Message) -> None:
    for part in message.parts:
        answers = isinstance(part, ToolResult) or message.role is Role.TOOL
        assert not (answers and part.trust >= Trust.USER), "a tool's words have the label of a person's"
        spoken = message.origin is Origin.SPOKEN
        assert spoken or part.trust < Trust.USER or message.role is not Role.USER, (
            "a machine has a person's label"
        )


def _check_stored(message: Message) -> None:
    written = json.dumps(message_to_json(message), ensure_ascii=False).encode("utf-8", "surrogatepass")
    again = message_from_json(json.loads(written))
    assert repr(again) == repr(message), "a message is not the same when it is read back"


def recognise(data: bytes) -> None:
    with suppress(ClewError):
        detect(open_source(data))


def parse_a_digest(data: bytes) -> None:
    text = data.decode(errors="replace")
    shown = parse_digest(text)
    if shown is not None:
        assert all(pin.quote for pin in shown.pins) or shown.pins == ()
    expand_spans(text)


def parse_a_handoff(data: bytes) -> None:
    handoff = parse_handoff(data.decode(errors="replace"))
    if handoff is not None:
        assert parse_handoff(render_handoff(handoff)) == handoff


def import_an_export(data: bytes) -> None:
    with suppress(ClewError):
        import_session(MemoryStore(), "here", io.BytesIO(data))


def check_a_request(data: bytes) -> None:
    """Judge a body on every wire, and write it back byte for byte."""
    for wire in WIRES.values():
        try:
            body = Body.parse(data, wire)
        except ClewError:
            continue
        assert body.render_bytes() == data
        value = body.render()
        wire.check(value if isinstance(value, dict) else {wire.list_key: value})


def convert_a_history(data: bytes) -> None:
    """Carry a history from every wire to every wire, with and without repairs."""
    for wire in WIRES.values():
        try:
            body = Body.parse(data, wire)
        except ClewError:
            continue
        for target in WIRES.values():
            written = convert([*body.system, *body.messages], target)
            json.dumps(written.body)
            target.check(written.body, scope=CheckScope.MESSAGES)
            convert(
                [*body.system, *body.messages], target, ConversionOptions(thinking_as_text=True, repair=False)
            )


READERS: dict[str, Promise] = {name: partial(read_as, name) for name in FORMATS}
PARSERS: dict[str, Promise] = {
    "digest": parse_a_digest,
    "handoff": parse_a_handoff,
    "import": import_an_export,
    "check": check_a_request,
    "convert": convert_a_history,
    "detect": recognise,
}
TARGETS = READERS | PARSERS
