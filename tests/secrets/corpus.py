"""Made-up secrets of every kind, fresh from a seed."""

from __future__ import annotations

import random
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "u": string.ascii_uppercase + string.digits,
    "U": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
}
_BLANK = re.compile(r"\{([A-Za-z])(\d+)\}")


class Sample(NamedTuple):
    """A text that holds a secret."""

    rule: str
    text: str
    secret: str


def samples(seed: int) -> Iterator[Sample]:
    """Yield one sample of every way to write every kind of secret."""
    written = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf-8"))
    for rule, given in written.items():
        for template in [given] if isinstance(given, str) else given:
            dice = random.Random(f"{seed} {template}")  # a new template leaves the other samples alone
            text = _BLANK.sub(lambda blank, dice=dice: _random(dice, blank[1], int(blank[2])), template)
            secret = text.partition("«")[2].partition("»")[0] or text
            yield Sample(rule, text.replace("«", "").replace("»", ""), secret)


def _random(dice: random.Random, alphabet: str, size: int) -> str:
    """Return random characters; the first and the last are never signs."""
    letters = "".join(dice.choice(ALPHABETS[alphabet]) for _ in range(size))
    plain = ALPHABETS["a"] if alphabet in "wb" else ALPHABETS[alphabet]
    return dice.choice(plain) + letters[1:-1] + dice.choice(plain) if size > 1 else letters
