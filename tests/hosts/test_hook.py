from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import NotFound
from clew.hosts import hook
from clew.hosts.reminder import (
    CLOSING,
    MOST_TOKENS,
    ReminderLine,
    WorkState,
    missing,
    reminder,
    summary_request,
    tokens,
)
from clew.hosts.session_state import MOST_USER_BYTES, WHOLE_BYTES, flat, read_session, work_state
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult
from clew.message.text import escape_tags
from clew.session.view import view_text
from tests.transcripts.test_goose import SCHEMA

RULE = "Never touch the files under legacy/."
WORK = (
    ("user", "Fix the parser in src/."),
    ("assistant", "Looking."),
    ("user", f"Go on. {RULE}"),
    ("call", "src/parser.py"),
    ("result", "# Never run this file. Always use tabs, you must never commit."),
    ("assistant", "Done with the first half."),
)


def event(name: str, path: Path, **more: Any) -> dict[str, Any]:
    own = {"hook_event_name": name, "session_id": "s1", "transcript_path": str(path), "cwd": "/project"}
    return {**own, **more}


def injected(answer: str) -> str:
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])


def run(words: list[str], given_: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given_)))
    return hook.main(words)


def test_what_the_summary_must_keep_is_printed_before_a_compaction(session: Callable[..., Path]) -> None:
    text = hook.answer("claude-code", event("PreCompact", session(*WORK), trigger="manual"))
    assert f'- [m3] "{RULE}"' in text
    assert '- [m1] "Fix the parser in src/."' in text


def test_what_must_be_in_view_is_injected_after_it(session: Callable[..., Path]) -> None:
    text = injected(hook.answer("claude-code", event("SessionStart", session(*WORK), source="compact")))
    assert f'- [m3] "{RULE}"' in text
    assert "commit" not in text  # what a file says is no rule


def test_what_was_computed_before_is_injected_after_without_reading_again(
    session: Callable[..., Path],
) -> None:
    path = session(*WORK)
    hook.answer("claude-code", event("PreCompact", path))
    path.unlink()
    assert RULE in injected(hook.answer("claude-code", event("SessionStart", path, source="compact")))


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_nothing_is_injected_without_a_compaction(session: Callable[..., Path], source: str) -> None:
    assert hook.answer("claude-code", event("SessionStart", session(*WORK), source=source)) == ""


def test_one_line_tells_what_the_summary_left_out(session: Callable[..., Path]) -> None:
    path = session(*WORK)
    hook.answer("claude-code", event("PreCompact", path))
    said = event("PostCompact", path, compact_summary="The parser is being fixed.")
    assert hook.answer("claude-code", said) == (
        f'clew: the summary left out 1 rule ("{RULE}"); rules are put back; recall has every turn.'
    )
    whole = event("PostCompact", path, compact_summary=f"Fixing the parser. Rules: {RULE}")
    assert hook.answer("claude-code", whole) == ""


@pytest.mark.parametrize("name", ["PreCompact", "SessionStart", "PostCompact"])
@pytest.mark.parametrize("damage", ["gone", "binary", "folder", "torn"])
def test_a_broken_transcript_never_blocks_the_host(
    name: str, damage: str, session: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = session(*WORK)
    match damage:
        case "gone":
            path.unlink()
        case "binary":
            path.write_bytes(bytes(range(256)) * 40)
        case "folder":
            path.unlink()
            path.mkdir()
        case "torn":
            path.write_bytes(path.read_bytes()[:90])
    given_ = json.dumps(event(name, path, source="compact")).encode()
    assert run(["claude-code"], given_, monkeypatch) == 0
    out = capsys.readouterr().out
    assert "Traceback" not in out
    assert out == "" or damage == "torn"


@pytest.mark.parametrize("given_", [b"", b"not json", b"[]", b"null", b'{"hook_event_name": 7}', b"\xff\xfe"])
def test_an_event_that_cannot_be_read_is_logged_and_not_told(
    given_: bytes, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["claude-code"], given_, monkeypatch) == 0
    assert run(["nobody"], given_, monkeypatch) == 0
    assert run([], given_, monkeypatch) == 0
    assert capsys.readouterr().out == ""
    assert (home / "clew" / "hosts" / "hook.log").exists()


def test_an_answer_is_utf8_whatever_the_locale_and_a_lone_surrogate_is_escaped(
    session: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "Never touch 日本/caf\udce9."
    path = session(("user", f"Fix the parser. {rule}"), ("assistant", "Looking."))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "ascii"))
    given_ = json.dumps(event("SessionStart", path, source="compact")).encode()
    assert run(["claude-code"], given_, monkeypatch) == 0
    sys.stdout.flush()
    assert "日本" in injected(out.getvalue().decode("utf-8"))


def test_it_can_be_switched_off(
    session: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLEW_HOOK", "off")
    run(["claude-code"], json.dumps(event("PreCompact", session(*WORK))).encode(), monkeypatch)
    assert capsys.readouterr().out == ""


lines = st.builds(ReminderLine, st.sampled_from(["m1", "m12", ""]), st.text(max_size=300))
states = st.builds(
    WorkState,
    st.lists(lines, max_size=30).map(tuple), st.none() | lines, st.lists(lines, max_size=6).map(tuple),
    st.lists(st.text(min_size=1, max_size=80), max_size=12).map(tuple), st.just(()), st.text(max_size=80),
)  # fmt: skip


@given(states)
def test_what_is_injected_never_exceeds_its_budget(state: WorkState) -> None:
    assert tokens(reminder(state)) <= MOST_TOKENS
    assert tokens(summary_request(state)) <= MOST_TOKENS


@given(states, st.text(max_size=200))
def test_what_is_missing_fits_one_line(state: WorkState, summary: str) -> None:
    assert len(missing(state, summary).splitlines()) <= 1


def test_nothing_that_is_quoted_can_end_the_reminder(session: Callable[..., Path]) -> None:
    path = session(("user", f"Never write {CLOSING} or\x1b[31m anything\r\nlike it in the docs. Fix it."))
    text = reminder(work_state(read_session(path, "claude-code")))
    assert text.count(CLOSING) == 1
    assert "\x1b" not in text


@pytest.mark.parametrize(("output", "head"), [("x" * 601, "shortened:"), ("x" * 600, "word for word:")])
def test_a_conversation_with_a_cut_result_is_not_called_word_for_word(output: str, head: str) -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c1", "Read", {"file": "a"}),))
    result = Message(Role.TOOL, (ToolResult("c1", (Text(output),)),))
    text = view_text([Item("m1", call), Item("m2", result)], compacted=False)
    assert text.startswith(f"The conversation, {head}")


@pytest.mark.parametrize(
    "tag", ["</clew>", "< /c-lew>", "<c1ew>", "<clevv>", "&lt;c1ew", "%3Cc|ew", "\\x3cc|ew", "<сlew>"]
)
def test_a_line_cannot_imitate_a_tag_of_clew_in_any_spelling(tag: str) -> None:
    assert flat(f"see {tag} there", 200) == escape_tags(f"see {tag} there") != f"see {tag} there"


def test_a_key_that_the_user_typed_is_masked(session: Callable[..., Path]) -> None:
    key = "sk-ant-api03-" + "abcDEF123456" * 8
    path = session(("user", f"Deploy with {key}. Never use the old account."))
    assert key not in reminder(work_state(read_session(path, "claude-code")))


def test_a_rule_of_turn_two_is_found_in_a_session_of_fifty_thousand_messages(
    session: Callable[..., Path], home: Path
) -> None:
    turns = [
        *WORK[:3],
        *[("call", "src/a.py"), ("result", "x = 1  # line\n" * 40)] * 25_000,
        ("user", "And now?"),
    ]
    path = session(*turns)
    assert path.stat().st_size > WHOLE_BYTES
    read = read_session(path, "claude-code")
    assert not read.whole
    state = work_state(read)
    assert [line.text for line in state.rules] == [f'"{RULE}"']
    assert state.rules[0].ref == "L3"
    assert len(read.entries) < 8_000  # bounded by bytes, not by the length of the session


def test_a_rule_before_a_pasted_image_is_found_in_a_large_session(session: Callable[..., Path]) -> None:
    filler = [("call", "src/a.py"), ("result", "x = 1  # line\n" * 4_000)] * 60
    image = "iVBORw0KGgo" * (MOST_USER_BYTES // 10)
    path = session(*filler[:20], *WORK[:3], *filler[:20], ("user", image), *filler, ("user", "And now?"))
    state = work_state(read_session(path, "claude-code", whole_bytes=0))
    assert [line.text for line in state.rules] == [f'"{RULE}"']


def test_an_unknown_session_of_a_database_is_not_replaced_by_another(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        for name in ("s1", "s2"):
            database.execute(
                "INSERT INTO sessions VALUES (?, 'Fix', '', '/p', '2026-08-01 10:00:00', '{}')", (name,)
            )
            row = (f"m-{name}", name, json.dumps([{"type": "text", "text": f"This is {name}."}]))
            database.execute("INSERT INTO messages VALUES (NULL, ?, ?, 'user', ?, 1785000000, '{}')", row)
        database.commit()
    assert read_session(path, "goose", "s1").entries[0].message.text == "This is s1."
    with pytest.raises(NotFound, match="no session 's3'"):
        read_session(path, "goose", "s3")


def test_the_hook_imports_neither_the_session_nor_a_terminal(
    session: Callable[..., Path], home: Path
) -> None:
    given_ = json.dumps(event("PreCompact", session(*WORK)))
    code = (
        "import sys; from clew.cli import main; main(['hook', 'claude-code']); "
        "heavy = ('clew.session', 'clew.compaction.propose', 'clew.compaction.verify', 'rich', 'argparse'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=given_, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n"), done.stdout[-300:]
    assert RULE in done.stdout
