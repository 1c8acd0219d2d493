"""A folder of documents: cut at its headings, told apart by topic, kept fresh, found with references."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clew.chat.offline_lookup import of_result
from clew.cli import main
from clew.errors import NotFound
from clew.memory.documents import read_passage, search_documents, update_index
from clew.memory.documents.manifest import (
    Manifest,
    files_of,
    manifest_path,
    manifests,
    read_manifest,
    write_manifest,
)
from clew.memory.documents.split import DocumentPiece, split_document, topic_of
from clew.memory.index import EntryKind
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.search import Query
from clew.message import Role, Trust, text_message
from clew.session import Session

AT = "2026-01-31T10:00:00Z"
Ran = Callable[..., str]
DOCUMENTS = {
    "ops/queue.md": "# Queue\n\nIt holds jobs.\n\n## Restart\n\nDrain it first, then `queuectl restart`.\n",
    "policies/retention.md": "# Data retention\n\nLogs are deleted after 30 days.\n",
    "docs/decisions/0001.md": "---\nstatus: superseded\n---\n# Use SQLite\n\nOne file, no server.\n",
    "db/schema.sql": "CREATE TABLE customer (\n  id INT\n);\n\nCREATE TABLE invoice (\n  total REAL\n);\n",
    "AGENTS.md": "# How to work here\n\nRun the tests before you push.\n",
    "notes.txt": "The staging host is called heron.\n",
    "src/dates.py": '"""Dates."""\n\n\ndef leap(year):\n    """Tell whether a year has 366 days."""\n',
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    for path, text in DOCUMENTS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    with SqliteIndex(tmp_path / "clew.db") as index:
        yield index


def best(index: SqliteIndex, question: str, *topics: str) -> list[str]:
    return [hit.entry.ref for hit in search_documents(index, "w", Query(text=question, at=AT), topics=topics)]


# Pieces ----------------------------------------------------------------------------------------------


def test_markdown_is_cut_at_its_headings_outside_of_code() -> None:
    text = "intro\n\n# A\n\none\n```sh\n# no heading\n```\n\n## B\ntwo\n# C\nthree"
    assert split_document("x.md", text) == [
        DocumentPiece((), 1, 1, "intro"),
        DocumentPiece(("A",), 3, 8, "# A\n\none\n```sh\n# no heading\n```"),
        DocumentPiece(("A", "B"), 10, 11, "## B\ntwo"),
        DocumentPiece(("C",), 12, 13, "# C\nthree"),
    ]


def test_the_marks_that_close_a_heading_need_a_space_before_them() -> None:
    headings = "# C#\n\n## Restart ##\n\n# F# #\n\n# a" + " " * 5_000 + "b\n"  # not in cubic time
    trails = [piece.trail[-1] for piece in split_document("x.md", headings)]
    assert trails == ["C#", "Restart", "F#", "a" + " " * 5_000 + "b"]


def test_restructured_text_is_cut_at_what_is_underlined() -> None:
    text = "Title\n=====\none\n\nPart\n----\ntwo\n"
    assert [(piece.trail, piece.first, piece.last) for piece in split_document("x.rst", text)] == [
        (("Title",), 1, 3),
        (("Title", "Part"), 5, 7),
    ]


def test_tables_keys_and_statements_are_headings() -> None:
    assert [piece.trail for piece in split_document("a.toml", "x = 1\n[tool.a]\ny = 2\n[[b]]\nz = 3\n")] == [
        (),
        ("tool.a",),
        ("b",),
    ]
    assert [piece.trail for piece in split_document("a.yaml", "a:\n  x: 1\nb: 2\n")] == [("a",), ("b",)]
    assert [piece.trail for piece in split_document("a.sql", DOCUMENTS["db/schema.sql"])] == [
        ("CREATE TABLE customer",),
        ("CREATE TABLE invoice",),
    ]


def test_of_python_only_what_it_says_of_itself_is_read() -> None:
    assert split_document("dates.py", DOCUMENTS["src/dates.py"]) == [
        DocumentPiece((), 1, 1, '"""Dates."""'),
        DocumentPiece(("leap",), 4, 5, 'def leap(year):\n    """Tell whether a year has 366 days."""'),
    ]
    assert split_document("broken.py", "def (") == []


def test_python_is_read_inside_of_blocks_and_after_a_form_feed() -> None:
    text = "try:\n    import x\nexcept ImportError:\n    def f():\n        'No x.'\n"
    text += "\x0c\nclass A:\n    'An a.'\n"
    assert split_document("x.py", text) == [
        DocumentPiece(("A",), 7, 8, "class A:\n    'An a.'"),
        DocumentPiece(("f",), 4, 5, "    def f():\n        'No x.'"),
    ]


def test_a_long_section_is_cut_between_paragraphs_and_nothing_is_lost() -> None:
    text = "# Long\n\n" + "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(40))
    found = split_document("x.md", text)
    assert len(found) > 3
    assert {piece.trail for piece in found} == {("Long",)}
    kept = [line for piece in found for line in piece.text.splitlines() if line.strip()]
    assert kept == [line for line in text.splitlines() if line.strip()]


def test_the_lines_of_a_reference_are_the_lines_of_the_file() -> None:
    text = DOCUMENTS["ops/queue.md"]
    for piece in split_document("ops/queue.md", text):
        assert "\n".join(text.splitlines()[piece.first - 1 : piece.last]) == piece.text


# Topics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "front", "title", "topic"),
    [
        ("AGENTS.md", {}, "x", "instructions"),
        ("a/policies/x.md", {}, "x", "policy"),
        ("x.md", {"type": "runbook"}, "x", "runbook"),
        ("policies/x.md", {"type": "Decision"}, "x", "decision"),
        ("ops/x.md", {}, "x", "runbook"),
        ("db/x.sql", {}, "x", "schema"),
        ("x.md", {}, "Roadmap for 2026", "plan"),
        ("x.md", {}, "Known gaps", "gap"),
        ("x.md", {}, "Benchmarks", "scorecard"),
        ("tests/fixtures/x.md", {}, "x", "fixture"),
        ("docs/adr/0001-x.md", {}, "x", "decision"),
        ("docs/x.md", {}, "About dogs", "reference"),
    ],
)
def test_a_document_is_told_by_its_word_its_path_or_its_title(
    path: str, front: dict[str, str], title: str, topic: str
) -> None:
    assert topic_of(path, front, title) == topic


# Indexing and asking ---------------------------------------------------------------------------------


def test_a_question_is_answered_with_an_exact_reference(index: SqliteIndex, root: Path) -> None:
    done = update_index(index, "w", root, Manifest(str(root)))
    assert sorted(done.added) == sorted(DOCUMENTS)
    (first, *_) = search_documents(
        index, "w", Query(text="How do I restart the queue?", at=AT), [done.manifest]
    )
    entry = first.entry
    assert (entry.ref, entry.role, entry.kind, entry.trust) == (
        "ops/queue.md#Restart:5-7",
        "runbook",
        EntryKind.DOCUMENT,
        Trust.SEMI_TRUSTED,
    )
    assert (
        read_passage(done.manifest, entry.ref).text
        == "## Restart\n\nDrain it first, then `queuectl restart`."
    )


def test_a_topic_narrows_the_question(index: SqliteIndex, root: Path) -> None:
    update_index(index, "w", root, Manifest(str(root)))
    assert best(index, "how long are logs kept", "policy") == ["policies/retention.md#Data retention:1-3"]
    assert best(index, "how long are logs kept", "schema") == []


def test_a_document_says_itself_that_it_no_longer_holds(index: SqliteIndex, root: Path) -> None:
    documents = update_index(index, "w", root, Manifest(str(root))).manifest.documents
    assert [one.path for one in documents.values() if one.is_outdated] == ["docs/decisions/0001.md"]


def test_the_second_time_nothing_is_read(index: SqliteIndex, root: Path) -> None:
    first = update_index(index, "w", root, Manifest(str(root)))
    for path, text in DOCUMENTS.items():  # whoever reads one now finds other words in it
        modified = (root / path).stat().st_mtime_ns
        (root / path).write_text("x" * len(text))
        os.utime(root / path, ns=(modified, modified))
    second = update_index(index, "w", root, first.manifest)
    assert second.is_nothing
    assert second.manifest == first.manifest


def test_only_what_changed_is_read_and_what_is_gone_leaves(index: SqliteIndex, root: Path) -> None:
    first = update_index(index, "w", root, Manifest(str(root)))
    (root / "notes.txt").write_text("The staging host is called osprey now.\n")
    (root / "ops/queue.md").unlink()
    (root / "new.md").write_text("# Fresh\n\nA zebra.\n")
    second = update_index(index, "w", root, first.manifest)
    assert (second.added, second.changed, second.gone) == (("new.md",), ("notes.txt",), ("ops/queue.md",))
    assert best(index, "heron") == []
    assert best(index, "osprey") == ["notes.txt#:1-1"]
    assert best(index, "queuectl restart") == []
    assert best(index, "zebra") == ["new.md#Fresh:1-3"]


def test_a_file_time_that_no_calendar_has_is_the_last_one(index: SqliteIndex, root: Path) -> None:
    os.utime(root / "notes.txt", (1.7e12, 1.7e12))  # was meant in ms
    manifest = update_index(index, "w", root, Manifest(str(root))).manifest
    assert "2400" < manifest.documents["notes.txt"].time <= "9999-12-31T23:59:59+00:00"


def test_a_file_that_was_only_touched_is_not_indexed_again(index: SqliteIndex, root: Path) -> None:
    first = update_index(index, "w", root, Manifest(str(root)))
    os.utime(root / "notes.txt", ns=(1, 1))
    second = update_index(index, "w", root, first.manifest)
    assert second.is_nothing
    assert second.manifest.documents["notes.txt"].modified_ns == 1


def test_a_manifest_of_another_index_is_not_believed(index: SqliteIndex, root: Path, tmp_path: Path) -> None:
    first = update_index(index, "w", root, Manifest(str(root)))
    with SqliteIndex(tmp_path / "other.db") as other:
        assert sorted(update_index(other, "w", root, first.manifest).changed) == sorted(DOCUMENTS)
        assert best(other, "heron") == ["notes.txt#:1-1"]


def test_links_and_hidden_folders_are_not_followed(index: SqliteIndex, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n\nsecret giraffe\n")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "x.md").write_text("secret giraffe")
    update_index(index, "w", root, Manifest(str(root)))
    assert best(index, "giraffe") == []


def test_secrets_of_documents_never_reach_the_index(index: SqliteIndex, root: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (root / "keys.md").write_text(f"# Keys\n\nThe robot uses {token}.\n")
    done = update_index(index, "w", root, Manifest(str(root)))
    (hit, *_) = search_documents(index, "w", Query(text="robot keys", at=AT))
    assert "[secret:github-token:" in hit.entry.text
    assert token not in read_passage(done.manifest, hit.entry.ref).text


def test_a_reference_tells_when_its_file_has_changed(index: SqliteIndex, root: Path) -> None:
    manifest = update_index(index, "w", root, Manifest(str(root))).manifest
    assert read_passage(manifest, "notes.txt#:1-1").is_fresh
    (root / "notes.txt").write_text("Nothing.\n")
    assert not read_passage(manifest, "notes.txt#:1-1").is_fresh
    with pytest.raises(NotFound):
        read_passage(manifest, "../outside.md#:1-1")


@pytest.mark.parametrize("path", ["notes.txt", "ops/queue.md"])
def test_a_link_in_a_documents_place_is_not_followed(
    index: SqliteIndex, root: Path, tmp_path: Path, path: str
) -> None:
    manifest = update_index(index, "w", root, Manifest(str(root))).manifest
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "queue.md").write_text("Not for you.\n")
    if path == "notes.txt":
        (root / path).unlink()
        (root / path).symlink_to(outside / "queue.md")
    else:
        (root / "ops").rename(root / "old")
        (root / "ops").symlink_to(outside)
    with pytest.raises(NotFound, match="is gone"):
        read_passage(manifest, f"{path}#:1-1")


def test_a_file_name_that_is_not_utf8_comes_back_from_the_manifest(
    index: SqliteIndex, root: Path, tmp_path: Path
) -> None:
    document = replace(
        update_index(index, "w", root, Manifest(str(root))).manifest.documents["notes.txt"],
        path=os.fsdecode(b"caf\xe9.md"),
    )
    manifest = Manifest(str(root), 1, {document.path: document})
    path = manifest_path(tmp_path, root)
    write_manifest(path, manifest)
    assert read_manifest(path, str(root)) == manifest


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_not_utf8_is_left_out(index: SqliteIndex, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.md")).write_text("# Menu\n\nCoffee.\n")
    first = update_index(index, "w", root, Manifest(str(root)))
    assert sorted(first.added) == sorted(DOCUMENTS)


def test_a_file_deleted_while_the_folder_is_listed_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = list(os.walk(root))
    monkeypatch.setattr("clew.memory.documents.manifest.os.walk", lambda *_args, **_options: listed)
    (root / "notes.txt").unlink()
    assert {file.path for file in files_of(root)} == set(DOCUMENTS) - {"notes.txt"}


def test_a_manifest_comes_back_as_it_was_kept(index: SqliteIndex, root: Path, tmp_path: Path) -> None:
    manifest = update_index(index, "w", root, Manifest(str(root))).manifest
    path = manifest_path(tmp_path, root)
    write_manifest(path, manifest)
    assert read_manifest(path, str(root)) == manifest
    assert manifests(tmp_path) == [manifest]
    path.write_text("{")
    assert read_manifest(path, "r") == Manifest("r")


@pytest.mark.parametrize(
    ("front", "time"),
    [
        ("updated: 2021-03-04", "2021-03-04T00:00:00+00:00"),
        ('last_updated: "2021-03-04T05:06:07+02:00"', "2021-03-04T03:06:07+00:00"),
        ("date: 2020-01-01\nupdated: 2021-03-04", "2021-03-04T00:00:00+00:00"),
        ("updated: last week\ndate: 2020-01-01", "2020-01-01T00:00:00+00:00"),
        ("updated: 0001-01-01T00:00:00+05:00\ndate: 2020-01-01", "2020-01-01T00:00:00+00:00"),
    ],
)
def test_the_date_of_a_document_is_the_one_that_it_states(
    root: Path, index: SqliteIndex, front: str, time: str
) -> None:
    (root / "ops/queue.md").write_text(f"---\n{front}\n---\n{DOCUMENTS['ops/queue.md']}")
    manifest = update_index(index, "w", root, Manifest(str(root))).manifest
    documents = {one.path: one.time for one in manifest.documents.values()}
    assert documents["ops/queue.md"] == time
    assert documents["notes.txt"] > "2025"
    (hit, *_) = search_documents(index, "w", Query(text="queuectl restart", at=AT))
    assert hit.entry.time == time


def test_what_is_left_out_is_named_and_utf16_is_read(index: SqliteIndex, root: Path) -> None:
    (root / "long.md").write_text("# Long\n" + "word " * 210_000)
    (root / "data.md").write_bytes(b"# Data\n\0\1\2")
    (root / "wide.md").write_bytes("# Wide\n\nThe tower is called osprey.\n".encode("utf-16"))
    (root / "latin.md").write_bytes("# Prüfung\n\nDas Gerät heißt Möwe und grüßt.\n".encode("latin-1"))
    (root / "dented.md").write_bytes("# Gerät\n\nDer Häher grüßt schön.\n".encode() + b"\xff\n")
    done = update_index(index, "w", root, Manifest(str(root)))
    assert done.left_out == (("data.md", "not text, or unreadable"), ("long.md", "larger than 1 MB"))
    assert best(index, "wie heißt das Gerät Möwe")[0] == "latin.md#Prüfung:1-3"
    assert best(index, "der Häher grüßt schön")[0].startswith("dented.md#Gerät:")
    assert best(index, "what is the tower called osprey")[0] == "wide.md#Wide:1-3"


def test_files_that_are_never_read_are_named_with_the_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("handbook.pdf", *(f"plot{n}.png" for n in range(8))):
        (root / name).write_bytes(b"%PDF\0")
    (root / "NOTES").write_text("no suffix")
    (root / "elsewhere.md").symlink_to("/etc/hostname")
    run = _chat_of(root, monkeypatch, capsys)
    shown = run("knowledge", "index", ".")
    assert "left out: handbook.pdf (.pdf files are not read)" in shown
    assert "plot4.png and 3 more files (.png files are not read)" in shown
    assert "left out: NOTES (files without a suffix are not read)" in shown
    assert "left out: elsewhere.md (links are not followed)" in shown
    (root / os.fsdecode(b"caf\xe9.md")).write_text("# Menu\n")
    listed = json.loads(run("knowledge", "index", ".", "--json"))["left_out"]
    assert len(listed) == 12
    assert {"path": "plot7.png", "why": ".png files are not read"} in listed


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("# Use MySQL\n\nSuperseded by [0012](0012.md).\n", "superseded"),
        ("# Use MySQL\n\n**Status:** Deprecated, see 0012\n", "deprecated"),
        ("# Use MySQL\n\nStatus: superseded\n", "superseded"),
        ("# Use MySQL\n\n" + "Text.\n\n" * 14 + "## Status\n\nSuperseded by ADR-12\n", "superseded"),
        ("# Use MySQL\n\n> **Deprecated**: use Postgres.\n", "deprecated"),
        ("# Deploy by hand (deprecated)\n\nText.\n", "deprecated"),
        ("# Use MySQL\n\nThis document is now obsolete.\n", "obsolete"),
        ("---\nstatus: superseded by 0012\n---\n# Use MySQL\n", "superseded by 0012"),
        ("# Changes\n\n## 2.0\n\n### Deprecated\n\n- The old API.\n", ""),
        ("# Flags\n\nDeprecated flags are listed below. Status: see each.\n", ""),
        ("# Use Postgres\n\nStatus: accepted. It has superseded MySQL.\n", ""),
        ("# Rules\n\nArchived mails stay for a year. This page lists obsolete files.\n", ""),
        ("# Long\n\n" + "Text.\n\n" * 30 + "Superseded by nothing.\n", ""),
    ],
)
def test_a_document_says_in_its_first_lines_that_it_is_outdated(
    index: SqliteIndex, root: Path, text: str, status: str
) -> None:
    (root / "old.md").write_text(text)
    document = update_index(index, "w", root, Manifest(str(root))).manifest.documents["old.md"]
    assert (document.status, document.is_outdated) == (status, bool(status))


def _chat_of(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    monkeypatch.setenv("CLEW_HOME", str(root.parent / "home"))
    monkeypatch.chdir(root)

    def run(*words: str) -> str:
        main(list(words))
        shown = capsys.readouterr()
        return shown.out + shown.err

    return run


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        (lambda path: None, "marked as superseded"),
        (lambda path: path.write_text("---\nstatus: superseded\n---\n# Use Postgres\n"), "changed since"),
        (lambda path: path.unlink(), "deleted since it was indexed"),
    ],
)
def test_a_document_that_may_not_hold_is_marked_in_every_search(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], None],
    mark: str,
) -> None:
    run = _chat_of(root, monkeypatch, capsys)
    run("knowledge", "index", ".")
    session = Session.open("talk", str(root.parent / "home" / "clew.db"))
    session.add(text_message(Role.USER, "hello"), text_message(Role.ASSISTANT, "hi"))
    path = root / "docs/decisions/0001.md"
    change(path)
    question = "one file, no server: use SQLite"
    assert mark in run("knowledge", "search", question, "--limit", "1").partition("⚠")[2]
    assert mark in run("recall", question, "--limit", "1", "--all")
    found = session.memory.toolbox(session).run(
        "recall_search", {"query": question, "kind": "document", "where": "everywhere"}
    )
    assert mark in found.text.splitlines()[1]
    first = next(of_result("m3", "recall_search", found.text))
    assert mark in first.who


def test_a_document_is_shown_by_the_path_that_a_list_prints(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _chat_of(root, monkeypatch, capsys)
    run("knowledge", "index", ".")
    path = root / "docs/decisions/0001.md"
    assert str(path) in run("knowledge", "list")
    shown = run("knowledge", "show", str(path))
    assert "One file, no server." in shown
    assert "⚠ marked as superseded" in shown
    assert run("knowledge", "show", f"{path}#Use SQLite:4-4").splitlines()[0] == "# Use SQLite"
