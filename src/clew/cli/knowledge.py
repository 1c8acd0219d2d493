"""``clew knowledge``: index and search a folder of documents."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from clew.cli.inputs import WORKSPACE
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, NotFound
from clew.memory.documents import Document, Manifest, read_passage, search_documents, update_index
from clew.memory.documents.manifest import manifest_path, manifests, read_manifest, write_manifest
from clew.memory.documents.split import REFERENCE, title_of
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.search import Hit, Query
from clew.settings import clew_home, store_path

ADVICE = "`clew knowledge index DIR` indexes a folder"


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the subcommand."""
    does = {"index": _index, "list": _list, "search": _search, "show": _show}
    return does[args.action](args, term)


def _index(args: argparse.Namespace, term: Terminal) -> int:
    root = args.folder.resolve()
    if not root.is_dir():
        raise InputError(f"{args.folder} is not a folder", "give a folder of documents")
    kept = manifest_path(clew_home(), root)
    with SqliteIndex(store_path()) as index:
        done = update_index(index, WORKSPACE, root, read_manifest(kept, str(root)))
    write_manifest(kept, done.manifest)
    total = len(done.manifest.documents)
    if args.json:
        told = {"root": str(root), "documents": total}
        changes = {"added": list(done.added), "changed": list(done.changed), "gone": list(done.gone)}
        term.write(json.dumps({**told, **changes}, ensure_ascii=False))
    else:
        parts = ((done.added, "new"), (done.changed, "changed"), (done.gone, "gone"))
        news = ", ".join(f"{len(some)} {word}" for some, word in parts if some) or "nothing new"
        term.write(printable(f"{root}: {news}, {count(total, 'document')} in all"))
    return 0


def _list(args: argparse.Namespace, term: Terminal) -> int:
    wanted = str(args.folder.resolve()) if args.folder else None
    found = [one for one in manifests(clew_home()) if wanted in (None, one.root)]
    rows = [(folder, document) for folder in found for document in folder.documents.values()]
    rows = [row for row in rows if args.topic in (None, row[1].topic)]
    rows.sort(key=lambda row: (row[1].topic == REFERENCE, row[1].topic, row[0].root, row[1].path))
    if args.json:
        term.write(json.dumps([_as_json(*row) for row in rows], ensure_ascii=False))
    elif not rows:
        term.write(f"No documents. {ADVICE}.")
    else:
        for topic, some in groupby(rows, key=lambda row: row[1].topic):
            term.write(title_of(topic))
            for line in _rows(some):
                term.write(printable(f"  {line}"))
    return 0


def _rows(rows: Iterator[tuple[Manifest, Document]]) -> Iterator[str]:
    for folder, one in rows:
        marks = " ⚠ marked as outdated" if one.is_outdated else f" ({one.status})" if one.status else ""
        path = Path(folder.root, one.path)
        changed = "" if path.exists() else " ⚠ deleted since"
        yield f"{one.time[:10]}  {path}  {one_line(one.title, 60)}{marks}{changed}"


def _as_json(folder: Manifest, one: Document) -> dict[str, object]:
    return {
        "root": folder.root,
        "path": one.path,
        "title": one.title,
        "topic": one.topic,
        "status": one.status,
        "outdated": one.is_outdated,
        "time": one.time,
        "hash": one.hash,
        "refs": list(one.refs),
    }


def _search(args: argparse.Namespace, term: Terminal) -> int:
    folders = manifests(clew_home())
    if not folders:
        raise NotFound("no folder has been indexed", ADVICE)
    query = Query(text=args.question, at=datetime.now(UTC).isoformat(), limit=args.limit)
    with SqliteIndex(store_path()) as index:
        hits = search_documents(index, WORKSPACE, query, folders, topics=[args.topic] if args.topic else ())
    if args.json:
        term.write(json.dumps([_hit_json(hit) for hit in hits], ensure_ascii=False))
    elif not hits:
        term.write("Nothing found.")
    else:
        width = term.console().width
        for hit in hits:
            term.write(printable(f"{hit.entry.ref}  ({hit.entry.role}, {hit.entry.time[:10]})"))
            term.write(f"    {one_line(hit.entry.text, max(20, width - 4))}")
    return 0 if hits else 1


def _hit_json(hit: Hit) -> dict[str, object]:
    entry = hit.entry
    return {
        "ref": entry.ref,
        "root": entry.session.partition(":")[2],
        "topic": entry.role,
        "trust": entry.trust.label,
        "time": entry.time,
        "score": round(hit.score, 3),
        "text": entry.text,
    }


def _show(args: argparse.Namespace, term: Terminal) -> int:
    holders = [one for one in manifests(clew_home()) if args.ref.partition("#")[0] in one.documents]
    if not holders:
        raise NotFound(f"no indexed document for {args.ref!r}", ADVICE)
    found = read_passage(holders[0], args.ref)
    if args.json:
        term.write(json.dumps({"ref": found.ref, "text": found.text, "fresh": found.is_fresh}))
        return 0
    term.write(printable(found.text))
    if not found.is_fresh:
        term.note("⚠ the file has changed since it was indexed; its lines may have moved")
    return 0
