"""Write the golden store of a schema, once a release: ``python -m tests.log_store.golden.make``."""

import tempfile
from pathlib import Path

import zstandard

from clew.log import export_session, message_to_json
from clew.log.protocol import Ctx, Event
from clew.log.store import SqliteStore
from clew.log.store.database import migrations
from clew.message import Message, Native, Role, Text, ToolResult, text_message

HERE = Path(__file__).parent
CTX = Ctx(workspace="golden", session="first light")
LONG = "a line of a long output\n" * 500
ITEM = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": LONG}]}


def events() -> list[Event]:
    native = Native("anthropic", ITEM)
    result = ToolResult("t1", (Text(LONG),), native=Native("anthropic", ITEM["content"][0]))
    said_so = [
        text_message(Role.SYSTEM, "Be brief."),
        text_message(Role.USER, "Half a pair: \ud83d. Whole: 😀"),
    ]
    bodies = [
        *(("message", {"message": message_to_json(message)}) for message in said_so),
        ("message", {"message": message_to_json(Message(Role.TOOL, (result,), native=native))}),
        (
            "message",
            {"message": message_to_json(Message(Role.TOOL, (result,), native=native)), "again": True},
        ),
        ("dream", {"numbers": [1, 1.0, -0.0, 1e300, 2**70], "many": {str(n): n for n in range(400)}}),
    ]
    return [
        Event(f"e{n}", kind, 1, f"2026-01-0{n + 1}T00:00:00.000Z", body)
        for n, (kind, body) in enumerate(bodies)
    ]


def main() -> None:
    schema = migrations()[-1].version
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        with SqliteStore(path) as store, (HERE / f"{schema}.jsonl").open("wb") as out:
            store.append(CTX, events(), None)
            export_session(store, CTX, out)
        (HERE / f"{schema}.db.zst").write_bytes(zstandard.compress(path.read_bytes(), 19))


if __name__ == "__main__":
    main()
