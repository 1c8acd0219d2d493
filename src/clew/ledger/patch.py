"""Which files a patch touches, read from its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.touch import Action, Touch

_HEADER = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_DIFF = re.compile(r"^--- (?:a/)?(\S+).*\n\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_ACTIONS = {"Add File": Action.CREATED, "Update File": Action.MODIFIED, "Delete File": Action.DELETED}
_NOWHERE = "/dev/null"


def patched(text: str) -> Iterator[Touch]:
    """Yield the action on each file of a patch; supports ``*** Begin Patch`` and unified diffs."""
    waiting: Touch | None = None
    for verb, name in _HEADER.findall(text):
        if verb == "Move to":
            if waiting is not None:
                yield Touch(Action.MOVED, waiting.name, name)
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = Touch(_ACTIONS[verb], name)
    if waiting is not None:
        yield waiting
    elif "\n+++ " in text and "*** " not in text:
        yield from _diffed(text)


def _diffed(text: str) -> Iterator[Touch]:
    for old, new in _DIFF.findall(text):
        if new == _NOWHERE:
            yield Touch(Action.DELETED, old)
        else:
            yield Touch(Action.CREATED if old == _NOWHERE else Action.MODIFIED, new)
