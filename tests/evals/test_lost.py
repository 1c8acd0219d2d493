"""What a tool lost at its own compaction is told from the record it kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew_evals import POLICIES, Study, session_files
from clew_evals.tool_compactions import (
    SEALED,
    TOO_SHORT,
    NeededCounts,
    OwnCompactions,
    ToolLoss,
    Unjudged,
    loss_sentences,
    lost_by_tools,
    tool_and_clew_lines,
    use_of,
)
from tests.conftest import real_data, tries
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


def compacted_session(path: Path, summary: str = "We were mending something.", after: int = 9) -> Path:
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
    lines.append(line(25, "user", summary, isCompactSummary=True, parentUuid="b1"))
    later = range(26, 26 + after)
    lines += [line(n, "assistant" if n % 2 == 0 else "user", f"later {n}") for n in later]
    lines.append(line(later.stop, "assistant", "I set upload_retry_cap now."))
    path.write_text("\n".join(lines))
    return path


def found(path: Path) -> OwnCompactions:
    return lost_by_tools(session_files([path]), PLAN, {})


@pytest.fixture
def own(tmp_path: Path) -> OwnCompactions:
    return found(compacted_session(tmp_path / "s1.jsonl"))


@pytest.fixture
def lost(own: OwnCompactions) -> ToolLoss:
    (one,) = own.judged
    return one


def test_values_and_rules_that_the_summary_does_not_hold_are_lost(lost: ToolLoss):
    assert [probe.value for probe in lost.values] == ["upload_retry_cap"]
    assert lost.rules == ("Never touch files under legacy/ at all.",)
    assert lost.asked == NeededCounts(values=1, again=0, rules=1, open=0, files=0)
    assert (lost.trigger, lost.time) == ("auto", "2026-01-01T00:24:00Z")
    assert lost.tokens_after < lost.tokens_before
    assert (lost.score.retained, lost.score.seconds, lost.score.calls) == (0, None, None)


def test_a_summary_that_holds_them_has_lost_nothing(tmp_path: Path):
    summary = "Never touch files under legacy/ at all. The retry limit is upload_retry_cap."
    (one,) = found(compacted_session(tmp_path / "s1.jsonl", summary)).judged
    assert (one.values, one.rules, one.score.retained) == ((), (), 1)


def test_the_loss_is_explained_in_words(own: OwnCompactions, lost: ToolLoss):
    words = list(loss_sentences(own))
    assert words[0].endswith("each time (claude-code; 1 judged).")
    assert words[1].startswith(
        "Of the values that the work needed afterwards, 1 of 1 were gone; after clew's"
    )
    assert words[-1] == "Gone were also: 1 of 1 rules of the user's."
    assert use_of(lost.values[0]) == ("I set ", "upload_retry_cap", " now.")


def test_what_cannot_be_judged_is_counted_and_not_passed_over(tmp_path: Path):
    sealed = found(compacted_session(tmp_path / "sealed.jsonl", summary=""))
    short = found(compacted_session(tmp_path / "short.jsonl", after=3))
    assert (sealed.judged, sealed.unjudged) == ((), (Unjudged("2026-01-01T00:24:00Z", SEALED),))
    assert (short.judged, short.unjudged) == ((), (Unjudged("2026-01-01T00:24:00Z", TOO_SHORT),))
    assert list(loss_sentences(sealed)) == ["Not judged: 1, because its summary is sealed."]


def test_a_session_that_was_resumed_counts_its_compactions_once(tmp_path: Path, lost: ToolLoss):
    compacted_session(tmp_path / "copy.jsonl")
    both = found(tmp_path)
    assert [one.words_mark for one in both.judged] == [lost.words_mark]


def test_both_sides_are_lines_of_one_table(lost: ToolLoss):
    assert [line.policy for line in tool_and_clew_lines([lost])] == ["its own tool", "clew"]


@pytest.mark.slow
def test_real_summaries_keep_what_others_measured():
    files = session_files([real_data("transcripts") / "claude-code-entire-cli"])[: tries(6, 12)]
    theirs = tool_and_clew_lines(lost_by_tools(files, PLAN, {}).judged)[0]
    assert 0.6 < theirs.means["retained"].value < 0.95
    assert theirs.means["share"].value < 0.1
