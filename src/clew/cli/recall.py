"""``clew recall``: search the sessions of clew's log, or open a reference that a search printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.cli.inputs import WORKSPACE, existing_name, open_index, own_store
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, MissingExtra, NotFound
from clew.log.protocol import Ctx, Store
from clew.memory import Memory, Resolved, catch_up_all, default_embedder, embed_lacking, open_memory
from clew.memory.index import Embedder, EntryKind, Filters, Index, VectorIndex
from clew.memory.memory import why_outdated
from clew.memory.references import ADVICE as LOOK
from clew.memory.scope import SearchScope, project_at
from clew.memory.search import SearchHit
from clew.memory.selection import excerpt_start, reasons
from clew.message import Json, JsonObject, Role, Trust
from clew.message.codec import TRUST_BY_LABEL
from clew.settings import load_settings

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
            memory = open_memory(store, ctx, index=index, embedder=embedder, project=project, where=where)
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
