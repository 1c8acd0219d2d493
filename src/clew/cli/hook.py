"""Answer a hook event of an agent that clew is installed in. Agents run this command, not people.

Reads one event as JSON from standard input and answers in the agent's own protocol: before a compaction with
what the summary must keep, after it with what must be in view. On any error it prints nothing and exits with
0; the error is in CLEW_HOME/hosts/hook.log. CLEW_HOOK=off disables it.

examples:
  clew hook claude-code < event.json
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.hosts.hook import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", metavar="TOOL", help="the agent that sent the event")


def run(args: argparse.Namespace, _: Terminal) -> int:
    """Answer the event."""
    return main([args.tool])
