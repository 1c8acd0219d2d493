"""The ledger, the notes and recall as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from clew.errors import InputError
from clew.inspector.message_json import cite_to_json, excerpt
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.ledger.artifacts import Artifact
from clew.ledger.failures import Failure
from clew.ledger.loop import Loop
from clew.memory import catch_up
from clew.memory.index.protocol import Filters
from clew.memory.notes import note_to_json
from clew.memory.notes.select import active_notes
from clew.memory.search import Hit, Query, search
from clew.message import Json, JsonObject
from clew.rules.rule import Pin

MOST_LISTED = 200
"""Most items listed of each sort, the latest ones; the total is sent too."""
HITS = 12
EXCERPT = 400


def ledger(handle: OpenSession) -> JsonObject:
    """Return the ledger: rules, facts, open work, decisions, files, errors, approvals."""
    handle.session.view()  # reads events appended by other processes
    kept = handle.session.ledger
    files = sorted(kept.artifacts.files, key=lambda one: not one.changed)
    return {
        "goal": {"text": kept.goal.quote, "source": kept.goal.source.message} if kept.goal else None,
        "pins": [_pin(pin) for pin in kept.pins.all],
        "facts": [
            {"id": one.id, "quote": one.quote, "source": one.source.message, "trust": one.trust.label}
            for one in kept.facts.all
        ],
        "problems": [problem._asdict() for problem in handle.session.problems],
        "loops": _newest(_loop(one) for one in kept.loops.open),
        "decisions": _newest(
            {
                "id": one.id,
                "text": one.quote,
                "by": one.by.value,
                "source": one.source.message,
                "trust": one.trust.label,
            }
            for one in kept.decisions
        ),
        "artifacts": _newest(_artifact(one) for one in (*files, *kept.artifacts.urls)),
        "errors": _newest(_failure(one) for one in kept.failures),
        "approvals": _newest(
            {"id": one.id, "text": one.what, "answer": one.answer.value, "source": one.asked.message}
            for one in kept.approvals
        ),
        "counts": {
            "loops": len(kept.loops.open),
            "decisions": len(kept.decisions),
            "artifacts": len(files) + len(kept.artifacts.urls),
            "errors": len(kept.failures),
            "approvals": len(kept.approvals),
        },
    }


def _newest(rows: Iterable[JsonObject]) -> list[Json]:
    return list[Json](rows)[-MOST_LISTED:]


def _pin(pin: Pin) -> JsonObject:
    return {
        "id": pin.id,
        "quote": pin.quote,
        "source": cite_to_json(pin.source),
        "trust": pin.trust.label,
        "status": pin.status.value,
        "active": pin.is_active,
        "by": pin.made_by.value,
        "why": pin.why,
        "replaced_by": pin.replaced_by,
        "strength": pin.strength.value,
        "certainty": pin.certainty,
        "because": pin.found_because,
        "certain": pin.certain,
    }


def _loop(loop: Loop) -> JsonObject:
    return {
        "id": loop.id,
        "kind": loop.kind.value,
        "text": loop.text,
        "status": loop.status,
        "source": loop.source.message,
    }


def _artifact(one: Artifact) -> JsonObject:
    return {
        "kind": one.kind.value,
        "name": one.name,
        "action": one.action.value,
        "count": one.count,
        "changes": one.changes,
        "first": one.first.message,
        "last": one.last.message,
    }


def _failure(one: Failure) -> JsonObject:
    return {
        "id": one.id,
        "tool": one.tool,
        "text": one.subject,
        "lines": list[Json](one.lines),
        "count": one.count,
        "source": one.sources[0].message if one.sources else None,
        "fixed": cite_to_json(one.fixed_by),
    }


# Memory ----------------------------------------------------------------------------------------------


def notes(pool: SessionPool, session: str) -> JsonObject:
    """Return all notes of a session, retired ones too, and their conflicts."""
    notebook = pool.notebook(session)
    found = notebook.notes()
    held = active_notes(found, notebook.now)
    return {
        "notes": [note_to_json(note) for note in found],
        "conflicts": [str(one) for one in held.conflicts],
    }


def recall(pool: SessionPool, handle: OpenSession, text: str, everywhere: bool) -> JsonObject:
    """Search all messages; return each hit with its score and the matching words."""
    if pool.index is None:
        raise InputError("this store has no search index", "open it with `clew inspect`")
    catch_up(pool.store, handle.ctx, pool.index)
    name = handle.ctx.session
    filters = Filters(sessions=() if everywhere else (name,))
    query = Query(text=text, at=pool.notebook(name).now, filters=filters, limit=HITS)
    hits = search(pool.index, pool.workspace, query)
    return {"hits": [_hit(hit) for hit in hits]}


def _hit(hit: Hit) -> JsonObject:
    entry = hit.entry
    return {
        "session": entry.session,
        "ref": entry.ref,
        "time": entry.time,
        "role": entry.role,
        "trust": entry.trust.label,
        "score": round(hit.score, 3),
        "exact": list[Json](hit.why.exact),
        "terms": list[Json](hit.why.terms),
        "text": excerpt(entry.text[_start(hit) :], EXCERPT),
    }


def _start(hit: Hit) -> int:
    """Return the start of an excerpt: a little before the first match."""
    low = hit.entry.text.lower()
    wanted = (*(value.lower() for value in hit.why.exact), *hit.why.terms)
    return max(0, min((place for one in wanted if (place := low.find(one)) >= 0), default=0) - EXCERPT // 4)
