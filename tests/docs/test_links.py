"""Links between pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("bench/*.md"),
    *ROOT.glob("examples/*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_relative_links_of_a_page_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    inside = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in inside if not (page.parent / link).exists()] == []


FENCED = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)
OWN_PATH = re.compile(
    r"`(?:uv run (?:python |pytest )?)?"
    r"((?:src/clew|src/clew_evals|tests|scripts|bench|examples|docs)/[\w./-]+)"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_paths_of_this_repository_that_a_page_names_exist(page: Path):
    named = OWN_PATH.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    assert [path for path in named if not (ROOT / path.rstrip("./")).exists()] == []


RUN = re.compile(r"^(?:\$ )?(?:uv run )?\S[^\n]*?\b((?:scripts|bench|examples)/[\w./-]+)", re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_of_this_repository_in_commands_exist(page: Path):
    commands = "\n".join(
        line
        for block in FENCED.finditer(page.read_text(encoding="utf-8"))
        for line in block[0].splitlines()
        if line.startswith(("$ ", "uv run "))
    )
    assert [path for path in RUN.findall(commands) if not (ROOT / path.rstrip("./")).exists()] == []
