"""Arguments and help of the commands about compactions, from compact and undo to lost and bill."""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.cli.arguments import (
    add_file,
    add_input,
    add_json,
    add_limit,
    add_session,
    add_to,
    flag,
    option,
    positive,
    share,
)


def compact(parser: argparse.ArgumentParser) -> None:
    """Make a session smaller: print the digest that the model reads, what was dropped, and how to undo it.

    A session of clew's log is compacted there: the log keeps every message, and `clew undo` restores them.
    Any other file is only read; use --to, -o or --json to get the smaller list. If the session's own tool
    compacted it, clew takes what the tool's model sees now; --whole takes the whole conversation. The system
    prompt and rules set by hand are kept at any size; rules found in the conversation become a line that
    leads to them if they do not fit. If it fits with older tool output shortened, there is no digest.

    --window compacts as if that window were full; without --window and --target-tokens, at most half is left.
    No model is needed; with --model, one writes the prose, and code checks it.

    examples:
      clew compact examples/sphinx-9229.traj.json.zst
      clew compact session.jsonl --target-tokens 8000 --digest
      clew compact codex:019a4c… --focus "the failing parser test"
      clew compact codex:019a4c… --range m1-m40
      clew compact session.jsonl --target-tokens 20000 --dry-run
      clew compact session.jsonl --window 32000 --to openai -o smaller.json
      clew compact - --target-tokens 8000 --json < messages.json | jq .messages
      clew compact session.jsonl --model anthropic/claude-sonnet-4-5
    """
    add_input(parser)
    flag(parser, "--whole", "take the whole conversation, not what its tool's compactions left")
    size = parser.add_mutually_exclusive_group()
    option(size, "--window", "N", "fit this context window, with room for a reply", positive)
    option(size, "--target-tokens", "N", "tokens to leave, not counting the system prompt", positive)
    text = "compact only these messages: the oldest into a digest, others by shortening them"
    option(size, "--range", "m1-m20", text)
    option(parser, "--focus", "TEXT", "what matters most now, in your words")
    text = "keep the last N messages verbatim, or refuse (default: shortened if necessary)"
    option(parser, "--keep", "N", text, positive)
    text = "model that writes the digest: anthropic/…, openai/…, scripted (default: none)"
    option(parser, "--model", "NAME", text)
    flag(parser, "--dry-run", "print the plan and what would be lost; change nothing")
    flag(parser, "--stats", "print all statistics below the digest, not a summary")
    add_to(parser, "print the message list for this API")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the message list, --json or --digest to FILE"
    )
    flag(parser, "--force", "overwrite an existing file")
    form = parser.add_mutually_exclusive_group()
    flag(form, "--digest", "print only the text of the digest")
    flag(form, "--json", "print one JSON object with everything")


def undo(parser: argparse.ArgumentParser) -> None:
    """Undo the last compaction of a session, or the last N: the model sees the original messages again.

    Messages added since are kept, and the undone compactions stay on record: `clew trace` lists them.

    examples:
      clew undo codex:019a4c…
      clew undo codex:019a4c… 3
      clew undo codex:019a4c… --all
    """
    add_session(parser, or_export=False)
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "compactions", metavar="N", nargs="?", type=positive, help="how many to undo (default: 1)"
    )
    flag(many, "--all", "undo all compactions")
    add_json(parser)


def off(parser: argparse.ArgumentParser) -> None:
    """Switch a session off: the model sees its whole history, as if it had never been compacted.

    Requests of a chat on it are then those of a plain client, without clauses, tools, notes or rules, and
    nothing compacts it. Its compactions stay in the log: `clew on` applies them again. The same as /off in
    the chat. To switch clew off for all sessions, set CLEW_OFF=1, or off = true in clew.toml.

    examples:
      clew off codex:019a4c…
      CLEW_OFF=1 clew chat
    """
    add_session(parser, or_export=False)
    add_json(parser)


def on(parser: argparse.ArgumentParser) -> None:
    """Switch a session on again: the model sees the compacted view.

    examples:
      clew on codex:019a4c…
    """
    add_session(parser, or_export=False)
    add_json(parser)


def expand(parser: argparse.ArgumentParser) -> None:
    """Print the source messages of a digest, a line of it, or a rule, with the quoted words marked.

    REF is a message (m12), a digest (d1: its lines, then the messages it replaces), a line of a digest
    (d1.4), a rule (p2), the summary that a tool wrote (c1), or a compaction without a digest (d2: what it
    did, then the changed messages). To print a digest as the model sees it, use `clew show SESSION d1`.
    m12 is the same message in every command and on the page.

    examples:
      clew expand codex:019a4c… d1.4
      clew expand codex:019a4c… p2 --around 2
      clew expand session.jsonl m12 --full
      clew expand codex:019a4c… d1 --json | jq -r '.claims[].text'
    """
    add_input(parser)
    parser.add_argument("ref", metavar="REF", help="m12, d1, d1.4, p2 or c1")
    option(parser, "--around", "N", "also print N messages before and after", positive, 0)
    flag(parser, "--full", "print long messages whole")
    flag(parser, "--no-pager", "do not use a pager")
    add_json(parser)


def trace(parser: argparse.ArgumentParser) -> None:
    """List a session's compactions: time, trigger, size before and after, author, cost, status.

    For a session of Claude Code, Codex or another tool, lists the tool's own compactions; c1 prints the
    summary of the first. For a session of clew's log, REF explains why a message (m41), a digest (d1), a line
    of it (d1.4) or a rule (p2) is kept, changed or dropped.

    examples:
      clew trace 3f2a9c10                         list the compactions of its tool
      clew trace 3f2a9c10 c1                      print the summary of the first
      clew trace codex:019a4c…
      clew trace codex:019a4c… m41
      clew trace codex:019a4c… --report d2        print the result of its checks
      clew trace story.clew.zst --json
      clew trace codex:019a4c… --jsonl            print all events as JSON lines
    """
    add_file(parser, optional=False)
    parser.add_argument("ref", metavar="REF", nargs="?", help="what to explain: m41, d1, d1.4, p2, c1")
    option(parser, "--report", "REF", "print the result of the checks of a compaction, such as d2")
    flag(parser, "--values", "with --report: name everything that left the view, each exact value too")
    add_json(parser)
    flag(parser, "--jsonl", "print all events as JSON lines with OpenTelemetry names")


def handoff(parser: argparse.ArgumentParser) -> None:
    """Write a short Markdown page from which a new session or another agent can continue.

    It holds the current state, the story so far, findings, files, rules and the next step, quoted from the
    session, each line with its source message and a command that prints it. No model is called; keys and
    passwords are masked. Without SESSION, the newest session on this computer.

    examples:
      clew handoff 3f2a9c10 -o HANDOFF.md
      clew handoff 3f2a9c10 --tokens 1500
      clew handoff session.jsonl --style headings   with the fourteen headings of a compaction handoff
    """
    add_file(parser)
    option(parser, "--tokens", "N", "at most N tokens (default: 3000)", positive, 3000)
    text = "six sections, or fourteen headings"
    parser.add_argument("--style", choices=("sections", "headings"), default="sections", help=text)
    flag(parser, "--json", "print the lines with their sources as JSON")


def lost(parser: argparse.ArgumentParser) -> None:
    """Show what your tool's last compactions dropped although it was, or is likely to be, needed.

    Rules, open work, findings and changed files are likely to be needed after any compaction; exact values
    count if the session used them later. Each is searched for in what the tool kept, and in what clew keeps
    in as many tokens, without a model. Without SESSION, the newest session that was compacted. Nothing is
    changed or sent anywhere.

    examples:
      clew lost
      clew lost 3f2a9c10
      clew lost 3f2a9c10 --full
      clew lost --days 7                         a table of last week's compactions
      clew lost --all                            a table of the newest sessions
    """
    add_file(parser)
    option(parser, "--last", "N", "show the last N compactions (default: 2)", positive, 2)
    flag(parser, "--full", "list everything, for every compaction")
    flag(parser, "--all", "the newest compacted sessions, as a table")
    option(parser, "--days", "N", "those compacted in the last N days, as a table", positive)
    add_limit(parser, 30, "sessions of the table")
    add_json(parser)


def bill(parser: argparse.ArgumentParser) -> None:
    """Compare the cost of real sessions: as they ran, without compaction, and with clew.

    The requests of each session are replayed at its models' prices: input, cache reads and writes, output,
    and the calls that wrote summaries. Usage that the provider reported is used unchanged; the other two
    columns assume that the session continued in the same way. clew compacts at the size at which the tool
    first did, without a model. A negative saving means that clew costs more. Without SESSION, the newest
    session. Nothing is sent anywhere.

    examples:
      clew bill
      clew bill 3f2a9c10 39ef5efd
      clew bill --all --limit 50
      clew bill 3f2a9c10 --window 60000 --down-to 0.2
    """
    parser.add_argument("files", metavar="SESSION", nargs="*", help="ids from `clew sessions`, or files")
    flag(parser, "--all", "the newest sessions of this computer")
    add_limit(parser, 30, "sessions, with --all")
    option(parser, "--window", "TOKENS", "the context window for the column with clew", positive)
    option(parser, "--down-to", "SHARE", "compact to this share of the window, such as 0.2", share)
    add_json(parser)
