"""What the golden files hold: every section with its place, and one request as the model sees it.

python -m tests.request.golden.make        write them anew
"""

from __future__ import annotations

import json
from pathlib import Path

from clew.message import Role, text_message
from clew.request import SECTIONS, Marks, Parts, assemble, clauses_for
from clew.request.sections import sent_order
from tests.request.scene import COUNTER, FENCE, TOOLS, items, passing, standing
from tests.session.talk import answer, call

HERE = Path(__file__).parent


def sections() -> str:
    """Return the sections in the order in which a request holds them."""
    lines = []
    for one in sorted(SECTIONS, key=sent_order):
        most = "never cut here" if one.most is None else f"at most {one.most.why(100_000)}"
        lines.append(
            f"{one.place:8}{one.tier:3} {one.name:13} {one.owner:10}"
            f"{one.least.label:13} {one.region:13} {most}"
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def clauses() -> str:
    """Return all clauses, as the system prompt has them."""
    return "\n\n".join(piece.text for piece in clauses_for(compacted=True, memory=True)) + "\n"


def request() -> str:
    """Return a request to Anthropic with something in every section."""
    view = items(
        [
            text_message(Role.SYSTEM, "You are a careful engineer."),
            text_message(Role.USER, "Read the page."),
            call(1, "fetch", url="https://example.test"),
            answer(1, "A page."),
        ]
    )
    parts = Parts(view=view, pieces=[*passing(7), *standing()], tools=TOOLS, fence=FENCE)
    body = assemble(parts, COUNTER).body("anthropic", {"model": "m", "max_tokens": 10}, Marks(0))
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


FILES = {"sections.txt": sections, "clauses.txt": clauses, "request.json": request}

if __name__ == "__main__":
    for name, made in FILES.items():
        (HERE / name).write_text(made(), encoding="utf-8")
