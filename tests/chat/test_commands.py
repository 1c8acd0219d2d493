"""The commands: each has help and an example, and does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import pytest

from clew.chat import Chat, ChatEnded, ChatWarning, CommandOutput, ViewCompacted, open_chat
from clew.chat.commands import COMMANDS, command_named, is_command, run_command
from clew.errors import ClewError, InputError, NotFound
from clew.session import Session
from tests.chat.talk import disk_chat, new_chat, reply_to
from tests.conftest import ROOT

FACT = "The width of part {0} is {0}7 mm, as Anna told Bert at the meeting about parts and their widths."


def typed(chat: Chat, line: str) -> str:
    """Return what a command tells."""
    happened = list(run_command(chat, line))
    return "\n".join(one.text for one in happened if isinstance(one, CommandOutput | ChatWarning))


@pytest.fixture
def long_chat(tmp_path: Path) -> Chat:
    chat = disk_chat(tmp_path, window=16_000)
    reply_to(chat, "Never modify files under legacy/. The deploy token is kestrel-42.")
    for number in range(30):
        reply_to(chat, FACT.format(number))
    return chat


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_and_an_example_that_begins_with_it(command):
    told = typed(new_chat(), f"/help {command.name}")
    assert command.about in told
    assert command.example in told
    assert command.example.split()[0] == f"/{command.name}"


def test_help_lists_every_command():
    told = typed(new_chat(), "/help")
    assert all(command.usage in told for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_in_the_guide(command):
    page = (ROOT / "docs" / "guides" / "chat.md").read_text(encoding="utf-8")
    assert f"| `{command.usage.replace('|', chr(92) + '|')}` | {command.about} |" in page


def test_the_commands_that_a_person_expects_are_there():
    wanted = (
        "compact preview undo expand pin unpin pins remember forget notes recall context trace budget auto "
        "off on progress model export help quit"
    )
    for name in wanted.split():
        assert command_named(f"/{name}").usage


def test_help_lists_the_commands_in_five_groups():
    told = typed(new_chat(), "/help").splitlines()
    titles = [line for line in told if line.endswith(":") and not line.startswith(("  ", "Everything"))]
    assert titles == ["compaction:", "rules:", "memory:", "the next request:", "the chat:"]


@pytest.mark.parametrize(
    ("alias", "means"),
    [
        ("/budget", "/context budget"),
        ("!contextSnapshot", "/context snapshot"),
        ("/contributors history", "/context contributors history"),
        ("!traceSummaries", "/context summaries"),
        ("/pins", "/rules"),
    ],
)
def test_another_name_does_the_same(alias: str, means: str, long_chat: Chat):
    assert typed(long_chat, alias) == typed(long_chat, means)


def test_a_part_of_the_context_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="use one of budget, snapshot"):
        typed(new_chat(), "/context sections")


def test_a_command_is_found_by_a_beginning_that_no_other_has():
    assert command_named("/comp").name == "compact"
    with pytest.raises(InputError, match="did you mean /recall or /remember or /retry"):
        command_named("/re")
    with pytest.raises(InputError, match="did you mean /off or /on"):
        command_named("/o")


def test_a_mistyped_command_is_corrected():
    with pytest.raises(InputError, match="did you mean /compact"):
        command_named("/comapct")


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/help", True),
        ("!contextBudget", True),
        ("!traceSummaries d1", True),
        ("!important", False),
        ("hi /x", False),
        *((f" {command}", False) for command in ("/help", "/pins", "!contextBudget")),
    ],
)
def test_what_is_a_command(line: str, is_one: bool):
    assert is_command(line) is is_one


def test_a_tab_separates_a_command_from_its_argument():
    assert typed(new_chat(), "/help\tpin") == typed(new_chat(), "/help pin")


@pytest.mark.parametrize("line", ["/pin", "/unpin", "/remember", "/forget", "/recall", "/expand"])
def test_a_command_that_wants_words_shows_how(line: str):
    with pytest.raises(InputError, match=f"for example: {line}"):
        typed(new_chat(), line)


def test_a_preview_changes_nothing_and_a_compaction_can_be_undone(long_chat: Chat):
    before = [item.id for item in long_chat.session.view()]
    shown = typed(long_chat, "/preview")
    assert "would compact" in shown
    assert "tokens of the next request miss the provider's cache" in shown
    assert [item.id for item in long_chat.session.view()] == before
    (made,) = run_command(long_chat, "/compact part 7")
    assert isinstance(made, ViewCompacted)
    assert long_chat.session.trace()[0].focus == "part 7"
    undone = typed(long_chat, "/undo")
    assert "undone: d1" in undone
    assert re.search(r"cache: undoing costs .*[1-9].* on the next request and .*[1-9].* on each one", undone)
    assert [item.id for item in long_chat.session.view()] == before


def test_a_range_is_previewed_and_compacted_with_a_focus_after_it(long_chat: Chat):
    before = [item.id for item in long_chat.session.view()]
    assert "would compact" in typed(long_chat, "/preview m1-m20")
    (made,) = run_command(long_chat, "/compact m1-m20 part 7")
    assert isinstance(made, ViewCompacted)
    (done,) = long_chat.session.trace()
    assert done.focus == "part 7"
    assert int(done.digest.covers[-1][1:]) in range(20, 24)
    assert [item.id for item in long_chat.session.view()][-5:] == before[-5:]


def test_undo_takes_a_number_and_says_when_there_is_nothing(long_chat: Chat):
    with pytest.raises(InputError, match="none to undo"):
        typed(long_chat, "/undo")
    with pytest.raises(InputError, match="is not a number"):
        typed(long_chat, "/undo x")


def test_expand_opens_a_digest_its_lines_and_its_turns(long_chat: Chat):
    list(run_command(long_chat, "/compact"))
    told = typed(long_chat, "/expand d1")
    assert '"Never modify files under legacy/." [m1]' in told
    line = next(word for word in told.split() if word.startswith("d1."))
    assert "is a claim" in typed(long_chat, f"/expand {line}")
    assert "[m1] user: Never modify" in typed(long_chat, "/expand m1")
    with pytest.raises(NotFound):
        typed(long_chat, "/expand m999")


def test_rules_are_set_listed_and_taken_off():
    chat = new_chat()
    assert typed(chat, "/pin never push") == 'p1 is pinned: "never push"'
    assert typed(chat, "/pins") == 'p1   "never push" (by hand)'
    assert "no longer in force" in typed(chat, "/unpin p1 done")
    assert typed(chat, "/pins").startswith("no rules are in force")


def test_notes_are_kept_listed_and_forgotten():
    chat = new_chat()
    assert typed(chat, "/remember Use uv, never pip.") == "w1 is approved: Use uv, never pip."
    assert "Use uv" in typed(chat, "/notes")
    assert "w1 is forgotten" in typed(chat, "/forget w1")
    assert typed(chat, "/notes").startswith("no notes")


def test_a_note_is_in_the_next_request():
    chat = new_chat()
    typed(chat, "/remember Use uv, never pip.")
    reply_to(chat, "hello")
    assert "Use uv, never pip." in str(chat.requests.assembled().end)


def test_recall_finds_what_left_the_view(long_chat: Chat):
    list(run_command(long_chat, "/compact"))
    assert "kestrel-42" in typed(long_chat, "/recall deploy token")


def test_the_window_is_told_by_region_and_by_contributor(long_chat: Chat):
    assert "history" in typed(long_chat, "/context")
    told = typed(long_chat, "!contextBudget")
    assert told == typed(long_chat, "/budget")
    assert told.startswith("System: ")
    assert "(Total=" in told
    assert "are in use" in typed(long_chat, "!contextSnapshot")
    assert "m1 (user)" in typed(long_chat, "!listContributors")
    assert typed(long_chat, "!traceSummaries").startswith("No active summary")


def test_looking_puts_nothing_on_record(long_chat: Chat):
    head = long_chat.session.store.head(long_chat.session.ctx)
    for line in (
        "/context",
        "/budget",
        "/snapshot",
        "/contributors",
        "/trace",
        "/stats",
        "/progress",
        "/pins",
    ):
        typed(long_chat, line)
    assert long_chat.session.store.head(long_chat.session.ctx) == head


def test_a_resumed_session_is_looked_at_without_a_trace(tmp_path: Path):
    first = disk_chat(tmp_path)
    reply_to(first, "The deploy token is kestrel-42.")
    resumed = disk_chat(tmp_path)
    head = resumed.session.store.head(resumed.session.ctx)
    typed(resumed, "/context")
    assert resumed.session.store.head(resumed.session.ctx) == head


def test_trace_tells_the_compactions_and_why_a_turn_left(long_chat: Chat):
    assert typed(long_chat, "/trace").startswith("no compaction is in force")
    list(run_command(long_chat, "/compact"))
    assert typed(long_chat, "/trace").startswith("d1")
    assert "condensed into d1" in typed(long_chat, "/trace m1")


def test_automatic_compaction_is_a_switch():
    chat = new_chat()
    assert (typed(chat, "/auto").startswith("automatic compaction is off"), chat.auto) == (True, False)
    assert (typed(chat, "/auto on").startswith("automatic compaction is on"), chat.auto) == (True, True)
    with pytest.raises(InputError, match="neither on nor off"):
        typed(chat, "/auto maybe")


def test_one_switch_turns_everything_off_and_on_again(long_chat: Chat):
    list(run_command(long_chat, "/compact"))
    compacted = long_chat.session.tokens
    typed(long_chat, "/off")
    assert long_chat.requests.assembled().plain
    assert long_chat.requests.assembled().tools == ()
    assert long_chat.session.tokens > compacted
    with pytest.raises(InputError, match="compaction is switched off: type /on first"):
        typed(long_chat, "/compact")
    typed(long_chat, "/on")
    assert long_chat.session.tokens == compacted


def test_a_chat_that_a_setting_switched_off_undoes_nothing_on_record(long_chat: Chat):
    list(run_command(long_chat, "/compact"))
    session = Session.open("talk", long_chat.session.store, off=True)
    chat = open_chat(session)
    head = session.head
    for command in ("/undo", "/compact"):
        with pytest.raises(InputError, match=r"switched off.*: unset CLEW_OFF, --off or off in clew\.toml"):
            typed(chat, command)
    assert session.store.head(session.ctx) == head
    assert len(long_chat.session.trace()) == 1


def test_export_writes_the_session_once(long_chat: Chat, tmp_path: Path):
    path = tmp_path / "out.clew.zst"
    assert str(path) in typed(long_chat, f"/export {path}")
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="already exists"):
        typed(long_chat, f"/export {path}")


def test_a_failed_export_leaves_no_file(long_chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(_store: object, _ctx: object, out: BinaryIO) -> None:
        out.write(b"half")
        raise OSError("no space left")

    path = tmp_path / "out.clew.jsonl"
    with monkeypatch.context() as patched:
        patched.setattr("clew.chat.commands.export_session", fail)
        with pytest.raises(OSError, match="no space left"):
            typed(long_chat, f"/export {path}")
    assert str(path) in typed(long_chat, f"/export {path}")


def test_stats_count_what_automatic_compaction_did(tmp_path: Path):
    chat = disk_chat(tmp_path, window=5_000, auto=True)
    for number in range(60):
        reply_to(chat, FACT.format(number))
    typed(chat, "/undo")
    told = typed(chat, "/stats")
    made = len(list(chat.session.store.read(chat.session.ctx, kinds=["compaction"])))
    assert made >= 1
    assert f"{made} automatic; pressure {made}" in told
    assert "1 undone" in told
    assert "turns               60" in told


def test_progress_tells_the_goal():
    chat = new_chat()
    reply_to(chat, "Please migrate the billing module to the new table.")
    told = typed(chat, "/progress")
    assert (told.startswith("ck1"), "goal      - Please migrate the billing" in told) == (True, True)


def test_the_model_is_told_and_can_be_changed():
    chat = new_chat()
    assert typed(chat, "/model").startswith("model clew/offline")
    assert typed(chat, "/model offline").startswith("model clew/offline")
    with pytest.raises(ClewError):
        typed(chat, "/model openai-chat/")


def test_quit_ends():
    assert list(run_command(new_chat(), "/quit")) == [ChatEnded()]


@pytest.mark.parametrize("line", ["/compact", "/preview"])
def test_in_a_short_chat_there_is_nothing_to_gain(line: str):
    chat = new_chat(window=8_000)
    reply_to(chat, "hi")
    assert typed(chat, line).startswith("nothing to gain")


def test_automatic_compaction_comes_back_as_it_was_left():
    chat = new_chat()
    reply_to(chat, "hi")
    typed(chat, "/auto on")
    assert chat.session.about["auto"] is True
    typed(chat, "/auto off")
    assert chat.session.about["auto"] is False


def test_trust_says_what_is_no_instruction_file(tmp_path: Path):
    with pytest.raises(InputError, match="has no root"):
        typed(new_chat(), "/trust AGENTS.md")
    with pytest.raises(InputError, match="is not an instruction file"):
        typed(new_chat(root=tmp_path, trusted=True), "/trust notes.md")
    (tmp_path / "AGENTS.md").write_text("Be nice.")
    with pytest.raises(InputError, match=r"is not trusted.*trust_roots"):
        typed(new_chat(root=tmp_path), "/trust AGENTS.md")
