"""The search index of a history: its protocol, and the SQLite implementation."""
