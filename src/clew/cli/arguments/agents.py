"""Arguments and help of the commands that connect clew to agents: install, proxy, hook, mcp and others."""

from __future__ import annotations

import argparse

from clew.cli.arguments import add_json, flag, option, positive

AGENTS = ("claude-code", "codex", "gemini", "opencode", "pi", "hermes", "openclaw")


def install(parser: argparse.ArgumentParser) -> None:
    """Add clew to an agent: hooks that keep your rules in view across compactions, and an MCP server.

    Writes one plug-in or extension in your user's configuration; --dry-run prints the changes as a diff.
    Installing again changes nothing. `clew uninstall TOOL` restores every file byte for byte.

    examples:
      clew install claude-code --dry-run
      clew install claude-code
      clew install codex
      clew doctor
    """
    _add_agent(parser)


def uninstall(parser: argparse.ArgumentParser) -> None:
    """Remove clew from an agent: every file is restored byte for byte.

    If you or the agent changed a file since, those changes stay and only clew's part is removed.

    examples:
      clew uninstall claude-code
      clew uninstall codex --dry-run
    """
    _add_agent(parser)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help=f"one of {', '.join(AGENTS)}")
    flag(parser, "--dry-run", "print what would change, and change nothing")
    add_json(parser)


def doctor(parser: argparse.ArgumentParser) -> None:
    """Check whether clew works inside the agents on this computer, and list what is left to do.

    Checks the files that `clew install` wrote, whether the agent trusts them (Codex asks once, under /hooks),
    which version of the agent clew was tested with, and whether clew's hook and MCP server answer. Changes
    nothing. Exit status 1 if something does not work.

    examples:
      clew doctor
      clew doctor --json
    """
    add_json(parser)


def hook(parser: argparse.ArgumentParser) -> None:
    """Answer a hook event of an agent that clew is installed in. Agents run this command, not people.

    Reads one event as JSON from standard input and answers in the agent's own protocol: before a compaction
    with what the summary must keep, after it with what must be in view. On any error it prints nothing and
    exits with 0; the error is in CLEW_HOME/hosts/hook.log. CLEW_HOOK=off disables it.

    examples:
      clew hook claude-code < event.json
    """
    parser.add_argument("tool", metavar="TOOL", help="the agent that sent the event")


def mcp(parser: argparse.ArgumentParser) -> None:
    """Serve recall, expand, rules, pin, progress and remember over the Model Context Protocol (stdio).

    `clew install TOOL` sets it up; any other MCP client can start it with the command `clew mcp`. It detects
    the agent's current session, and reads only sessions of the folder it is started in.

    examples:
      clew mcp
    """


def proxy(parser: argparse.ArgumentParser) -> None:
    """Serve a local proxy that answers the compaction requests of agents with clew's digest, without a model.

    `clew proxy run -- PROGRAM` starts a program that uses the proxy; the environment of other programs is not
    changed. When Claude Code, Codex or opencode asks for a summary of its conversation, clew answers, and the
    conversation is kept in clew's log (`clew expand`). Every other request is forwarded to the provider byte
    for byte; credentials are forwarded and never stored. If clew fails, the request is forwarded unchanged.
    The header `x-clew: on`, `off` or `preview` decides for one request whether it is compacted in flight.

    examples:
      clew proxy run -- claude
      clew proxy run -- codex
      clew proxy --port 8484
      clew proxy --inspect run -- claude
      clew proxy --compact --window 100000 run -- aider --model sonnet
      clew proxy --anthropic https://gateway.example.com --route /openrouter=https://openrouter.ai
    """
    text = "run a program behind the proxy, and stop when it ends"
    parser.add_argument("command", metavar="run -- PROGRAM", nargs=argparse.REMAINDER, help=text)
    option(parser, "--port", "N", "the port (default: a free one)", positive, 0)
    option(parser, "--anthropic", "URL", "the upstream of /v1/messages")
    option(parser, "--openai", "URL", "the upstream of everything else")
    parser.add_argument(
        "--route", action="append", metavar="/PREFIX=URL", help="another upstream, by the start of the path"
    )
    flag(parser, "--compact", "also compact ordinary requests in flight, when the window is nearly full")
    option(parser, "--window", "N", "the window for --compact, in tokens", positive)
    flag(
        parser,
        "--drop-thinking",
        "with --compact, drop thinking from before a compaction; providers may bind it to what was replaced",
    )
    flag(parser, "--inspect", "serve a page with the conversations as they go, their cache and their cost")
    parser.add_argument(
        "--summary",
        choices=("clew", "upstream"),
        default="clew",
        help="who writes the summary: clew without a model (default), or the client's model, "
        "instructed and complemented by clew",
    )
    option(parser, "--digest-tokens", "N", "target size of an answer (default: 6000)", positive)
    text = "close a response after this silence of the upstream (default: 600)"
    option(parser, "--timeout", "SECONDS", text, positive, 600)
