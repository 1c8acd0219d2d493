"""``clew proxy``: a local server in front of a provider's API that answers agents' compaction requests."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import PurePath

from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.errors import InputError
from clew.proxy.reactor import Compactions
from clew.proxy.relay import Upstream
from clew.proxy.server import ANTHROPIC_URL, OPENAI_URL, Proxy, Routes
from clew.proxy.stats import Stats

ANTHROPIC_VARIABLES = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
OPENAI_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
SWITCH_SECONDS = 0.001
"""A stream waits at most this long for a compaction of another conversation; Python's default is 0.005."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C, or until the program that was started ends."""
    command = _command(args.command)
    stats = Stats()
    react = Compactions(
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
