"""``clew install``, ``uninstall``, ``doctor``, ``hook``, ``mcp`` and ``proxy``: clew inside other agents.

Imports inside the functions: an agent waits for ``hook`` and ``mcp``, which need nothing of the installer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING

from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.hosts.install import FileChange
    from clew.proxy.server import Proxy, Routes
    from clew.proxy.stats import Stats


def run_install(args: argparse.Namespace, term: Terminal) -> int:
    """Install, or print what would change."""
    from clew.hosts.install import host_named, install, to_install
    from clew.transcripts.discover import Computer

    host, computer = host_named(args.tool), Computer()
    changes = to_install(host, computer) if args.dry_run else install(host, computer)
    note = (
        f"Dry run: nothing is written. In {host.title}, clew keeps your rules, goal and open work in "
        f"view across its compactions and finds earlier turns. These {count(len(changes), 'file')} would "
        f"change; `clew install {host.name}` writes them, `clew uninstall {host.name}` restores them."
    )
    none = f"clew is already installed in {host.title}: nothing to change."
    _print_changes(args, term, changes, note, none)
    if changes and not args.dry_run and not args.json:
        done = f"Installed clew in {host.title}. Next: {host.then}."
        term.say(f"{done} `clew uninstall {host.name}` removes it.")
    return 0


def run_uninstall(args: argparse.Namespace, term: Terminal) -> int:
    """Uninstall, or print what would change."""
    from clew.hosts.install import host_named, to_uninstall, uninstall
    from clew.transcripts.discover import Computer

    host, computer = host_named(args.tool), Computer()
    changes = to_uninstall(host, computer) if args.dry_run else uninstall(host, computer)
    note = f"Dry run: nothing is written. {count(len(changes), 'file')} would be as before clew came:"
    _print_changes(args, term, changes, note, f"clew is not installed in {host.title}: nothing to change.")
    return 0


def _print_changes(
    args: argparse.Namespace, term: Terminal, changes: Sequence[FileChange], dry_run_note: str, none: str
) -> None:
    """List the files that are written or removed; in a dry run, their diffs after a note."""
    if args.json:
        rows = [
            {"path": str(change.path), "change": _what(change), "diff": change.diff()} for change in changes
        ]
        term.write(json.dumps(rows))
        return
    if args.dry_run and changes:
        term.note(dry_run_note)
    for change in changes:
        if args.dry_run:
            term.write(printable(change.diff()).rstrip("\n"))
        else:
            term.say(printable(f"{_what(change)} {change.path}"))
    if not changes:
        term.say(none)


def _what(change: FileChange) -> str:
    return "removed" if change.after is None else "written" if change.before is None else "changed"


def run_doctor(args: argparse.Namespace, term: Terminal) -> int:
    """Print the findings; return 1 if something does not work."""
    from clew.hosts.doctor import Verdict, examine
    from clew.transcripts.discover import Computer

    findings = list(examine(Computer()))
    if args.json:
        term.write_json([asdict(item) for item in findings])
    for finding in findings if not args.json else ():
        mark = {Verdict.GOOD: "✓", Verdict.NOTE: "·", Verdict.BAD: "✗"}[finding.verdict]
        term.say(printable(f"{mark} {finding.host:<12} {finding.text}"))
    return 1 if any(item.verdict is Verdict.BAD for item in findings) else 0


def run_hook(args: argparse.Namespace, _: Terminal) -> int:
    """Answer the event."""
    from clew.hosts.hook import main

    return main([args.tool])


def run_mcp(_: argparse.Namespace, __: Terminal) -> int:
    """Serve until the client closes the connection."""
    from clew.hosts.mcp import serve

    serve()
    return 0


# The proxy -------------------------------------------------------------------------------------------

ANTHROPIC_VARIABLES = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
OPENAI_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
SWITCH_SECONDS = 0.001
"""A stream waits at most this long for a compaction of another conversation; Python's default is 0.005."""


def run_proxy(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C, or until the program that was started ends."""
    from clew.proxy.reactor import RequestReactor
    from clew.proxy.server import Proxy
    from clew.proxy.stats import Stats

    command = _command(args.command)
    stats = Stats()
    react = RequestReactor(
        stats,
        compact=args.compact,
        window=args.window,
        digest_tokens=args.digest_tokens,
        upstream_summary=args.summary == "upstream",
        drop_thinking=args.drop_thinking,
    )
    proxy = Proxy(_routes(args), react, stats, args.port, args.timeout)
    sys.setswitchinterval(SWITCH_SECONDS)
    threading.Thread(target=react.warm_up, daemon=True).start()
    try:
        with _page(args, stats) as page:
            return _serve(proxy, command, page, term)
    finally:
        react.close()
        if command and stats["answered"] + stats["compacted"] + stats["failed_open"]:
            term.note(printable(_summary(stats)))


def _page(args: argparse.Namespace, stats: Stats) -> AbstractContextManager[str]:
    if not args.inspect:
        return nullcontext("")
    from clew.cli.inspect import page_of_proxy

    return page_of_proxy(stats.report)


def _serve(proxy: Proxy, command: list[str], page: str, term: Terminal) -> int:
    if page:
        term.note(f"Page: {page}")
    if command:
        with proxy.running():
            return run_program(proxy.url, command)
    term.write(proxy.url)
    term.note(f"Anthropic clients: ANTHROPIC_BASE_URL={proxy.url}")
    term.note(f"OpenAI clients:    OPENAI_BASE_URL={proxy.url}/v1")
    term.note(f"Counters: {proxy.url}/clew/health. Ctrl-C stops it.")
    term.out.flush()
    with suppress(KeyboardInterrupt):
        proxy.run()
    return 0


def _summary(stats: Stats) -> str:
    parts = [f"{stats['requests']} requests", f"{stats['answered']} compactions answered without a model"]
    if stats["compacted"]:
        parts.append(f"{stats['compacted']} in flight")
    if stats["failed_open"]:
        parts.append(f"{stats['failed_open']} errors of clew, forwarded unchanged")
    return f"clew proxy: {', '.join(parts)}"


def _command(words: list[str]) -> list[str]:
    """Return the program to run; empty to only serve."""
    if not words:
        return []
    rest = words[2:] if words[1:2] == ["--"] else words[1:]
    if words[0] != "run" or not rest:
        raise InputError(f"unknown argument {words[0]!r}", "use: clew proxy, or clew proxy run -- PROGRAM")
    return rest


def _routes(args: argparse.Namespace) -> Routes:
    from clew.proxy.relay import Upstream
    from clew.proxy.server import ANTHROPIC_URL, OPENAI_URL, Routes

    by_prefix = []
    for route in args.route or ():
        prefix, equals, url = route.partition("=")
        if not equals or not prefix.startswith("/"):
            raise InputError(f"{route!r} is not a route", "use --route /PREFIX=URL")
        by_prefix.append((prefix, Upstream.of(url)))
    anthropic = args.anthropic or _upstream_url(ANTHROPIC_VARIABLES, ANTHROPIC_URL)
    openai = args.openai or _upstream_url(OPENAI_VARIABLES, OPENAI_URL)
    return Routes(Upstream.of(anthropic), Upstream.of(openai), tuple(by_prefix))


def _upstream_url(variables: Sequence[str], default: str) -> str:
    """Return the address that the user's environment names for an API, without ``/v1``; else the default."""
    named = next((value for name in variables if (value := os.environ.get(name))), "")
    return named.rstrip("/").removesuffix("/v1") or default


# The program behind the proxy -------------------------------------------------------------------------


def arguments(url: str, command: Sequence[str]) -> list[str]:
    """Return a command line that uses the proxy; Codex reads its address from its configuration only."""
    program, *rest = command
    if PurePath(program).stem == "codex":
        return [program, "-c", f'openai_base_url="{url}/v1"', *rest]
    return [program, *rest]


def run_program(url: str, command: Sequence[str]) -> int:
    """Run a program until it ends; return its exit status. Ctrl-C is left to the program."""
    own = dict.fromkeys(ANTHROPIC_VARIABLES, url) | dict.fromkeys(OPENAI_VARIABLES, f"{url}/v1")
    before = signal.getsignal(signal.SIGINT)
    try:
        process = subprocess.Popen(arguments(url, command), env=os.environ | own)
    except OSError as cause:
        raise InputError(f"cannot run {command[0]!r} ({cause.strerror})", "check its name") from cause
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - status if status < 0 else status
