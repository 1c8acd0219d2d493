"""``clew secrets``: what would be masked, and never the secret itself."""

from __future__ import annotations

import json

from tests.cli.conftest import Run, clew
from tests.secrets.corpus import samples

__all__ = ["clew"]
TOKEN = next(sample.text for sample in samples(4) if sample.rule == "github-token")
TEXT = f"first\nexport GH={TOKEN}\n"


def test_it_tells_the_place_and_the_kind_and_hides_the_secret(clew: Run) -> None:
    done = clew("secrets", "-", stdin=TEXT.encode())
    assert done.returncode == 1
    assert done.stdout.startswith("2:11         [secret:github-token:")
    assert "a GitHub token" in done.stdout
    assert TOKEN not in done.stdout + done.stderr


def test_other_programs_get_json(clew: Run) -> None:
    (row,) = json.loads(clew("secrets", "-", "--json", stdin=TEXT.encode()).stdout)
    assert (row["line"], row["column"], row["rule"], row["characters"]) == (2, 11, "github-token", len(TOKEN))


def test_the_mask_is_the_same_from_run_to_run(clew: Run) -> None:
    first, second = (clew("secrets", "-", "--json", stdin=TEXT.encode()).stdout for _ in range(2))
    assert first == second


def test_clean_text_is_said_to_be_clean(clew: Run) -> None:
    done = clew("secrets", "-", stdin=b"nothing here\n")
    assert (done.returncode, done.stdout) == (0, "No secrets found.\n")
