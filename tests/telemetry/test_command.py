"""``clew trace SESSION --jsonl``."""

from __future__ import annotations

import json

from tests.cli.conftest import EXAMPLE, Run, clew

__all__ = ["clew"]


def test_all_that_happened_is_a_json_object_a_line(clew: Run) -> None:
    clew("import", str(EXAMPLE))
    done = clew("trace", "mini-swe-agent:sphinx-9229", "--jsonl")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert {one["seq"] for one in told} == set(range(1, 288))
    assert any(one["name"].startswith("execute_tool ") for one in told)
