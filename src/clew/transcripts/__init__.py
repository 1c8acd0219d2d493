"""Read session files of other tools as one stream of typed records. See README.md.

``load("~/.claude/projects/shop/4f2a….jsonl")`` detects the format and returns the sessions of the file;
``read`` yields the records of a file that may not fit into memory.
"""

from clew.message import Usage
from clew.transcripts.discover import FoundSession, find_sessions
from clew.transcripts.formats import FORMATS, detect, format_named, read
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source, open_source
from clew.transcripts.transcript import Transcript, load

__all__ = [
    "FORMATS", "Boundary", "Cleared", "Dropped", "Entry", "FoundSession", "Problem", "Record", "Source",
    "Start", "Transcript", "Usage", "detect", "find_sessions", "format_named", "load", "open_source",
    "read",
]  # fmt: skip
