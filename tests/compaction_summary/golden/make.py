"""Write the whole prompts as files: ``python -m tests.compaction_summary.golden.make``; read the diff."""

from __future__ import annotations

from pathlib import Path

from clew.compaction.propose.summary import SessionRequest
from clew.compaction.propose.summary.prompt import session_ask, transcript_ask
from clew.compaction.propose.summary.transcript import Portion, pieces_of
from clew.message import Role, text_message
from clew.providers.model import Ask
from tests.compaction_summary.scene import DIGEST_ITEM, EARLIER, MESSAGES, SPAN, order, outline

HERE = Path(__file__).parent


def prompts() -> dict[str, str]:
    """Return a whole prompt for every way of asking, by its name."""
    plain = order(outline())
    whole = Portion(tuple(pieces_of(plain.outline)), 0)
    rich = order(
        outline([DIGEST_ITEM, *SPAN], earlier=EARLIER),
        focus="the tax rate",
        misses=('"59 EUR" is invented (no such number stands in m3)',),
    )
    last = Portion(tuple(pieces_of(rich.outline)), 0, begins=False)
    request = SessionRequest((DIGEST_ITEM.message, *MESSAGES, text_message(Role.USER, "Go on.")))
    return {
        "transcript": _shown(transcript_ask(plain, whole, 1_000)),
        "last-part-with-focus-and-misses": _shown(transcript_ask(rich, last, 400)),
        "session": _shown(session_ask(rich, request)),
    }


def _shown(ask: Ask) -> str:
    return f"=== system\n{ask.system}\n=== instruction\n{ask.instruction}\n"


if __name__ == "__main__":
    for name, text in prompts().items():
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
