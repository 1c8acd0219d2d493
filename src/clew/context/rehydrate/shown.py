"""What a view shows already, so that it need not be said twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from clew.message import Cite, Item, Origin, words


class Shown:
    """Answers whether a view shows some words."""

    def __init__(self, view: Sequence[Item]) -> None:
        self._items = {item.id: item for item in view}
        self._texts: dict[str, str] = {}

    @property
    def compacted(self) -> bool:
        """Tell whether something left the view."""
        return any(item.message.origin is Origin.SUMMARY for item in self._items.values())

    def has(self, text: str, source: Cite | None) -> bool:
        """Tell whether the view shows these words: in the message they come from, or in a digest."""
        own = self._text(source.message) if source is not None else ""
        return _holds(own, text) or text in self._digests

    def together(self, texts: Sequence[str]) -> bool:
        """Tell whether one message shows all of these as it was said; a digest tells what was once so."""
        spoken = (item for item in self._items.values() if item.message.origin is not Origin.SUMMARY)
        return any(all(_holds(self._text(item.id), text) for text in texts) for item in spoken)

    @cached_property
    def _digests(self) -> str:
        summaries = (item for item in self._items.values() if item.message.origin is Origin.SUMMARY)
        # A digest holds the lines of a quote together by two blanks.
        return "\n".join(self._text(item.id) for item in summaries).replace("\n  ", "\n")

    def _text(self, name: str) -> str:
        item = self._items.get(name)
        if item is None:
            return ""
        if name not in self._texts:
            self._texts[name] = "\n".join(map(words, item.message.parts))
        return self._texts[name]


def _holds(said: str, text: str) -> bool:
    """Tell whether words stand in what was said, as they are or inside the arguments of a call."""
    return text in said or json.dumps(text, ensure_ascii=False)[1:-1] in said
