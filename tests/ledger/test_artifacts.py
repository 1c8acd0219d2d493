"""Files, commands and addresses."""

from __future__ import annotations

import pytest

from clew.ledger import Action, Artifact, ArtifactKind, Ended
from clew.ledger import artifacts as artifacts_module
from clew.message import Cite
from tests.ledger.sessions import call, did, ledger_of, ran


def state(ledger):
    return {file.name: file.action for file in ledger.artifacts.files}


def test_a_file_knows_what_was_done_to_it():
    ledger = ledger_of(
        did("Read", {"file_path": "/r/a.py"}, "x"),
        did("Edit", {"file_path": "/r/a.py"}, "The file /r/a.py has been updated."),
        did("Read", {"file_path": "/r/a.py"}, "y"),
    )
    assert ledger.artifacts.changed == (
        Artifact(
            ArtifactKind.FILE,
            "/r/a.py",
            Action.READ,
            3,
            Cite("m0"),
            Cite("m4"),
            changes=1,
            last_change=Cite("m2"),
        ),
    )


def test_only_successful_calls_change_files():
    ledger = ledger_of(
        did("Edit", {"file_path": "a.py"}, "<tool_use_error>String to replace not found", error=True),
        did(
            "Write", {"file_path": "b.py"}, "The user doesn't want to proceed with this tool use.", error=True
        ),
        ran("rm c.py", "rm: c.py: No such file or directory", code=1),
        call("Write", {"file_path": "d.py"}),
    )
    assert ledger.artifacts.files == ()


def test_a_written_file_is_created_unless_it_was_there():
    ledger = ledger_of(
        did("read", {"filePath": "old.py"}, "x"),
        did("write", {"filePath": "old.py"}, "Wrote file successfully."),
        did("write", {"filePath": "new.py"}, "Wrote file successfully."),
    )
    assert state(ledger) == {"old.py": Action.MODIFIED, "new.py": Action.CREATED}
    assert [file.created for file in ledger.artifacts.files] == [False, True]


def test_a_deleted_file_that_is_written_again_is_created():
    ledger = ledger_of(ran("touch a.py"), ran("rm a.py"), ran("echo x > a.py"))
    (file,) = ledger.artifacts.files
    assert (file.action, file.changes, file.exists) == (Action.CREATED, 3, True)


def test_a_move_leaves_a_trace_at_both_ends():
    ledger = ledger_of(ran("git mv a.py b.py"))
    gone, new = ledger.artifacts.changed
    assert (gone.name, gone.action, gone.moved_to, gone.exists) == ("a.py", Action.MOVED, "b.py", False)
    assert (new.name, new.action, new.exists) == ("b.py", Action.CREATED, True)


def test_one_file_has_one_entry_whichever_way_it_is_named():
    ledger = ledger_of(
        ran("cat src/a.py"),
        did("Edit", {"file_path": "/repo/src/a.py"}, "The file /repo/src/a.py has been updated."),
        ran("sed -i s/x/y/ ./src/a.py"),
    )
    (file,) = ledger.artifacts.files
    assert (file.name, file.count, file.changes) == ("/repo/src/a.py", 3, 2)


def test_a_bare_name_is_not_taken_for_a_file_elsewhere():
    ledger = ledger_of(did("Read", {"file_path": "/repo/docs/README.md"}, "x"), ran("cat README.md"))
    assert state(ledger) == {"/repo/docs/README.md": Action.READ, "README.md": Action.READ}


def test_a_path_that_fits_two_files_stays_itself():
    ledger = ledger_of(
        did("Read", {"file_path": "/one/src/a.py"}, "x"),
        did("Read", {"file_path": "/two/src/a.py"}, "x"),
        ran("rm src/a.py"),
    )
    assert state(ledger) == {
        "/one/src/a.py": Action.READ,
        "/two/src/a.py": Action.READ,
        "src/a.py": Action.DELETED,
    }


def test_a_command_counts_whatever_came_of_it():
    ledger = ledger_of(ran("make test", "no", code=2), ran("make test", "yes"), ran("ls"))
    make, ls = ledger.artifacts.commands
    assert (make.name, make.count, make.ended, make.exit_code) == ("make test", 2, Ended.OK, None)
    assert (ls.first, ls.last) == (Cite("m4"), Cite("m4"))


def test_a_refused_command_did_not_run():
    refused = did(
        "Bash", {"command": "git push"}, "The user doesn't want to proceed with this tool use.", error=True
    )
    assert ledger_of(refused).artifacts.commands == ()


def test_fetched_addresses_are_kept():
    ledger = ledger_of(did("WebFetch", {"url": "https://x.org/a"}, "page"), ran("curl https://x.org/b"))
    assert [url.name for url in ledger.artifacts.urls] == ["https://x.org/a", "https://x.org/b"]


def test_when_there_are_too_many_changed_files_stay(monkeypatch):
    monkeypatch.setattr(artifacts_module, "MOST_UNCHANGED", 4)
    monkeypatch.setattr(artifacts_module, "_KEPT_WHEN_FULL", 2)
    ledger = ledger_of(
        did("write", {"filePath": "mine.py"}, "Wrote file successfully."),
        [message for n in range(5) for message in did("read", {"filePath": f"r{n}.py"}, "x")],
    )
    assert [file.name for file in ledger.artifacts.files] == ["mine.py", "r3.py", "r4.py"]


def test_a_file_that_a_failed_line_removed_first_is_gone():
    made = did(
        "Write", {"file_path": "/r/smoke.html", "content": "x"}, "File created successfully at: /r/smoke.html"
    )
    line = "cd /r && rm -f smoke.html; echo cleaned; ls smoke.html"
    (gone,) = ledger_of(made, ran(line, "cleaned\nls: smoke.html: no such file", code=2)).artifacts.files
    assert gone.action is Action.DELETED
    (kept,) = ledger_of(made, ran(line, "rm: cannot remove 'smoke.html'", code=2)).artifacts.files
    assert kept.exists
    (kept,) = ledger_of(made, ran("make && rm -f /r/smoke.html", "make: error", code=2)).artifacts.files
    assert kept.exists


def test_a_file_is_the_same_whichever_lines_are_read_and_a_report_is_no_file():
    artifacts = ledger_of(
        did("Read", {"file_path": "/r/README.md:301-420"}, "text"),
        did("Read", {"file_path": "/r/README.md"}, "text"),
        did("Read", {"path": "agent://2-fix-docs"}, "done"),
        did("Read", {"path": "https://example.org/a"}, "page"),
    ).artifacts
    assert [(one.name, one.count) for one in artifacts.files] == [("/r/README.md", 2)]
    assert [one.name for one in artifacts.urls] == ["https://example.org/a"]


def test_the_files_in_a_folder_go_where_the_folder_goes():
    made = [
        did("Write", {"file_path": f"/r/old/{name}"}, "File created successfully")
        for name in ("a.cs", "b.cs")
    ]
    moved = {
        one.name: (one.action, one.moved_to)
        for one in ledger_of(*made, ran("git mv /r/old /r/new")).artifacts.files
    }
    assert moved["/r/old/a.cs"] == (Action.MOVED, "/r/new/a.cs")
    assert moved["/r/new/b.cs"] == (Action.CREATED, "")
    read = did("Read", {"file_path": "/r/old/c.cs"}, "text")
    gone = ledger_of(*made, read, ran("rm -rf /r/old")).artifacts.files
    assert not any(one.exists for one in gone)
    assert [one.name for one in gone if one.changed] == ["/r/old/a.cs", "/r/old/b.cs", "/r/old"]


def test_a_relative_path_below_a_dot_folder_is_the_same_file_as_its_full_path():
    ledger = ledger_of(
        did("Read", {"file_path": "/r/.github/workflows/ci.yml"}, "x"),
        did("Edit", {"file_path": ".github/workflows/ci.yml"}, "updated"),
        did("Edit", {"file_path": "../r/.github/workflows/ci.yml"}, "updated"),
    )
    assert list(state(ledger)) == ["/r/.github/workflows/ci.yml", "../r/.github/workflows/ci.yml"]


def edited(path):
    return did("Edit", {"file_path": path}, f"The file {path} has been updated.")


def left_changed(*calls):
    return [file.name for file in ledger_of(*calls).artifacts.changed if file.exists]


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- /r/api/jobs.py",
        "git checkout HEAD -- /r/api/jobs.py",
        "git restore /r/api/jobs.py",
        "git restore /r/api/",
        "git restore .",
        "git checkout .",
        "git reset --hard",
        "git stash",
        "git stash push -m wip",
    ],
)
def test_a_file_that_git_put_back_is_not_changed(command):
    assert left_changed(edited("/r/api/jobs.py"), ran(command)) == []
    assert left_changed(edited("/r/api/jobs.py"), ran(command), edited("/r/api/jobs.py")) == [
        "/r/api/jobs.py"
    ]


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- /r/web/page.py",
        "git restore --staged /r/api/jobs.py",
        "git restore --source=v2 /r/api/jobs.py",
        "git checkout v2 -- /r/api/jobs.py",
        "git checkout -b jobs",
        "git stash list",
        "git commit -am jobs && git checkout -- /r/api/jobs.py",
    ],
)
def test_a_file_that_git_did_not_put_back_stays_changed(command):
    assert "/r/api/jobs.py" in left_changed(edited("/r/api/jobs.py"), ran(command))


def test_a_new_file_outlives_a_restore_and_a_committed_change_too():
    new = did("Write", {"file_path": "/r/new.py"}, "File created successfully at: /r/new.py")
    assert left_changed(new, ran("git checkout .")) == ["/r/new.py"]
    done = (edited("/r/a.py"), ran("git commit -am a"), ran("git checkout -- /r/a.py"))
    assert left_changed(*done) == ["/r/a.py"]


def test_what_is_taken_from_the_stash_is_changed_again():
    stashed = (edited("/r/a.py"), edited("/r/b.py"), ran("git stash"))
    assert left_changed(*stashed) == []
    assert left_changed(*stashed, ran("git stash pop")) == ["/r/a.py", "/r/b.py"]


def test_a_folder_that_is_made_anew_is_not_deleted():
    assert state(ledger_of(ran("rm -rf dist/ && mkdir dist"))) == {}
    assert state(ledger_of(ran("rm -rf dist/"), ran("mkdir -p dist"))) == {}
    assert state(ledger_of(ran("rm -rf dist/"))) == {"dist": Action.DELETED}


def test_files_are_in_the_order_in_which_they_were_last_touched():
    again = (edited("/r/a.py"), edited("/r/b.py"), edited("/r/c.py"), edited("/r/a.py"))
    assert left_changed(*again) == ["/r/b.py", "/r/c.py", "/r/a.py"]
    commands = ledger_of(ran("make a"), ran("make b"), ran("make a")).artifacts.commands
    assert [command.name for command in commands] == ["make b", "make a"]


def test_a_file_that_only_the_result_names_is_shown_by_both():
    edited = did("Edit", {}, "The file src/watcher.go has been updated.")
    (changed,) = ledger_of(edited).artifacts.changed
    assert changed.name == "src/watcher.go"
    assert [cite.message for cite in changed.sources] == ["m0", "m1"]
    again = did("Edit", {"file_path": "src/watcher.go", "old_string": "a", "new_string": "b"}, "ok")
    (changed,) = ledger_of(edited, again).artifacts.changed
    assert [cite.message for cite in changed.sources] == ["m2"]
