"""``clew knowledge``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_a_document_is_named_from_the_current_folder_and_a_section_by_its_heading(
    clew: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wiki" / "net").mkdir(parents=True)
    (tmp_path / "wiki" / "net" / "dns.md").write_text(
        "# DNS\n\n## Zones\n\nTwo of them.\n\n### Inner\n\nOne.\n\n## Cache\n\nNone.\n"
    )
    clew("knowledge", "index", str(tmp_path / "wiki"))
    monkeypatch.chdir(tmp_path)
    assert clew("knowledge", "show", "wiki/net/dns.md").stdout.startswith("# DNS\n\n## Zones")
    section = clew("knowledge", "show", "net/dns.md#zones").stdout
    assert section.startswith("## Zones\n\nTwo of them.\n\n### Inner\n\nOne.\n")
    assert "Cache" not in section
    assert clew("knowledge", "show", "wiki/net/dns.md#Cache").stdout == "## Cache\n\nNone.\n"
    refused = clew("knowledge", "show", "net/dns.md#Mail").stderr
    assert "no heading 'Mail'" in refused
    assert "DNS, Zones, Inner, Cache" in refused


def test_without_a_folder_it_says_how_to_read_one_in(clew: Run) -> None:
    done = clew("knowledge", "search", "anything")
    assert done.returncode == 2
    assert "clew knowledge index DIR" in done.stderr
