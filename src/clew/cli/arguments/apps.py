"""Arguments and help of demo, chat, inspect and serve, of eval and bench, and of the commands for agents."""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.cli.arguments import add_format, add_json, flag, option, positive, share

LOOPBACK = "127.0.0.1"


def demo(parser: argparse.ArgumentParser) -> None:
    """Play a scripted session in half a minute: it is compacted, keeps a rule, recalls a value, is undone.

    The engine is real, the model is a script. Nothing is sent anywhere, and nothing is kept.

    examples:
      clew demo
      clew demo --fast
    """
    flag(parser, "--fast", "do not pause between the steps")


def chat(parser: argparse.ArgumentParser) -> None:
    """Try the engine in a chat: compact, undo and search a session of any length as you go.

    This is a harness to try the engine and a reference implementation of an agent's loop, not a coding agent.
    Works without a key: an offline stand-in answers, which only quotes the conversation and cites its
    sources. For a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --base-url for your own server
    (Ollama, vLLM, llama.cpp). Lines from standard input are turns and commands; /help lists the commands,
    /quit ends. Compaction happens on /compact, or automatically with --auto. The session is kept in clew's
    log.

    examples:
      clew chat --offline
      clew chat --root . --auto --window 32000
      clew chat --model anthropic/claude-sonnet-4-5
      clew chat --model llama3.2 --base-url http://127.0.0.1:11434/v1
      clew chat --resume
      clew chat --fork chat:2026-01-31-101500
      clew chat transcript.jsonl --offline
      clew chat --offline < turns.txt
    """
    text = "a session of clew's log or a transcript to continue (default: a new session)"
    parser.add_argument("session", metavar="SESSION", nargs="?", help=text)
    flag(parser, "--resume", "continue the most recent session")
    option(parser, "--fork", "SESSION", "continue a copy of a session")
    flag(parser, "--offline", "use the offline stand-in; nothing is sent anywhere")
    option(parser, "--model", "NAME", "the model, for example anthropic/claude-sonnet-4-5")
    option(parser, "--base-url", "URL", "a server with an OpenAI-compatible API (needs --model)")
    option(parser, "--window", "N", "context window in tokens (default: the model's own)", positive)
    flag(parser, "--all", "recall from sessions of other projects too")
    flag(parser, "--auto", "compact automatically as the window fills up")
    flag(parser, "--off", "send what a plain client sends: no compaction, tools, notes or clauses")
    option(parser, "--root", "DIR", "a folder the model may read, and write to with your approval", Path)


def inspect(parser: argparse.ArgumentParser) -> None:
    """Open a web page of your sessions: the transcript, what the model sees, what every compaction lost.

    Without a name it lists the sessions of all agent tools on this computer. Click a line of a digest to see
    its source messages, compare the context before and after, undo, preview what a compaction would lose, and
    pin it. Changes to a session of clew's log are kept. A file is never changed: the page works on a copy,
    which is deleted when the server stops. Only this computer can open the page, with the token in its
    address; nothing is sent anywhere.

    examples:
      clew inspect
      clew inspect codex:019a4c…
      clew inspect examples/sphinx-9229.traj.json.zst
      clew inspect codex:019a4c… --export story.html      write one HTML file to keep or share
    """
    text = "a session, or any session file (default: list the sessions of this computer)"
    parser.add_argument("file", metavar="SESSION|FILE", nargs="?", help=text)
    add_format(parser)
    parser.add_argument(
        "-o", "--export", metavar="FILE", type=Path, help="write one HTML file instead of serving a page"
    )
    add_server(parser)
    parser.set_defaults(host=LOOPBACK)


def serve(parser: argparse.ArgumentParser) -> None:
    """Serve the pages of `clew inspect` for all sessions of this computer, without opening a browser.

    Only this computer can reach it, unless --host names another of its addresses; then anyone who can reach
    that address and knows the token can read and change your sessions, over an unencrypted connection.

    With --store, serve an HTTP API for many agents instead, on sessions in PostgreSQL, and compact them in
    the background. Every workspace has a bearer token: --tokens names a JSON file {"WORKSPACE": "TOKEN"};
    without it CLEW_TOKEN is the token of the workspace `local`. See docs/guides/http-api.md.

    examples:
      clew serve
      clew serve --port 8710
      clew serve --store postgresql://clew@db/clew --tokens tokens.json --host 0.0.0.0
    """
    add_server(parser)
    service = parser.add_argument_group("with --store")
    option(service, "--store", "URL", "serve the API on this PostgreSQL database")
    option(service, "--tokens", "FILE", "the token of each workspace, as JSON", Path)
    option(service, "--workers", "N", "compactions at once; 0 for none (default: 1)", _count, 1)
    text = "compact in the background from this share of the window on; 0 for never (default: 0.7)"
    option(service, "--ahead", "SHARE", text, _share_or_never, 0.7)
    text = "every hour, delete sessions without an append for N days (default: keep all)"
    option(service, "--keep-days", "N", text, positive)
    text = "move them to this folder or object storage instead (s3://bucket/path; extra clew[archive])"
    option(service, "--archive", "PLACE", text)
    text = "requests at once; more are answered with 503 (default: 256)"
    option(service, "--most-requests", "N", text, positive, 256)
    option(parser, "--host", "ADDRESS", "address to listen on (default: this computer only)", str, LOOPBACK)
    parser.set_defaults(no_browser=True)


def add_server(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the server."""
    option(parser, "--port", "N", "port of the server (default: any free one)", _port, 0)
    flag(parser, "--no-browser", "only print the address, open no browser")
    option(parser, "--model", "NAME", "count and price tokens for this model", str, "unknown")
    option(parser, "--chat", "NAME", "model that answers in the page's chat (default: as in clew chat)")
    flag(parser, "--offline", "use the offline stand-in in the page's chat; nothing is sent anywhere")
    option(parser, "--window", "TOKENS", "context window in tokens (default: the model's own)", positive)


def _share_or_never(text: str) -> float:
    return 0.0 if text.strip() == "0" else share(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 1_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number of workers")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"{text} is not a port number")
    return int(text)


def eval_(parser: argparse.ArgumentParser) -> None:
    """Measure what compactions keep: cut real sessions, compact one part, compare with the rest.

    Every PATH is a session file or a folder of them. Each session is cut at half and at three quarters of its
    tokens; each policy compacts the first part to the same share of its tokens; the real continuation shows
    what was needed. No model is called and nothing leaves this computer. Policies are ranked by `continuity`:
    the goal is stated, the subjects of the next calls are in view, reports are kept, finished work is not
    shown as open. See docs/concepts/measure.md for all metrics.

    If the sessions' own tools compacted them, the report starts with what those compactions lost.

    examples:
      clew eval ~/.claude/projects/my-project
      clew eval sessions/ --share 0.05,0.10,0.20,0.40 --chain --html report.html
      clew eval sessions/ --policy clew --policy tail --json
      clew eval sessions/ --policy clew --attack --reader openai-chat/qwen3@http://127.0.0.1:11434/v1
    """
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a session file, a folder, or an id")
    text = "shares of the tokens to compact to: 0.10, or 0.05,0.10,0.20"
    option(parser, "--share", "S", text, _shares, (0.10,))
    text = "a policy to measure; may be repeated (default: clew and usual ones)"
    parser.add_argument("--policy", action="append", metavar="NAME", help=text)
    text = "also measure the upper bounds: the uncut history, and an oracle that knows the continuation"
    flag(parser, "--ceiling", text)
    flag(parser, "--chain", "also compact 1, 5, 20 and 100 times in a row")
    parser.add_argument(
        "--grow",
        type=_sizes,
        nargs="?",
        const=(30_000, 10_000),
        metavar="WINDOW:TARGET",
        help="also measure chains at a real window, against one compaction (default: 30000:10000 tokens)",
    )
    flag(parser, "--attack", "also plant tool outputs that ask to drop a rule, over 1 to 100 compactions")
    option(parser, "--attacks", "FILE", "more texts for --attack: JSON lines, templates with {goal}", Path)
    text = "model that answers questions (default: a plain reader, no model)"
    option(parser, "--reader", "MODEL", text, str, "")
    option(parser, "--html", "FILE", "write an HTML report to one file", Path)
    add_json(parser)
    option(parser, "--least", "TOKENS", "skip shorter sessions (default: 12000)", positive, 12_000)
    option(parser, "--labels", "FILE", "a file of sentences labelled as rules", Path)
    option(parser, "--jobs", "N", "number of processes (default: all cores)", positive, 0)


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(map(float, text.split(",")))
    except ValueError:
        shares = (0.0,)
    if not all(0 < share <= 1 for share in shares):
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return shares


def _sizes(text: str) -> tuple[int, int]:
    window, _, target = text.partition(":")
    if not (window.isdigit() and target.isdigit() and 0 < int(target) < int(window)):
        raise argparse.ArgumentTypeError(f"{text} is not a window and a smaller target, such as 30000:10000")
    return int(window), int(target)


def bench(parser: argparse.ArgumentParser) -> None:
    """Measure recall quality on public benchmarks that you have downloaded.

    DIR holds local copies, in any folder below it: `locomo10.json` (github.com/snap-research/locomo),
    `longmemeval_oracle.json` or `longmemeval_s*.json` (github.com/xiaowu0162/LongMemEval; also .gz), a folder
    `REALTALK` with its chats (github.com/danny911kr/REALTALK), a folder `BEAM` with `N/chat.json`
    (github.com/mohammadtavakoli78/BEAM). Nothing is downloaded and no model is called. The baselines are
    plain BM25, BM25 of stems, grep, and reading everything. See docs/concepts/retrieval.md.

    examples:
      clew bench retrieval --data ~/benchmarks
      clew bench retrieval --data ~/benchmarks --encoder ~/models/all-MiniLM-L6-v2
      clew bench retrieval --data ~/benchmarks --json
    """
    parser.add_argument("what", choices=["retrieval"], help="what to measure")
    option(parser, "--data", "DIR", "folder of the benchmarks (default: ./data)", Path, Path("data"))
    text = "also measure a sentence encoder: a folder with model.onnx and tokenizer.json"
    option(parser, "--encoder", "DIR", text, Path)
    add_json(parser)


# Commands that connect clew to agents -----------------------------------------------------------------

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
