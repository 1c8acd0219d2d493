"""Serve recall, expand, rules, pin, progress and remember to an agent, by the Model Context Protocol.

`clew install TOOL` sets it up; any other MCP client can start it with the command `clew mcp`. It finds the
session that the agent works on by itself, and reads only the sessions of the folder it was started in.

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
    """Serve until the agent goes."""
    serve()
    return 0
