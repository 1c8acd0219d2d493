"""Messages of any session as an answer quotes them: under their reference and trust, in a fence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.errors import NotFound, StoreDamaged
from clew.log import KINDS, MESSAGE
from clew.memory.tools.desk import Desk
from clew.memory.tools.tool import ToolAnswer
from clew.message import Message, Trust, lowest, words
from clew.ports import Stored

MOST_CHARACTERS = 16_000
"""Of one answer: what is asked for must not fill the window that it was taken out of."""
_REF = re.compile(r"m([1-9]\d{0,17})(?:@(.+))?")
_BACKTICKS = re.compile("`+")


class Place(NamedTuple):
    """Where a message stands: the session, and which of its messages, counted from 1."""

    session: str
    number: int


class Quotation(NamedTuple):
    """Words from a message, with where they stand."""

    ref: str
    time: str
    role: str
    trust: Trust
    text: str
    about: str = ""
    """What else its heading says."""


def place_of(desk: Desk, ref: str) -> Place | None:
    """Return where ``m12`` or ``m12@another-session`` stands; None for what is no message's reference."""
    match = _REF.fullmatch(ref.strip())
    return Place(match[2] or desk.session.name, int(match[1])) if match else None


def ref_of(desk: Desk, session: str, name: str) -> str:
    """Return the reference of a message, as ``place_of`` reads it."""
    return name if session == desk.session.name else f"{name}@{session}"


def message_at(desk: Desk, place: Place) -> Quotation:
    """Return a message as it was said, whole."""
    (found,) = around(desk, place, 0)
    return found


def around(desk: Desk, place: Place, neighbours: int) -> list[Quotation]:
    """Return a message with its neighbours on both sides, in order."""
    ctx = desk.ctx(place.session)
    if desk.numbers.seq(ctx, place.number) is None:
        raise NotFound(f"there is no message {_ref(desk, place)}", "look for it with recall_search")
    near = range(place.number - neighbours, place.number + neighbours + 1)
    return [
        _quotation(desk, place._replace(number=n), seq) for n in near if (seq := desk.numbers.seq(ctx, n))
    ]


def _quotation(desk: Desk, place: Place, seq: int) -> Quotation:
    stored = next(desk.notebook.store.read(desk.ctx(place.session), seq - 1, seq), None)
    if stored is None:
        raise StoreDamaged(f"event {seq} of {place.session!r}, which holds {_ref(desk, place)}, is gone")
    (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
    return Quotation(_ref(desk, place), stored.event.time, message.role, trust_of(message), text_of(message))


def _ref(desk: Desk, place: Place) -> str:
    return ref_of(desk, place.session, f"m{place.number}")


def text_of(message: Message) -> str:
    """Return all that a message says: what characters and lines are counted in."""
    return "\n".join(said for part in message.parts if (said := words(part)))


def trust_of(message: Message) -> Trust:
    """Return the lowest label of what a message says."""
    return lowest(part.trust for part in message.parts)


def ref_of_event(desk: Desk, session: str, stored: Stored, nth: int) -> str:
    """Return the reference of a message that an event holds."""
    kind = KINDS.get(stored.event.kind, MESSAGE)
    own = kind.name_of(kind.current(stored), nth)
    return ref_of(desk, session, own or f"m{desk.numbers.number(desk.ctx(session), stored.seq)}")


# As an answer ----------------------------------------------------------------------------------------


def quoted(quotations: Iterable[Quotation], heading: str = "") -> ToolAnswer:
    """Return quotations as one answer, of the lowest trust among them."""
    listed = list(quotations)
    blocks = [*([heading] if heading else []), *_blocks(listed)]
    return ToolAnswer("\n".join(blocks), min((one.trust for one in listed), default=Trust.SEMI_TRUSTED))


def _blocks(quotations: list[Quotation]) -> Iterator[str]:
    room = MOST_CHARACTERS
    for waiting, one in zip(range(len(quotations), 0, -1), quotations, strict=True):
        shown = one.text[: room // waiting]  # what a short one leaves is for those behind it
        room -= len(shown)
        about = f", {one.about}" if one.about else ""
        yield f"[{one.ref}, {one.role}, {one.trust.label}, {one.time}{about}]"
        yield fenced(shown)
        if len(shown) < len(one.text):
            missing = len(one.text) - len(shown)
            yield f"({missing:,} more characters: artifact_open {one.ref} from {len(shown)})"


def fenced(text: str) -> str:
    """Return a text to the letter, in a fence that nothing in it can close."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
