"""The command line: ``clew COMMAND``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130  # what shells expect of a process that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``clew``; return 0 when all is well, 1 when the answer is no, 2 when it could not be done."""
    words = sys.argv[1:] if argv is None else argv
    if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):  # a host waits for it
        from clew.hosts.hook import main as hook

        return hook(words[1:])
    return _run(words)


def _run(words: Sequence[str]) -> int:
    from clew.cli.commands import parse
    from clew.cli.terminal import standard
    from clew.cli.text import printable
    from clew.errors import ClewError

    term = standard()
    try:
        command, args = parse(words)
        status = command.run(args, term) if command else 0
        term.out.flush()
    except ClewError as error:
        term.note(printable(f"clew: {error}"))
        return 2
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            _discard_output()
            return 0
        term.note(printable(f"clew: {error.strerror or error}: {error.filename or 'input or output'}"))
        return 2
    except KeyboardInterrupt:
        term.note("clew: interrupted")
        return INTERRUPTED
    return status


def _discard_output() -> None:
    """Let nothing complain at exit that the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
