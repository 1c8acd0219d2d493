"""A change of what the rule finder finds or ends needs a new version number, which logs record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from clew.message import Role, text_message
from clew.rules import find_candidates, retire
from clew.rules.findings import FINDER, findings_to_json

HERE = Path(__file__).parent
EVERY = 9
"""One sentence in so many is enough to notice a change."""
CHECKSUMS = {
    2: "5ed017319328540c",
    3: "6054327db315dacf",
    4: "28e68eb979744e11",
    5: "5f0a3dad4d241914",
    6: "6142070e37df1641",
    7: "e0d2db76726865fc",
    8: "0b041a3ac6f297e2",
    9: "c49b9395a1d40ca5",
    10: "c49b9395a1d40ca5",
    11: "c49b9395a1d40ca5",
    12: "c49b9395a1d40ca5",
    13: "c49b9395a1d40ca5",
    14: "daeb9d0dba1971c1",
    15: "daeb9d0dba1971c1",
    16: "f925a8e0a5f30956",
    17: "f925a8e0a5f30956",
}
"""By version of the finder. If the test fails, increment ``FINDER`` and add its checksum here."""


def rows(name: str) -> list[dict[str, str]]:
    lines = HERE.joinpath(name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[::EVERY]]


def test_the_finder_has_a_new_version_if_it_finds_other_rules():
    found: list[object] = []
    for row in rows("fresh.jsonl"):
        found.append(findings_to_json(tuple(find_candidates(text_message(Role.USER, row["text"]))), 1, 0))
    for row in rows("ends.jsonl"):
        rules = [
            replace(one, id=row["rule"]) for one in find_candidates(text_message(Role.USER, row["rule"]))
        ]
        ends = retire(rules, text_message(Role.USER, row["text"]))
        found.append([[end.rule, end.how, *end.span, end.why, end.certain] for end in ends])
    written = json.dumps(found, ensure_ascii=False, sort_keys=True).encode()
    assert hashlib.sha256(written).hexdigest()[:16] == CHECKSUMS[FINDER]
