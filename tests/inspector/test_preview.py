"""What a preview says would leave the view."""

from __future__ import annotations

import pytest

from clew.inspector.actions import _is_named

DIGEST = "~ modified in /p/cli/: cmd/hooks.go, docs/wingman.md\n~ read: /p/a.py"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/p/cli/cmd/hooks.go", True),
        ("/p/cli/docs/wingman.md", True),
        ("/p/a.py", True),
        ("/p/cli/hooks.go", False),
        ("/q/cli/cmd/hooks.go", False),
        ("/p/cli/docs/wingman.mdx", False),
        ("a.py", True),
        ("p.py", False),
        ("/p/a.p", False),
    ],
)
def test_a_file_is_named_by_its_path_or_by_folder_and_the_rest(path: str, named: bool):
    assert _is_named(path, DIGEST) is named
