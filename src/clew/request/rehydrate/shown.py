"""Find out what a view already shows, so that it is not repeated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from clew.message import Cite, Item, Origin, words


class Shown:
    """Answers whether a view shows some text."""

    def __init__(self, view: Sequence[Item]) -> None:
        self._items = {item.id: item for item in view}
        self._texts: dict[str, str] = {}

    @property
    def compacted(self) -> bool:
        """Whether the view contains a digest, so that something was dropped."""
        return any(item.message.origin is Origin.SUMMARY for item in self._items.values())

    def has(self, text: str, source: Cite | None) -> bool:
        """Return True if the view shows this text, in the message it comes from or in a digest."""
        own = self._text(source.message) if source is not None else ""
        return _holds(own, text) or text in self._digests

    def together(self, texts: Sequence[str]) -> bool:
        """Return True if one message shows all of these verbatim; a digest may be outdated and is ignored."""
        spoken = (item for item in self._items.values() if item.message.origin is not Origin.SUMMARY)
        return any(all(_holds(self._text(item.id), text) for text in texts) for item in spoken)

    @cached_property
    def _digests(self) -> str:
        summaries = (item for item in self._items.values() if item.message.origin is Origin.SUMMARY)
        # A digest indents the continuation lines of a quote by two spaces.
        return "\n".join(self._text(item.id) for item in summaries).replace("\n  ", "\n")

    def _text(self, name: str) -> str:
        item = self._items.get(name)
        if item is None:
            return ""
        if name not in self._texts:
            self._texts[name] = "\n".join(map(words, item.message.parts))
        return self._texts[name]


def _holds(said: str, text: str) -> bool:
    """Return True if a text contains these words, as they are or JSON-escaped in a call's arguments."""
    return text in said or json.dumps(text, ensure_ascii=False)[1:-1] in said
