"""Stores on a PostgreSQL server: opened here, closed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.postgres import new_schema, the_server

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")


class Place(NamedTuple):
    address: str
    schema: str


@pytest.fixture
def place() -> Place:
    return Place(the_server().address, new_schema())


@pytest.fixture
def open_store(place: Place) -> Iterator[Callable]:
    from clew.log.store.postgres import PostgresStore

    with ExitStack() as opened:
        yield lambda **settings: opened.enter_context(
            PostgresStore(place.address, schema=place.schema, **settings)
        )
