"""The table of commands, the argument parser and the overview of help.

The arguments of a command are declared in ``clew.cli.arguments``, which imports nothing else of clew; the
module that runs it is imported when its arguments have been read.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from clew import __version__
from clew.cli.terminal import Terminal
from clew.cli.text import NARROW, printable, typed
from clew.errors import InputError

Run = Callable[[argparse.Namespace, Terminal], int]
OUTPUT = "output_file"
"""The argument of ``-o FILE`` for commands that do not write files themselves."""
HELP = ("-h", "--help")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, one line of help, and where its arguments and its code are."""

    name: str
    summary: str
    runs: str
    """``module:function`` below ``clew.cli``, or with the full name of a module elsewhere."""
    arguments: str = ""
    """The module of ``clew.cli.arguments`` with its declaration."""

    def load(self) -> Run:
        """Import the function that runs the command."""
        module, _, function = self.runs.partition(":")
        loaded = importlib.import_module(module if "." in module else f"clew.cli.{module}")
        run: Run = getattr(loaded, function)
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
        if self.name not in _WITHOUT_FILE:
            _add_output(parser)
        width = shutil.get_terminal_size((100, 24)).columns
        if width < NARROW:  # argparse does not wrap alternatives
            parser.usage = _short_usage(parser, width)
        return parser


def _short_usage(parser: argparse.ArgumentParser, width: int) -> str:
    """Return the usage without the options."""
    value = (action for action in parser._actions if not action.option_strings)
    names = (f"[{_shown(item)}]" if item.nargs in ("?", "*") else _shown(item) for item in value)
    margin = len("usage: ")
    usage = _wrap(" ".join([parser.prog, "[OPTIONS]", *names]), width - margin)
    return usage.replace("\n", "\n" + " " * margin)


def _shown(action: argparse.Action) -> str:
    """Return the name of a positional argument as argparse shows it."""
    if action.metavar is None and action.choices is not None:
        return f"{{{','.join(map(str, action.choices))}}}"
    return str(action.metavar or action.dest)


def _rows(arguments: str, *rows: tuple[str, str, str]) -> tuple[Command, ...]:
    return tuple(Command(*row, arguments) for row in rows)


GROUPS = {
    "your sessions": (
        *_rows(
            "sessions",
            ("sessions", "list the sessions of agent tools on this computer", "sessions:run"),
            ("map", "draw what fills a session's context window", "map:run"),
            ("show", "print a session as readable text", "show:run"),
        ),
        *_rows(
            "compaction",
            ("lost", "show what your tool's compactions dropped", "clew_evals.cli.lost:report"),
            ("bill", "compare costs: as it ran, uncompacted, with clew", "clew_evals.cli.bill:report"),
        ),
        *_rows(
            "apps",
            ("inspect", "browse sessions and their compactions in a web page", "inspect:run"),
            ("serve", "serve the pages of `clew inspect`, without a browser", "inspect:run_serve"),
        ),
    ),
    "compact": (
        *_rows(
            "compaction",
            ("compact", "make a session smaller, and print the digest", "compact:run"),
            ("undo", "undo compactions", "trace:run_undo"),
            ("off", "switch a session off: its whole history is sent", "compact:run_off"),
            ("on", "switch a session on again", "compact:run_on"),
            ("expand", "print the source messages of a digest, a line or a rule", "expand:run"),
            ("trace", "list a session's compactions, or explain one decision", "trace:run"),
            ("handoff", "write a Markdown page for a new session or another agent", "handoff:run"),
        ),
        *_rows(
            "apps",
            ("demo", "play a scripted session: compact, keep a rule, undo", "demo:run"),
            ("chat", "try the engine in a chat, offline or with a model", "chat:run"),
        ),
    ),
    "rules and memory": _rows(
        "memory",
        ("rules", "list a session's rules; add, edit or disable one", "rules:run"),
        ("pin", "pin a rule that survives every compaction", "rules:run_pin"),
        ("notes", "list, add, approve and forget notes that outlive a session", "notes:run"),
        ("recall", "search the sessions of clew's log", "recall:run"),
        ("progress", "show what a session got done, and what is next", "handoff:run_progress"),
        ("knowledge", "index and search a folder of documents", "recall:run_knowledge"),
    ),
    "inside your agents": _rows(
        "apps",
        (
            "install",
            "add clew to Claude Code, Codex, Gemini CLI, opencode, pi or Hermes",
            "agents:run_install",
        ),
        ("uninstall", "remove clew from an agent", "agents:run_uninstall"),
        ("doctor", "check clew's installation in your agents", "agents:run_doctor"),
        ("proxy", "answer agents' compaction requests, in front of a provider", "agents:run_proxy"),
        ("hook", "answer an agent's hook event (run by agents)", "agents:run_hook"),
        ("mcp", "serve recall and rules over MCP (run by agents)", "agents:run_mcp"),
    ),
    "files, log and measurements": (
        *_rows(
            "sessions",
            ("convert", "print a session as a provider's message list", "convert:run"),
            ("check", "check whether a provider's API would accept it", "convert:run_check"),
            ("formats", "list the session formats clew reads", "sessions:run_formats"),
            ("secrets", "list the secrets in a text that would be masked", "config:run_secrets"),
            ("import", "copy a session into clew's own log", "log:run_import"),
            ("export", "write a session of the log to a file", "log:run_export"),
            ("audit", "verify the log: recompute every hash and view", "log:run_audit"),
            ("stats", "count compactions, and what was recalled after them", "log:run_stats"),
            ("config", "print all settings and where they are set", "config:run_config"),
        ),
        *_rows(
            "apps",
            ("eval", "measure what compactions keep, on real sessions", "clew_evals.cli.eval:run"),
            ("bench", "measure recall quality on public benchmarks", "clew_evals.cli.bench:run"),
        ),
    ),
}
COMMANDS = {command.name: command for group in GROUPS.values() for command in group}

USAGE = """\
usage: clew COMMAND [ARGUMENTS]
       clew help COMMAND
"""
ABOUT = "Compact the sessions of LLM agents without losing what matters; inspect and undo it."
START = {
    "clew demo": "watch a session being compacted, offline",
    "clew lost --days 7": "what your tools' compactions lost last week",
    "clew sessions": "list the sessions on this computer",
    "clew compact FILE": "make one smaller, and read the digest",
    "clew help COMMAND": "how to use a command, with examples",
}
FOOTER = """\
FILE is a session file of Claude Code, Codex, Gemini CLI, opencode and many others, a plain message list, a
request body, or an id from `clew sessions`; use - for standard input. Files may be compressed (.gz, .zst).
"""
WIDEST = 110
LEAST_WIDTH = 11
"""Columns that a text gets in the narrowest terminal, as in argparse."""
NAMES = 14
"""Columns of the names in an overview."""
_WITHOUT_FILE = ("chat", "demo", "inspect", "serve", "hook", "mcp", "proxy")
"""Commands that run until they are stopped, or write no result: they have no ``-o FILE``."""
_NAMES_A_SESSION = ("file", "files", "session", "words")
_REF = re.compile(r"[mdpc]\d+(?:\.\d+)?")
"""What a command with a REF explains: a message, a digest or a line of it, a rule, a tool's summary."""
_CHOICES = re.compile(r"invalid choice: '(?P<given>.*?)' \(choose from (?P<choices>.*)\)")


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs at the width of the terminal, and keeps the lines of examples if they fit."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            "\n".join(_example(line, width) for line in part.split("\n"))
            if part.startswith("examples:")
            else _wrap(part, width)
            for part in text.split("\n\n")
        )


def _example(line: str, width: int) -> str:
    """Return the line of an example; one that does not fit continues after a backslash, as in a shell."""
    if len(line) <= width:
        return line
    command, _, comment = line.strip().partition("   ")
    rows = textwrap.wrap(command, width - 6, break_long_words=False, break_on_hyphens=False)
    shown = " \\\n".join(f"{'    ' if number else '  '}{row}" for number, row in enumerate(rows))
    return f"{textwrap.indent(_wrap(comment, width - 4), '  # ')}\n{shown}" if comment else shown


def _wrap(text: str, width: int) -> str:
    """Return a text wrapped at words, never inside a name such as ``--target-tokens``."""
    return textwrap.fill(" ".join(text.split()), max(width, LEAST_WIDTH), break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors suggest what was meant and name the command that shows help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        name = self.prog.split()[1]
        self.exit(2, printable(f"clew: {message}{self._suggestion(message)}\ntry: {typed(f'help {name}')}\n"))

    def _suggestion(self, message: str) -> str:
        """Return the flags or values that a mistyped one resembles."""
        if match := _CHOICES.search(message):
            choices = match["choices"].replace("'", "").split(", ")
            return _did_you_mean([match["given"]], choices)
        _, unknown, words = message.partition("unrecognized arguments: ")
        flags = [word.partition("=")[0] for word in words.split() if word.startswith("--")]
        return _did_you_mean(flags, options(self)) if unknown else ""


def _did_you_mean(values: Iterable[str], known: Collection[str]) -> str:
    near = [match for word in values for match in difflib.get_close_matches(word, known, 2)]
    return f": did you mean {' or '.join(near)}?" if near else ""


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a parser and of its subcommands."""
    named = {name for action in parser._actions for name in action.option_strings}
    return named.union(*map(options, subcommands(parser).values()))


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a command's actions, such as those of ``clew notes``."""
    actions = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: subparser for action in actions for name, subparser in action.choices.items()}


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Declare ``-o FILE`` for a command that has none of its own: its output goes to the file."""
    for subparser in subcommands(parser).values() or [parser]:
        if "-o" not in options(subparser):
            subparser.add_argument(
                "-o", "--output", dest=OUTPUT, metavar="FILE", type=Path, help="write the output to FILE"
            )
        if "--force" not in options(subparser):
            subparser.add_argument("--force", action="store_true", help="overwrite an existing file")


def parse(argv: Sequence[str]) -> tuple[Command | None, argparse.Namespace]:
    """Read the command line; print help, and return no command, if that was asked for."""
    words = [*argv]
    topic = words[2:3] if words[:1] == ["help"] else []
    if words[:1] == ["help"]:  # `clew help show` is `clew show --help`
        words = [*words[1:2], "--help"]
    if words[:1] in ([], ["-h"], ["--help"], ["help"]):
        print(overview(), end="")
        return None, argparse.Namespace()
    if words[0] == "--version":
        print(f"clew {__version__}")
        return None, argparse.Namespace()
    command = COMMANDS.get(words[0]) or _unknown(words[0])
    parser = command.parser()
    if topic and topic[0] in subcommands(parser):  # `clew help notes add`
        words.insert(1, topic[0])
    complete = _with_action if "list" in subcommands(parser) else _with_session  # argparse cannot express it
    return command, parser.parse_args(complete(parser, words[1:]))


def _with_action(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """Return the words with the action first: ``notes --all`` is ``notes list --all``."""
    if words and (not words[0].startswith("-") or words[0] in HELP):
        return words
    at = next(iter(_positionals(parser, words)), None)
    if at is None or words[at] not in subcommands(parser):
        return ["list", *words]
    return [words[at], *words[:at], *words[at + 1 :]]


def _with_session(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """Return the words with SESSION or FILE first: ``show --full --session NAME`` is ``show NAME --full``.

    If the words name a file as well, ``--session`` chooses a session in it, and they stay as they are.
    """
    positional = next((action for action in parser._actions if not action.option_strings), None)
    if positional is None or positional.dest not in _NAMES_A_SESSION:
        return words
    split: list[str] = []
    for word in words:
        split += word.split("=", 1) if word.startswith("--session=") else [word]
    if "--session" not in split[:-1] or ("--session" in options(parser) and _names_a_file(parser, split)):
        return words
    at = split.index("--session")
    return [split[at + 1], *split[:at], *split[at + 2 :]]


def _names_a_file(parser: argparse.ArgumentParser, words: Sequence[str]) -> bool:
    """Whether the words name a file, in which ``--session`` then chooses; a REF such as ``m12`` is none."""
    given = [words[at] for at in _positionals(parser, words)]
    is_ref = len(given) == 1 and _REF.fullmatch(given[0]) is not None and not Path(given[0]).exists()
    return bool(given) and not (is_ref and any(action.dest == "ref" for action in parser._actions))


def _positionals(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[int]:
    """Return the places of the words that are neither an option nor the value of one."""
    actions = [action for one in (parser, *subcommands(parser).values()) for action in one._actions]
    valued = {name for action in actions if action.nargs != 0 for name in action.option_strings}
    return [
        at
        for at, (last, word) in enumerate(zip(["", *words], words, strict=False))
        if (word == "-" or not word.startswith("-")) and last not in valued
    ]


def overview() -> str:
    """Return what ``clew --help`` prints: where to start, and the commands by topic."""
    width = min(WIDEST, shutil.get_terminal_size((100, 24)).columns)
    parts = [USAGE, f"{_wrap(ABOUT, width)}\n", _table("start here", START, width, 20)]
    for title, group in GROUPS.items():
        parts.append(_table(title, {command.name: command.summary for command in group}, width, NAMES - 2))
    return "\n".join([*parts, _wrap(FOOTER, width), ""])


def _table(title: str, rows: Mapping[str, str], width: int, names: int) -> str:
    lines = [f"{title}:"]
    margin = names + 2
    is_narrow = width - margin < LEAST_WIDTH  # then the text is below the name
    for name, text in rows.items():
        wrapped = _wrap(text, width - (4 if is_narrow else margin)).split("\n")
        lines.append(f"  {name}" if is_narrow else f"  {name:<{names}}{wrapped.pop(0)}")
        lines += [" " * (4 if is_narrow else margin) + line for line in wrapped]
    return "\n".join([*lines, ""])


def _unknown(word: str) -> NoReturn:
    near = difflib.get_close_matches(word, COMMANDS, 2)
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    kind = "option" if word.startswith("-") else "command"
    raise InputError(f"unknown {kind} {word!r}", f"{suggestion}`clew help` lists the commands")
