"""Answer an event of an agent that clew is installed in. Agents run this; people need not.

Reads one event as JSON from standard input and answers it by the agent's own protocol: before a compaction
with what its summary must keep, after it with what must be in view. Says nothing and exits with 0 whatever
goes wrong; CLEW_HOME/hosts/hook.log tells why. CLEW_HOOK=off makes it silent.

examples:
  clew hook claude-code < event.json
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.hosts.hook import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", metavar="TOOL", help="the agent whose event it is")


def run(args: argparse.Namespace, _: Terminal) -> int:
    """Answer the event."""
    return main([args.tool])
