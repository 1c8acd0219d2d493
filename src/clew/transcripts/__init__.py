"""Read session files of other tools as one stream of typed records. See README.md."""

from clew.message import Usage
from clew.transcripts.discover import FoundSession, find_sessions
from clew.transcripts.formats import FORMATS, Format, detect, format_named, read
from clew.transcripts.records import (
    Boundary,
    Cleared,
    Dropped,
    Entry,
    Problem,
    Record,
    Start,
)
from clew.transcripts.source import Source, open_source
from clew.transcripts.transcript import Transcript, TranscriptStats, load

__all__ = [
    "FORMATS",
    "Boundary",
    "Cleared",
    "Dropped",
    "Entry",
    "Format",
    "FoundSession",
    "Problem",
    "Record",
    "Source",
    "Start",
    "Transcript",
    "TranscriptStats",
    "Usage",
    "detect",
    "find_sessions",
    "format_named",
    "load",
    "open_source",
    "read",
]
