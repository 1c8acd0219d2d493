"""The PostgreSQL store; needs the extra ``clew[postgres]``."""

from clew.log.store.postgres.store import Forgotten, PostgresStore

__all__ = ["Forgotten", "PostgresStore"]
