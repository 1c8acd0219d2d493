"""``clew bill``: the whole bill of real sessions, three ways, checked against sums done by hand."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from clew.message import Message, Origin, Role
from clew.message import text_message as said_by
from clew.transcripts import Boundary, Entry, Start, Transcript, Usage, load
from clew.transcripts.messages import relabel
from clew_evals.whole_bill import bills_of
from tests.cli.homes import Home, home, is_golden
from tests.conftest import real_data

__all__ = ["home"]

MODEL = "claude-opus-4-5"
"""$5 for a million tokens of input, $25 of output; reading the cache costs a tenth, writing 1.25 times."""


def entry(name: str, message: Message, usage: Usage | None = None, minute: int = 0) -> Entry:
    return Entry(message, name, time=f"2026-11-02T09:{minute:02}:00Z", model=MODEL, usage=usage)


def asked(name: str, words: str = "go on") -> Entry:
    return entry(name, said_by(Role.USER, words))


def replied(name: str, prompt: int, read: int, written: int, output: int, minute: int = 0) -> Entry:
    return entry(name, said_by(Role.ASSISTANT, "ok"), Usage(prompt, output, read, written), minute)


def session(*records: Entry | Boundary) -> Transcript:
    return Transcript(Start("s", "claude-code", model=MODEL), records)


PLAIN = (
    asked("u1"),
    replied("a1", 10_010, 0, 10_000, 100),
    asked("u2"),
    replied("a2", 11_010, 10_000, 1_000, 200, 1),
)


def test_what_the_provider_reported_is_priced_as_it_is():
    bills = bills_of(session(*PLAIN))
    assert bills is not None
    bill = bills.as_it_was
    assert bill.input == pytest.approx(20 * 5e-6)
    assert bill.cache_reads == pytest.approx(10_000 * 0.5e-6)
    assert bill.cache_writes == pytest.approx(11_000 * 6.25e-6)
    assert bill.output == pytest.approx(300 * 25e-6)
    assert bill.total == pytest.approx(sum((bill.input, bill.cache_reads, bill.cache_writes, bill.output)))
    assert (bills.requests, bills.reported, bills.priced, bills.models) == (2, 2, True, (MODEL,))


def test_a_session_that_nobody_compacted_costs_the_same_in_every_way():
    bills = bills_of(session(*PLAIN))
    assert bills is not None
    assert bills.as_it_was == bills.uncompacted == bills.with_clew
    assert bills.saving == 0


def compacted() -> Transcript:
    summary = relabel(said_by(Role.USER, "A summary of the work. " * 50), Origin.SUMMARY)
    return session(
        *PLAIN,
        Boundary("b1", tokens_before=11_500),
        Entry(summary, "s1"),
        asked("u3"),
        replied("a3", 4_000, 2_000, 2_000, 100, 2),
        asked("u4"),
        replied("a4", 4_500, 4_000, 500, 100, 3),
    )


def test_a_summary_is_part_of_the_bill_and_what_it_spared_is_counted():
    bills = bills_of(compacted())
    assert bills is not None
    was, without = bills.as_it_was, bills.uncompacted
    assert was.summaries > 11_500 * 0.5e-6  # read from the cache, and written
    assert (was.compactions, without.compactions, without.summaries) == (1, 0, 0.0)
    assert was.largest_request == 11_010
    # The next request grows by the user's words alone, the last one as it really did: by 500 tokens.
    assert 11_500 < without.largest_request < 11_800
    assert without.cache_reads > was.cache_reads


def test_after_a_break_nothing_is_read_from_the_cache_whatever_is_in_view():
    late = tuple(
        Entry(
            one.message, one.id, time=one.time.replace("T09:02", "T11:02"), model=one.model, usage=one.usage
        )
        if isinstance(one, Entry) and one.id == "a3" and one.time
        else one
        for one in compacted().records
    )
    warm, cold = bills_of(compacted()), bills_of(session(*late))
    assert warm is not None
    assert cold is not None
    assert cold.uncompacted.cache_writes > warm.uncompacted.cache_writes + 10_000 * 5e-6


def test_entries_of_one_reply_are_one_request():
    parts = (
        asked("u1"),
        entry("a1", said_by(Role.ASSISTANT, "thinking")),
        entry("a2", said_by(Role.ASSISTANT, "done"), Usage(1_000, 50)),
        asked("u2"),
        entry("a3", said_by(Role.ASSISTANT, "first"), Usage(1_100, 50)),
        entry("a4", said_by(Role.ASSISTANT, "second")),
        entry("a5", said_by(Role.ASSISTANT, "another"), Usage(1_200, 50)),
    )
    bills = bills_of(session(*parts))
    assert bills is not None
    assert (bills.requests, bills.reported) == (3, 3)


def test_a_model_without_a_price_is_billed_in_tokens():
    records = (
        asked("u1"),
        Entry(said_by(Role.ASSISTANT, "ok"), "a1", model="nobody-1", usage=Usage(1_000_000, 0)),
    )
    bills = bills_of(Transcript(Start("s", "codex"), records))
    assert bills is not None
    assert not bills.priced
    assert bills.as_it_was.input == pytest.approx(1.0)


def test_one_model_without_a_price_bills_all_of_a_session_in_tokens():
    records = (
        asked("u1"),
        replied("a1", 1_000_000, 0, 0, 100_000),
        asked("u2"),
        Entry(said_by(Role.ASSISTANT, "ok"), "a2", model="nobody-1", usage=Usage(1_000_000, 100_000)),
    )
    bills = bills_of(session(*records))
    assert bills is not None
    assert not bills.priced
    assert bills.as_it_was.input == pytest.approx(2.0)  # not $5 and a million tokens
    assert bills.as_it_was.output == pytest.approx(2 * 5 * 0.1)


def test_nothing_to_price_is_none():
    assert bills_of(session(asked("u1"))) is None


@pytest.fixture
def plain_clew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clew always compact to 3,000 tokens: the golden files are about the bill."""
    fitted = SimpleNamespace(changed=True, tokens_after=3_000)
    monkeypatch.setattr("clew_evals.whole_bill.compact", lambda *_args, **_options: fitted)
    monkeypatch.setattr("clew_evals.cli.bill.prices_date", lambda: "2026-11-15")
    monkeypatch.setattr("os.cpu_count", lambda: 1)


@pytest.mark.usefixtures("plain_clew")
@pytest.mark.parametrize("columns", [80, 40])
def test_one_bill_and_many_fit_the_terminal(home: Home, columns: int):
    one = home.run("bill", "3f2a9c10", columns=columns)
    many = home.run("bill", "--all", columns=columns)
    assert is_golden(f"bill-{columns}.txt", one)
    assert is_golden(f"bill-all-{columns}.txt", many)
    assert max(map(len, (one + many).splitlines())) <= columns


@pytest.mark.usefixtures("plain_clew")
def test_the_parts_add_up_for_other_programs(home: Home):
    told = json.loads(home.run("bill", "3f2a9c10", "--json"))
    (row,) = told["sessions"]
    parts = ("input", "cache_reads", "cache_writes", "output", "summaries")
    for way, total in row["totals"].items():
        assert sum(row[way][part] for part in parts) == pytest.approx(total)
    assert row["saving"] == pytest.approx(row["totals"]["as_it_was"] - row["totals"]["with_clew"])
    assert told["prices"] == "2026-11-15"


def test_a_session_that_is_not_there_is_one_line(home: Home):
    (home.path / "notes.txt").write_text("dear diary")
    assert "text that starts with 'dear diary'" in home.run("bill", "notes.txt", status=2)
    assert home.run("bill", "nothing-here", status=2).startswith("clew: no file and no session")
    assert home.run("bill", "nothing.jsonl", status=2).startswith("clew: no file and no session")


def test_a_real_session_is_replayed_with_the_real_compactor():
    path = next((real_data("transcripts") / "claude-code-entire-cli").glob("2026-01-08-0442a060*"))
    (found,) = load(path)
    bills = bills_of(found)
    assert bills is not None
    assert bills.reported == bills.requests > 200
    assert bills.with_clew.compactions >= 1
    assert bills.with_clew.over_window == 0 < bills.uncompacted.over_window
    assert bills.with_clew.summaries == 0 < bills.as_it_was.summaries
