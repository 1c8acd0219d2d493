"""The reader's plumbing, with a copy model: a view that holds what comes next is read better than others."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from reader.cuts import KINDS, cut_at, cuts, rows_of, with_values
from reader.models import CopyReader
from reader.policies import Policies, block
from reader.report import better_in, gain, interval, nats, page, recovered, values_read
from reader.score import Continuation, contexts_of, prepared, scored

from clew.message import Role
from tests.evals.sessions import agent, call, result, user

SCORE = Path(__file__).parents[2] / "bench" / "reader" / "score.py"
FILLER = "nothing of note happens in this line of output at all\n" * 30


def history(turns: int = 12):
    messages = [user("Make the upload worker retry, please, and never touch the legacy folder.")]
    for n in range(turns):
        messages += [
            agent(f"Next is stage {n}."),
            call(n, "read", path=f"src/app/stage_{n}.py"),
            result(n, f"the limit of stage {n} is limit_of_stage_{n}\n{FILLER}"),
        ]
    return messages


@pytest.fixture
def reader() -> CopyReader:
    return CopyReader()


@pytest.fixture
def row():
    prefix = rows_of(history())
    later = rows_of(
        [agent("As seen, the limit of stage 3 is limit_of_stage_3 and that of 11 is limit_of_stage_11.")]
    )
    views = {
        "clew@0.1": [{"role": "user", "text": "the limit of stage 3 is limit_of_stage_3", "spoken": False}],
        "other@0.1": [{"role": "user", "text": "there were twelve stages with limits", "spoken": False}],
    }
    continuation = with_values(prefix, later)
    return {
        "id": "short/a", "set": "s", "tool": "t", "kind": "short",
        "prefix": prefix, "continuation": continuation, "views": views,
    }  # fmt: skip


def test_a_text_survives_its_tokens(reader: CopyReader):
    text = block({"role": "user", "text": "päth/to_file.py  has\n\n3 lines!"})
    ids, spans = reader.offsets(text)
    assert reader.decode(ids) == text
    assert [text[a:b] for a, b in spans] == [reader.decode([one]) for one in ids]


def test_what_was_read_before_is_expected_and_what_was_not_is_dear(reader: CopyReader):
    context = reader.encode("the answer is forty two.")
    seen = reader.read([*context, *reader.encode(" the answer is forty two.")], len(context))
    fresh = reader.read([*context, *reader.encode(" unheard words of another kind")], len(context))
    assert sum(seen.expected) >= 4
    assert not any(fresh.expected)
    assert sum(seen.nats) / len(seen.nats) < sum(fresh.nats) / len(fresh.nats)


@pytest.mark.parametrize("room", [150, 400, 900])
def test_plain_policies_keep_to_the_room(room: int, reader: CopyReader):
    policies = Policies(reader)
    views = policies.views(rows_of(history()), room)
    assert set(views) == {"recent", "first+recent", "masked", "story+calls+recent", "graded40", "graded60"}
    assert {
        name: policies.size(view) for name, view in views.items() if policies.size(view) > room * 1.05
    } == {}


def test_older_messages_fade_and_newer_ones_do_not(reader: CopyReader):
    rows = rows_of(history())
    view = Policies(reader).graded(rows, 1_500, 0.4)
    assert view[-1] == rows[-1]
    assert any("[... 29 lines]" in row["text"] for row in view)
    assert not any("[old output omitted]" in row["text"] for row in view)


def test_only_the_agents_words_count_and_values_lie_where_they_are(row, reader: CopyReader):
    planned = Continuation.of([{"role": "user", "text": "go"}, *row["continuation"]], reader)
    said = reader.decode([planned.ids[place] for place in planned.counted])
    assert said == row["continuation"][0]["text"]
    read = [reader.decode(planned.ids[a:b]).strip() for a, b in planned.values]
    assert read == ["limit_of_stage_3", "limit_of_stage_11"]


def test_a_view_with_what_comes_next_is_read_better(row, reader: CopyReader):
    found = scored(prepared(row, reader), reader)
    assert found is not None
    cut = found["contexts"]
    assert set(cut) > {"none", "full", "clew@0.1", "other@0.1", "recent@0.1", "graded60@0.1"}
    assert cut["full"]["nats"] < cut["clew@0.1"]["nats"] < cut["other@0.1"]["nats"]
    assert cut["clew@0.1"]["read"] >= 1 > cut["other@0.1"]["read"]
    assert 0 < recovered([cut], "clew@0.1") < 1


def test_policies_get_as_many_tokens_as_clew(row, reader: CopyReader):
    row["views"]["clew@0.1"] *= 20
    sizes = {name: Policies(reader).size(view) for name, view in contexts_of(row, reader)}
    room = sizes["clew@0.1"]
    assert all(size <= room * 1.05 for name, size in sizes.items() if name not in ("full", "none"))


def test_a_scorer_runs_without_clew_and_goes_on_where_it_stopped(row, tmp_path: Path):
    packed, out = tmp_path / "cuts.jsonl.gz", tmp_path / "scores.jsonl"
    with gzip.open(packed, "wt", encoding="utf-8") as lines:
        for name in ("a", "b"):
            lines.write(json.dumps({**row, "id": name}) + "\n")
    hide = "import sys; sys.modules['clew'] = sys.modules['zstandard'] = sys.modules['torch'] = None; "
    start = f"import runpy; sys.argv = ['score.py', {str(out)!r}, {str(packed)!r}, '--copy', *sys.argv[1:]]; "
    program = f"{hide}{start}runpy.run_path({str(SCORE)!r}, run_name='__main__')"
    for more in (["--seconds", "0"], [], []):
        subprocess.run([sys.executable, "-c", program, *more], check=True, stdout=subprocess.PIPE)
    ids = [json.loads(line)["id"] for line in out.read_text().splitlines()]
    assert ids == ["a", "b"]


def test_figures_are_over_tokens_and_intervals_by_cut():
    cuts = [
        {"none": _read(40, 10), "full": _read(10, 10), "clew@0.1": _read(20, 10, 3)},
        {"none": _read(60, 30), "full": _read(30, 30), "clew@0.1": _read(30, 30, 1)},
    ]
    assert nats(cuts, "none") == 100 / 40
    assert gain(cuts, "clew@0.1") == 50 / 40
    assert recovered(cuts, "clew@0.1") == pytest.approx(50 / 60)
    assert values_read(cuts, "clew@0.1") == 4 / 8
    assert better_in(cuts, "clew@0.1", "none") == 2
    low, high = interval(cuts, lambda some: gain(some, "clew@0.1"))
    assert low <= gain(cuts, "clew@0.1") <= high


def _read(nats_read: float, counted: int, read: int = 0):
    return {"nats": nats_read, "counted": counted, "values": 4, "read": read, "tokens": 100}


def test_a_page_ranks_policies_and_names_tools():
    rows = [
        {
            "id": f"{tool}{n}", "set": f"set-{tool}", "tool": tool, "kind": "short",
            "contexts": {
                "none": _read(40, 10), "full": _read(10, 10),
                "clew@0.1": _read(20, 10, 3), "recent@0.1": _read(25, 10, 2),
            },
        }
        for tool in ("one", "two")
        for n in range(3)
    ]  # fmt: skip
    text = "\n".join(page(rows, "command", "copy"))
    assert "At 10%: 6 cuts" in text
    assert text.index("**clew**") < text.index("| recent")
    assert "| one | 3 | 2.000 | recent | 1.500 | +0.500 [+0.500, +0.500] |" in text


def test_cuts_are_before_a_reply_and_the_same_for_a_seed(tmp_path: Path):
    messages = history(60)
    kind = KINDS["short"]._replace(least=500)
    at = cut_at(messages, kind, random.Random(1))
    assert at is not None
    assert messages[at].role is Role.ASSISTANT
    assert at == cut_at(messages, kind, random.Random(1))
    assert list(cuts([tmp_path], "short", 7, None)) == []
