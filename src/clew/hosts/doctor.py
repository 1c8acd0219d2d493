"""``clew doctor``: check in which hosts of this computer clew is installed, complete and trusted.

``examine(computer)`` yields one ``DoctorFinding`` for each check, such as
``("codex", NOTE, "clew is not installed in it: `clew install codex`")``. The version that clew was tested
with and the installed one are named, not compared: hosts change often, and most versions work. At the end
clew's own hook and MCP server are started once, as a host would.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from clew.errors import InputError
from clew.hosts.codex_files import EVENTS
from clew.hosts.install import HOSTS, Host, command, to_install, to_uninstall
from clew.hosts.session_notes import hosts_home
from clew.transcripts.discover import Computer

VERSION_SECONDS = 20.0
"""How long a host may take to print its version; chosen by hand."""
SELF_TEST_SECONDS = 20.0
"""How long clew's hook and server may take to answer; chosen by hand."""
MOST_ERROR = 200
"""Last bytes of an error output that are shown; chosen by hand."""


class Verdict(StrEnum):
    """The state of one check."""

    GOOD = "ok"
    NOTE = "note"
    BAD = "problem"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check."""

    host: str
    verdict: Verdict
    text: str


def examine(computer: Computer) -> Iterator[DoctorFinding]:
    """Check every host, and clew's own hook and server."""
    for host in HOSTS.values():
        try:
            yield from _host(host, computer)
        except InputError as error:  # a file of the host cannot be read; the other hosts are still checked
            yield DoctorFinding(host.name, Verdict.BAD, str(error))
    yield _self_test("hook", ["hook", "claude-code"], b"{}", b"")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    yield _self_test("mcp", ["mcp"], json.dumps(hello).encode() + b"\n", b'"recall"')
    log = hosts_home() / "hook.log"
    if log.exists():
        last = "".join(log.read_text("utf-8", "replace").strip().splitlines()[-1:])[:160]
        yield DoctorFinding("hook", Verdict.NOTE, f"errors were logged in {log}; the last: {last}")


def _host(host: Host, computer: Computer) -> Iterator[DoctorFinding]:
    """Yield what is right and wrong with the installation in one host."""
    program = shutil.which(host.program)
    is_in = bool(to_uninstall(host, computer))
    if not is_in:
        absent = f"the command `{host.program}` was not found; its sessions can be read without it"
        text = f"clew is not installed in it: `clew install {host.name}`" if program else absent
        yield DoctorFinding(host.name, Verdict.NOTE, text)
        return
    version = _version(program) if program else ""
    tried = f"tested with {host.tried}" + (f", installed is {version}" if version else "")
    if missing := to_install(host, computer):
        stale = f"incomplete or out of date ({missing[0].path}): `clew install {host.name}`"
        yield DoctorFinding(host.name, Verdict.BAD, stale)
    else:
        yield DoctorFinding(host.name, Verdict.GOOD, f"installed; {tried}")
    if not program:
        yield DoctorFinding(host.name, Verdict.NOTE, f"the command {host.program} was not found")
    if host.name == "codex" and not _trusted_by_codex(computer):
        untrusted = "its hooks are not trusted yet: open /hooks in Codex once"
        yield DoctorFinding(host.name, Verdict.BAD, untrusted)


def _version(program: str) -> str:
    """Return the first line of what a program says of its version; empty if it says none."""
    try:
        process = subprocess.run(
            [program, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = (process.stdout.strip() or process.stderr.strip()).splitlines() if process.returncode == 0 else []
    return words[0][:40] if words else ""


def _trusted_by_codex(computer: Computer) -> bool:
    """Whether Codex has a trusted hash for each hook; only Codex can check that it is the current one."""
    home = computer.folder("CODEX_HOME", ".codex")
    try:
        text = (home / "config.toml").read_text("utf-8", "replace")
    except OSError:
        return False
    keys = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower() for event in EVENTS)  # pre_compact
    return "trusted_hash" in text and all(f"hooks.json:{key}:" in text for key in keys)


def _self_test(name: str, words: list[str], data: bytes, wanted: bytes) -> DoctorFinding:
    started = time.monotonic()
    try:
        process = subprocess.run(
            [*command(), *words], input=data, capture_output=True, timeout=SELF_TEST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return DoctorFinding(name, Verdict.BAD, f"`clew {' '.join(words)}` did not answer: {error}")
    took = f"{time.monotonic() - started:.2f} s"
    if process.returncode == 0 and wanted in process.stdout:
        return DoctorFinding(name, Verdict.GOOD, f"`clew {' '.join(words)}` answers in {took}")
    reason = " ".join(process.stderr[-MOST_ERROR:].decode("utf-8", "replace").split())
    return DoctorFinding(name, Verdict.BAD, f"`clew {' '.join(words)}` failed: {reason or 'no reason given'}")
