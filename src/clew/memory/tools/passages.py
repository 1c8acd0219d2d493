"""Render quotations in an answer: with reference and trust, in a fence that their text cannot close."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.memory.opening import Quotation
from clew.memory.tools.desk import MOST_CHARACTERS
from clew.memory.tools.tool import ToolAnswer
from clew.message import Trust

_BACKTICKS = re.compile("`+")


def quoted(quotations: Iterable[Quotation], heading: str = "", most: int = MOST_CHARACTERS) -> ToolAnswer:
    """Return quotations as one answer of about ``most`` characters, with the lowest trust among them."""
    listed = list(quotations)
    blocks = [*([heading] if heading else []), *_blocks(listed, most)]
    return ToolAnswer("\n".join(blocks), min((one.trust for one in listed), default=Trust.SEMI_TRUSTED))


def _blocks(quotations: list[Quotation], room: int) -> Iterator[str]:
    for waiting, one in zip(range(len(quotations), 0, -1), quotations, strict=True):
        shown = one.text[: room // waiting]  # room left by a short one goes to the next ones
        room -= len(shown)
        about = (one.ref, one.role, one.trust.label, one.time, one.about)
        yield f"[{', '.join(dict.fromkeys(filter(None, about)))}]"
        yield fenced(shown)
        if len(shown) < len(one.text):
            missing = len(one.text) - len(shown)
            yield f"({missing:,} more characters: artifact_open {one.ref} from {len(shown)})"


def fenced(text: str) -> str:
    """Return a text verbatim, in a fence that it cannot close."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
