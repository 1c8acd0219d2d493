"""Context windows, prices and tokenizers of models, from a dated table that users can override.

The table is ``models.toml`` in this folder; ``model_named("us.anthropic.claude-opus-4-5-20251101-v1:0")`` is
its entry ``claude-opus-4-5``. To override entries, pass a file of the same form to ``models``, or set the
environment variable ``CLEW_MODELS`` to its path.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from clew.errors import InputError
from clew.tokens.families import FAMILIES


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The facts clew has about a model. Prices are US dollars per million tokens, None if unknown."""

    id: str
    window_tokens: int
    """The context window: input and reply together."""
    max_output_tokens: int
    tokenizer: str
    """The name of its family in ``families.py``."""
    max_input_tokens: int | None = None
    """The provider's limit on input, if it is lower than the window."""
    input_price: float | None = None
    output_price: float | None = None
    cache_read: float = 1.0
    """The price of reading cached input, as a multiple of ``input_price``."""
    cache_write: float = 1.0
    """The price of writing input to the cache, as a multiple of ``input_price``."""
    cache_write_hour: float | None = None
    """The price of a cache write that lives one hour, if the provider offers it."""
    cache_minimum_tokens: int | None = None
    """The shortest prefix, in tokens, that is cached; None if nothing is cached."""
    long_from_tokens: int | None = None
    """Requests with more input than this use the two multipliers below."""
    long_input: float = 1.0
    """Price multiplier for input, cached or not, of long requests."""
    long_output: float = 1.0
    """Price multiplier for output of long requests."""
    known: bool = True
    """False if the entry is guessed from a model with a similar name, or is the default."""

    def input_room(self, reply_tokens: int) -> int:
        """Return the tokens left for input if ``reply_tokens`` are reserved for the reply."""
        room = self.window_tokens - reply_tokens
        return max(0, room if self.max_input_tokens is None else min(room, self.max_input_tokens))


UNKNOWN = ModelInfo("unknown", window_tokens=128_000, max_output_tokens=8_192, tokenizer="other", known=False)
"""Assumed for an unknown model: a common window size, and no price."""

# A model's name may have a route or cloud in front (``openrouter/anthropic/``, ``us.anthropic.``), and a
# revision or variant (``-v1:0``, ``@default``, ``[1m]``) and a date (``-20251101``, ``-latest``) behind it.
_ROUTE = re.compile(
    r"^(?:.*/)?(?:(?:[a-z-]+\.)?(?:anthropic|deepseek|meta|mistral|moonshot|openai|qwen|zai)\.)?"
)
_REVISION = re.compile(r"-v\d+(?::\d+)?$|[:@\[].*$")
_LONGEST_NAME = 500
_DATE = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|\d{4}|latest|preview)$")


def models(extra: Path | None = None) -> dict[str, ModelInfo]:
    """Return all models by id: clew's own table, overridden by the file of ``CLEW_MODELS``, then ``extra``.

    Each file is read once per process.
    """
    name = os.environ.get("CLEW_MODELS")
    return dict(_load(Path(name) if name else None, extra))


def prices_date() -> str:
    """Return the date of the prices in clew's own table."""
    import tomllib

    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["date"])


def model_named(name: str, extra: Path | None = None) -> ModelInfo:
    """Return the model with this name, in any of its usual spellings.

    The name may have a provider in front (``openrouter/anthropic/...``, ``us.anthropic...``), a revision or a
    date behind (``-v1:0``, ``@default``, ``[1m]``, ``-20251101``), and dots in place of dashes. If no model
    matches, the result is the model whose name is the longest prefix of this one, or else ``UNKNOWN``, with
    the given name as ``id`` and ``known=False``. Names over 500 characters are not parsed.
    """
    if len(name) > _LONGEST_NAME:
        return replace(UNKNOWN, id=name)
    named = os.environ.get("CLEW_MODELS")
    return _nearest(name, Path(named) if named else None, extra)


@lru_cache(maxsize=1_000)
def _nearest(name: str, *overlays: Path | None) -> ModelInfo:
    table = {_spelling(model.id): model for model in _load(*overlays).values()}
    plain = _spelling(_REVISION.sub("", _ROUTE.sub("", name.strip().lower())))
    for written in (_spelling(name), plain, _without_date(plain)):
        if written in table:
            return table[written]
    relatives = [key for key in table if plain.startswith(key + "-")]
    nearest = table[max(relatives, key=len)] if relatives else UNKNOWN
    return replace(nearest, id=name, known=False)


def _spelling(name: str) -> str:
    return name.strip().lower().replace(".", "-")


def _without_date(name: str) -> str:
    while (shorter := _DATE.sub("", name)) != name:
        name = shorter
    return name


@cache
def _load(*overlays: Path | None) -> dict[str, ModelInfo]:
    table: dict[str, ModelInfo] = {}
    for path in (Path(__file__).with_name("models.toml"), *overlays):
        if path is not None:
            _lay_over(table, path)
    return table


def _lay_over(table: dict[str, ModelInfo], path: Path) -> None:
    """Add a file's models to the table; for an existing id, only the fields in the file change."""
    import tomllib

    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
        for name, entry in entries.items():
            table[name] = _model(table, name, dict(entry))
    except OSError as cause:
        raise InputError(f"cannot read the table of models {path}: {cause.strerror}") from cause
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        raise InputError(f"{path} is not a table of models: {cause}") from cause


def _model(table: dict[str, ModelInfo], name: str, entry: dict[str, Any]) -> ModelInfo:
    like = entry.pop("like", name)
    if like != name and like not in table:
        raise ValueError(f"{name} is said to be like {like}, which is not there")
    model = replace(table[like], id=name, **entry) if like in table else ModelInfo(id=name, **entry)
    if model.tokenizer not in FAMILIES:
        raise ValueError(
            f"{name} has an unknown tokenizer {model.tokenizer!r}, not one of {', '.join(FAMILIES)}"
        )
    if min(model.window_tokens, model.max_output_tokens) <= 0:
        raise ValueError(f"{name} has no window")
    return model
