"""The site: every link of a page leads to a page, and nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """Return the script; its name is that of a standard module, so it is loaded from its path."""
    spec = importlib.util.spec_from_file_location("clew_site", ROOT / "scripts" / "site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_keep_their_places_so_that_relative_links_hold(site: ModuleType, tmp_path: Path):
    site.copy_pages(tmp_path)
    assert (tmp_path / "README.md").exists()
    assert (tmp_path / "docs" / "start.md").exists()
    assert (tmp_path / "bench" / "results" / "reader.md").exists()
    assert (tmp_path / "docs" / "concepts" / "compaction.svg").exists()


def test_a_link_to_a_source_file_leads_to_a_page_of_it(
    site: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "repository"
    root.mkdir()
    (root / "code.py").write_text("print(1)\n")
    (root / "page.md").write_text("[code](code.py)\n\n```text\n[code](code.py)\n```\n")
    monkeypatch.setattr(site, "ROOT", root)
    site.copy_pages(tmp_path / "pages")
    text = (tmp_path / "pages" / "page.md").read_text()
    assert text == "[code](code.py.md)\n\n```text\n[code](code.py)\n```\n"
    assert "print(1)" in (tmp_path / "pages" / "code.py.md").read_text()


def test_every_page_of_the_navigation_exists(site: ModuleType):
    def paths(entries: object) -> list[str]:
        if isinstance(entries, str):
            return [entries]
        inner = entries.values() if isinstance(entries, dict) else entries
        return [path for one in inner for path in paths(one)]  # type: ignore[attr-defined]

    assert [path for path in paths(site.NAV) if not (ROOT / path).exists()] == []


def test_a_broken_link_a_broken_anchor_and_a_remote_script_fail_the_build(site: ModuleType, tmp_path: Path):
    pytest.importorskip("mkdocs", reason="in the dependency group docs")
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "README.md").write_text(
        "# Home\n\n[a](gone.md) [b](#gone) <script src='https://cdn.example/x.js'></script>\n"
    )
    found = "\n".join(site.build(tmp_path, tmp_path / "site", [{"Home": "README.md"}]))
    assert "gone.md" in found
    assert "#gone" in found
    assert "cdn.example" in found
