"""Propose how to shrink a view: the ladder. See README.md."""
