"""The diagnostics say what was sent, in the wording people know, and change nothing."""

import json
from dataclasses import replace

import pytest

from clew.budget import Policy, Region, allot
from clew.errors import NotFound
from clew.log.store import MemoryStore
from clew.memory.tools.tool import read_arguments
from clew.message import Usage
from clew.providers.formats import WIRES as FORMATS
from clew.request import Parts, Room, assemble
from clew.request.diagnostics import (
    MOST_CONTRIBUTORS,
    RequestState,
    context_budget,
    context_snapshot,
    diagnostic_tools,
    list_contributors,
    trace_summaries,
)
from clew.request.prompt_cache import CacheConditions, Call, layout_of
from clew.session import Session
from tests.request.scene import COUNTER, FENCE, RESTS, TOOLS, WIRES, passing, standing
from tests.session.talk import talk


def small():
    asks = {Region.SYSTEM: 200, Region.HISTORY: 1_500, Region.MEMORY: 700, Region.REPLY: 200}
    reserves = {Region.SUMMARY_CALL: 0, Region.NEXT_RESULT: 0}
    return RequestState(allotment=allot(4_096, {**asks, **reserves}, Policy()), compact_at_tokens=3_300)


def session():
    opened = Session.open("main", MemoryStore(), window=200_000)
    opened.add(*talk())
    opened.compact(target_tokens=3_000)
    opened.compact(target_tokens=1_500)
    return opened


def scene():
    opened = session()
    parts = Parts(
        view=opened.view(), pieces=[*standing(), *passing(1)], tools=TOOLS, fence=FENCE, room=Room(8_000)
    )
    assembled = assemble(parts, COUNTER)
    body = assembled.body("anthropic", RESTS["anthropic"])
    call = Call.after(None, layout_of(body, "anthropic", 1), Usage(4_000, 20, 0, 3_900), CacheConditions())
    return RequestState(
        allotment=allot(10_000, assembled.tokens_by_region),
        contributions=assembled.contributions,
        compactions=opened.trace(),
        last_call=call,
    )


def test_the_budget_is_told_in_one_line_and_overflows_below():
    assert context_budget(small()).text.split("\n") == [
        "System: 200 tokens, History: 1500 tokens, Memory: 390 tokens, Reserve: 200 tokens (Total=2290/4096)",
        "Overflow: memory asked for 700, got 390: notes from memory that match the task; the policy allows "
        "390 tokens",
        "Compaction starts at 3,300 tokens: 1,210 from now.",
    ]


def test_history_that_does_not_fit_makes_a_compaction_due():
    full = RequestState(allotment=allot(10_000, {Region.HISTORY: 50_000}), compact_at_tokens=8_000)
    for text in (context_budget(full).text, context_snapshot(full).text):
        assert "Compaction starts at 8,000 tokens: it is due." in text.split("\n")


def test_what_is_in_use_is_what_the_request_holds_also_if_it_does_not_fit():
    full = RequestState(allotment=allot(10_000, {Region.HISTORY: 50_000}))
    told = context_snapshot(full)
    assert told.text.startswith("50,000 of 10,000 tokens are in use, 0 are free.")
    cut = 50_000 - full.allotment.of(Region.HISTORY).given
    assert f"{cut:,}  more are in it and do not fit" in told.text
    assert told.value["used"] == 50_000


def test_the_snapshot_adds_up_to_the_window():
    value = context_snapshot(scene()).value
    assert sum(one["given"] for one in value["regions"]) + value["free"] == value["window"]
    assert (value["digests"], value["folded_digests"]) == (["d2"], {"d1": "d2"})
    assert value["last_call"]["cache"]["cause"] == "first"
    assert value["sections"]["tools"]["parts"] == 1


def test_contributors_are_the_turns_notes_and_files_that_were_sent():
    seen = scene()
    text = list_contributors(seen).text
    for expected in ("policy m1 (system)", "history d2", "instructions AGENTS.md (user)", "memory w1 (user)"):
        assert f"\n{expected}" in text
    only = list_contributors(seen, "memory").value["contributors"]
    assert [one["source"] for one in only] == ["w1"]


def test_a_summary_is_traced_to_its_turns_its_author_and_what_it_took_in():
    (first, second) = trace_summaries(scene()).value["summaries"]
    assert (first["digest"], first["level"], second["digest"], second["folds"]) == ("d1", 0, "d2", ["d1"])
    assert first["messages"] <= second["messages"]
    assert first["covers"].split("-")[0] == second["covers"].split("-")[0] == "m2"
    assert second["accepted"]
    traced = trace_summaries(scene(), "d2").text
    assert "absorbed d1" in traced
    assert f"replaces {second['messages']} messages: {second['covers']}" in traced
    assert f"from {second['messages_cited']} messages" in traced


def test_only_the_digest_in_the_view_is_active_after_three_compactions():
    opened = session()
    opened.compact(target_tokens=1_100)
    seen = replace(scene(), compactions=opened.trace())
    in_view = [item.id for item in opened.view() if item.id.startswith("d")]
    traced = trace_summaries(seen)
    assert context_snapshot(seen).value["digests"] == in_view == ["d3"]
    assert {one["digest"]: one["folded_into"] for one in traced.value["summaries"]} == {
        "d1": "d2",
        "d2": "d3",
        "d3": None,
    }
    heads = [line for line in traced.text.split("\n") if line.startswith("d")]
    assert [line.partition(" (folded into ")[2] for line in heads] == ["d2)", "d3)", ""]


def test_a_summary_that_is_not_there_is_an_error_that_names_those_that_are():
    with pytest.raises(NotFound, match=r"summaries: d1 \(folded into d2\), d2"):
        trace_summaries(scene(), "d9")
    assert "No active summary" in trace_summaries(small()).text


def test_the_tools_bear_the_names_people_know_and_change_nothing():
    seen = scene()
    tools = diagnostic_tools(lambda: seen)
    assert [tool.name for tool in tools] == [
        "contextSnapshot",
        "listContributors",
        "traceSummaries",
        "contextBudget",
    ]
    assert all(tool.read_only for tool in tools)
    answers = [tool.does(None, read_arguments(tool.parameters, {})).text for tool in tools]
    assert answers[0] == context_snapshot(seen).text
    assert answers[3] == context_budget(seen).text


@pytest.mark.parametrize("wire", WIRES)
def test_the_tools_can_be_offered_on_every_wire(wire):
    opened = session()
    parts = Parts(view=opened.view(), tools=diagnostic_tools(small))
    body = assemble(parts, COUNTER).body(wire, RESTS[wire])
    assert not FORMATS[wire].check(body).refused
    assert "traceSummaries" in json.dumps(body)


def test_contributors_left_out_are_listed_up_to_the_limit():
    seen = scene()
    out = [replace(seen.contributions[0], given=0)] * (MOST_CONTRIBUTORS + 3)
    lines = list_contributors(replace(seen, contributions=out)).text.split("\n")
    assert sum(line.startswith("left out: ") for line in lines) == MOST_CONTRIBUTORS
    assert lines[-1] == "and 3 earlier ones left out"


def test_the_pinned_section_can_be_asked_for():
    seen = scene()
    listing = next(tool for tool in diagnostic_tools(lambda: seen) if tool.name == "listContributors")
    assert read_arguments(listing.parameters, {"section": "pinned"}) == {"section": "pinned"}


def test_a_session_without_a_summary_is_not_called_verbatim():
    assert "verbatim" not in trace_summaries(small()).text  # its outputs may be shortened
