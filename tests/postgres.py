"""A PostgreSQL server for the tests of one process, and a fresh schema for each of them."""

from __future__ import annotations

import atexit
import itertools
import os
from functools import cache

import pytest

from clew.errors import ClewError
from clew.testing.postgres import PostgresServer

_numbers = itertools.count()


@cache
def _started() -> PostgresServer | str:
    try:
        server = PostgresServer(durable=False)
    except (ClewError, ImportError) as cause:
        return str(cause)
    atexit.register(server.close)
    return server


def the_server() -> PostgresServer:
    """Return the server, or skip the test if none can be had."""
    server = _started()
    if isinstance(server, str):
        pytest.skip(f"no PostgreSQL server: {server}")
    return server


def new_schema() -> str:
    """Return the name of a schema that no other test uses."""
    return f"test_{os.getpid()}_{next(_numbers)}"
