"""The ledger, the notes and recall as JSON."""

from __future__ import annotations

from clew.errors import InputError
from clew.inspector.message_json import excerpt
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.ledger.artifacts import Artifact
from clew.ledger.failures import Failure
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Loop
from clew.memory import catch_up
from clew.memory.index import Filters
from clew.memory.notes import note_to_json
from clew.memory.notes.select import active_notes
from clew.memory.search import Query, SearchHit, search
from clew.message import Json, JsonObject
from clew.rules.rule import Pin

MOST_LISTED = 200
"""Most items listed of each sort, the latest ones; the total is sent too."""
STALE_AFTER = 3
"""Requests of the user without a change to the task list after which its open tasks are called stale."""
HITS = 12
EXCERPT = 400
"""Hits of a search on the page, and characters shown of each; chosen by hand, for about two screens."""


def ledger(handle: OpenSession) -> JsonObject:
    """Return the ledger: rules, facts, open work, decisions, files, errors, approvals."""
    handle.session.view()  # reads events appended by other processes
    known = handle.session.ledger
    files = sorted(known.artifacts.files, key=lambda file: not file.changed)
    stale = _stale_tasks(known)
    listed: dict[str, list[JsonObject]] = {
        "loops": [_loop(loop) for loop in known.loops.open if loop.id not in stale],
        "stale": [_loop(loop) for loop in known.loops.open if loop.id in stale],
        "decisions": [
            {"text": decision.quote, "by": decision.by.value, "source": decision.source.message}
            for decision in known.decisions
        ],
        "artifacts": [_artifact(artifact) for artifact in (*files, *known.artifacts.urls)],
        "errors": [_failure(failure) for failure in known.failures],
        "approvals": [
            {"text": approval.what, "answer": approval.answer.value, "source": approval.asked.message}
            for approval in known.approvals
        ],
    }
    return {
        "goal": {"text": known.goal.quote, "source": known.goal.source.message} if known.goal else None,
        "plan": {"text": known.plan.plan, "source": known.plan.asked.message} if known.plan else None,
        "pins": [_pin(pin) for pin in known.pins.all],
        "facts": [
            {"id": fact.id, "quote": fact.quote, "source": fact.source.message, "trust": fact.trust.label}
            for fact in known.facts.all
        ],
        "problems": [problem._asdict() for problem in handle.session.problems],
        **{name: list[Json](rows[-MOST_LISTED:]) for name, rows in listed.items()},
        "counts": {name: len(rows) for name, rows in listed.items()},
    }


def _stale_tasks(known: Ledger) -> frozenset[str]:
    """Return the open tasks of lists that the agent has not changed while the user asked for other things."""
    tasks = known.loops.tasks
    every = (*tasks.loops.values(), *tasks.ended)
    changes = [cite for loop in every for cite in (loop.source, loop.closed_by) if cite is not None]
    last = max((cite.number for cite in changes), default=0)
    later = {turn.ask.message for turn in known.turns.all if turn.asks and turn.ask.number > last}
    if len(later) < STALE_AFTER:
        return frozenset()
    return frozenset(loop.id for loop in tasks.loops.values() if loop.is_open)


def _pin(pin: Pin) -> JsonObject:
    return {
        "id": pin.id,
        "quote": pin.quote,
        "readable": pin.readable,
        "source": pin.source.message if pin.source else None,
        "trust": pin.trust.label,
        "status": pin.status.value,
        "active": pin.is_active,
        "why": pin.why,
        "replaced_by": pin.replaced_by,
        "certainty": pin.certainty,
        "because": pin.found_because,
        "judgement": pin.judgement,
        "certain": pin.end_is_certain,
    }


def _loop(loop: Loop) -> JsonObject:
    return {
        "kind": loop.kind.value,
        "text": loop.text,
        "status": loop.status,
        "source": loop.source.message,
    }


def _artifact(artifact: Artifact) -> JsonObject:
    return {
        "name": artifact.name,
        "action": artifact.action.value,
        "changes": artifact.changes,
        "last": artifact.last.message,
    }


def _failure(failure: Failure) -> JsonObject:
    return {
        "text": failure.subject,
        "lines": list[Json](failure.lines),
        "count": failure.count,
        "source": failure.sources[0].message if failure.sources else None,
        "fixed": failure.fixed_by.message if failure.fixed_by else None,
    }


# Memory ----------------------------------------------------------------------------------------------


def notes(pool: SessionPool, session: str) -> JsonObject:
    """Return all notes of a session, retired ones too, and their conflicts."""
    notebook = pool.notebook(session)
    listed = notebook.notes()
    active = active_notes(listed, notebook.now)
    return {
        "notes": [note_to_json(note) for note in listed],
        "conflicts": [str(conflict) for conflict in active.conflicts],
    }


def recall(pool: SessionPool, handle: OpenSession, text: str) -> JsonObject:
    """Search all messages of a session; return each hit with its score and the matching words."""
    if pool.index is None:
        raise InputError("this store has no search index", "open it with `clew inspect`")
    catch_up(pool.store, handle.ctx, pool.index)
    name = handle.ctx.session
    query = Query(text=text, at=pool.notebook(name).now, filters=Filters(sessions=(name,)), limit=HITS)
    hits = search(pool.index, pool.workspace, query)
    return {"hits": [_hit(hit) for hit in hits]}


def _hit(hit: SearchHit) -> JsonObject:
    entry = hit.entry
    return {
        "ref": entry.ref,
        "role": entry.role,
        "trust": entry.trust.label,
        "score": round(hit.score, 3),
        "exact": list[Json](hit.why.exact),
        "terms": list[Json](hit.why.terms),
        "text": excerpt(entry.text[_start(hit) :], EXCERPT),
    }


def _start(hit: SearchHit) -> int:
    """Return the start of an excerpt: a little before the first match."""
    low = hit.entry.text.lower()
    wanted = (*(value.lower() for value in hit.why.exact), *hit.why.terms)
    return max(0, min((place for text in wanted if (place := low.find(text)) >= 0), default=0) - EXCERPT // 4)
