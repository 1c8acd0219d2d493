"""Migrate a store to the current schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from clew.errors import StoreDamaged, StoreError, StoreTooNew
from clew.log.store.connection import APPLICATION_ID
from clew.log.store.sql import Migration, migrations, statements


def migrate(database: sqlite3.Connection, known: Sequence[Migration] | None = None) -> None:
    """Run the migrations that the file has not had yet, all or none."""
    known = migrations() if known is None else known
    if not _pending(database, known):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for migration in _pending(database, known):  # checked again: another process may have migrated
            for step in migration.steps():
                database.execute(step)
            row = {"version": migration.version, "name": migration.name, "checksum": migration.checksum}
            database.execute(statements()["record_migration"], row)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def _pending(database: sqlite3.Connection, known: Sequence[Migration]) -> Sequence[Migration]:
    names = {name for _, name, *_ in database.execute(statements()["schema"])}
    if not names:
        return known
    if "migration" not in names:
        raise StoreError("this SQLite file belongs to another program")
    seen = database.execute(statements()["migrations"]).fetchall()
    if len(seen) > len(known):
        raise StoreTooNew(f"the store has schema {seen[-1][0]}, this clew knows {known[-1].version}")
    for row, migration in zip(seen, known, strict=False):
        if row != (migration.version, migration.name, migration.checksum):
            raise StoreDamaged(f"migration {row[0]} ({row[1]}) of this store is not the one that clew ships")
    return known[len(seen) :]
