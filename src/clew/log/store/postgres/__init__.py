"""The PostgreSQL store; needs the extra ``clew[postgres]``."""

from clew.log.store.postgres.store import PostgresStore

__all__ = ["DeletedRows", "PostgresStore"]
