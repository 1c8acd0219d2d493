"""Memory is tested on both stores."""

from tests.postgres import place

__all__ = ["place"]  # a fixture
