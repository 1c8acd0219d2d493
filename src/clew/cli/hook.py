"""``clew hook``: answer a hook event of an agent."""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.hosts.hook import main


def run(args: argparse.Namespace, _: Terminal) -> int:
    """Answer the event."""
    return main([args.tool])
