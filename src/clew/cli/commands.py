"""The table of commands and the argument parser. A command's module is imported only when it is used."""

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
    """The interface of a command's module; its docstring is the help text."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace, term: Terminal) -> int:
        """Run the command; return the exit status."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, one line of help, and the module that implements it."""

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """Import the command's module."""
        name = self.module if "." in self.module else f"clew.cli.{self.module}"
        return cast(CommandModule, importlib.import_module(name))


COMMANDS = (
    Command("map", "draw what fills a session's context window", "map"),
    Command("show", "print a session readably", "show"),
    Command("sessions", "find the sessions of agent tools on this computer", "sessions"),
    Command("convert", "print a session as a provider's message list", "convert"),
    Command("check", "check whether a provider's API would accept it", "check"),
    Command("formats", "list the session formats clew reads", "formats"),
    Command("compact", "make a session smaller, and print the digest", "compact"),
    Command("undo", "undo compactions", "undo"),
    Command("expand", "show the source messages of a digest, a line or a rule", "expand"),
    Command("trace", "list a session's compactions, or explain one decision", "trace"),
    Command("rules", "list a session's rules with their sources; add, edit or disable one", "rules"),
    Command("pin", "pin a rule that survives every compaction; change or remove one", "pin"),
    Command("notes", "add, approve and forget notes that outlive a session", "notes"),
    Command("import", "copy a session into clew's own log", "import_"),
    Command("export", "write a session of the log to a file", "export"),
    Command("lost", "show what your tool's compactions dropped, and what clew keeps", "clew_evals.cli.lost"),
    Command("bill", "compare costs: as it ran, without compaction, with clew", "clew_evals.cli.bill"),
    Command("handoff", "write a Markdown handoff for a new session or another agent", "handoff"),
    Command("eval", "measure what compactions keep, on real sessions", "clew_evals.cli.eval"),
    Command("audit", "verify the log: recompute every hash and view", "audit"),
    Command("bench", "measure recall quality on public benchmarks", "clew_evals.cli.bench"),
    Command("chat", "chat with a model in a session of any length", "chat"),
    Command("stats", "count compactions, and what was recalled after them", "stats"),
    Command("secrets", "list the secrets in a text that would be masked", "secrets"),
    Command("config", "print all settings and where they are set", "config"),
    Command("recall", "search the sessions of clew's log", "recall"),
    Command("progress", "show what a session got done, and what is next", "checkpoints"),
    Command("knowledge", "index and search a folder of documents", "knowledge"),
    Command("inspect", "browse a session and its compactions in a web page", "inspect"),
    Command("serve", "serve the pages of `clew inspect`, without a browser", "serve"),
    Command("install", "add clew to Claude Code, Codex, Gemini CLI, opencode, pi or Hermes", "install"),
    Command("uninstall", "remove clew from an agent", "uninstall"),
    Command("doctor", "check clew's installation in your agents", "doctor"),
    Command("hook", "answer an agent's hook event (run by agents)", "hook"),
    Command("mcp", "serve recall and rules over MCP (run by agents)", "mcp"),
)

EPILOG = """\
start here:
  clew sessions               list the sessions on this computer
  clew map FILE               draw what fills a session's context window
  clew compact FILE           make it smaller, and read the digest
  clew show FILE              read the whole session
  clew help COMMAND           how to use a command, with examples

FILE is a session file of Claude Code, Codex, Gemini CLI, opencode and many others, a plain message list, a
request body, or an id from `clew sessions`. - reads standard input; .gz and .zst files are decompressed."""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors say what to do next."""

    def error(self, message: str) -> NoReturn:
        """Print the error and the command that shows help, and exit with status 2."""
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
    """Return the parser; only the named command declares its arguments."""
    top = _Parser(
        prog="clew",
        description="Compact the sessions of LLM agents without losing what matters; inspect and undo it.",
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
