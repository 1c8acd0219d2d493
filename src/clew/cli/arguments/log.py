"""Arguments and help of the commands about clew's log and settings: import, export, audit, stats, config."""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.cli.arguments import add_input, add_json, flag


def import_(parser: argparse.ArgumentParser) -> None:
    """Copy sessions into clew's own log: an export of clew's, or any session file that clew reads.

    An export is verified line by line before anything is written. Of another tool's file the whole
    conversation is imported; if that tool compacted it, the view is what its model sees now (`clew off` shows
    all of it). Importing a file again adds what is new; a file that contradicts what was imported is refused.
    Keys, tokens and passwords are masked on import (`clew secrets FILE` lists them), except in an export,
    whose hashes would no longer match.

    examples:
      clew import story.clew.zst
      clew import ~/.codex/sessions/2026/11/02/rollout-….jsonl
    """
    add_input(parser)
    flag(parser, "--keep-secrets", "do not mask keys, tokens and passwords")
    flag(parser, "--whole", "the view is the whole conversation, not what its tool's compactions left")
    add_json(parser)


def export(parser: argparse.ArgumentParser) -> None:
    """Write a session of clew's log to one file that can be verified: hashes cover all previous lines.

    examples:
      clew export codex:019a4c…                   print it
      clew export codex:019a4c… -o story.clew.zst
    """
    parser.add_argument("session", metavar="SESSION", help="the session's id (clew sessions lists them)")
    flag(parser, "--force", "overwrite an existing file")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file to write; .zst compresses (default: standard output)",
    )


def audit(parser: argparse.ArgumentParser) -> None:
    """Verify the log: recompute every hash and every view, and report what does not match.

    Also lists events that are intact but no longer apply, such as a second undo of the same compaction; they
    are skipped when the session is opened. Read-only. Exit status 1 if anything is damaged.

    examples:
      clew audit
      clew audit ~/backup/clew.db
      clew audit --json
    """
    parser.add_argument(
        "store", metavar="STORE", nargs="?", type=Path, help="the log's database file (default: clew's own)"
    )
    add_json(parser)


def stats(parser: argparse.ArgumentParser) -> None:
    """Count the turns, requests and compactions of a session, and what had to be recalled after them.

    Without SESSION, counts all sessions of clew's log. Use it to see whether automatic compaction pays off:
    how often it ran, how much it freed, how often it was undone, and how often something had to be recalled.

    examples:
      clew stats
      clew stats chat:2026-01-31-101500
      clew stats --json
    """
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="a session of clew's log (default: all of them)"
    )
    add_json(parser)


def config(parser: argparse.ArgumentParser) -> None:
    """Print every setting, its value, and where it is set.

    Later sources override earlier ones: clew.toml in clew's home, the project's clew.toml, [tool.clew] in its
    pyproject.toml, environment variables CLEW_…, and the flags of a command.

    examples:
      clew config
      CLEW_WINDOW=32k clew config
      clew config --json | jq .window
    """
    add_json(parser)
