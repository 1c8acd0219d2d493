"""Find out which entries the model already sees, so that a search does not repeat them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from clew.memory.findable import text_of
from clew.memory.index.protocol import Entry, EntryKind
from clew.message import Item, Origin


class InView:
    """Called with an index entry, returns whether the view shows all of it."""

    def __init__(self, session: str, view: Iterable[Item]) -> None:
        self._session = session
        self._texts: dict[str, str] = {}
        self._digests = ""
        for item in view:
            text = text_of(item.message)
            if item.message.origin is Origin.SUMMARY:
                self._digests += f"\n{text}"
            else:
                self._texts[item.id] = text

    @cached_property
    def _whole(self) -> str:
        return "\n".join((self._digests, *self._texts.values()))

    def holds(self, words: str) -> bool:
        """Return True if the view contains this text."""
        return words in self._whole

    def __call__(self, entry: Entry) -> bool:
        """Return True if the view shows an entry: the message verbatim, or a digest with the line."""
        if entry.session != self._session:
            return False
        if entry.kind is EntryKind.DIGEST:
            return entry.text in self._digests
        text = self._texts.get(entry.ref, "")
        return text.startswith(entry.text, entry.start) or (bool(text) and entry.text in text)
