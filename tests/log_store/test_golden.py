"""What was written once can be read for ever."""

from pathlib import Path

import pytest
import zstandard

from clew.log import export_session, fold, import_session, load_messages
from clew.log.store import MemoryStore, SqliteStore
from clew.log.store.audit import audit
from tests.log_store.golden.make import CTX, events

GOLDEN = Path(__file__).parent / "golden"
schemas = pytest.mark.parametrize("schema", sorted(file.stem for file in GOLDEN.glob("*.jsonl")))


def messages(store):
    return [visible.message.text for visible in load_messages(store, CTX, fold(store.read(CTX)).entries)]


@schemas
def test_a_store_of_every_schema_opens_and_is_sound(schema, path):
    path.parent.mkdir()
    path.write_bytes(zstandard.decompress((GOLDEN / f"{schema}.db.zst").read_bytes()))
    with SqliteStore(path) as store:
        assert [stored.event for stored in store.read(CTX)] == events()
        assert messages(store) == ["Be brief.", "Half a pair: \ud83d. Whole: 😀", "", ""]
    assert audit(path).flaws == ()


@schemas
def test_an_export_of_every_schema_is_imported_as_it_was(schema, tmp_path):
    file = GOLDEN / f"{schema}.jsonl"
    store = MemoryStore()
    with file.open("rb") as exported:
        import_session(store, CTX.workspace, exported)
    with (tmp_path / "again.jsonl").open("wb") as out:
        export_session(store, CTX, out)
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
