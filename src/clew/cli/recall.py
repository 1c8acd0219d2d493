"""``clew recall`` and ``clew knowledge``: search the sessions of clew's log, and folders of documents.

Both update their index, search it, and open the references that a search printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from clew.cli.inputs import WORKSPACE, existing_name, open_index, own_store, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, MissingExtra, NotFound
from clew.log.protocol import Ctx, Store
from clew.memory import Memory, Resolved, catch_up_all, default_embedder, embed_lacking
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
from clew.memory.index import Embedder, EntryKind, Filters, Index, VectorIndex
from clew.memory.memory import why_outdated
from clew.memory.references import ADVICE as LOOK
from clew.memory.scope import SearchScope, project_at
from clew.memory.search import Query, SearchHit
from clew.memory.selection import excerpt_start, reasons
from clew.message import Json, JsonObject, Role, Trust
from clew.message.codec import TRUST_BY_LABEL
from clew.settings import clew_home, load_settings

EXCERPT = 480
NOWHERE = "clew:recall"
"""A session name that is never used, so that references to all sessions are printed in full."""
ROLES = (*(role.value for role in Role), "digest", "note")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Update the index, then search, open a reference, or compute vectors."""
    if not args.query and not args.open and not args.embed:
        raise InputError("nothing to search for", 'clew recall "what port did we choose"')
    with own_store() as store:
        if store is None:
            raise NotFound("clew's log is empty", "`clew import FILE` adds a session")
        with open_index(store) as index:
            embedder = default_embedder(getattr(index, "model", ""))
            if args.embed and embedder is None:
                raise MissingExtra("clew[embeddings]")
            _catch_up(store, index, term)
            if embedder:
                _embed(index, embedder, term, announce=args.embed)
            args.session = args.session and existing_name(store, args.session)
            ctx = Ctx(workspace=WORKSPACE, session=args.session or NOWHERE)
            everywhere = args.all or load_settings().settings.recall_everywhere
            where = SearchScope.EVERYWHERE if everywhere else SearchScope.PROJECT
            project = None if args.session else project_at(Path.cwd())
            memory = Memory(store, ctx, index=index, embedder=embedder, project=project, where=where)
            memory.with_unnamed = not args.session
            if args.open:
                _print_opened(args, term, _resolve(memory, args.open))
            elif args.query:
                return _print_hits(args, term, memory, memory.search(args.query, _filters(args), args.limit))
    return 0


def _resolve(memory: Memory, ref: str) -> Resolved:
    """Open a reference; if there is none, advise to search for it."""
    try:
        return memory.open(ref)
    except NotFound as cause:
        if LOOK not in str(cause):
            raise
        beside = "" if memory.ctx.session != NOWHERE else "; m12@SESSION is a message of a session"
        raise NotFound(cause.detail, f"search for it with `clew recall WORDS`{beside}") from cause


def _filters(args: argparse.Namespace) -> Filters:
    return Filters(
        sessions=(args.session,) if args.session else (),
        kinds=tuple(EntryKind(kind) for kind in args.kind),
        roles=tuple(args.role),
        files=tuple(args.file),
        trust=TRUST_BY_LABEL[args.trust] if args.trust else Trust.UNTRUSTED,
        after=args.after or "",
        before=args.before or "",
    )


def _catch_up(store: Store, index: Index, term: Terminal) -> None:
    total = sum(1 for _ in store.sessions(WORKSPACE))
    with _bar(term, "reading sessions") as show:
        for done, _ in enumerate(catch_up_all(store, WORKSPACE, index), start=1):
            show(done, total)


def _embed(index: Index, embedder: Embedder, term: Terminal, *, announce: bool) -> None:
    done = 0
    if not isinstance(index, VectorIndex):
        return
    with _bar(term, "making vectors") as show:
        for done, total in embed_lacking(index, embedder):
            show(done, total)
    if announce:
        term.note(f"{count(done, 'entry')} can be found by meaning")


@contextmanager
def _bar(term: Terminal, what: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a progress bar on a terminal, and remove it at the end."""
    if not term.err.isatty():
        yield lambda _done, _there: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=term.err), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# Output ----------------------------------------------------------------------------------------------


def _print_hits(args: argparse.Namespace, term: Terminal, memory: Memory, hits: list[SearchHit]) -> int:
    if args.json:
        listed: list[Json] = [_hit_to_json(memory, hit) for hit in hits]
        term.write_json(listed)
    shown, outdated = {memory.ref(hit.entry) for hit in hits}, memory.outdated()
    for hit in hits if not args.json else ():
        entry = hit.entry
        about = [entry.kind, entry.role, entry.trust.label, entry.time[:16].replace("T", " ")]
        about += filter(None, [memory.origin(entry), why_outdated(entry, outdated)])
        term.say(printable(f"{memory.ref(entry)}  ({', '.join(dict.fromkeys(about))})"))
        term.say(f"    {one_line(entry.text[excerpt_start(hit, EXCERPT) :], EXCERPT)}")
        rests = [f"from {', '.join(entry.sources)}"] if entry.sources else []
        reply = memory.reply(entry)
        if reply and reply.ref not in shown:
            shown.add(reply.ref)
            term.say(f"    {printable(reply.ref)}, the user's reply: {one_line(reply.text, EXCERPT)}")
        term.say(printable(f"    score {hit.score:.2f}: {'; '.join([*reasons(hit.why), *rests])}"))
    if not hits:
        narrow = memory.where is SearchScope.PROJECT and memory.project and memory.leaves_out
        wider = f" in the sessions of {memory.project}; --all searches the others" if narrow else ""
        term.note(printable(f"nothing found{_unknown_roles(args.role)}{wider}"))
    return 0 if hits else 1


def _unknown_roles(roles: Sequence[str]) -> str:
    """Return a hint on unknown roles; only for an empty result, since a document's topic is a role, too."""
    unknown = [repr(role) for role in roles if role not in ROLES]
    return f"; there is no role {', '.join(unknown)}: there are {', '.join(ROLES)}" if unknown else ""


def _hit_to_json(memory: Memory, hit: SearchHit) -> JsonObject:
    entry, why = hit.entry, hit.why
    return {
        "ref": memory.ref(entry),
        "session": entry.session,
        "project": memory.projects.of(entry.session) or None,
        "kind": entry.kind.value,
        "role": entry.role,
        "trust": entry.trust.label,
        "time": entry.time,
        "start": entry.start,
        "files": list[Json](entry.files),
        "sources": list[Json](entry.sources),
        "score": hit.score,
        "why": {
            "exact": list[Json](why.exact),
            "terms": list[Json](why.terms),
            "share": why.share,
            "around": why.around,
            "meaning": why.meaning,
            "speaker": why.speaker,
            "date": why.date,
        },
        "text": entry.text,
    }


def _print_opened(args: argparse.Namespace, term: Terminal, opened: Resolved) -> None:
    if args.json:
        values = [
            {"ref": one.ref, "time": one.time, "role": one.role, "trust": one.trust.label, "text": one.text}
            for one in opened.quotations
        ]
        head = {"ref": opened.ref, "what": opened.what, "holds": list(opened.holds)}
        term.write_json({**head, "quotations": values})
        return
    for one in opened.quotations:
        about = dict.fromkeys(filter(None, (one.role, one.trust.label, one.time, one.about)))
        term.say(printable(f"{one.ref}  ({', '.join(about)})"))
        term.write(printable(one.text))
        term.say("")
    if opened.holds:
        term.note(printable(f"covers {opened.holds[0]} to {opened.holds[-1]}; --open prints them"))


# Documents -------------------------------------------------------------------------------------------

ADVICE = "`clew knowledge index DIR` indexes a folder"
MOST_NAMED = 5
"""Files that are left out for the same reason and named; ``--json`` names all of them."""


def run_knowledge(args: argparse.Namespace, term: Terminal) -> int:
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
