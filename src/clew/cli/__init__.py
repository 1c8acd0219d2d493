"""The command line: ``clew COMMAND``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130  # by convention: 128 + SIGINT


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``clew``; return 0 on success, 1 if the answer is no (refused, damaged), 2 on an error."""
    words = sys.argv[1:] if argv is None else argv
    is_hook = len(words) == 2 and words[0] == "hook" and not words[1].startswith("-")
    if is_hook:  # a host waits for the answer: skip the parser
        from clew.hosts.hook import main as hook

        return hook(words[1:])
    return _run(words)


def _run(words: Sequence[str]) -> int:
    """Run a command line and return its exit status; errors are printed, not raised."""
    from clew.cli.commands import OUTPUT, parse
    from clew.cli.terminal import standard, written_to
    from clew.cli.text import printable
    from clew.errors import ClewError

    term = standard()
    try:
        command, args = parse(words)
        path = getattr(args, OUTPUT, None)
        with written_to(path, term, force=path is not None and args.force) as where:
            status = command.load()(args, where) if command else 0
            where.out.flush()
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
    """Redirect standard output to /dev/null, so that flushing at exit does not fail on the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
