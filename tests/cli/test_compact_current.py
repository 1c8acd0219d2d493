"""``clew compact`` of a session that its tool compacted: what was said before the summary still counts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from clew.cli.run_compaction import CompactRequest, compact_listed, read_list
from clew.compaction.plan import Rung, Shrink
from clew.compaction.verify import Level, repair, verify
from clew.compaction.verify.report import LossKind
from clew.message import Item, Message, Origin, Role, Text, ToolCall, ToolResult, text_message
from clew.session import CompactResult, compact
from clew.session.list_call import read_current
from clew.tokens import counter_for
from clew.transcripts import load
from tests.cli.homes import RULE, Home, home

__all__ = ["home"]

SESSION = "3f2a9c10"


def test_rules_and_goal_from_before_the_summary_are_in_the_digest(home: Home):
    shown = home.run("compact", SESSION, "--target-tokens", "700")
    digest = shown[: shown.index("</clew-digest>")]
    assert re.search(r"Rules that hold.*\n\[m1, user\]\n- \"Never modify files under legacy/\.\"", digest)
    assert re.search(r"Goal:\n\[m1\]\n- Fix the price parser of the shop\.", digest)


@pytest.mark.parametrize("target", [600, 900, 1200, 1500])
def test_rules_are_stated_at_every_size(home: Home, target: int):
    result = json.loads(home.run("compact", SESSION, "--target-tokens", str(target), "--json"))
    assert RULE in json.dumps(result["messages"])


def read(earlier: list[Message], current: list[Message]) -> CompactResult:
    """Read what a tool left, its summary first, with the names that every command uses."""
    count = len(earlier) + len(current)
    names = [f"m{n}" for n in range(1, count)]
    names.insert(len(earlier), "c1")
    items = [Item(name, message) for name, message in zip(names, (*earlier, *current), strict=True)]
    return read_current(items, range(len(earlier)), "unknown")


def test_rules_are_stated_where_pruning_alone_would_do():
    earlier = [text_message(Role.USER, f"Fix the parser. {RULE}"), text_message(Role.ASSISTANT, "I will.")]
    summary = text_message(Role.USER, "The parser is being fixed.", Origin.SUMMARY)
    output = "\n".join(f"line {n} of the log" for n in range(2_000))
    current: list[Message] = [summary]
    for n in range(12):
        current += [text_message(Role.USER, f"Step {n}: {output if n == 2 else 'go on'}")]
        current += [text_message(Role.ASSISTANT, f"Step {n} is done; file_{n}.py has changed.")]
    base = read(earlier, current)
    assert [item.id for item in base.items] == ["c1", *(f"m{n}" for n in range(3, 2 + len(current)))]
    for target in (base.tokens_after - 200, 2_000, 1_000):
        done = compact([*earlier, *current], previous=base, target_tokens=target, model="unknown")
        assert done.digest is not None
        assert [pin.quote for pin in done.digest.pins] == [RULE]


def test_rules_of_the_prompt_stay_in_it_and_are_not_pinned(tmp_path: Path):
    def said(role: str, text: str) -> dict[str, object]:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    system = "You are a coding agent. Never amend a commit. Always use apply_patch for edits."
    developer = said("developer", "Never ask for permissions. Always answer in plain text.")
    first, last = said("user", f"Fix the parser. {RULE}"), said("user", "Now fix the lexer.")
    # The tool keeps the developer message between the user's, and logs the system prompt apart.
    kept = {"message": "", "replacement_history": [last, developer, said("user", "The parser is fixed.")]}
    told = [first, *(said("assistant", f"Part {n} of the parser is fixed. " * 20) for n in range(9)), last]
    after = [said("assistant", f"Part {n} of the lexer is fixed. " * 20) for n in range(30)]
    records = [
        {"type": "session_meta", "payload": {"id": "t1", "cwd": "/p", "base_instructions": {"text": system}}},
        *({"type": "response_item", "payload": item} for item in (developer, *told)),
        {"type": "compacted", "payload": kept},
        *({"type": "response_item", "payload": item} for item in after),
    ]
    path = tmp_path / "rollout-t1.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    (session,) = load(path)
    done = compact_listed("t1", session, CompactRequest(target_tokens=900))
    assert [pin.quote for pin in done.ledger.pins.active] == [RULE]
    assert [item.message.text for item in done.after[:2]] == [system, developer["content"][0]["text"]]
    assert RULE in "\n".join(item.message.text for item in done.after[2:])


PORT = "Port the importer to the new schema and tell me what breaks."
LINES = "".join(f"\nTable {n} was read; it has {n * 31} rows and no index." for n in range(60))


def porting(summary: str) -> tuple[list[Message], list[Message]]:
    """Return a request that a tool summarised, and what its model sees now; nothing was reported yet."""
    current = [text_message(Role.USER, summary, Origin.SUMMARY)]
    for n in range(12):
        call = ToolCall(f"f{n}", "Read", {"file_path": f"table_{n}.sql"})
        current += [Message(Role.ASSISTANT, (call,))]
        current += [Message(Role.TOOL, (ToolResult(f"f{n}", (Text(f"column_{n} int, " * 100),)),))]
    return [text_message(Role.USER, PORT)], current


@pytest.mark.parametrize("text", [LINES, f'The user said: "{PORT}"{LINES}', f"{LINES}\n{PORT}\n{LINES}"])
@pytest.mark.parametrize("target", [600, 1_000, 2_000, 4_000])
def test_open_work_from_before_the_summary_is_stated_at_every_size(target: int, text: str):
    earlier, current = porting(text)
    base = read(earlier, current)
    done = compact([*earlier, *current], previous=base, target_tokens=target, model="unknown")
    assert done.tokens_after <= target < base.tokens_after
    assert PORT in "\n".join(item.message.text for item in done.items)
    assert [one.gone for one in done.report.kept if one.matter is LossKind.OPEN] == [0]
    later = compact([*earlier, *current], previous=done, target_tokens=500, model="unknown")
    assert PORT in "\n".join(item.message.text for item in later.items)


def test_a_summary_cut_to_less_than_the_open_work_it_quotes_is_shown_whole_again():
    earlier, current = porting(f'The user said: "{PORT}"{LINES}')
    base = read(earlier, current)
    done = compact([*earlier, *current], previous=base, target_tokens=3_000, model="unknown")
    cut = Shrink("c1", text_message(Role.USER, "Tables were read.", Origin.SUMMARY), "cut", Rung.TRUNCATE)
    plan = replace(done.plan, operations=(cut,))
    report = verify(plan, done.task)
    assert [finding.check for finding in report.findings if finding.level is Level.REPAIR] == ["open loops"]
    assert repair(plan, report, done.task, allow_sparse=True).operations == ()


SUMMARY = "\n".join(f"{n}. Part {n} of the parser reads prices from column {n * 7}." for n in range(60))


def compacted_by_tool(summary: str) -> tuple[list[Message], list[Message]]:
    """Return what a tool summarised, with a decision and a failure, and what its model sees now."""
    earlier = [
        text_message(Role.USER, "Fix the parser."),
        text_message(Role.ASSISTANT, "Should prices be floats or decimals?"),
        text_message(Role.USER, "We decided to use Decimal instead of float for all prices."),
    ]
    for n in range(3):
        call = ToolCall(f"f{n}", "Bash", {"command": "make deploy"})
        wrong = Text("Error: the staging certificate expired on Friday, so the upload was refused.")
        earlier += [Message(Role.ASSISTANT, (call,))]
        earlier += [Message(Role.TOOL, (ToolResult(f"f{n}", (wrong,), is_error=True),))]
    current = [text_message(Role.USER, summary, Origin.SUMMARY)]
    for n in range(60):
        current += [text_message(Role.USER, f"Step {n}: " + f"look at table {n}. " * 20)]
        current += [text_message(Role.ASSISTANT, f"Step {n} is done; file_{n}.py has changed. " * 8)]
    return earlier, current


@pytest.mark.parametrize("target", [2_000, 4_000, 8_000])
def test_decisions_failures_and_the_summary_of_the_tool_are_kept(target: int):
    earlier, current = compacted_by_tool(SUMMARY)
    base = read(earlier, current)
    done = compact([*earlier, *current], previous=base, target_tokens=target, model="unknown")
    assert done.tokens_after <= target
    assert done.digest is not None
    told = "\n".join(claim.text for claim in done.digest.claims)
    assert "use Decimal instead of float" in told
    assert "certificate expired" in told
    size = counter_for("unknown").count(current[0])
    shown = next(item.message for item in done.items if item.id == "c1")
    if size <= target / 3:
        assert shown == current[0]
    else:
        assert target / 6 < counter_for("unknown").count(shown) <= target / 3
    again = [*earlier, *current, *compacted_by_tool("")[1][1:40]]
    later = compact(again, previous=done, target_tokens=target, model="unknown")
    assert current[0] not in [item.message for item in later.items]  # once clew has a digest, it is condensed


def test_a_summary_gives_way_to_rules_and_recent_messages():
    earlier, current = compacted_by_tool(SUMMARY)
    output = " ".join(f"value_{n}" for n in range(400))
    last = [text_message(Role.USER, f"Never touch the folder archive/{n}/.") for n in range(12)]
    listed = [*current[:20], *last, text_message(Role.USER, output)]
    base = read(earlier, listed)
    done = compact([*earlier, *listed], previous=base, target_tokens=900, model="unknown")
    assert done.tokens_after <= 900


def test_a_reference_of_the_digest_leads_to_its_message(home: Home):
    result = home.run("expand", SESSION, "m1")
    assert RULE in result
    (session,) = load(next(home.path.glob(".claude/**/*.jsonl")))
    listed = read_list(session, current=True)
    assert listed.originals["m1"] == session.full()[0]
    assert [item.message for item in listed.items] == session.current()


def test_rules_prints_the_number_that_expand_takes(home: Home):
    (said,) = set(re.findall(r"said in (m\d+)", home.run("rules", SESSION)))
    assert RULE in home.run("expand", SESSION, said)


def test_found_rules_that_do_not_fit_are_never_dropped_quietly(home: Home):
    said = [f"Never modify files under module_{n}/." for n in range(300)]
    talk = [
        {"role": role, "content": text}
        for rule in said
        for role, text in (("user", rule), ("assistant", "Understood."))
    ]
    path = home.path / "rules.json"
    path.write_text(json.dumps([*talk, {"role": "user", "content": "Go on."}]))
    shown = home.run("compact", str(path), "--target-tokens", "2000", columns=200)
    (left,) = re.findall(r"! rules +(\d+) found rules are not shown: no room", shown)
    assert f"{left} more rules apply, not shown for lack of room" in shown
    assert f"{left} of 300 rules" in shown
    assert "! rules" not in home.run("compact", str(path), "--target-tokens", "9000", columns=200)
