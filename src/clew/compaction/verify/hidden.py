"""Invisible characters, look-alike letters and imitated tags, which could mislead a reader."""

from __future__ import annotations

import re
import unicodedata

_JOINERS = r"\u200c\u200d"
# Joiners belong to words of some scripts and to emoji; in the others there is nothing to join.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    rf"|(?<![^\x00-\u024f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\u024f])"
)
_DIRECTING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_BRACKETS = str.maketrans("‹〈⟨❮❬˂ᐸ≺⁄∕⧸‐‑‒–—−", "<<<<<<<<///------")
_TAG = re.compile(r"<\s*/?\s*\\*\s*clew\s*-", re.IGNORECASE)
_PLAIN_TAG = re.compile(r"<[/\\]*clew-", re.IGNORECASE)
_ALIKE = r"[\u0370-\u03bb\u03bd-\u03ff\u0400-\u052f\u0530-\u058f]"  # except Greek mu, used before units
_TWO_SCRIPTS = re.compile(rf"[A-Za-z]{_ALIKE}|{_ALIKE}[A-Za-z]")
_STYLED = re.compile(
    r"[\uff21-\uff3a\uff41-\uff5a\u2100-\u214f\u24b6-\u24e9\U0001d400-\U0001d7ff\U0001f130-\U0001f189]"
)
"""Stylised letters: bold, full-width, circled."""


def is_plain(text: str) -> bool:
    """Quick test: most texts contain nothing to find."""
    return text.isascii() and text.isprintable() and "<" not in text


def is_unseen(text: str) -> bool:
    """Whether a text holds invisible characters that no word needs."""
    if text.isascii() and text.isprintable():
        return False  # most texts; much faster than the pattern
    return _UNSEEN.search(text) is not None


def directs(text: str) -> bool:
    """Whether a text changes the direction in which what follows is displayed."""
    return not text.isascii() and _DIRECTING.search(text) is not None


def mimics_tag(text: str) -> bool:
    """Whether a text imitates one of our tags in a spelling that the renderer does not escape."""
    if "<" not in text and text.isascii():
        return False
    seen = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).translate(_BRACKETS)
    return len(_TAG.findall(seen)) > len(_PLAIN_TAG.findall(text))


def two_scripts(text: str) -> str:
    """Return a word with look-alike letters of two scripts or with stylised letters; "" if there is none."""
    if text.isascii():
        return ""
    mixed = (word for word in text.split() if _TWO_SCRIPTS.search(word) or _STYLED.search(word))
    return next(mixed, "")
