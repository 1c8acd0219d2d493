"""An exported story is one file that runs nothing, fetches nothing and keeps secrets."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.inspector.export import export_session
from clew.message import Role, text_message
from clew.session import Session
from tests.inspector.house import EVIL, TOUR, House


class Tags(HTMLParser):
    """Notes every tag, its attributes, and which ids links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.add(value)
            if name == "href":
                self.links.add(value)


def told(house: House, name: str, tmp_path: Path) -> tuple[str, Tags]:
    path = tmp_path / "story.html"
    assert export_session(house.pool, name, path) == path.stat().st_size
    text = path.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    return text, tags


def test_every_source_of_a_digest_is_a_link_that_leads_to_its_message(house: House, tmp_path: Path):
    _, tags = told(house, TOUR, tmp_path)
    assert {f"m{number}" for number in range(1, 127)} <= tags.ids
    assert {link[1:] for link in tags.links} <= tags.ids


def test_markup_in_a_transcript_stays_text(house: House, tmp_path: Path):
    text, tags = told(house, EVIL, tmp_path)
    assert tags.tags.isdisjoint({"script", "img", "iframe", "link", "textarea"})
    assert not any(name.startswith("on") for name in tags.attributes)
    assert all(link.startswith("#") for link in tags.links)
    assert "&lt;script&gt;" in text


def test_a_secret_is_masked(house: House, tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    Session.open("s", house.store).add(text_message(Role.USER, f"my token is {secret}, use it"))
    text, _ = told(house, "s", tmp_path)
    assert secret not in text
    assert re.search(r"\[secret:[^\]]+\]", text)


def test_a_file_that_is_there_is_not_overwritten(house: House, tmp_path: Path):
    (tmp_path / "story.html").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        export_session(house.pool, TOUR, tmp_path / "story.html")
    assert (tmp_path / "story.html").read_text() == "mine"
