"""The table of commands, the argument parser and the overview of help.

The arguments of a command are declared in ``clew.cli.arguments``, which imports nothing else of clew; the
module that runs it is imported when its arguments have been read.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import shutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from clew import __version__
from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.errors import InputError

Run = Callable[[argparse.Namespace, Terminal], int]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, one line of help, and where its arguments and its code are."""

    name: str
    summary: str
    runs: str
    """``module:function`` below ``clew.cli``, or with the full name of a module elsewhere."""
    arguments: str = ""
    """The module of ``clew.cli.arguments`` with its declaration; filled in by ``_group``."""

    def load(self) -> Run:
        """Import the function that runs the command."""
        module, _, function = self.runs.partition(":")
        found = importlib.import_module(module if "." in module else f"clew.cli.{module}")
        run: Run = getattr(found, function)
        return run

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of its arguments."""
        module = importlib.import_module(f"clew.cli.arguments.{self.arguments}")
        declare = getattr(module, self.name, None) or getattr(module, f"{self.name}_")
        parser = _Parser(
            prog=f"clew {self.name}",
            description=inspect.cleandoc(declare.__doc__ or ""),
            formatter_class=_Formatter,
        )
        declare(parser)
        return parser


def _group(arguments: str, *rows: tuple[str, str, str]) -> tuple[Command, ...]:
    return tuple(Command(*row, arguments) for row in rows)


GROUPS = {
    "read sessions": _group(
        "sessions",
        ("sessions", "list the sessions of agent tools on this computer", "sessions:run"),
        ("map", "draw what fills a session's context window", "map:run"),
        ("show", "print a session as readable text", "show:run"),
        ("convert", "print a session as a provider's message list", "convert:run"),
        ("check", "check whether a provider's API would accept it", "convert:run_check"),
        ("formats", "list the session formats clew reads", "sessions:run_formats"),
        ("secrets", "list the secrets in a text that would be masked", "log:run_secrets"),
    ),
    "compactions": _group(
        "compaction",
        ("compact", "make a session smaller, and print the digest", "compact:run"),
        ("undo", "undo compactions", "trace:run_undo"),
        ("off", "switch a session off: its whole history is sent", "compact:run_off"),
        ("on", "switch a session on again", "compact:run_on"),
        ("expand", "print the source messages of a digest, a line or a rule", "expand:run"),
        ("trace", "list a session's compactions, or explain one decision", "trace:run"),
        ("handoff", "write a Markdown page for a new session or another agent", "handoff:run"),
        ("lost", "show what your tool's compactions dropped", "clew_evals.cli.lost:report"),
        ("bill", "compare costs: as it ran, uncompacted, with clew", "clew_evals.cli.bill:report"),
    ),
    "rules and memory": _group(
        "memory",
        ("rules", "list a session's rules; add, edit or disable one", "rules:run"),
        ("pin", "pin a rule that survives every compaction", "rules:run_pin"),
        ("notes", "add, approve and forget notes that outlive a session", "notes:run"),
        ("recall", "search the sessions of clew's log", "recall:run"),
        ("progress", "show what a session got done, and what is next", "handoff:run_progress"),
        ("knowledge", "index and search a folder of documents", "recall:run_knowledge"),
    ),
    "clew's log": _group(
        "log",
        ("import", "copy a session into clew's own log", "log:run_import"),
        ("export", "write a session of the log to a file", "log:run_export"),
        ("audit", "verify the log: recompute every hash and view", "log:run_audit"),
        ("stats", "count compactions, and what was recalled after them", "log:run_stats"),
        ("config", "print all settings and where they are set", "log:run_config"),
    ),
    "chat, inspect and measure": _group(
        "apps",
        ("chat", "chat with a model in a session of any length", "chat:run"),
        ("inspect", "browse a session and its compactions in a web page", "inspect:run"),
        ("serve", "serve the pages of `clew inspect`, without a browser", "inspect:run_serve"),
        ("eval", "measure what compactions keep, on real sessions", "clew_evals.cli.eval:run"),
        ("bench", "measure recall quality on public benchmarks", "clew_evals.cli.bench:run"),
    ),
    "inside other agents": _group(
        "agents",
        (
            "install",
            "add clew to Claude Code, Codex, Gemini CLI, opencode, pi or Hermes",
            "agents:run_install",
        ),
        ("uninstall", "remove clew from an agent", "agents:run_uninstall"),
        ("doctor", "check clew's installation in your agents", "agents:run_doctor"),
        ("proxy", "answer agents' compaction requests, in front of a provider", "proxy:run"),
        ("hook", "answer an agent's hook event (run by agents)", "agents:run_hook"),
        ("mcp", "serve recall and rules over MCP (run by agents)", "agents:run_mcp"),
    ),
}
COMMANDS = {command.name: command for group in GROUPS.values() for command in group}

OVERVIEW = """\
usage: clew COMMAND [ARGUMENTS]
       clew help COMMAND

Compact the sessions of LLM agents without losing what matters; inspect and undo it.

start here:
  clew sessions               list the sessions on this computer
  clew map FILE               draw what fills a session's context window
  clew compact FILE           make it smaller, and read the digest
  clew show FILE              read the whole session
  clew help COMMAND           how to use a command, with examples
"""

FOOTER = """\
FILE is a session file of Claude Code, Codex, Gemini CLI, opencode and many others, a plain message list, a
request body, or an id from `clew sessions`; use - for standard input. Files may be compressed (.gz, .zst).
"""


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs at the width of the terminal, and keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if part.startswith("examples:") else _wrapped(part, width) for part in text.split("\n\n")
        )


def _wrapped(text: str, width: int) -> str:
    """Return a text wrapped at words, never inside a name such as ``--target-tokens``."""
    return textwrap.fill(" ".join(text.split()), width, break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors name the command that shows help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        name = self.prog.split()[1]
        self.exit(2, printable(f"clew: {message}\ntry: clew help {name}\n"))


def parse(argv: Sequence[str]) -> tuple[Command | None, argparse.Namespace]:
    """Read the command line; print help, and return no command, if that was asked for."""
    words = [*argv]
    if words[:1] == ["help"]:  # `clew help show` is `clew show --help`
        words = [*words[1:2], "--help"]
    if words[:1] in ([], ["-h"], ["--help"], ["help"]):
        print(overview(), end="")
        return None, argparse.Namespace()
    if words[0] == "--version":
        print(f"clew {__version__}")
        return None, argparse.Namespace()
    command = COMMANDS.get(words[0]) or _unknown(words[0])
    return command, command.parser().parse_args(words[1:])


def overview() -> str:
    """Return what ``clew --help`` prints: where to start, and the commands by topic."""
    width = min(110, shutil.get_terminal_size((100, 24)).columns)
    parts = [OVERVIEW]
    for title, group in GROUPS.items():
        lines = (_wrapped(one.summary, width - 14).replace("\n", "\n" + " " * 14) for one in group)
        rows = (f"  {one.name:<12}{line}" for one, line in zip(group, lines, strict=True))
        parts.append("\n".join([f"{title}:", *rows, ""]))
    return "\n".join([*parts, _wrapped(FOOTER, width), ""])


def _unknown(word: str) -> NoReturn:
    near = difflib.get_close_matches(word, COMMANDS, 2)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    kind = "option" if word.startswith("-") else "command"
    raise InputError(f"unknown {kind} {word!r}", f"{meant}`clew help` lists the commands")
