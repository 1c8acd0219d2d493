"""Real sessions of five tools go in; lists that their providers would take come out."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from tests.cli.test_compact import refused
from tests.conftest import real_data

FOLDERS = (
    "claude-code-entire-cli",
    "codex-session-bridge",
    "copilot-cli-gatomia",
    "opencode-gatomia",
    "swe-agent",
    "gemini-cli-session-bridge",
)


def a_session(folder: str) -> str:
    """Return a file of middling size."""
    files = [path for path in real_data(f"transcripts/{folder}").iterdir() if path.suffix != ".txt"]
    whole = sorted(
        (path for path in files if path.is_file()), key=lambda path: (path.stat().st_size, path.name)
    )
    return str(whole[len(whole) // 2])


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_real_session_fits_is_valid_and_keeps_its_rules(folder: str, clew: Run):
    path = a_session(folder)
    before = json.loads(clew("compact", path, "--dry-run", "--json").stdout)
    target = max(2000, before["tokens"]["before"] // 3)
    for wire in ("anthropic", "openai", "responses", "gemini"):
        done = clew("compact", path, "--target-tokens", str(target), "--to", wire, "--json")
        found = json.loads(done.stdout)
        assert (found["wire"], refused(found)) == (wire, ())
        assert found["tokens"]["after"] <= target
        shown = json.dumps(found["messages"], ensure_ascii=False)
        assert [
            pin for pin in found["pins"] if json.dumps(pin["quote"], ensure_ascii=False)[1:-1] not in shown
        ] == []
