"""The sessions of other tools for the page of ``clew inspect``: listed, copied, and what their tools lost."""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.cli.imports import import_transcript
from clew.cli.inputs import OWN_FORMAT, WORKSPACE
from clew.cli.sessions import list_sessions
from clew.log.protocol import Store
from clew.message import Json, JsonObject
from clew.transcripts import Transcript, find_sessions, load
from clew.transcripts.transcript import tool_compactions

MOST_LISTED = 100
"""Sessions of other tools that the page lists."""
EXAMPLE_FILE = "sphinx-9229.traj.json.zst"
EXAMPLE_NAME = "example:sphinx-9229"
EXAMPLE_MODEL = "claude-sonnet-4-5"
EXAMPLE_TARGET = 9_000
"""Small enough that most lines of the digest have left the view; chosen by hand."""


class ToolSessions:
    """The sessions of other tools on this computer, each read when it is first opened."""

    def __init__(self, known: dict[str, Transcript]) -> None:
        """``known`` are sessions that were read already, by name."""
        self._known = known
        self._losses: dict[str, JsonObject] = {}

    def listed(self) -> JsonObject:
        """Return the newest sessions, with what ``clew sessions`` shows of each, and how many there are."""
        rows = [row for row in list_sessions(MOST_LISTED) if row.tool != OWN_FORMAT]
        named: list[Json] = [{**asdict(row), "name": f"{row.tool}:{row.session}"} for row in rows]
        total = sum(session.format != OWN_FORMAT for session in find_sessions(titles=False))
        return {"sessions": named, "total": total}

    def copy(self, store: Store, name: str) -> bool:
        """Copy a session into a store."""
        if name == EXAMPLE_NAME:
            return _copy_example(store)
        transcript = self._read(name)
        if transcript is not None:
            import_transcript(store, transcript, name=name, calls=True)
        return transcript is not None

    def lost(self, name: str, compaction: str) -> JsonObject:
        """Return what a session needed after a compaction, and whether its tool and clew kept it."""
        transcript = self._read(name)
        if transcript is None:
            return {"unjudged": "its file is not on this computer"}
        if compaction not in [made.name for made in tool_compactions(transcript)]:
            return {"unjudged": "its file no longer records it"}
        (result,) = _losses(transcript, (compaction,))
        return {
            "unjudged": result.unjudged,
            "sealed": result.sealed,
            "tokens_left": result.tokens_left,
            "things": [asdict(item) for item in result.things],
        }

    def losses(self, name: str) -> JsonObject:
        """Return how many things were needed after the compactions of a session, and how many it lost.

        Like the table of ``clew lost``: values that a tool showed again are not counted.
        """
        if name not in self._losses:
            transcript = self._known.get(name) or self._find(name)
            reports = _losses(transcript) if transcript else []
            judged = [report for report in reports if not report.unjudged and not report.sealed]
            needed = [item for report in judged for item in report.counted]
            lost = sum(not item.by_tool for item in needed)
            why = "" if judged else "the summary cannot be read" if reports else "its file was not found"
            self._losses[name] = {"needed": len(needed), "lost": lost, "why": why}
        return self._losses[name]

    def _read(self, name: str) -> Transcript | None:
        if name not in self._known and (session := self._find(name)) is not None:
            self._known[name] = session
        return self._known.get(name)

    @staticmethod
    def _find(name: str) -> Transcript | None:
        tool = name.partition(":")[0]
        for session in find_sessions(titles=False):
            if session.format == tool and name == f"{tool}:{session.id}":
                transcripts = load(session.open(), tool)
                return next((transcript for transcript in transcripts if transcript.entries), None)
        return None


def _losses(transcript: Transcript, names: tuple[str, ...] | None = None) -> list[Any]:
    """Compare; by name, like the command ``clew lost``, because no room imports the measurements."""
    found: list[Any] = import_module("clew_evals.lost_items").losses_of_session(transcript, names=names)
    return found


def example_path() -> Path | None:
    """Return the shipped example: part of the package, or of the repository."""
    package = Path(str(files("clew.inspector")))
    places = (package / EXAMPLE_FILE, package.parents[2] / "examples" / EXAMPLE_FILE)
    return next((path for path in places if path.exists()), None)


def _copy_example(store: Store) -> bool:
    """Copy the example of the tour: its first half was compacted by clew, the second is in view whole."""
    from clew.session import Session

    path = example_path()
    if path is None:
        return False
    (transcript,) = load(path)
    messages = transcript.full()
    session = Session.open(EXAMPLE_NAME, store, workspace=WORKSPACE, model=EXAMPLE_MODEL)
    session.add(*messages[: len(messages) // 2])
    session.compact(target_tokens=EXAMPLE_TARGET)
    session.add(*messages[len(messages) // 2 :])
    return True
