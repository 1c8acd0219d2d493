"""Serve the tools recall, expand, rules, pin, progress and remember over the Model Context Protocol (stdio).

`clew install TOOL` sets it up; any other MCP client can start it with the command `clew mcp`. It detects the
agent's current session, and reads only sessions of the folder it is started in.

examples:
  clew mcp
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.hosts.mcp import serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: there are none."""


def run(_: argparse.Namespace, __: Terminal) -> int:
    """Serve until the client closes the connection."""
    serve()
    return 0
