"""``clew knowledge``: index a folder of documents, and search it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from clew.cli.inputs import WORKSPACE, open_index, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, NotFound
from clew.memory.documents import document_state, read_passage, search_documents, update_index
from clew.memory.documents.manifest import (
    Document,
    Manifest,
    manifest_path,
    manifests,
    read_manifest,
    write_manifest,
)
from clew.memory.documents.split import REFERENCE, title_of
from clew.memory.search import Query, SearchHit
from clew.settings import clew_home

ADVICE = "`clew knowledge index DIR` indexes a folder"
MOST_NAMED = 5
"""Files that are left out for the same reason and named; ``--json`` names all of them."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the subcommand."""
    does = {"index": _index, "list": _list, "search": _search, "show": _show}
    return does[args.action](args, term)


def _index(args: argparse.Namespace, term: Terminal) -> int:
    root = args.folder.resolve()
    if not root.is_dir():
        raise InputError(f"{args.folder} is not a folder", "give a folder of documents")
    kept_path = manifest_path(clew_home(), root)
    with the_store() as store, open_index(store) as index:
        update = update_index(index, WORKSPACE, root, read_manifest(kept_path, str(root)))
    write_manifest(kept_path, update.manifest)
    total = len(update.manifest.documents)
    if args.json:
        output = {"root": str(root), "documents": total}
        changes = {"added": list(update.added), "changed": list(update.changed), "gone": list(update.gone)}
        left_out = [{"path": path, "why": why} for path, why in update.left_out]
        term.write_json({**output, **changes, "left_out": left_out})
    else:
        parts = ((update.added, "new"), (update.changed, "changed"), (update.gone, "gone"))
        news = ", ".join(f"{len(some)} {word}" for some, word in parts if some) or "nothing new"
        term.say(printable(f"{root}: {news}, {count(total, 'document')} in all"))
        for line in _left_out(update.left_out):
            term.note(printable(f"⚠ left out: {line}"))
    return 0


def _left_out(files: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each reason to leave files out, with the first of them by name."""
    by_reason: dict[str, list[str]] = {}
    for path, why in files:
        by_reason.setdefault(why, []).append(path)
    for why, paths in by_reason.items():
        more = f" and {count(len(paths) - MOST_NAMED, 'more file')}" if len(paths) > MOST_NAMED else ""
        yield f"{', '.join(paths[:MOST_NAMED])}{more} ({why})"


def _list(args: argparse.Namespace, term: Terminal) -> int:
    wanted = str(args.folder.resolve()) if args.folder else None
    folders = [manifest for manifest in manifests(clew_home()) if wanted in (None, manifest.root)]
    rows = [(folder, document) for folder in folders for document in folder.documents.values()]
    rows = [row for row in rows if args.topic in (None, row[1].topic)]
    rows.sort(key=lambda row: (row[1].topic == REFERENCE, row[1].topic, row[0].root, row[1].path))
    if args.json:
        term.write_json([_as_json(*row) for row in rows])
    elif not rows:
        term.say(f"No documents. {ADVICE}.")
    else:
        for topic, some in groupby(rows, key=lambda row: row[1].topic):
            term.say(title_of(topic))
            for line in _rows(some):
                term.say(printable(f"  {line}"))
    return 0


def _rows(rows: Iterator[tuple[Manifest, Document]]) -> Iterator[str]:
    for folder, document in rows:
        marks = f" ({document.status})" if document.status else ""
        if document.is_outdated:
            marks = " ⚠ marked as outdated"
        path = Path(folder.root, document.path)
        changed = "" if path.exists() else " ⚠ deleted since"
        yield f"{document.time[:10]}  {path}  {one_line(document.title, 60)}{marks}{changed}"


def _as_json(folder: Manifest, document: Document) -> dict[str, object]:
    return {
        "root": folder.root,
        "path": document.path,
        "title": document.title,
        "topic": document.topic,
        "status": document.status,
        "outdated": document.is_outdated,
        "time": document.time,
        "hash": document.hash,
        "refs": list(document.refs),
    }


def _search(args: argparse.Namespace, term: Terminal) -> int:
    folders = manifests(clew_home())
    if not folders:
        raise NotFound("no folder has been indexed", ADVICE)
    query = Query(text=args.question, at=datetime.now(UTC).isoformat(), limit=args.limit)
    with the_store() as store, open_index(store) as index:
        hits = search_documents(index, WORKSPACE, query, folders, topics=[args.topic] if args.topic else ())
    if args.json:
        term.write_json([_hit_json(hit) for hit in hits])
    elif not hits:
        term.say("Nothing found.")
    else:
        width = term.console().width
        for hit in hits:
            state = document_state(hit.entry, clew_home())
            marked = f" ⚠ {state}" if state else ""
            term.say(printable(f"{hit.entry.ref}  ({hit.entry.role}, {hit.entry.time[:10]}){marked}"))
            term.say(f"    {one_line(hit.entry.text, max(20, width - 4))}")
    return 0 if hits else 1


def _hit_json(hit: SearchHit) -> dict[str, object]:
    entry = hit.entry
    return {
        "ref": entry.ref,
        "root": entry.session.partition(":")[2],
        "topic": entry.role,
        "trust": entry.trust.label,
        "time": entry.time,
        "state": document_state(entry, clew_home()),
        "score": round(hit.score, 3),
        "text": entry.text,
    }


def _show(args: argparse.Namespace, term: Terminal) -> int:
    path, sign, part = args.ref.partition("#")
    here = f"{Path(path).resolve()}{sign}{part}"  # a path may also start at the current folder
    folders = manifests(clew_home())
    places = [(folder, ref.removeprefix(f"{folder.root}/")) for ref in (args.ref, here) for folder in folders]
    holder = next((place for place in places if place[1].partition("#")[0] in place[0].documents), None)
    if holder is None:
        raise NotFound(f"no indexed document for {args.ref!r}", ADVICE)
    passage = read_passage(*holder)
    if args.json:
        term.write_json({"ref": passage.ref, "text": passage.text, "fresh": passage.is_fresh})
        return 0
    term.write(printable(passage.text))
    document = holder[0].documents[holder[1].partition("#")[0]]
    if document.is_outdated:
        term.note(printable(f"⚠ marked as {document.status.lower()}"))
    if not passage.is_fresh:
        term.note("⚠ the file has changed since it was indexed; its lines may have moved")
    return 0
