"""The commands, each in its own module, imported only when it is used."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol, cast

from clew import __version__
from clew.cli.terminal import Terminal
from clew.cli.text import printable


class CommandModule(Protocol):
    """What a command's module holds: its docstring is its help."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace, term: Terminal) -> int:
        """Do it; return the exit status."""


@dataclass(frozen=True, slots=True)
class Command:
    """One word after ``clew``."""

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """Import the command's module."""
        name = self.module if "." in self.module else f"clew.cli.{self.module}"
        return cast(CommandModule, importlib.import_module(name))


COMMANDS = (
    Command("map", "draw what fills a session's window", "map"),
    Command("show", "print a session readably", "show"),
    Command("sessions", "find the sessions of agent tools on this computer", "sessions"),
    Command("convert", "print a session as a provider's message list", "convert"),
    Command("check", "say whether a provider's API would refuse it", "check"),
    Command("formats", "list the session formats clew reads", "formats"),
    Command("compact", "make a session smaller, and show its digest", "compact"),
    Command("undo", "take compactions back", "undo"),
    Command("expand", "show what a line, a rule or a message comes from", "expand"),
    Command("trace", "tell every compaction of a session, or explain one thing", "trace"),
    Command("rules", "list the rules of a session and why; switch off, add or edit one", "rules"),
    Command("pin", "set, change or take off a rule that survives every compaction", "pin"),
    Command("notes", "keep, approve and forget notes that outlive a session", "notes"),
    Command("import", "take a session into clew's own log", "import_"),
    Command("export", "write a session of the log as one file", "export"),
    Command("lost", "show what your tool's compactions dropped, and what clew keeps", "clew_evals.cli.lost"),
    Command(
        "bill", "price real sessions: as they were, without compaction, with clew", "clew_evals.cli.bill"
    ),
    Command("handoff", "write what a new session or another agent can start from", "handoff"),
    Command("eval", "measure what a compaction keeps, on real sessions", "clew_evals.cli.eval"),
    Command("audit", "re-derive every hash and every view of the log", "audit"),
    Command("bench", "measure how well clew finds things again", "clew_evals.cli.bench"),
    Command("chat", "talk to a model in a session that can run for ever", "chat"),
    Command("stats", "count what compactions did, and what was recalled after", "stats"),
    Command("secrets", "show which secrets of a text would be masked", "secrets"),
    Command("config", "print every setting and where it was set", "config"),
    Command("recall", "find again what was said or seen, in every session of the log", "recall"),
    Command("progress", "tell what a session got done, and what is next", "checkpoints"),
    Command("knowledge", "make a folder of documents findable", "knowledge"),
    Command("inspect", "see, question and undo what happened to a context, in a browser", "inspect"),
    Command("serve", "serve the pages of clew inspect for all sessions", "serve"),
    Command("install", "put clew into Claude Code, Codex, Gemini CLI, opencode, pi or Hermes", "install"),
    Command("uninstall", "take clew out of an agent again, to the byte", "uninstall"),
    Command("doctor", "check whether clew works inside your agents", "doctor"),
    Command("hook", "answer an event of an agent (agents run this)", "hook"),
    Command("mcp", "serve recall and rules to an agent by MCP (agents run this)", "mcp"),
)

EPILOG = """\
start here:
  clew sessions               what is on this computer
  clew map FILE               what fills a session
  clew compact FILE           make it smaller, read the digest
  clew show FILE              read it
  clew help COMMAND           how to use a command, with examples

FILE is a session of Claude Code, Codex, Gemini CLI, opencode and many others, a plain message list, a request
body, or an id from `clew sessions`; - reads standard input, .gz and .zst are read as they are."""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors say what to do next."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake and where help is, and leave with 2."""
        name = next((word for word in sys.argv[1:] if word in {one.name for one in COMMANDS}), "")
        self.exit(2, printable(f"clew: {message}\ntry: clew help {name}").rstrip() + "\n")


def parse(argv: Sequence[str]) -> tuple[CommandModule | None, argparse.Namespace]:
    """Read the command line; without a command, print help."""
    words = [*argv]
    if words[:1] == ["help"]:  # `clew help show` is `clew show --help`
        words = [*words[1:2], "--help"] if words[1:2] != ["help"] else ["--help"]
    named = next((word for word in words if not word.startswith("-")), None)
    chosen = next((command.load() for command in COMMANDS if command.name == named), None)
    top = _parser(chosen, named)
    args = top.parse_args(words)
    if chosen is None:
        top.print_help()
    return chosen, args


def _parser(chosen: CommandModule | None, named: str | None) -> _Parser:
    """Make the parser; only the command that was named declares its arguments."""
    top = _Parser(
        prog="clew",
        description="Compact, draw, check, convert and keep the sessions of LLM agents, and lose nothing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"clew {__version__}")
    choices = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    for command in COMMANDS:
        module = chosen if command.name == named else None
        parser = choices.add_parser(
            command.name,
            help=command.summary,
            description=module.__doc__ if module else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module:
            module.add_arguments(parser)
    return top
