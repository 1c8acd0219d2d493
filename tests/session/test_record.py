"""The record of a compaction: what it covered, with which tools, and by name what left the view."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from clew.cli import main
from clew.compaction.plan.digest import checksum, spans
from clew.compaction.verify import Report, render_report
from clew.compaction.verify.report import LossKind
from clew.errors import NotFound
from clew.log.store import MemoryStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message, words
from clew.session import Session
from tests.session.talk import talk


@pytest.fixture
def compacted(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    with Session.open("s", window=32_000) as session:
        session.add(*talk(12))
        session.compact(target_tokens=1_200)
        yield session


def trace(capsys, *more):
    assert main(["trace", "s", *more]) == 0
    return capsys.readouterr().out


def test_the_event_names_the_tools_and_another_process_reads_them(compacted):
    assert compacted.trace()[-1].tools == ("read_file",)
    with Session.open("s") as again:
        assert again.trace()[-1].tools == ("read_file",)


def test_trace_prints_checksum_tools_and_losses(compacted, capsys):
    made = compacted.trace()[-1]
    told = trace(capsys)
    assert made.digest.checksum[:20] in told
    assert "read_file" in told
    (row,) = json.loads(trace(capsys, "--json"))["compactions"]
    assert (row["checksum"], row["prompt_version"], row["tools"]) == (
        made.digest.checksum,
        None,
        ["read_file"],
    )
    assert [one["text"] for one in row["lost"]] == [one.text for one in made.report.lost] != []


def test_the_report_names_what_left(compacted, capsys):
    lost = compacted.trace()[-1].report.lost
    told = trace(capsys, "--report", "d1")
    assert "Exact values not in the new view:" in told
    assert lost[0].text in told
    assert told.strip() == render_report(compacted.trace()[-1].report).strip()


def test_the_report_names_the_values_that_the_digest_keeps(compacted, capsys):
    made = compacted.trace()[-1]
    kept = made.report.kept_values
    assert kept
    shown = "\n".join(words(part) for item in compacted.view() for part in item.message.parts)
    assert [value for value in kept if value not in shown] == []
    assert kept[0] in trace(capsys, "--report", "d1")
    (row,) = json.loads(trace(capsys, "--json"))["compactions"]
    assert row["kept_values"] == list(kept)
    assert Report.from_json(made.report.to_json()) == made.report


def test_a_compaction_that_only_prunes_records_what_it_changed_and_its_checksum(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    listing = "\n".join(f"{n}: the same listing of the same folder" for n in range(120))
    with Session.open("s", window=40_000) as session:
        session.add(text_message(Role.USER, "Look at every folder."))
        for n in range(20):
            call = ToolCall(f"c{n}", "list", {"of": n}, trust=Trust.ASSISTANT)
            session.add(
                Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (ToolResult(f"c{n}", (Text(listing),)),))
            )
        before = session.view()
        made = session.compact(target_tokens=session.tokens // 2)
        changed = [old for old, new in zip(before, session.view(), strict=True) if old != new]
    assert made.digest is None
    assert made.covers == made.shortened == tuple(item.id for item in changed) != ()
    assert made.checksum == checksum(changed)
    with Session.open("s") as again:
        assert again.trace()[-1].checksum == made.checksum
    assert made.checksum[:20] in trace(capsys)
    (row,) = json.loads(trace(capsys, "--json"))["compactions"]
    assert (row["covers"], row["checksum"]) == (spans(made.shortened), made.checksum)


def test_trace_names_every_value_on_request(compacted, capsys):
    few, all_ = trace(capsys, "--report", "d1"), trace(capsys, "--report", "d1", "--values")
    assert all_.startswith(few.split("\n", 1)[0])
    for item in compacted.losses("d1").lost:
        assert f"{item.source}  {' '.join(item.text.split())[:40]}" in all_


def test_every_value_that_left_can_be_named_later_and_the_counts_are_those_of_the_record():
    session = Session.open("s", MemoryStore())
    session.add(text_message(Role.USER, "Look at all tables."))
    for n in range(60):
        call = ToolCall(f"c{n}", "Read", {"path": f"src/table_{n}.sql"})
        rows = "\n".join(f"row_{n}_{k} host-{n}-{k}.example.net {n * 1_000 + k}" for k in range(8))
        session.add(
            Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (ToolResult(f"c{n}", (Text(rows),)),))
        )
    first = session.compact(target_tokens=3_000)
    session.add(*(text_message(Role.USER, f"Go on with {n}. " * 40) for n in range(30)))
    session.compact(target_tokens=2_000)
    session.undo()
    whole, recorded = session.losses("d1"), first.report
    assert whole.kept == recorded.kept
    assert whole.findings == recorded.findings
    (values,) = [one for one in whole.kept if one.matter is LossKind.VALUE]
    named = [one.text for one in whole.lost if one.matter is LossKind.VALUE]
    assert len(named) == values.gone > len([one for one in recorded.lost if one.matter is LossKind.VALUE])
    assert {one.text for one in recorded.lost if one.matter is LossKind.VALUE} <= {*named}
    with pytest.raises(NotFound, match="there is no compaction 'd9'"):
        session.losses("d9")


GOALS = [
    "Port the billing importer from the old SOAP service to the REST service of the finance team.",
    "Now let's write a migration that splits the customers table by region and keeps the old ids.",
    "New task: build a dashboard that shows the nightly totals of every warehouse in one place.",
]


def work(first):
    """Yield eight reads whose results differ."""
    for n in range(first, first + 8):
        call = ToolCall(f"c{n}", "Bash", {"command": f"cat feed{n}.csv"}, trust=Trust.ASSISTANT)
        rows = "\n".join(f"warehouse {n * row}: total {n + row * 7}" for row in range(60))
        yield Message(Role.ASSISTANT, (call,))
        yield Message(Role.TOOL, (ToolResult(call.call_id, (Text(rows),)),))
    yield text_message(Role.ASSISTANT, "That is done.")


@pytest.mark.parametrize("target", [3_000, 450, 300])
def test_an_earlier_goal_that_leaves_is_named_in_preview_and_record(target):
    session = Session.open("goals", MemoryStore(), window=40_000)
    for number, goal in enumerate(GOALS):
        session.add(text_message(Role.USER, goal), *work(number * 8))
    preview = session.preview(target_tokens=target).report
    done = session.compact(target_tokens=target)
    view = " ".join(words(part) for item in session.view() for part in item.message.parts)
    missing = {goal for goal in GOALS if goal[:40] not in view}
    assert GOALS[-1] not in missing
    assert bool(missing) is (target < 1_000)
    for report in (preview, done.report, Report.from_json(done.report.to_json())):
        assert {item.text for item in report.lost if item.matter is LossKind.GOAL} == missing
    if missing:
        assert "earlier goals" in render_report(done.report)
        session.add(*work(50))
        again = session.compact(target_tokens=target)
        assert not {item.text for item in again.report.lost if item.matter is LossKind.GOAL} & missing


def test_the_times_of_a_log_do_not_go_back(monkeypatch):
    ticks = itertools.count(1_800_000_000_000_000_000, 1_000_000)
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks))
    session = Session.open("s", MemoryStore(), window=8_000, model="gpt-4o")
    session.add({"role": "user", "content": "hello"}, about={"project": "x"})
    session.add({"role": "assistant", "content": "hi"})
    times = [stored.event.time for stored in session.events()]
    assert len(times) > 3
    assert times == sorted(times)


def test_what_a_rule_that_stays_says_is_not_lost_and_a_value_is_from_the_user_who_told_it():
    rule = "never rename columns of the ledger table"
    session = Session.open("s", MemoryStore())
    session.add(
        text_message(Role.USER, f"Tidy the reports. {rule}"),
        text_message(Role.ASSISTANT, f'Rule noted: "{rule}"'),
        text_message(Role.USER, "the replica is ledger-ro-4 on port 7731"),
        text_message(Role.ASSISTANT, 'You said: "the replica is ledger-ro-4 on port 7731"'),
        *(
            text_message(Role.ASSISTANT if n % 2 else Role.USER, f"Step {n} is done. " * 20)
            for n in range(30)
        ),
    )
    lost = session.preview(target_tokens=180).report.lost  # room for little more than the rule
    values = {one.text: one.source for one in lost if one.matter is LossKind.VALUE}
    assert rule not in values
    assert values["ledger-ro-4"] == values["7731"] == "m3"


def test_values_of_everyday_writing_that_left_are_on_record():
    """Order numbers, decimal commas, numbers beside Han characters, dates in words: no code needed."""
    with Session.open("orders", MemoryStore(), window=200_000) as session:
        for n in range(40):
            order, sum_ = f"P-{1_000 + 37 * n}", 100 + 13 * n
            asked = (
                f"Anota el pedido {order}: importe {sum_},90 euros, entrega {n % 27 + 1} de marzo de 2026."
            )
            noted = (
                f"已登记订单{5_000 + n}，金额{sum_}元。 The entry is in the list and can be looked up there."
            )
            session.add(text_message(Role.USER, asked), text_message(Role.ASSISTANT, noted))
        report = session.compact(target_tokens=700, forced=True).report
        view = "\n".join(item.message.text for item in session.view())
    left = {loss.text for loss in report.lost if loss.matter is LossKind.VALUE}
    gone = [f"P-{1_000 + 37 * n}" for n in range(40) if f"P-{1_000 + 37 * n}" not in view]
    assert gone
    assert {*gone} <= left
    assert any(text.endswith(",90 euros") for text in left)
    assert any(text.endswith("元") for text in left)
    assert any(text.endswith("de marzo de 2026") for text in left)
