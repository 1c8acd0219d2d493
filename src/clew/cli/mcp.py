"""``clew mcp``: serve tools over the Model Context Protocol."""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.hosts.mcp import serve


def run(_: argparse.Namespace, __: Terminal) -> int:
    """Serve until the client closes the connection."""
    serve()
    return 0
