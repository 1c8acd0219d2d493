"""The registry of session formats, and their detection.

``detect(source)`` asks each reader's ``sniff`` how sure it is, and returns the first certain or the best one.
A reader is imported only when its format is tried, so unused formats cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol, cast

from clew.errors import UnknownFormat
from clew.transcripts.fields import Ids
from clew.transcripts.records import Entry, Record, Start
from clew.transcripts.source import Source, as_source


class FormatReader(Protocol):
    """Reads a format: a module, or a ``ReaderPair`` in a module that reads several formats."""

    @property
    def sniff(self) -> Callable[[Source], float]:
        """Return how sure it is that this is its format: 0 or False is no, 1 or True is certain.

        Looks at the start of the source only, and never raises on its content.
        """

    @property
    def read(self) -> Callable[[Source], Iterator[Record]]:
        """Read it, as a generator of records."""


@dataclass(frozen=True, slots=True)
class ReaderPair:
    """The two functions of a reader, for a module that reads several formats."""

    sniff: Callable[[Source], float]
    read: Callable[[Source], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of session file."""

    name: str
    """Its name in commands: ``claude-code``."""
    title: str
    """Its name in prose: ``Claude Code``."""
    reader: str
    """Its module in ``readers`` (or a full dotted name), or ``module:NAME`` for a ``ReaderPair`` in one."""
    locations: tuple[str, ...] = ()
    """Where the tool keeps its files, for display."""

    def sniff(self, source: Source) -> float:
        """Return how sure this format's reader is that the source is in its format, from 0 to 1."""
        return float(self._reader().sniff(source))

    def read(self, source: Source) -> Iterator[Record]:
        """Read the source as this format, whatever it looks like; entries get unique ids."""
        return _with_own_ids(self._reader().read(source))

    def _reader(self) -> FormatReader:
        module, _, name = self.reader.partition(":")
        loaded = import_module(module if "." in module else f"clew.transcripts.readers.{module}")
        return cast(FormatReader, getattr(loaded, name) if name else loaded)


def _with_own_ids(records: Iterator[Record]) -> Iterator[Record]:
    """Yield records; an entry id that a file repeats gets a number."""
    ids = Ids()
    for record in records:
        match record:
            case Start():
                ids = Ids()
                yield record
            case Entry():
                own = ids.unique(record.id, record.id)
                yield record if own == record.id else replace(record, id=own)
            case _:
                yield record


# In the order they are tried: frequent and unambiguous formats first, permissive ones last.
_ALL = (
    Format(
        "claude-code",
        "Claude Code",
        "clew.transcripts.readers.claude_code.reader",
        ("~/.claude/projects/<project>/<session>.jsonl",),
    ),
    Format("codex", "Codex", "codex", ("~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl[.zst]",)),
    Format("copilot-cli", "Copilot CLI", "copilot", ("~/.copilot/session-state/<session>/events.jsonl",)),
    Format("qwen-code", "Qwen Code", "qwen", ("~/.qwen/projects/<project>/chats/<session>.jsonl",)),
    Format("gemini-cli", "Gemini CLI", "gemini_cli", ("~/.gemini/tmp/<project>/chats/session-*.json[l]",)),
    Format("pi", "pi", "pi", ("~/.pi/agent/sessions/--<project>--/<time>_<id>.jsonl",)),
    Format(
        "opencode",
        "opencode",
        "opencode",
        ("~/.local/share/opencode/opencode.db", "~/.local/share/opencode/storage"),
    ),
    Format("goose", "goose", "goose", ("~/.local/share/goose/sessions/sessions.db",)),
    Format("crush", "Crush", "crush", ("<project>/.crush/crush.db",)),
    Format("openhands", "OpenHands", "openhands", ("~/.openhands/conversations/<id>/",)),
    Format(
        "roo-cline",
        "Roo Code and Cline",
        "cline:ROO_CLINE",
        ("<globalStorage>/tasks/<id>/api_conversation_history.json",),
    ),
    Format("cline", "Cline SDK", "cline", ("~/.cline/data/sessions/<id>/<id>.messages.json",)),
    Format("swe-agent", "SWE-agent", "swe_agent", ("trajectories/**/*.traj",)),
    Format("mini-swe-agent", "mini-swe-agent", "swe_agent:MINI", ("*.traj.json",)),
    Format("tau-bench", "τ-bench", "clew_evals.readers.tau_bench"),
    Format("tau2", "τ²-bench", "clew_evals.readers.tau2"),
    Format("inspect", "Inspect", "clew_evals.readers.inspect_log", ("logs/*.json",)),
    Format("trail-otel", "OpenTelemetry spans (TRAIL)", "clew_evals.readers.trail_otel"),
    Format("aider", "aider", "aider", ("<project>/.aider.chat.history.md",)),
    Format("specstory", "SpecStory", "specstory", ("<project>/.specstory/history/*.md",)),
    Format("responses", "OpenAI Responses list or request", "plain_lists:RESPONSES"),
    Format("gemini", "Gemini list or request", "plain_lists:GEMINI"),
    Format("anthropic", "Anthropic list or request", "plain_lists:ANTHROPIC"),
    Format("openai", "OpenAI Chat list or request", "plain_lists:OPENAI"),
    Format("dialogue", "plain dialogue", "clew_evals.readers.dialogue"),
)

FORMATS: dict[str, Format] = {format_.name: format_ for format_ in _ALL}
CERTAIN = 1.0


def format_named(name: str) -> Format:
    """Return the format of that name."""
    try:
        return FORMATS[name]
    except KeyError:
        raise UnknownFormat(f"no format {name!r}", f"use one of {', '.join(FORMATS)}") from None


def detect(source: Source) -> Format:
    """Return the format of a source; raise ``UnknownFormat``, describing what was seen, if none fits."""
    if not source.is_directory and not source.peek(1):
        why = f": {source.damage}" if source.damage else ""
        raise UnknownFormat(f"{source.name} is empty{why}", "give a file that holds a session")
    best, best_score = None, 0.0
    for format_ in FORMATS.values():
        score = format_.sniff(source)
        if score >= CERTAIN:
            return format_
        if score > best_score:
            best, best_score = format_, score
    if best is None:
        raise UnknownFormat(f"{source.name} is {describe(source)}")
    return best


def read(
    source: Source | str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word people use
) -> Iterator[Record]:
    """Read a file as the named format, or as the detected one."""
    source = as_source(source)
    return (format_named(format) if format else detect(source)).read(source)


def describe(source: Source) -> str:
    """Describe in a few words what a source looks like, for an error message."""
    if source.is_directory:
        names = sorted(entry.name for entry in source.path.iterdir())[:5] if source.path else []
        return f"a folder with {', '.join(names)}" if names else "an empty folder"
    head = source.peek(200)
    if b"\0" in head or head.decode(errors="replace").count("\ufffd") > len(head) // 20:
        return f"binary data that starts with {head[:16]!r}"
    text = " ".join(head.decode(errors="replace").split())
    return f"text that starts with {text[:60]!r}"
