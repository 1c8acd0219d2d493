"""Logs that somebody else wrote: one of any shape spoils no other, and its own pages say what is wrong."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from urllib.parse import quote

import pytest

from clew.errors import ClewError
from clew.inspector import session_list
from clew.inspector.app import TOKEN
from clew.inspector.server import Server
from clew.log import KINDS, message_event, new_event
from clew.log.protocol import Ctx
from clew.message import JsonObject, Role, text_message
from tests.inspector.house import TOUR, WORKSPACE, House
from tests.inspector.test_guard import ask

ODD: tuple[JsonObject, ...] = (
    {},
    {"verdict": 5},
    {"usage": 5, "cache": 3},
    {"usage": {"input_tokens": "x"}, "cache": {"read": [1]}},
    {"slices": 7},
    {"slices": [7, {"region": ["x"], "given": "y", "asked": {}}]},
    {"plan": [], "reason": {}, "names": 5},
    {"splices": [[1, 2, 3]], "names": ["d1"], "messages": [{}]},
    {"message": 5},
    {"compaction": 10**30, "off": "x", "model": 5},
)


@pytest.fixture
def odd(house: House) -> list[str]:
    """Sessions of two events, the second of each kind and each odd shape."""
    names = []
    for kind in KINDS.values():
        for number, body in enumerate(ODD):
            ctx = Ctx(workspace=WORKSPACE, session=f"odd {kind.name} {number}")
            with suppress(ClewError):  # what the store itself does not take
                head = house.store.append(ctx, [message_event(text_message(Role.USER, "hello"))], None)
                house.store.append(ctx, [new_event(kind.name, body, kind.version)], head)
                names.append(ctx.session)
    return names


def test_a_log_of_any_shape_leaves_the_list_of_sessions_whole(house: House, odd: list[str]):
    listed = {one["name"]: one for one in session_list.session_list(house.pool)["sessions"]}
    assert listed.keys() == {"evil", TOUR, *odd}
    assert listed[TOUR]["health"]["is"] == "good"


def test_a_session_whose_events_cannot_be_read_is_listed_as_damaged(house: House):
    ctx = Ctx(workspace=WORKSPACE, session="hurt")
    house.store.append(ctx, [new_event("compaction", {}, 1)], None)
    with closing(sqlite3.connect(house.store.path)) as database, database:
        database.execute("DROP TRIGGER event_is_never_changed")
        hurt = "(SELECT key FROM session WHERE id = 'hurt')"
        database.execute(f"UPDATE event SET body = x'00' WHERE session = {hurt}")
    listed = {one["name"]: one["health"]["is"] for one in session_list.session_list(house.pool)["sessions"]}
    assert listed == {"hurt": "damaged", TOUR: "good", "evil": "good"}


def test_a_page_of_a_log_of_any_shape_is_drawn_or_says_why_not(house: House, odd: list[str]):
    server = Server.bind(house.pool)
    looks = ("size", "page", "map", "timeline", "compactions", "ledger")
    with server.running():
        told = {
            (name, look): ask(server, f"/api/{look}?session={quote(name)}", headers={TOKEN: server.token})
            for name in odd
            for look in looks
        }
    assert {reply.status for reply in told.values()} <= {200, 409}
    assert all(json.loads(reply.body) for reply in told.values())


def test_an_undo_of_a_compaction_that_is_not_in_force_counts_nothing(house: House):
    ctx = Ctx(workspace=WORKSPACE, session="odd undo")
    said = message_event(text_message(Role.USER, "hello"))
    events = [said, new_event("compaction", {}, 1), new_event("undo", {"compaction": 1}, 1)]
    house.store.append(ctx, events, None)
    listed = {one["name"]: one["undone"] for one in session_list.session_list(house.pool)["sessions"]}
    assert listed["odd undo"] == 0
