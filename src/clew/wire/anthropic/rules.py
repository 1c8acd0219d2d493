"""What the Anthropic Messages API refuses."""

from __future__ import annotations

from clew.wire.rules import Rule

RULES: tuple[Rule, ...] = ()
