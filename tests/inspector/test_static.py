"""The pages are plain files: nothing is fetched from elsewhere, and no text can become markup."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from clew.inspector.app import STATIC

OWN = sorted(
    path
    for path in STATIC.rglob("*")
    if path.suffix in {".js", ".css", ".html"} and "vendor" not in path.parts
)
VENDOR = STATIC / "vendor"


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_page_asks_anybody_else(path: Path):
    assert re.findall(r"https?://|//cdn|@import|url\(", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_text_becomes_markup(path: Path):
    risky = r"innerHTML|outerHTML|AdjacentHTML|dangerouslySet|document\.write|eval\(|new Function|\son\w+=\""
    assert re.findall(risky, path.read_text(encoding="utf-8")) == []


def test_vendored_files_are_those_that_were_published():
    for line in (VENDOR / "sha256sums.txt").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


def test_every_vendored_library_has_its_licence():
    assert sorted(path.name for path in VENDOR.glob("LICENSE-*")) == [
        "LICENSE-htm.txt",
        "LICENSE-preact.txt",
    ]


def test_every_module_that_is_imported_is_there():
    for path in OWN:
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text(encoding="utf-8")):
            assert (path.parent / name).resolve().is_file(), (path.name, name)


def test_pages_are_readable_source():
    assert [path.name for path in OWN if len(path.read_text(encoding="utf-8").splitlines()) > 300] == []
