"""The PostgreSQL store; needs the extra ``clew[postgres]``."""

from clew.log.store.postgres.store import DeletedRows, PostgresStore

__all__ = ["DeletedRows", "PostgresStore"]
