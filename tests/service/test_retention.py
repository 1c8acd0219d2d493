"""``clew serve --keep-days``: old sessions of the tokens' workspaces are forgotten, and no others."""

import time

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

import psycopg

from clew.cli.service import _retention
from clew.log import new_event
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
        with _retention(store, ["north"], 30):
            deadline = time.monotonic() + 60
            while len(list(store.sessions("north"))) > 1 and time.monotonic() < deadline:
                time.sleep(0.05)
        assert [one.session for one in store.sessions("north")] == ["new"]
        assert [one.session for one in store.sessions("south")] == ["old"]
