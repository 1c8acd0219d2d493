"""The sessions of this computer: listed, opened as copies, and what their tools' compactions lost."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from clew.cli import inspect
from clew.cli.inspect import _with_others, own_pool
from clew.cli.log import import_transcript
from clew.compaction.plan import ClaimKind
from clew.errors import InputError
from clew.inspector import (
    actions,
    context,
    history,
    ledger_view,
    session_list,
    timeline,
    tool_compactions,
    transcript,
)
from clew.inspector.server import Server
from clew.inspector.session_pool import SessionPool
from clew.log.store import SqliteStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session
from clew.transcripts import Entry, Transcript, load
from clew.transcripts.records import Record
from tests.cli.homes import (
    CLAUDE,
    CODEX,
    COPILOT,
    MOVED,
    RULE,
    claude_session,
    codex_session,
    make_home,
)
from tests.inspector.conftest import Tab
from tests.inspector.house import House
from tests.inspector.steps import go

CLAUDE_NAME, CODEX_NAME, COPILOT_NAME = f"claude-code:{CLAUDE}", f"codex:{CODEX}", f"copilot-cli:{COPILOT}"
ARGS = argparse.Namespace(model="unknown", window=None)


def compact_copilot(home: Path) -> None:
    """Add a compaction to the session of Copilot CLI."""
    path = home / ".copilot/session-state" / COPILOT / "events.jsonl"
    lines = path.read_text().splitlines()

    def event(kind: str, n: int, **data: object) -> None:
        fields = {"id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": f"2026-10-31T08:{n:02}:00Z"}
        lines.append(json.dumps({"type": kind, **fields, "data": data}))

    for n in range(3, 20, 2):
        event("assistant.message", n, content=f"Part {n} of the car is painted red. " * 20)
        event("user.message", n + 1, content=f"And part {n + 1}?")
    event(
        "session.compaction_complete",
        21,
        success=True,
        summaryContent="The car is red.",
        preCompactionTokens=9000,
    )
    event("user.message", 22, content="Paint the wheels too.")
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionPool]:
    """Return the pool of a computer with sessions of four tools, and nothing imported."""
    home = make_home(tmp_path / "user")
    compact_copilot(home)
    for name in MOVED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    with own_pool(ARGS) as pool, _with_others(pool, ARGS, {}):
        yield pool


def test_the_model_sees_what_its_tool_left(pool: SessionPool):
    home = pool.home(CLAUDE_NAME)
    assert home.is_copy
    with home.open(CLAUDE_NAME) as handle:
        (step,) = tool_compactions.by_tool(handle)
        now = context.context_map(handle, None)
        before = context.context_map(handle, step["seq"] - 1)
        about = session_list.about_session(home, handle)
        standing = transcript.visibility(handle, 1, handle.message_index.messages)
    assert [block["id"] for block in now["blocks"]][:2] == ["c1", f"m{step['at'] + 1}"]
    reported = 16_000 + 2600 * 7 + 2600 + 95  # the input and output of the last call with usage
    assert 0 < now["tokens"] - reported < 100  # and the few messages after it
    assert {"region": "not in the log", "tokens": about["unlisted"]} in now["regions"]
    assert before["tokens"] == pytest.approx(121_000, rel=0.01)
    assert (step["before"], step["after"]) == (121_000, context.view_tokens(handle, step["seq"]))
    assert (about["now"], about["tool"], about["by_tool"]) == (now["tokens"], "claude-code", 1)
    assert about["whole"] > now["tokens"]
    assert (standing["m1"], standing[f"m{step['at'] + 1}"]) == ("left", "shown")


def test_after_an_import_of_the_whole_conversation_the_page_shows_all_of_it(tmp_path: Path):
    path = next(make_home(tmp_path / "user").rglob(f"{CLAUDE}.jsonl"))
    with SqliteStore(tmp_path / "whole.db") as store:
        name = import_transcript(store, load(path)[0]).ctx.session
        with SessionPool(store).open(name) as handle:
            index = handle.message_index
            assert tool_compactions.by_tool(handle)
            assert set(transcript.visibility(handle, 1, index.messages).values()) == {"shown"}
            assert len(index.seen(index.upto)) == index.messages
            shown = context.view_tokens(handle, index.upto)
            assert shown == pytest.approx(handle.session.tokens, rel=0.01)


def test_what_clew_compacts_afterwards_is_what_the_model_sees(pool: SessionPool):
    home = pool.home(CLAUDE_NAME)
    with home.open(CLAUDE_NAME) as handle:
        assert handle.session.compact(target_tokens=600)
        handle.message_index.catch_up()
        shown = [block["id"] for block in context.context_map(handle, None)["blocks"]]
        assert shown == [item.id for item in handle.session.view()]
        handle.session.undo()
        handle.message_index.catch_up()
        assert context.context_map(handle, None)["blocks"][0]["id"] == "c1"


@pytest.mark.parametrize("name", [CLAUDE_NAME, CODEX_NAME, COPILOT_NAME])
def test_every_place_shows_one_size_and_a_preview_starts_from_it(pool: SessionPool, name: str):
    home = pool.home(name)
    (row,) = [row for row in pool.others.listed()["sessions"] if row["name"] == name]
    with home.open(name) as handle:
        about = session_list.about_session(home, handle)
        drawn = timeline.timeline(handle)
        sizes = {
            "list": row["tokens"],
            "header": about["now"],
            "context": context.context_map(handle, None)["tokens"],
            "timeline": sum(region["tokens"][-1] for region in drawn["regions"]),
        }
        assert len(set(sizes.values())) == 1, sizes
        assert history.compactions(handle)["preview_from"] == "now"
        if name == CLAUDE_NAME:  # in the others there is nothing to take out
            wanted = {"does": "preview", "target_tokens": about["now"] - 100}
            preview = actions.act(home, handle, wanted)["preview"]
            assert preview["before"] == about["now"] > preview["after"]


def test_the_window_is_the_one_that_the_tool_showed(pool: SessionPool):
    """Not that of the model's price list: tools compact long before it, or give the model a part of it."""
    limits = {}
    for name in (CLAUDE_NAME, CODEX_NAME, COPILOT_NAME):
        with pool.home(name).open(name) as handle:
            shown = context.context_map(handle, None)
            assert timeline.timeline(handle)["marks"] == shown["marks"]
            limits[name] = shown["usable"], shown["limit"]
    assert limits[CLAUDE_NAME] == (121_000, "at which its tool compacted")
    assert limits[COPILOT_NAME] == (9_000, "at which its tool compacted")


def test_the_window_is_the_recorded_or_the_usual_one_if_the_tool_never_compacted(tmp_path: Path):
    codex = codex_session()
    count = {"info": {"last_token_usage": {"input_tokens": 900}, "model_context_window": 258_400}}
    codex.insert(-1, {"type": "event_msg", "payload": {"type": "token_count", **count}})
    codex = [line for line in codex if line["type"] != "compacted"]
    claude = [line for line in claude_session().records if line.get("subtype") != "compact_boundary"]
    for path, lines in ((tmp_path / "codex.jsonl", codex), (tmp_path / "claude.jsonl", claude)):
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    limits = {}
    for path in sorted(tmp_path.glob("*.jsonl")):
        (read,) = load(path)
        with SqliteStore(tmp_path / f"{path.stem}.db") as store:
            taken = import_transcript(store, replace(read, records=_of_model(read)), calls=True)
            with SessionPool(store).open(taken.ctx.session) as handle:
                limits[path.stem] = context.limits(handle)
    assert limits["codex"]["window"] == 258_400
    assert (limits["claude"]["window"], limits["claude"]["limit"]) == (
        200_000,
        "of Claude Code's usual window",
    )


def _of_model(read: Transcript) -> tuple[Record, ...]:
    """Return the records as of a model whose window is larger than what its tool uses."""
    return tuple(
        replace(record, model="claude-opus-4-6") if isinstance(record, Entry) and record.model else record
        for record in read.records
    )


def test_messages_that_the_tool_kept_are_in_view(pool: SessionPool):
    with pool.home(CODEX_NAME).open(CODEX_NAME) as handle:
        shown = [block["id"] for block in context.context_map(handle, None)["blocks"]]
    assert shown == ["c1", "m1", "m3"]


def test_a_name_that_no_tool_has_is_not_opened(pool: SessionPool):
    for name in (f"codex:{CLAUDE}", "codex:../../etc/passwd", "/etc/passwd", f"claude-code:{CLAUDE[:8]}"):
        assert pool.home(name) is pool


def test_an_imported_session_is_opened_from_the_log(pool: SessionPool):
    assert pool.others
    assert pool.others.copy(pool.store, CLAUDE_NAME)
    assert pool.home(CLAUDE_NAME) is pool
    session = Session.open(CLAUDE_NAME, pool.store)
    assert session.view()[0].id == "c1"
    session.switch_off()
    assert len(session.view()) > 80


def test_the_list_counts_what_the_table_of_the_command_counts(pool: SessionPool):
    counted = pool.others.losses(CLAUDE_NAME)
    assert counted is pool.others.losses(CLAUDE_NAME)  # counted once
    things = pool.others.lost(CLAUDE_NAME, "c1")["things"]
    needed = [thing for thing in things if thing["kind"] != "value read again"]
    assert counted["needed"] == len(needed) > 0
    assert counted["lost"] == sum(not thing["by_tool"] for thing in needed) > 0
    assert pool.others.losses(CODEX_NAME)["why"] == "the summary cannot be read"
    assert pool.others.losses("codex:none")["why"] == "its file was not found"


def test_tasks_of_a_list_that_was_not_changed_are_not_called_open(pool: SessionPool):
    home = pool.home(CLAUDE_NAME)
    with home.open(CLAUDE_NAME) as handle:
        before = ledger_view.ledger(handle)
        for n in range(ledger_view.STALE_AFTER):
            handle.session.add(text_message(Role.USER, f"Now please write the report number {n} for me."))
            handle.session.add(text_message(Role.ASSISTANT, f"The report number {n} is written."))
        after = ledger_view.ledger(handle)
    tasks = [loop["text"] for loop in before["loops"] if loop["kind"] == "todo"]
    assert (len(tasks), before["stale"]) == (2, [])
    assert [loop["text"] for loop in after["stale"]] == tasks
    assert not {loop["text"] for loop in after["loops"]} & set(tasks)
    assert after["counts"]["stale"] == 2


# In a browser ----------------------------------------------------------------------------------------


def test_from_the_list_to_what_the_tool_lost(pool: SessionPool, tab: Tab):
    server = Server.bind(pool)
    with server.running(), tab.visiting(server) as page:
        page.get_by_text(re.compile(r"^3 of 5 sessions")).wait_for()
        page.get_by_label("only compacted sessions").check()
        assert page.locator(".session").count() == 3
        row = page.locator(".session", has_text="Fix the price parser")
        row.locator(".figures .bad", has_text=re.compile(r"^lost \d+ of \d+$")).wait_for()
        count = row.locator(".figures .bad").inner_text()
        row.click()
        page.locator(".losses .big").wait_for()
        losses = page.locator(".losses").inner_text()
        assert " ".join(page.locator(".losses .big").inner_text().split()).startswith(count[len("lost ") :])
        assert RULE in losses
        assert "that the tool kept" in losses  # what clew loses is shown too
        assert "121,000 → 18,600" in page.locator(".about-digest").inner_text()
        assert "claude-code" in page.locator("header.about").inner_text()
        page.locator(".claim", has_text="rounding was changed").click()
        page.locator(".sources .hits .turn").first.wait_for()
        page.locator(".sources .hits .turn").first.click()
        page.wait_for_selector("article.here")


def test_the_list_sums_what_was_lost_and_can_begin_with_the_worst(pool: SessionPool, tab: Tab):
    counted = pool.others.losses(CLAUDE_NAME)
    server = Server.bind(pool)
    with server.running(), tab.visiting(server) as page:
        page.locator(".lead .bad", has_text=re.compile(r"^\d+$")).wait_for()
        assert int(page.locator(".lead .bad").inner_text()) >= counted["lost"]
        page.get_by_text("counted…").wait_for(state="detached")
        page.get_by_label("order").select_option("lost")
        lost = [int(text.split()[1]) for text in page.locator(".figures .bad").all_inner_texts()]
        assert lost == sorted(lost, reverse=True)
        assert page.locator(".session").first.locator(".figures .bad").count() == 1
        page.get_by_label("order").select_option("newest")
        assert page.locator(".session").count() == 5


def test_only_the_newest_sessions_are_listed_and_the_page_says_of_how_many(
    pool: SessionPool, tab: Tab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(inspect, "MOST_LISTED", 2)
    server = Server.bind(pool)
    with server.running(), tab.visiting(server) as page:
        page.get_by_text("of the 2 newest of 5 sessions").wait_for()


def test_the_plan_that_the_person_approved_is_shown_below_the_goal(pool: SessionPool, tab: Tab):
    with pool.home(CLAUDE_NAME).open(CLAUDE_NAME) as handle:
        call = ToolCall("p1", "ExitPlanMode", {"plan": "1. split the parser\n2. test it"})
        handle.session.add(Message(Role.ASSISTANT, (call,)))
        handle.session.add(Message(Role.TOOL, (ToolResult("p1", (Text("User has approved your plan."),)),)))
    server = Server.bind(pool)
    with server.running(), tab.visiting(server) as page:
        go(page, "ledger", session=CLAUDE_NAME)
        page.get_by_role("region", name="approved plan").get_by_text("2. test it").wait_for()


def test_tags_of_a_summary_are_headings():
    said = text_message(Role.USER, "<overview>\nThe car is red.\n</overview>\n<next_steps>\n- paint <b>\n")
    assert list(tool_compactions._lines([said])) == [
        {"text": "Overview", "heading": True},
        {"text": "The car is red.", "heading": False},
        {"text": "Next steps", "heading": True},
        {"text": "- paint <b>", "heading": False},
    ]


@pytest.mark.parametrize("name", [CLAUDE_NAME, CODEX_NAME, COPILOT_NAME])
@pytest.mark.parametrize(("width", "scheme"), [(1920, "light"), (1440, "dark"), (390, "light")])
def test_every_view_of_a_compacted_session_fits(
    pool: SessionPool, tab: Tab, name: str, width: int, scheme: str
):
    server = Server.bind(pool)
    size = {"width": width, "height": 900}
    with server.running(), tab.visiting(server, viewport=size, color_scheme=scheme) as page:
        for view in ("transcript", "context", "ledger", "memory", "chat", "digests", "timeline"):
            page.evaluate("hash => { location.hash = hash }", f"#/s/{quote(name, safe='')}/{view}")
            page.locator("header.about .now").wait_for()
            page.locator("main", has_text="Reading…").wait_for(state="detached")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        page.locator(".events td", has_text="c1").wait_for()


def test_the_digests_page_shows_findings_and_reports(house: House, tab: Tab):
    session = Session.open("story", house.store)
    for n in range(20):
        found = (
            f"The cause is that parse_row_{n} drops the last column. I fixed part {n}; its tests pass now."
        )
        session.add(text_message(Role.USER, f"Check part {n} of the importer."))
        session.add(text_message(Role.ASSISTANT, "I will read it. " + "Reading on. " * 60))
        session.add(text_message(Role.ASSISTANT, found))
    digest = session.compact(target_tokens=1_200).plan.digests[-1]
    kinds = {ClaimKind.FINDING: "Findings", ClaimKind.REPORT: "Story so far"}
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        page.evaluate("hash => { location.hash = hash }", "#/s/story/digests")
        page.locator(".claim").first.wait_for()
        for more in page.locator(".claims").get_by_role("button", name="more").all():
            more.click()
        shown = page.locator(".claims").inner_text()
    for kind, heading in kinds.items():
        texts = [claim.text for claim in digest.claims if claim.kind is kind]
        assert texts
        assert heading.upper() in shown.upper()
        assert all(text in shown for text in texts)


def test_the_notice_of_an_undo_has_the_sizes_of_the_header_also_after_a_tools_compaction(pool: SessionPool):
    home = pool.home(CLAUDE_NAME)
    with home.open(CLAUDE_NAME) as handle:
        whole = session_list.about_session(home, handle)["now"]
        assert handle.session.compact(target_tokens=600)
        handle.message_index.catch_up()
        small = session_list.about_session(home, handle)["now"]
        promised = history.compactions(handle)["undo"]
        done = actions.act(home, handle, {"does": "undo"})
    assert (done["before"], done["after"]) == (small, whole)
    assert promised["restored"] - promised["tokens"] == whole - small


def test_a_redo_is_offered_only_if_something_is_left_and_undone_compactions_are_not_counted(house: House):
    name = "redone"
    session = Session.open(name, house.store, window=20_000)
    session.add(*(message for n in range(60) for message in _turn(n)))
    session.compact(target_tokens=3_000)
    session.undo()
    with house.pool.open(name) as handle:
        assert [one["redoable"] for one in history.compactions(handle)["compactions"]] == [True]
        assert session_list.about_session(house.pool, handle)["by_clew"] == 0
        assert handle.session.compact(target_tokens=2_000)
        handle.message_index.catch_up()
        assert [one["redoable"] for one in history.compactions(handle)["compactions"]] == [False, False]
        assert session_list.about_session(house.pool, handle)["by_clew"] == 1
        handle.session.switch_off()
        with pytest.raises(InputError, match="press “Switch compaction on”"):
            actions.act(house.pool, handle, {"does": "compact"})


def _turn(number: int) -> list[Message]:
    return [
        text_message(Role.USER, f"Do part {number}."),
        text_message(Role.ASSISTANT, f"Part {number} took {number * 7} steps. " * 12),
    ]
