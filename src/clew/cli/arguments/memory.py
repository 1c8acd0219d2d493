"""Arguments and help of commands about rules and memory: rules, pin, notes, recall, progress, knowledge."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from clew.cli.arguments import add_json, add_limit, add_session, flag, option, positive

ENTRY_KINDS = ("turn", "digest", "note", "artifact", "document")
TRUST_LABELS = ("untrusted", "semi-trusted", "assistant", "user", "developer", "system")
TOPICS = (
    "instructions",
    "fixture",
    "decision",
    "runbook",
    "policy",
    "schema",
    "scorecard",
    "gap",
    "plan",
    "reference",
)
CATEGORIES = (
    "user_preference",
    "organization_policy",
    "project_convention",
    "session_state",
    "workflow_state",
    "artifact_reference",
    "long_term_summary",
    "approval_record",
    "connector_state",
)
SCOPES = ("global", "workspace", "session")
PRIORITIES = ("low", "normal", "high")


def rules(parser: argparse.ArgumentParser) -> None:
    """List a session's rules with source, certainty and reason; add, edit or disable one, or search again.

    Only lasting instructions of the user are rules; choices are decisions, details of the current step are
    requests. A rule that you disable stays disabled, even if the same words are said again. Without SESSION,
    the newest session of clew's log. Rules of a session that is not in the log can be listed, but not
    changed; `clew import` adds it.

    A session keeps the rules that were found when its messages were added, also after an upgrade. --rescan
    shows what the installed rule finder would change, and --apply records that; your own changes are applied
    again.

    examples:
      clew rules                                    list the rules of the newest session
      clew rules codex:019a4c…                      of this session, or of a file
      clew rules --all                              also ended rules, with the words that ended them
      clew rules off p3                             disable p3 for good
      clew rules add "Never modify files under legacy/."
      clew rules codex:019a4c… edit p2 "Ask before you push."
      clew rules --rescan                           show what the installed rule finder would change
      clew rules --rescan --apply                   record that change
    """
    text = "a session or file, then optionally off PIN, add TEXT or edit PIN TEXT"
    parser.add_argument("words", metavar="SESSION | ACTION", nargs="*", help=text)
    flag(parser, "--all", "also list ended rules")
    flag(parser, "--rescan", "show what the installed rule finder changes")
    flag(parser, "--apply", "with --rescan: record the change")
    add_json(parser)
    parser.set_defaults(format=None, session=None)


def pin(parser: argparse.ArgumentParser) -> None:
    """Pin a rule that survives every compaction word for word; change, remove or list rules.

    Rules that the user states in the conversation are found automatically; use this for a rule that was
    missed, or for a sentence that was taken for a rule. Rules are named p1, p2, …

    examples:
      clew pin codex:019a4c…                                     list the rules in force
      clew pin codex:019a4c… "Never modify files under legacy/."
      clew pin codex:019a4c… "Ask before you push." --in-place-of p2
      clew pin codex:019a4c… --off p3
      clew pin story --confirm                                   put imported rules in force
    """
    add_session(parser, or_export=False)
    parser.add_argument("rule", metavar="TEXT", nargs="?", help="the rule, word for word")
    change = parser.add_mutually_exclusive_group()
    option(change, "--in-place-of", "PIN", "replace this rule")
    option(change, "--off", "PIN", "remove this rule")
    flag(change, "--confirm", "put the rules of an imported file in force")
    add_json(parser)


def notes(parser: argparse.ArgumentParser) -> None:
    """Manage notes that outlive a session: facts for later sessions, used only if a person approved them.

    Notes that an agent proposes wait for approval; notes derived from tool output or web pages are
    quarantined, with the reason. A newer note replaces an older one with the same key. Nothing is erased: see
    `history`.

    examples:
      clew notes                                  list them
      clew notes add "Use uv, never pip." --key packages --category project_convention --tag python
      clew notes --all
      clew notes approve w7
      clew notes forget packages --why "we use pixi now"
      clew notes history packages
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    listing = actions.add_parser(
        "list", help="list the notes in force and those that wait for approval (the default)"
    )
    flag(listing, "--all", "also list retired, rejected and forgotten notes")
    _add_note(actions.add_parser("add", help="add a note, in force at once"))
    for name, summary in (
        ("approve", "approve a pending or quarantined note"),
        ("reject", "reject a pending note"),
        ("forget", "retire a note"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("note", metavar="NOTE", help="its id (w3) or its key")
        option(action, "--why", "WHY", "the reason, for the record", str, "")
    for name, summary in (
        ("show", "print one note in full"),
        ("history", "print every change to the notes with this key"),
    ):
        actions.add_parser(name, help=summary).add_argument(
            "note", metavar="NOTE", help="its id (w3) or its key"
        )
    for action in actions.choices.values():
        option(action, "--session", "NAME", "also use the notes of this session")
        add_json(action)


def _add_note(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text of the note")
    option(parser, "--key", "KEY", "its subject (default: its first words)")
    text = f"one of {', '.join(CATEGORIES)} (default: {CATEGORIES[0]})"
    parser.add_argument("--category", choices=CATEGORIES, default=CATEGORIES[0], metavar="NAME", help=text)
    parser.add_argument("--scope", choices=SCOPES, help="where it applies (default: workspace)")
    parser.add_argument("--tag", action="append", default=[], help="a tag to find it by; may be repeated")
    parser.add_argument(
        "--priority", choices=PRIORITIES, default="normal", help="how important it is (default: normal)"
    )
    option(parser, "--days", "N", "retire it after N days", positive)


def recall(parser: argparse.ArgumentParser) -> None:
    """Search the sessions of this folder's project: messages, digests, tool outputs and notes.

    Exact matches of a value (a path, an id, an error) come first. Each hit has a reference; --open prints it
    in full. --all also searches sessions of other projects, and marks their hits. New messages of the log are
    indexed first; with the extra `embeddings`, the search also goes by meaning.

    examples:
      clew recall "what port did we choose"
      clew recall E1234 --kind artifact --file src/kiln.py
      clew recall "the plan of last Tuesday" --session claude:3f2a --json
      clew recall --open m12@claude:3f2a
      clew recall --embed
    """
    parser.add_argument("query", metavar="QUERY", nargs="?", help="a question, words, or an exact value")
    option(parser, "--open", "REF", "print the source of a reference in full")
    option(parser, "--session", "NAME", "search only this session")
    flag(parser, "--all", "also search sessions of other projects")
    text = f"only {', '.join(ENTRY_KINDS)}; may be repeated"
    parser.add_argument("--kind", action="append", default=[], choices=ENTRY_KINDS, metavar="KIND", help=text)
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE", help="only messages of this role"
    )
    parser.add_argument(
        "--file", action="append", default=[], metavar="PATH", help="only entries about this file"
    )
    parser.add_argument("--trust", choices=TRUST_LABELS, metavar="LABEL", help="at least this trusted")
    option(parser, "--after", "TIME", "not before (ISO 8601)", _time)
    option(parser, "--before", "TIME", "before (ISO 8601)", _time)
    add_limit(parser, 5, "hits")
    flag(parser, "--embed", "compute missing embedding vectors, and print how many")
    add_json(parser)


def _time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as cause:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date or time such as 2026-11-15") from cause
    return text


def progress(parser: argparse.ArgumentParser) -> None:
    """Show a session's progress log: what changed, the evidence, open issues and the next step.

    Checkpoints are recorded when a session is compacted or reaches a milestone; the last one, marked "now",
    is computed as you look. Without SESSION, the most recent session of clew's log.

    examples:
      clew progress
      clew progress codex:019a4c…
      clew progress story.clew.zst --json
    """
    parser.add_argument(
        "file", metavar="SESSION", nargs="?", help="a session of clew's log, or a file that clew exported"
    )
    parser.set_defaults(format=None, session=None)
    add_json(parser)


def knowledge(parser: argparse.ArgumentParser) -> None:
    """Index a folder of documents and search it: passages are quoted with exact references.

    Reads Markdown, reStructuredText, plain text, TOML, YAML, SQL and the docstrings of Python. The topic of a
    document (instruction, policy, runbook, schema, plan, decision, scorecard, known gap, fixture) is taken
    from its front matter, path or title. Indexing again reads only what changed.

    examples:
      clew knowledge                              list the documents
      clew knowledge index docs
      clew knowledge list --topic runbook
      clew knowledge search "how do we restart the queue?"
      clew knowledge show "ops/queue.md#Restart:12-30"
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    index = actions.add_parser("index", help="index a folder, or what changed in it")
    index.add_argument("folder", metavar="DIR", type=Path, help="the folder")
    listing = actions.add_parser("list", help="list the documents by topic, with their dates (the default)")
    listing.add_argument("folder", metavar="DIR", type=Path, nargs="?", help="only documents of this folder")
    find = actions.add_parser("search", help="print the passages that best match a question")
    find.add_argument("question", metavar="WORDS", help="what to look for")
    add_limit(find, 5, "passages")
    show = actions.add_parser("show", help="print a document, or the passage of a reference")
    show.add_argument(
        "ref", metavar="REF", help="ops/queue.md#Restart:12-30 or a path, as search and list print them"
    )
    for action in (listing, find):
        action.add_argument("--topic", choices=TOPICS, metavar="NAME", help=f"one of {', '.join(TOPICS)}")
    for action in actions.choices.values():
        add_json(action)
