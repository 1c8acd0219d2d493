"""Real sessions, against what can be worked out from them naively."""

from __future__ import annotations

import io
import json
import posixpath
import re
from collections import Counter
from functools import cache

import pytest
import zstandard

from clew.ledger import Ledger
from clew.ledger.todos import TodoOrigin
from clew.ledger.values import values_of
from clew.message import Item, Message, ToolCall, pair
from clew.transcripts import load, open_source
from tests.conftest import real_data, sampled, tries
from tests.ledger.sessions import citations, is_there

SETS = {
    "claude-code-context-evaluator": 60,
    "claude-code-entire-cli": 20,
    "codex-session-bridge": 11,
    "copilot-cli-gatomia": 1,
    "gemini-cli-entire": 3,
    "gemini-cli-session-bridge": 2,
    "mini-swe-agent": 15,
    "opencode-gatomia": 34,
    "opencode-nimbus": 30,
    "openhands-sdk-llm-logs": 14,
    "specstory-md": 3,
    "swe-agent": 22,
    "tau-bench-airline": 1,
}
"""How many files of each set the long run reads: all, or some of the large sets."""
MOST_FILES = 5
"""How many files of each set every run reads."""
NOT_SESSIONS = ("SOURCE.txt", "LICENSE", "README.md")
SHELLS = (
    "Bash",
    "bash",
    "shell",
    "shell_command",
    "exec_command",
    "run_shell_command",
    "powershell",
    "terminal",
)
every_set = pytest.mark.parametrize("name", SETS)


@cache
def sessions(name):
    """Return the sessions of a set, each as items."""
    folder = real_data("transcripts") / name
    files = [path for path in sorted(folder.iterdir()) if path.name not in NOT_SESSIONS][: SETS[name]]
    return [
        [Item(entry.id, entry.message) for entry in session.full_entries()]
        for path in sampled(files, MOST_FILES)
        for session in load(open_source(path))
    ]


def filled(talk):
    ledger = Ledger()
    ledger.extend(talk)
    return ledger


@cache
def ledgers(name):
    """Return the sessions of a set, each with its ledger."""
    return [(talk, filled(talk)) for talk in sessions(name)]


def calls_with_results(messages):
    """Yield each call with its result, in the order of the results."""
    for answer, asked in sorted(pair(messages).answers.items()):
        result, call = messages[answer.message].parts[answer.part], messages[asked.message].parts[asked.part]
        if isinstance(call, ToolCall):
            yield call, result


# Files ------------------------------------------------------------------------------------------------

WRITERS = {
    "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path",
    "write": "filePath", "edit": "filePath", "write_file": "file_path", "replace": "file_path",
    "str_replace_editor": "path",
}  # fmt: skip
COMPLAINTS = (
    "Error",
    "<tool_use_error>",
    "apply_patch verification failed",
    "Could not",
    "Tool execution",
    "Invalid",
)


def naively_changed(messages):
    """Return the targets of the writing tools' calls that succeeded."""
    changed = set()
    for call, result in calls_with_results(messages):
        text = result.text
        if (
            result.is_error
            or text.startswith(COMPLAINTS)
            or '"exit_code":1' in text[-90:]
            or "Errno" in text[:60]
        ):
            continue
        given = call.input or {}
        target = given.get(WRITERS.get(call.name, ""))
        if isinstance(target, str) and given.get("command") != "view":
            changed.add(target)
        if call.name == "apply_patch":
            patch = given.get("patchText") or call.input_text
            changed |= set(re.findall(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)", patch))
    return {posixpath.normpath(name.strip()) for name in changed}


def same_file(name, known):
    return any(full == name or full.endswith(f"/{name}") for full in known)


def without_shells(talk):
    """Return a session without its command lines, which touch files in ways no naive reader sees."""

    def kept(part):
        return not (isinstance(part, ToolCall) and part.name in SHELLS)

    return [Item(id_, Message(m.role, tuple(filter(kept, m.parts)), m.origin)) for id_, m in talk]


@every_set
def test_files_changed_are_the_targets_of_successful_writes(name):
    if name in ("specstory-md", "swe-agent"):
        pytest.skip("these sessions do not say in their calls which file they edit")
    for talk in sessions(name):
        found = {file.name for file in filled(without_shells(talk)).artifacts.changed}
        # The ledger may know a relative path by its full one.
        written = naively_changed([message for _, message in talk])
        assert {name for name in written if not same_file(name, found)} == set()
        assert {name for name in found if not any(same_file(one, {name}) for one in written)} == set()


# Tasks ------------------------------------------------------------------------------------------------


def naive_list(messages):
    """Return the last list of tasks that was written, each text once."""
    tasks = {}
    for call, result in calls_with_results(messages):
        if call.name in ("TodoWrite", "update_plan", "todowrite") and not result.is_error:
            rows = (call.input or {}).get("todos") or (call.input or {}).get("plan") or []
            tasks = {row.get("content") or row.get("step"): row["status"] for row in rows}
    return tasks


def naive_tasks(messages):
    """Return the tasks that were created one by one, with the last state of each."""
    tasks = {}
    for call, result in calls_with_results(messages):
        given = call.input or {}
        number = re.search(r"#(\w+)", result.text)
        if call.name == "TaskCreate" and number and "subject" in given:
            tasks[number[1]] = (given["subject"], "pending")
        elif call.name == "TaskUpdate" and given.get("taskId") in tasks and not result.is_error:
            subject, status = tasks[given["taskId"]]
            tasks[given["taskId"]] = (given.get("subject", subject), given.get("status", status))
        elif call.name == "TaskList":
            for shown, status in re.findall(r"(?m)^#(\w+) \[(\w+)\] ", result.text):
                if shown in tasks:
                    tasks[shown] = (tasks[shown][0], status)
    return tasks


@every_set
def test_tasks_are_as_their_tools_left_them(name):
    for talk, ledger in ledgers(name):
        kept = ledger.loops.tasks.loops
        messages = [message for _, message in talk]
        listed = {loop.text: loop.status for key, loop in kept.items() if key.origin is TodoOrigin.LIST}
        single = {
            key.name: (loop.text, loop.status) for key, loop in kept.items() if key.origin is TodoOrigin.TASKS
        }
        assert listed == naive_list(messages)
        assert single == naive_tasks(messages)


# Laws -------------------------------------------------------------------------------------------------


@every_set
def test_every_citation_of_a_real_session_leads_to_its_words(name):
    for talk, ledger in ledgers(name):
        messages = dict(talk)
        missing = [(cite, words) for cite, words in citations(ledger) if not is_there(cite, words, messages)]
        assert missing == []


@every_set
def test_a_real_session_resumes_from_json_in_its_middle(name):
    for talk, whole in ledgers(name)[:3]:
        half = len(talk) // 2
        resumed = Ledger.from_json(json.loads(json.dumps(filled(talk[:half]).to_json())))
        resumed.extend(talk[half:])
        assert resumed.to_json() == whole.to_json()


# What sessions need later -----------------------------------------------------------------------------


def probes():
    """Return values that agents took from earlier in real sessions, by session."""
    path = real_data("transcripts") / "_labels" / "reuse_probes.jsonl.zst"
    with path.open("rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        rows = [json.loads(line) for line in lines]
    found = {}
    for row in rows:
        found.setdefault((row["set"].removeprefix("pub."), row["session"].split("#")[0]), []).append(row)
    return found


def end_of(path):
    """Return the last two components of a path: by these the probes know it again."""
    pieces = [piece for piece in path.replace("\\", "/").split("/") if piece not in ("", ".", "..", "~")]
    return "/".join(pieces[-2:])


def test_values_that_sessions_need_later_are_found():
    asked, missing = Counter(), []
    root = real_data("transcripts")
    for (name, file), rows in list(probes().items())[:: tries(12, 4)]:
        talks = load(open_source(root / name / file))
        found = [values_of(Item(e.id, e.message) for e in talk.full_entries()) for talk in talks]
        held = {value.text for values in found for value in values}
        ends = {end_of(text) for text in held}
        for row in rows:
            if row["kind"] in ("open_task", "constraint") or row["refetched"]:
                continue
            asked[row["kind"]] += 1
            if row["value"] not in held and row["key"] not in held | ends:
                missing.append((row["kind"], row["value"]))
    assert asked.total() > tries(100, 300)
    assert len(missing) <= 0.01 * asked.total(), missing
