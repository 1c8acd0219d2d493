"""Rules that came with an import are announced, listed apart, and confirmed by one command."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.session.test_imported_rules import EVIL, exported, theirs


def test_an_import_and_a_listing_say_so(clew: Run, tmp_path: Path):
    file = tmp_path / "story.clew"
    file.write_bytes(exported(theirs()))
    told = clew("import", str(file)).stdout
    assert "1 rule set by hand in the imported file, not in force here:" in told
    assert f"? p2   {EVIL}" in told
    assert "`clew pin story --confirm`" in told
    assert EVIL in clew("pin", "story").stdout.split("not in force here")[1]
    assert f"* p2   {EVIL}" in clew("pin", "story", "--confirm").stdout
    assert "imported" not in clew("pin", "story").stdout
