"""Masks on their way back to a file: the model never saw the secret, and the file must not lose it."""

from __future__ import annotations

import re
from pathlib import Path

from clew.chat.places import inside, read_bytes
from clew.errors import InputError
from clew.secrets import find, rules
from clew.secrets.mask import mask_of, own_key

MOST_BYTES = 10_000_000
"""Of the file as it was, looked through for what the masks stand for."""
_MASK = re.compile(r"\[secret:(?P<rule>[\w.-]+):[0-9a-f]{4}\]")


def unmasked(root: Path, path: str, text: str) -> tuple[str, int]:
    """Return a text with the file's own secrets in place of their masks, and how many were put back.

    A mask that stands for nothing in the file as it was, or for more than one thing, is an ``InputError``:
    written to disk it would take a secret's place for good.
    """
    known = {rule.id for rule in rules()}
    masks = {found[0] for found in _MASK.finditer(text) if found["rule"] in known}
    if not masks:
        return text, 0
    before = _before(root, path)
    secrets = _secrets(before)
    for mask in masks:
        meant = secrets.get(mask, set())
        if len(meant) != 1 and (meant or mask not in before):  # a file may hold the mask itself
            told = "leave the line as it is in the file, or ask the user to write it"
            raise InputError(f"{mask} stands for no one secret of {path!r}", told)
    back = [found for found in _MASK.finditer(text) if found[0] in secrets]
    return _MASK.sub(lambda found: min(secrets.get(found[0], {found[0]})), text), len(back)


def _secrets(text: str) -> dict[str, set[str]]:
    """Return the secrets of a text by the masks that stand for them."""
    found: dict[str, set[str]] = {}
    for rule, start, end in find(text):
        found.setdefault(mask_of(rule, text[start:end], own_key()), set()).add(text[start:end])
    return found


def _before(root: Path, path: str) -> str:
    return (
        read_bytes(root, path, MOST_BYTES).decode("utf-8", "replace") if inside(root, path).is_file() else ""
    )
