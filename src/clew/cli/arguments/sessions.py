"""Arguments and help of the commands that read sessions, and of those about clew's log and settings.

They are sessions, map, show, convert, check, formats and secrets; import, export, audit, stats and config.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.cli.arguments import add_input, add_json, add_limit, add_to, flag, option, positive

UNVERIFIED = ("off", "warn", "refuse")


def sessions(parser: argparse.ArgumentParser) -> None:
    """List the sessions of agent tools on this computer, and those in clew's own log, newest first.

    Each row has an id that every command accepts, the age, tool and project, the tokens in the model's view,
    the number of compactions, the title and the last request. Nothing is changed or sent anywhere; the
    figures are cached in clew's home until a session's file changes.

    examples:
      clew sessions
      clew sessions --tool codex --limit 100
      clew sessions --project my-app
      clew sessions --days 7
      clew sessions --paths
      clew sessions --json | jq -r '.[0].path'
    """
    option(parser, "--tool", "NAME", "only sessions of one tool (see `clew formats`), or clew")
    option(parser, "--project", "TEXT", "only sessions whose project folder contains this text")
    option(parser, "--days", "N", "only sessions used in the last N days", positive)
    add_limit(parser, 20, "sessions")
    flag(parser, "--paths", "print the paths of the files instead")
    add_json(parser)


def map_(parser: argparse.ArgumentParser) -> None:
    """Draw what fills a session's context window: kinds of content, growth, largest items, repetition.

    Each cell of the thread is the same number of tokens, in the order of the conversation; its letter is the
    kind that fills most of it. Nothing is changed or sent anywhere.

    examples:
      clew map examples/sphinx-9229.traj.json.zst
      clew map session.jsonl --model claude-sonnet-4-5 --window 200000
      clew map session.jsonl --json
    """
    add_input(parser)
    option(parser, "--model", "NAME", "count tokens for this model (default: the session's own)")
    option(parser, "--window", "TOKENS", "context window in tokens (default: the model's own)", positive)
    flag(parser, "--all", "draw every session of a file that holds several")
    add_json(parser)


def show(parser: argparse.ArgumentParser) -> None:
    """Print a session as readable text.

    Long tool output is folded; text that a program wrote in the user's name is marked; each compaction by the
    tool is a line (c1, c2, …). On a terminal the output goes through a pager. A session of clew's log is
    printed as its model sees it; with REF, only that message or digest, in full.

    examples:
      clew show examples/sphinx-9229.traj.json.zst
      clew show ~/.claude/projects/-home-me-app/0d6c….jsonl --full
      clew show codex:019a4c… d1                  a digest as its model sees it
      clew show --json rollout.jsonl.zst | jq -r 'select(.role == "user") | .parts[].text'
    """
    add_input(parser)
    text = "print only this message (m12) or digest (d1) of a session in clew's log"
    parser.add_argument("ref", metavar="REF", nargs="?", help=text)
    flag(parser, "--json", "print one message a line as JSON")
    flag(parser, "--records", "with --json: also print records between the messages")
    flag(parser, "--full", "print long output whole")
    flag(parser, "--no-pager", "do not use a pager")


def convert(parser: argparse.ArgumentParser) -> None:
    """Print a session as a provider's message list, ready to send.

    What the target format cannot represent is reported on standard error. The whole conversation is printed;
    --current prints only what the tool's model sees after the tool's own compactions.

    examples:
      clew convert session.jsonl --to anthropic > messages.json
      clew convert session.jsonl --to responses --body --model gpt-5.2
      clew convert messages.json --to openai --strict
    """
    add_input(parser)
    add_to(parser, "the API to print it for", required=True)
    flag(parser, "--current", "print only what the tool's model sees now")
    flag(parser, "--body", "print a request body, with the system prompt if the format keeps it apart")
    option(parser, "--model", "NAME", "the model to name in the body")
    flag(parser, "--strict", "fail and print nothing if anything would be lost")
    flag(parser, "--quiet", "do not report what was lost")
    flag(parser, "--json", "print JSON (convert always does)")


def check(parser: argparse.ArgumentParser) -> None:
    """Check whether a provider's API would accept a request, and list the rules it breaks.

    A request body or message list is checked as it is. A session of another tool is first converted to its
    provider's message list (or the format given by --to). Exit status 1 if the request would be rejected.

    examples:
      clew check request.json
      clew check messages.json --to anthropic
      clew check ~/.claude/projects/-home-me-app/0d6c….jsonl --json
      clew check request.json --unverified refuse     also enforce rules that are only reported by users
    """
    add_input(parser)
    add_to(parser, "the API to check for", "--wire")
    text = "what to do with rules that are reported but unproven (default: warn)"
    parser.add_argument("--unverified", choices=UNVERIFIED, default="warn", help=text)
    add_json(parser)


def formats(parser: argparse.ArgumentParser) -> None:
    """List the session formats that clew reads, and where each tool stores its sessions.

    examples:
      clew formats
      clew formats --json
    """
    add_json(parser)


def secrets(parser: argparse.ArgumentParser) -> None:
    """List the secrets in a text that clew would mask: kind, place and mask, never the secret itself.

    Reads any file: a session, a log, source code. Exit status 1 if something is found.

    examples:
      clew secrets session.jsonl
      git diff | clew secrets -
      clew secrets .env --json
    """
    parser.add_argument("file", metavar="FILE", help="any text file, also .gz and .zst; - for standard input")
    add_json(parser)


# The log and the settings -----------------------------------------------------------------------------


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
    text = "the file to write; .zst compresses (default: standard output)"
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=text)


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
