"""``clew serve --keep-days``: old sessions of the tokens' workspaces are forgotten or archived, no others."""

import time

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

import psycopg

from clew.cli.service import _retention, _retire
from clew.errors import StoreError
from clew.log import import_session, new_event
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from tests.postgres import new_schema, the_server


def test_old_sessions_of_the_workspaces_are_forgotten_and_others_stay():
    schema = new_schema()
    with PostgresStore(the_server().address, schema=schema) as store:
        for workspace, name in (("north", "old"), ("north", "new"), ("south", "old")):
            store.append(Ctx(workspace=workspace, session=name), [new_event("note", {})], None)
        with psycopg.connect(the_server().admin.replace("/postgres?", "/clew?")) as connection:
            connection.execute(
                f"UPDATE {schema}.session SET changed = now() - interval '40 days' WHERE id = 'old'"
            )
        with _retention(_retire(store, ["north"], 30, None), print):
            deadline = time.monotonic() + 60
            while len(list(store.sessions("north"))) > 1 and time.monotonic() < deadline:
                time.sleep(0.05)
        assert [one.session for one in store.sessions("north")] == ["new"]
        assert [one.session for one in store.sessions("south")] == ["old"]


@pytest.fixture
def old(request):
    """A store with two old sessions and a new one."""
    schema = new_schema()
    with PostgresStore(the_server().address, schema=schema) as store:
        for name in ("old", "ä/b c", "new"):
            events = [new_event("note", {"text": f"{name} " + "long " * 1000}), new_event("note", {"n": 1})]
            store.append(Ctx(workspace="north", session=name), events, None)
        with psycopg.connect(the_server().admin.replace("/postgres?", "/clew?")) as connection:
            connection.execute(
                f"UPDATE {schema}.session SET changed = now() - interval '40 days' WHERE id <> 'new'"
            )
        yield store


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_old_sessions_are_moved_to_an_archive_from_which_they_can_be_restored(old, kind, tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: clew[archive]")
    address = str(tmp_path / "archive") if kind == "folder" else f"memory://{new_schema()}"
    names = ["old", "ä/b c"]
    before = {name: list(old.read(Ctx(workspace="north", session=name))) for name in names}
    _retire(old, ["north"], 30, address)()
    assert [one.session for one in old.sessions("north")] == ["new"]
    filesystem, root = fsspec.core.url_to_fs(address)
    files = sorted(filesystem.find(root))
    assert len(files) == 2
    for path in files:
        with filesystem.open(path, "rb") as file:
            restored = import_session(old, "north", file)
        assert (
            list(old.read(restored.ctx))[: len(before[restored.ctx.session])] == before[restored.ctx.session]
        )


def test_no_name_leads_out_of_the_archive():
    pytest.importorskip("fsspec", reason="fsspec is not installed: clew[archive]")
    from clew.service.archive import _file_name

    assert list(map(_file_name, (".", "..", "a/../b", "v1.2"))) == ["%2E", "%2E%2E", "a%2F..%2Fb", "v1.2"]


def test_a_session_that_cannot_be_archived_stays(old, tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed: clew[archive]")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="the archive"):
        _retire(old, ["north"], 30, str(tmp_path / "file"))()
    assert len(list(old.sessions("north"))) == 3


def test_a_session_that_is_continued_while_it_is_archived_stays(old, tmp_path, monkeypatch):
    pytest.importorskip("fsspec", reason="fsspec is not installed: clew[archive]")
    from clew.service import archive as module

    copy = module._copy

    def copy_and_append(file, address, name):
        if "old" in name:
            old.append(Ctx(workspace="north", session="old"), [new_event("note", {"late": True})], None)
        return copy(file, address, name)

    monkeypatch.setattr(module, "_copy", copy_and_append)
    _retire(old, ["north"], 30, str(tmp_path))()
    assert [one.session for one in old.sessions("north")] == ["old", "new"]
    assert old.head(Ctx(workspace="north", session="old")).seq == 3
