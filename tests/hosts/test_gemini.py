from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hosts.gemini_server import GeminiServer
from tests.hosts.real import INJECTED, RULE, Computer, program

pytestmark = pytest.mark.slow
WORDS = "Some lines of a file that I paste here. " * 3_000
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
    "model": {"compressionThreshold": 0.02},
}


def computer(tmp_path: Path, server: GeminiServer) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".gemini").mkdir(parents=True)
    project.mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS))
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(project): "TRUST_FOLDER"}))
    quiet = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GEMINI_TELEMETRY_ENABLED": "false",
    }
    return Computer(home, project, server, quiet)  # type: ignore[arg-type]  # its requests are not looked at


def holds(body: dict[str, object], words: str) -> bool:
    return json.dumps(words, ensure_ascii=False)[1:-1] in json.dumps(body, ensure_ascii=False)


def test_a_rule_is_in_every_request_after_gemini_compresses_itself(tmp_path: Path) -> None:
    gemini = program("gemini")
    with GeminiServer(lambda _: "OK.") as server:
        here = computer(tmp_path, server)
        here.clew("install", "gemini")

        def say(text: str, *more: str) -> None:
            # Without a terminal it offers tools that it would ask about only if all are allowed.
            here.run(gemini, "-m", "gemini-2.5-flash", "--approval-mode", "yolo", *more, "-p", text)

        again = ("-r", "latest")
        say("Fix the parser in src/.")
        assert holds(server.bodies[0], "mcp_clew_recall")
        say(f"Go on. {RULE}", *again)
        say(WORDS, *again)
        assert not any(holds(body, "clew-reminder") for body in server.bodies)  # there is room
        before = len(server.bodies)
        say("And now?", *again)
        say("And then?", *again)
        summaries = [body for body in server.bodies[before:] if holds(body, "<state_snapshot>")]
        after = [body for body in server.bodies[before:] if body not in summaries]
        assert summaries
        assert len(after) == 2
        assert not any(holds(body, WORDS[:2_000]) for body in after)  # it was compressed away
        assert all(holds(body, INJECTED) for body in after)
