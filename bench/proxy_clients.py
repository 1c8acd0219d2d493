"""What real agents cost through the proxy: Claude Code, Codex and pi read 48 to 63 files in three turns.

    CLEW_HOSTS=~/hosts uv run python bench/proxy_clients.py [--agents claude codex pi]

The agents come from npm (see docs/guides/hosts.md); the model is scripted. *direct*: no proxy, a window that
holds everything. *--compact*: the proxy compacts in flight. *own*: no proxy, and the upstream refuses
requests over 90,000 tokens, so that the agent compacts with its model. *answered*: the same, and the proxy
answers its summary request. Costs are in thousands of plain input tokens: 0.1 for cached input, 1.25 for new
input, 5 for output.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.hosts.real import program
from tests.proxy.agent_loop import run_agent

PER_TURN = {"claude": 16, "codex": 21, "pi": 21}
"""Files per turn, so that each conversation reaches about 210,000 to 225,000 tokens."""
LIMIT = 90_000
ROW = "| {} | {} | {} | {:.2f} | {:,} | {} | {:.0f} | {:.2f} | {} | {} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", nargs="+", choices=[*PER_TURN], default=[*PER_TURN])
    parser.add_argument("--window", type=int, default=80_000)
    args = parser.parse_args()
    modes: dict[str, dict[str, Any]] = {
        "direct": {"proxy": False},
        f"--compact --window {args.window}": {"proxy": True, "window": args.window},
        "own": {"proxy": False, "limit": LIMIT},
        "answered": {"proxy": True, "limit": LIMIT},
    }
    print(
        "| agent | mode | requests | M tokens sent | largest | cache breaks | cost k | of direct | ", end=""
    )
    print("without the rule | refused by `clew check` |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for agent in args.agents:
        base = 0.0
        for mode, settings in modes.items():
            if "limit" in settings and agent != "claude":
                continue  # Codex and pi compact by the usage that the model reports, not when refused
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                os.environ["CLEW_HOME"] = f"{folder}/clew"
                path = program(agent)
                made = run_agent(agent, path, Path(folder) / "run", PER_TURN[agent], **settings)
            base = base or made.cost
            sent = made.sent / 1e6, made.largest, made.breaks, made.cost / 1e3, made.cost / base
            print(ROW.format(agent, mode, made.requests, *sent, made.without_rule, made.refused), flush=True)


if __name__ == "__main__":
    main()
