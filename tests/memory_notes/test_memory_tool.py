"""Anthropic's memory tool: the same words as the SDK's own back end, on a log that keeps every version."""

from __future__ import annotations

import asyncio

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.log.fold import MEMORY_FILE
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.memory.anthropic_tool import AsyncMemoryTool, MemoryTool
from clew.memory.notes.commands import MemoryFiles, run_command
from clew.memory.notes.memory_files import FILE_BYTES, fold_files, resolve, size
from clew.memory.notes.notebook import NOTES_SESSION
from tests.conftest import tries

CTX = Ctx(workspace="local", session=NOTES_SESSION)


def command(name, **fields):
    return {"command": name, **fields}


def answer(tool, call):
    """Return what a tool says, and whether it is an error."""
    try:
        return tool.call(call), False
    except ToolError as refusal:
        return str(refusal.content), True


# The same words --------------------------------------------------------------------------------------

paths = st.sampled_from(
    [
        "/memories",
        "/memories/",
        "/memories/a.md",
        "/memories/b.md",
        "/memories/notes",
        "/memories/notes/c.txt",
        "/memories/notes/../a.md",
        "/memories/deep/er/d.md",
        "/memories/.hidden",
        "/memories//a.md",
        "/memoriesb.md",
        "/memories/../memories/a.md",
        "/memories/../../x",
        "/memories/..",
        "/other",
        "a.md",
    ]
)
texts = st.sampled_from(["", "one", "one\ntwo\n", "one\none\n", "aaa", "a\r\nb\n", "é " * 600, "x\n" * 12])
commands = st.one_of(
    st.builds(command, st.just("view"), path=paths),
    st.builds(
        command,
        st.just("view"),
        path=paths,
        view_range=st.lists(st.integers(-3, 14), min_size=1, max_size=3) | st.none(),
    ),
    st.builds(command, st.just("create"), path=paths, file_text=texts),
    st.builds(
        command,
        st.just("str_replace"),
        path=paths,
        old_str=st.sampled_from(["one", "a", "aa", "", "x\n", "nowhere"]),
        new_str=texts,
    ),
    st.builds(command, st.just("insert"), path=paths, insert_line=st.integers(-1, 4), insert_text=texts),
    st.builds(command, st.just("delete"), path=paths),
    st.builds(command, st.just("rename"), old_path=paths, new_path=paths),
)


@given(st.lists(commands, max_size=14))
@settings(max_examples=tries(50, 250))
def test_every_answer_is_the_one_of_the_sdk_s_file_back_end(tmp_path_factory, calls):
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("memory")))
    ours = MemoryTool(MemoryFiles(MemoryStore()))
    for call in calls:
        try:
            expected = answer(theirs, call)
        except OSError:  # it fell through to the disk: what it left there is nobody's promise
            assert answer(ours, call)[1]
            return
        if expected[1] and call["command"] == "rename":
            # It makes the target's directories even where there is nothing to move.
            assert answer(ours, call) == expected
            return
        assert answer(ours, call) == expected


def test_the_tool_is_offered_under_the_name_that_the_api_knows():
    tool = MemoryTool(MemoryFiles(MemoryStore()))
    assert (tool.to_dict(), tool.name) == ({"type": "memory_20250818", "name": "memory"}, "memory")


def test_an_awaited_client_gets_the_same_answers():
    files = MemoryFiles(MemoryStore())
    made = asyncio.run(AsyncMemoryTool(files).call(command("create", path="/memories/a", file_text="hi")))
    assert made == "File created successfully at: /memories/a"
    assert answer(MemoryTool(files), command("view", path="/memories/a"))[0].endswith("     1\thi")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({}, "Unknown command: None"),
        (command("format"), "Unknown command: format"),
        (command("__init__", path="/memories"), "Unknown command: __init__"),
        (command("view"), "The command view needs path; check path"),
        (command("create", path="/memories/a"), "The command create needs path, file_text; check file_text"),
        (
            command("insert", path="/memories/a", insert_line=True, insert_text=""),
            "The command insert needs path, insert_line, insert_text; check insert_line",
        ),
        ("view /memories", "Unknown command: None"),
    ],
)
def test_a_broken_call_is_refused_with_what_is_wrong(call, said):
    assert answer(MemoryTool(MemoryFiles(MemoryStore())), call) == (said, True)


# Paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../../x",
        "/memories/..",
        "/memories/../memories2/x",
        "/memories/a/../../b",
        "/memories/../../memories/x",
        "/memories/../../../../etc/passwd",
        "/memories/a/b/../../../..//memories",
        "/etc/passwd",
        "../memories/x",
        "memories/x",
        "",
        "~/memories",
        "file:///memories/x",
        "\\memories\\x",
        "/Memories/x",
        "/memories/a\0b",
        "/memories/" + "n" * 300,
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path):
    with pytest.raises(InputError):
        resolve(path)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/memories/%2e%2e/%2e%2e/x", ("%2e%2e", "%2e%2e", "x")),
        ("/memories/..%2f..%2fx", ("..%2f..%2fx",)),
        ("/memories/..\\..\\x", ("..\\..\\x",)),
        ("/memories/．．/x", ("．．", "x")),
        ("/memories/.../x", ("...", "x")),
        ("/memories/a/./b/../c", ("a", "c")),
    ],
)
def test_nothing_in_a_path_is_decoded(path, place):
    assert resolve(path) == place


segments = st.sampled_from(["..", ".", "", "memories", "a", "%2e%2e", "..;", "．．", "\\..", "~"])


@given(st.lists(segments, max_size=8))
def test_no_path_ever_leads_out(names):
    path = "/memories/" + "/".join(names)
    try:
        place = resolve(path)
    except InputError:
        return
    assert not {"..", ".", ""} & set(place)
    assert not any("/" in name for name in place)


def test_a_file_is_not_a_directory():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/a", "x")
    for refused in (lambda: files.create("/memories/a/b", "y"), lambda: files.create("/memories/a/b/c", "y")):
        with pytest.raises(InputError, match="leads through a file"):
            refused()
    files.create("/memories/b", "y")
    with pytest.raises(InputError, match="leads through a file"):
        files.rename("/memories/b", "/memories/a/b")


def test_a_directory_does_not_move_into_itself():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/a/b", "x")
    with pytest.raises(InputError, match="into itself"):
        files.rename("/memories/a", "/memories/a/c")


# What is kept ----------------------------------------------------------------------------------------


def test_every_version_of_a_file_is_kept_through_renames_and_after_it_is_gone():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/a", "one\n")
    files.str_replace("/memories/a", "one", "two")
    files.rename("/memories/a", "/memories/d/b")
    files.insert("/memories/d/b", 0, "zero")
    files.delete("/memories/d")
    assert [(v.seq, v.does, v.path, v.text) for v in files.history("/memories/d/b")] == [
        (1, "create", "a", "one\n"),
        (2, "str_replace", "a", "two\n"),
        (3, "rename", "d/b", "two\n"),
        (4, "insert", "d/b", "zero\ntwo\n"),
        (5, "delete", "d/b", None),
    ]


def test_a_rename_makes_the_directories_it_leads_to_and_brings_those_it_moves():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/a/b/c", "1")
    files.rename("/memories/a", "/memories/x/y")
    assert files.view("/memories/x").splitlines()[1:] == [
        "4K\t/memories/x",
        "4K\t/memories/x/y/",
        "4K\t/memories/x/y/b/",
    ]
    assert files.view("/memories/x/y/b/c").endswith("     1\t1")


def test_clearing_leaves_the_versions():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/d/a", "one")
    assert files.clear() == "All memory cleared"
    assert files.view("/memories").splitlines()[1:] == ["4K\t/memories"]
    assert [version.text for version in files.history("/memories/d/a")] == ["one", None]


def test_a_refused_command_leaves_the_log_as_it_was():
    store = MemoryStore()
    files = MemoryFiles(store)
    files.create("/memories/a", "one")
    before = store.head(CTX)
    for refused in (
        lambda: files.create("/memories/a", "two"),
        lambda: files.str_replace("/memories/a", "zero", "two"),
        lambda: files.insert("/memories/a", 5, "two"),
        lambda: files.delete("/memories"),
        lambda: files.create("/memories/large", "x" * (FILE_BYTES + 1)),
    ):
        with pytest.raises(InputError):
            refused()
    assert store.head(CTX) == before


def test_two_processes_do_not_lose_each_other_s_changes():
    store = MemoryStore()
    one, other = MemoryFiles(store), MemoryFiles(store)
    one.create("/memories/a", "a\n")
    other.insert("/memories/a", 1, "b")
    one.insert("/memories/a", 2, "c")
    assert other.view("/memories/a").splitlines()[1:] == ["     1\ta", "     2\tb", "     3\tc", "     4\t"]


@given(st.lists(commands, max_size=14), st.integers(0, 14))
def test_replaying_the_log_gives_the_same_files_as_keeping_up(calls, cut):
    store = MemoryStore()
    files = MemoryFiles(store)
    done = 0
    for call in calls:
        try:
            run_command(files, call)
        except InputError:
            continue
        done += call["command"] != "view"
    events = list(store.read(CTX, kinds=[MEMORY_FILE.name]))
    assert len(events) == done
    assert fold_files(events) == fold_files(events[cut:], fold_files(events[:cut]))


def test_a_text_that_stands_in_a_million_places_is_refused_quickly():
    files = MemoryFiles(MemoryStore())
    files.create("/memories/a", "x\n" * 400_000)
    with pytest.raises(InputError, match="Multiple occurrences of old_str `x` in lines: 1, 2, 3, "):
        files.str_replace("/memories/a", "x", "y")


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0B"), (1023, "1023B"), (1536, "1.5K"), (4096, "4K"), (1_048_575, "1.0M"), (1_048_576, "1M")],
)
def test_a_size_is_never_1024_of_a_unit(count, shown):
    assert size(count) == shown
