"""``clew proxy``: a local server in front of a provider's API that answers agents' compaction requests."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import AbstractContextManager, nullcontext, suppress

from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.errors import InputError
from clew.proxy.launch import ANTHROPIC_VARIABLES, OPENAI_VARIABLES, upstream_url
from clew.proxy.launch import run as run_program
from clew.proxy.reactor import Compactions
from clew.proxy.relay import Upstream
from clew.proxy.server import ANTHROPIC_URL, OPENAI_URL, Proxy, Routes
from clew.proxy.stats import Stats

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
    anthropic = args.anthropic or upstream_url(ANTHROPIC_VARIABLES, os.environ, ANTHROPIC_URL)
    openai = args.openai or upstream_url(OPENAI_VARIABLES, os.environ, OPENAI_URL)
    return Routes(Upstream.of(anthropic), Upstream.of(openai), tuple(by_prefix))
