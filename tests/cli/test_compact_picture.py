"""The picture in the docs is what a terminal shows today."""

from __future__ import annotations

import sys

from tests.cli.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import compaction_picture


def test_the_picture_in_the_docs_is_fresh():
    assert compaction_picture.PICTURE.read_text(encoding="utf-8") == compaction_picture.picture()


def test_the_picture_asks_nobody_for_anything():
    assert "url(http" not in compaction_picture.FRAME
    assert "@import" not in compaction_picture.FRAME
