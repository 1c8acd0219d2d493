"""Run a program whose requests go through a proxy: its environment is set for that process alone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from clew.errors import InputError

ANTHROPIC_VARIABLES = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
OPENAI_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def environment(url: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the clients of both APIs use the proxy."""
    own = dict.fromkeys(ANTHROPIC_VARIABLES, url) | dict.fromkeys(OPENAI_VARIABLES, f"{url}/v1")
    return {**env, **own}


def arguments(url: str, command: Sequence[str]) -> list[str]:
    """Return a command line that uses the proxy; Codex reads its address from its configuration only."""
    program, *rest = command
    if PurePath(program).stem == "codex":
        return [program, "-c", f'openai_base_url="{url}/v1"', *rest]
    return [program, *rest]


def run(url: str, command: Sequence[str]) -> int:
    """Run a program until it ends; return its exit status. Ctrl-C is left to the program."""
    before = signal.getsignal(signal.SIGINT)
    try:
        process = subprocess.Popen(arguments(url, command), env=environment(url, os.environ))
    except OSError as cause:
        raise InputError(f"cannot run {command[0]!r} ({cause.strerror})", "check its name") from cause
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - status if status < 0 else status


def upstream_url(variables: Sequence[str], env: Mapping[str, str], default: str) -> str:
    """Return the address that the user's environment names for an API, without ``/v1``; else the default."""
    named = next((env[name] for name in variables if env.get(name)), "")
    return named.rstrip("/").removesuffix("/v1") or default
