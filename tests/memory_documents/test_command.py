"""``clew knowledge``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, clew

__all__ = ["clew"]


def test_a_folder_is_read_in_listed_searched_and_shown(clew: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "runbooks").mkdir(parents=True)
    (docs / "runbooks" / "queue.md").write_text("# Queue\n\n## Restart\n\nDrain it first.\n")
    (docs / "about.md").write_text("# About\n\nWe sell umbrellas.\n")
    assert clew("knowledge", "index", str(docs)).stdout == f"{docs}: 2 new, 2 documents in all\n"
    assert clew("knowledge", "index", str(docs)).stdout == f"{docs}: nothing new, 2 documents in all\n"
    assert clew("knowledge", "list").stdout.splitlines()[0] == "runbooks"
    (hit, *_) = json.loads(clew("knowledge", "search", "restart the queue", "--json").stdout)
    assert (hit["ref"], hit["topic"], hit["trust"]) == (
        "runbooks/queue.md#Restart:3-5",
        "runbook",
        "semi-trusted",
    )
    assert clew("knowledge", "show", hit["ref"]).stdout == "## Restart\n\nDrain it first.\n"


def test_without_a_folder_it_says_how_to_read_one_in(clew: Run) -> None:
    done = clew("knowledge", "search", "anything")
    assert done.returncode == 2
    assert "clew knowledge index DIR" in done.stderr
