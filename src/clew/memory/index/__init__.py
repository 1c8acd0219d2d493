"""The search index of a history: its protocol, in SQLite and in PostgreSQL."""
