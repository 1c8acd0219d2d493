"""Warn a caller whose loop forgets to pass ``previous=``: detected at its second compaction of one list."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from threading import Lock

from clew.session.conversation import Carry

KEPT = 32
"""How many lists that were compacted without ``previous=`` are remembered; chosen by hand."""
ADVICE = (
    "clew.compact was given a longer version of a list that it compacted before, without previous=: every "
    "call compacts from the beginning and the prompt cache is lost. Pass the last result as previous=, or "
    "use clew.Compactor"
)
_seen: OrderedDict[int, list[int]] = OrderedDict()
_lock = Lock()


def warn_if_forgotten(carry: Carry) -> None:
    """Warn if a list begins with one that was compacted before; lists are compared by message sizes."""
    view = carry.view
    if view.digest is not None or not view.items:
        return  # the caller keeps the compacted list, whose digest carries the state
    key = hash((view.items[0].message.role, view.items[0].message.text[:1_000]))
    with _lock:
        before = _seen.pop(key, None)
        _seen[key] = list(view.sizes)
        while len(_seen) > KEPT:
            _seen.popitem(last=False)
    if before and len(before) < len(view.sizes) and view.sizes[: len(before)] == before:
        warnings.warn(ADVICE, UserWarning, stacklevel=8)


def forget() -> None:
    """Clear the remembered lists, as in a new process."""
    with _lock:
        _seen.clear()
