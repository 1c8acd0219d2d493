"""Read session files of other tools as one stream of typed records. See README.md."""

from clew.transcripts.discover import Found, find_sessions
from clew.transcripts.formats import FORMATS, Format, detect, format_named, read
from clew.transcripts.records import (
    Boundary,
    Cleared,
    Dropped,
    Entry,
    Problem,
    Record,
    Start,
    Usage,
)
from clew.transcripts.source import Source, open_source
from clew.transcripts.transcript import Stats, Transcript, load

__all__ = [
    "FORMATS",
    "Boundary",
    "Cleared",
    "Dropped",
    "Entry",
    "Format",
    "Found",
    "Problem",
    "Record",
    "Source",
    "Start",
    "Stats",
    "Transcript",
    "Usage",
    "detect",
    "find_sessions",
    "format_named",
    "load",
    "open_source",
    "read",
]
