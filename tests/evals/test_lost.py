"""What a tool lost at its own compaction is told from the record it kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clew.evals import POLICIES, Study, session_files, summarised
from clew.evals.lost import Lost, lost_by_tools
from tests.conftest import real_data
from tests.evals.sessions import FILLER

PLAN = Study(tuple(POLICIES.values()), least_tokens=1_000, jobs=1)


def line(number: int, role: str, content: object, **more: object) -> str:
    kind = "assistant" if role == "assistant" else "user"
    message = {"role": role, "content": content}
    base = {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s1",
        "timestamp": f"2026-01-01T00:{number:02d}:00Z",
    }
    parent = f"u{number - 1}" if number else None
    return json.dumps({**base, "parentUuid": parent, "message": message, **more})


def compacted_session(path: Path) -> Path:
    lines = [line(0, "user", "Mend the upload. Never touch files under legacy/ at all.")]
    lines += [line(n, "assistant" if n % 2 else "user", f"step {n} {FILLER}") for n in range(1, 23)]
    lines.append(line(23, "assistant", "the retry limit of the upload is upload_retry_cap in this module"))
    lines.append(
        json.dumps(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "uuid": "b1",
                "sessionId": "s1",
                "parentUuid": None,
                "logicalParentUuid": "u23",
                "timestamp": "2026-01-01T00:24:00Z",
                "compactMetadata": {"trigger": "auto", "preTokens": 9000},
            }
        )
    )
    lines.append(line(25, "user", "We were mending something.", isCompactSummary=True, parentUuid="b1"))
    lines += [line(n, "assistant" if n % 2 == 0 else "user", f"later {n}") for n in range(26, 35)]
    lines.append(line(35, "assistant", "I set upload_retry_cap now."))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def lost(tmp_path: Path) -> list[Lost]:
    return lost_by_tools(session_files([compacted_session(tmp_path / "s1.jsonl")]), PLAN, {})


def test_values_and_rules_that_the_summary_does_not_hold_are_lost(lost: list[Lost]):
    (one,) = lost
    assert [probe.value for probe in one.values] == ["upload_retry_cap"]
    assert one.rules == ("Never touch files under legacy/ at all.",)
    assert (one.trigger, one.time) == ("auto", "2026-01-01T00:24:00Z")
    assert one.tokens_after < one.tokens_before
    assert one.score.retained == 0


def test_both_sides_are_rows_of_a_study(lost: list[Lost]):
    lines = summarised(replace(row, share=0.0) for one in lost for row in one.rows())
    assert [line.policy for line in lines] == ["its own tool", "clew"]


@pytest.mark.slow
def test_real_summaries_keep_what_others_measured():
    files = session_files([real_data("transcripts") / "claude-code-entire-cli"])[:12]
    theirs = summarised(
        replace(row, share=0.0) for one in lost_by_tools(files, PLAN, {}) for row in one.rows()
    )[0]
    assert 0.6 < theirs.means["retained"].value < 0.95
    assert theirs.means["share"].value < 0.1
