from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from clew.hosts import hook
from clew.testing.server import ScriptedServer
from tests.hosts.real import RULE, Computer, SilentModel, holds

LONG = "Some lines of a file that I paste here. " * 3_000


def openclaw() -> Path:
    """Return the folder of its command, which has the Node that it needs too (`npm install node@24`)."""
    folder = Path(os.environ.get("CLEW_HOSTS", "/nowhere")) / "openclaw" / "node_modules" / ".bin"
    if not (folder / "openclaw").exists() or not (folder / "node").exists():
        pytest.skip("CLEW_HOSTS has no folder `openclaw` with openclaw and node@24 in it")
    return folder


def settings(url: str, project: Path, port: int) -> dict[str, object]:
    model = {"id": "m", "name": "m", "contextWindow": 64_000, "maxTokens": 4_000}
    loop = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    agent = {"model": {"primary": "loop/m"}, "workspace": str(project), "compaction": {"provider": "clew"}}
    gateway = {"mode": "local", "port": port, "bind": "loopback", "auth": {"mode": "token", "token": "t"}}
    return {
        "gateway": gateway,
        "plugins": {"entries": {"clew": {"enabled": True}}},
        "agents": {"defaults": agent},
        "models": {"mode": "merge", "providers": {"loop": loop}},
    }


@pytest.mark.slow
def test_clew_compacts_and_no_model_is_asked(tmp_path: Path) -> None:
    folder = openclaw()
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".openclaw").mkdir(parents=True)
    project.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ScriptedServer.always(SilentModel(), strict=False) as server:
        config = home / ".openclaw" / "openclaw.json"
        config.write_text(json.dumps(settings(server.url, project, port)))
        here = Computer(home, project, server, {"PATH": f"{folder}:{os.environ['PATH']}"})
        before = here.files()
        here.clew("install", "openclaw")
        gateway = subprocess.Popen(
            [folder / "openclaw", "gateway", "run"], cwd=project, env=here.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(port)
            command = str(folder / "openclaw")
            for text in (f"Fix the parser in src/. {RULE}", f"One. {LONG}", f"Two. {LONG}"):
                run_connected(here, command, "agent", "--agent", "main", "--message", text)
            count = len(here.requests)
            run_connected(here, command, "sessions", "compact", "agent:main:main")
            assert len(here.requests) == count  # no model was asked
            for text in ("And now?", "And then?"):
                run_connected(here, command, "agent", "--agent", "main", "--message", text)
        finally:
            gateway.terminate()
            gateway.wait()
        after = here.requests[count:]
        assert len(after) == 2
        assert all(holds(one, RULE) and holds(one, "The conversation, shortened:") for one in after)
        assert all(one.raw.decode().count(LONG[:-1]) == 1 for one in after)  # the one that OpenClaw keeps
        here.clew("uninstall", "openclaw")
        left = here.files()
        assert not [path for path in left if "/extensions/clew/" in path]
        assert before.keys() <= left.keys()


def wait_for(port: int, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end, "the gateway did not start"
            time.sleep(0.5)
        else:
            return


def run_connected(here: Computer, *words: str, attempts: int = 5) -> None:
    """Run a command; again if the gateway, busy with its start, did not accept the connection in time."""
    for left in reversed(range(attempts)):
        try:
            here.run(*words, seconds=600)
        except AssertionError as error:
            if not left or "gateway connect failed" not in str(error):
                raise
        else:
            return


def test_the_next_digest_keeps_the_rules_of_the_one_before(home: Path) -> None:
    def summary(messages: list[dict[str, object]], earlier: str | None = None) -> str:
        event = {"hook_event_name": "summarize", "messages": messages, "previous_summary": earlier}
        return str(json.loads(hook.answer("openclaw", event))["summary"])

    pasted = [{"role": "user", "content": [{"type": "text", "text": f"{n}. {LONG}"}]} for n in range(3)]
    first = summary([{"role": "user", "content": f"Fix the parser. {RULE}"}, *pasted])
    second = summary([{"role": "user", "content": "Go on."}, *pasted], first)
    assert RULE in first
    assert RULE in second
    assert len(second) < 40_000
