"""What holds for every session: one reading order, exact citations, lossless copies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import StoreDamaged
from clew.ledger import Ledger
from clew.message import Message, Origin, Role, Text, ToolCall, ToolResult, Trust, text_message
from tests.ledger.sessions import assistant, citations, did, is_there, items, ledger_of, plan, ran, user
from tests.strategies import json_objects, wild_histories

SENTENCES = st.sampled_from(
    [
        "Never modify files under legacy/.",
        "You may modify files under legacy/ now.",
        "Now let's write the docs for src/app.py.",
        "Let's use SQLite instead of files because it is one file.",
        "Why does max_retries not work?",
        "Next I'll run the tests. Shall I push them?",
        "yes, go ahead",
        "Done. All tests pass.",
        "- [ ] write docs\n- [x] read code",
        "Can you add colours to every message of the terminal output?",
        "“odd” \\n \\\\ text ```\ncode\n``` 12 ms, $1,000 and https://x.org/a?b=c",
    ]
)
CALLS = st.sampled_from(
    [
        ("Bash", {"command": "go test ./..."}, "--- FAIL: TestA (0.0s)\nFAIL\tp\t0.1s\n"),
        ("Bash", {"command": "go test ./..."}, "ok  \tp\t0.1s\n"),
        ("Bash", {"command": "cat > a.py <<E\nx\nE\nrm b.py"}, ""),
        ("Write", {"file_path": "/r/src/app.py", "content": 'say("a\\nb")\nMAX_SIZE = 20\n\tx'}, "created"),
        ("Edit", {"file_path": "src/app.py"}, "<tool_use_error>String to replace not found"),
        ("TodoWrite", {"todos": [{"content": 'say "hi"', "status": "pending"}]}, "ok"),
        ("TodoWrite", {"todos": [{"content": 'say "hi"', "status": "completed"}]}, "ok"),
        ("TaskCreate", {"subject": "one"}, "Task #1 created"),
        ("TaskUpdate", {"taskId": 1, "status": ["odd"]}, "ok"),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}, 3]}, "ok"),
        ("ExitPlanMode", {"plan": "x"}, "The user doesn't want to proceed with this tool use."),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n*** End Patch", "Success."),
    ]
)


@st.composite
def exchanges(draw):
    name, arguments, output = draw(CALLS)
    if draw(st.booleans()):
        arguments = draw(json_objects)
    id_ = draw(st.sampled_from(["a", "b"]))
    asked = Message(Role.ASSISTANT, (ToolCall(id_, name, arguments, trust=Trust.ASSISTANT),))
    answered = Message(Role.TOOL, (ToolResult(id_, (Text(output),), draw(st.booleans())),))
    return draw(st.sampled_from([[asked, answered], [asked], [answered]]))


@st.composite
def refusals(draw):
    words = (
        Text("The user doesn't want to proceed with this tool use."),
        Text(draw(SENTENCES), trust=Trust.USER),
    )
    return [Message(Role.TOOL, (ToolResult("a", words, True),))]


speeches = st.builds(
    lambda role, text, origin: [text_message(role, text, origin)],
    st.sampled_from([Role.USER, Role.USER, Role.ASSISTANT, Role.DEVELOPER]),
    SENTENCES,
    st.sampled_from([Origin.SPOKEN, Origin.SPOKEN, Origin.SPOKEN, Origin.INJECTED, Origin.SUMMARY]),
)
histories = st.lists(speeches | exchanges() | refusals(), max_size=12).map(
    lambda steps: [message for step in steps for message in step]
) | wild_histories  # fmt: skip


def filled(talk):
    ledger = Ledger()
    ledger.extend(talk)
    return ledger


@given(histories)
def test_every_citation_leads_to_the_words(history):
    talk = items(history)
    messages = {item.id: item.message for item in talk}
    for cite, words in citations(filled(talk)):
        assert is_there(cite, words, messages)


@given(histories)
def test_json_and_back_is_the_same_ledger(history):
    written = filled(items(history)).to_json()
    assert Ledger.from_json(json.loads(json.dumps(written))).to_json() == written


@given(histories, st.integers(0, 12))
def test_a_resumed_ledger_goes_on_as_if_nothing_had_happened(history, cut):
    talk = items(history)
    resumed = Ledger.from_json(json.loads(json.dumps(filled(talk[:cut]).to_json())))
    resumed.extend(talk[cut:])
    assert resumed.to_json() == filled(talk).to_json()


@given(histories)
def test_rules_and_the_state_of_work_do_not_depend_on_the_story(history):
    whole, lean = Ledger(), Ledger(story=False)
    whole.extend(items(history))
    lean.extend(items(history))
    assert lean.pins.active == whole.pins.active
    assert lean.goals == whole.goals
    assert lean.loops.open == whole.loops.open
    assert lean.artifacts.changed == whole.artifacts.changed
    assert lean.failures == whole.failures
    assert (lean.last_run, lean.last_check) == (whole.last_run, whole.last_check)
    assert (lean.decisions, lean.user_quotes, lean.approvals) == ((), (), ())


@given(histories, st.integers(0, 12))
def test_a_copy_and_its_original_go_their_own_ways(history, cut):
    talk = items(history)
    ledger = filled(talk[:cut])
    before = ledger.to_json()
    copy = ledger.copy()
    copy.extend(talk[cut:])
    assert ledger.to_json() == before
    assert copy.to_json() == filled(talk).to_json()
    ledger.extend(talk[cut:])
    assert ledger.to_json() == copy.to_json()


@given(st.lists(SENTENCES, max_size=6), st.sampled_from([Origin.INJECTED, Origin.SUMMARY]))
def test_tools_and_machines_state_no_rule_goal_or_decision(sentences, origin):
    machine = [user(sentence, origin=origin) for sentence in sentences]
    tools = [message for sentence in sentences for message in did("Read", {"file_path": "a"}, sentence)]
    ledger = ledger_of(machine, tools)
    assert (ledger.pins.all, ledger.goals, ledger.decisions) == ((), (), ())


def test_a_ledger_of_another_version_is_refused():
    written = ledger_of(user("hello")).to_json()
    with pytest.raises(StoreDamaged, match="version 99"):
        Ledger.from_json({**written, "version": 99})


@pytest.mark.parametrize("hole", ["kept", "calls"])
def test_a_damaged_ledger_is_refused(hole):
    with pytest.raises(StoreDamaged, match="snapshot is malformed"):
        Ledger.from_json({**ledger_of(user("use foo_bar")).to_json(), hole: [[1]]})


def test_a_whole_session_is_kept():
    ledger = ledger_of(
        plan("Implement the following plan: add a flag."),
        ran("go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\tp\t0.1s\n", code=1),
        did("Edit", {"file_path": "/r/a.go"}, "The file /r/a.go has been updated."),
        ran("go test ./...", "ok  \tp\t0.1s\n"),
        assistant("Done. Shall I push it?"),
        user("yes. Never push to main. Let's use a branch instead of main."),
    )
    assert len(ledger) == 9
    assert ledger.goal.quote == "Implement the following plan: add a flag."
    assert "Never push to main." in [pin.quote for pin in ledger.pins.active]
    assert [decision.quote for decision in ledger.decisions] == ["Let's use a branch instead of main."]
    assert [file.name for file in ledger.artifacts.changed] == ["/r/a.go"]
    assert [failure.is_fixed for failure in ledger.failures] == [True]
    assert [approval.answer.value for approval in ledger.approvals] == ["granted"]
    assert [loop.text for loop in ledger.loops.open] == [
        "yes. Never push to main. Let's use a branch instead of main."
    ]
