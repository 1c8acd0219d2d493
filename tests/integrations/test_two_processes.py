"""State through the framework's own persistence: what a second process sends is what one process sends."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.test_conformance import PACKAGES, RULE, required

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


def turns(name, folder, first, last):
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "ignore", "-m", "tests.integrations.turn", name, str(folder)]
    subprocess.run([*command, str(first), str(last)], check=True, cwd=Path(__file__).parents[2])
    text = (folder / f"sent-{first}.json").read_text()
    text = re.sub(r"\d+ tokens left|[\w/.-]+\.jsonl", "", text.replace(str(folder), ""))  # differ by nature
    return json.loads(text)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_second_process_sends_what_one_process_would(name, tmp_path):
    required(name)
    if name == "langchain":
        pytest.importorskip("langgraph.checkpoint.sqlite")
    before, after = turns(name, tmp_path / "two", 0, 1), turns(name, tmp_path / "two", 1, 3)
    whole = turns(name, tmp_path / "one", 0, 3)
    compacted = re.compile("kept as m|<clew-digest|<clew-reminder")
    assert any(compacted.search(str(messages)) for messages in before)
    assert len(before) + len(after) == len(whole)
    assert all(RULE in str(messages) for messages in after)
    if name == "hermes":  # it hands on the compacted list, so older results are shortened from their excerpts
        assert [*before, after[0]] == whole[: len(before) + 1]
        assert "kept as m5]" in str(after[-1])
    else:
        assert [*before, *after] == whole
