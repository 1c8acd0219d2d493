"""The ledger, the notes and recall as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from clew.errors import InputError
from clew.inspector.message_json import cite_to_json, excerpt
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.ledger.artifacts import Artifact
from clew.ledger.failures import Failure
from clew.ledger.ledger import Ledger
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
STALE_AFTER = 3
"""Requests of the user without a change to the task list after which its open tasks are called stale."""
HITS = 12
EXCERPT = 400


def ledger(handle: OpenSession) -> JsonObject:
    """Return the ledger: rules, facts, open work, decisions, files, errors, approvals."""
    handle.session.view()  # reads events appended by other processes
    session_ledger = handle.session.ledger
    files = sorted(session_ledger.artifacts.files, key=lambda file: not file.changed)
    stale = _stale_tasks(session_ledger)
    open_work = [loop for loop in session_ledger.loops.open if loop.id not in stale]
    return {
        "goal": {"text": session_ledger.goal.quote, "source": session_ledger.goal.source.message}
        if session_ledger.goal
        else None,
        "plan": {"text": session_ledger.plan.plan, "source": session_ledger.plan.asked.message}
        if session_ledger.plan
        else None,
        "pins": [_pin(pin) for pin in session_ledger.pins.all],
        "facts": [
            {"id": fact.id, "quote": fact.quote, "source": fact.source.message, "trust": fact.trust.label}
            for fact in session_ledger.facts.all
        ],
        "problems": [problem._asdict() for problem in handle.session.problems],
        "loops": _newest(_loop(fact) for fact in open_work),
        "stale": _newest(_loop(fact) for fact in session_ledger.loops.open if fact.id in stale),
        "decisions": _newest(
            {
                "id": decision.id,
                "text": decision.quote,
                "by": decision.by.value,
                "source": decision.source.message,
                "trust": decision.trust.label,
            }
            for decision in session_ledger.decisions
        ),
        "artifacts": _newest(_artifact(fact) for fact in (*files, *session_ledger.artifacts.urls)),
        "errors": _newest(_failure(failure) for failure in session_ledger.failures),
        "approvals": _newest(
            {
                "id": approval.id,
                "text": approval.what,
                "answer": approval.answer.value,
                "source": approval.asked.message,
            }
            for approval in session_ledger.approvals
        ),
        "counts": {
            "loops": len(open_work),
            "stale": len(stale),
            "decisions": len(session_ledger.decisions),
            "artifacts": len(files) + len(session_ledger.artifacts.urls),
            "errors": len(session_ledger.failures),
            "approvals": len(session_ledger.approvals),
        },
    }


def _stale_tasks(session_ledger: Ledger) -> frozenset[str]:
    """Return the open tasks of lists that the agent has not changed while the user asked for other things."""
    tasks = session_ledger.loops.tasks
    every = (*tasks.loops.values(), *tasks.ended)
    changes = [cite for loop in every for cite in (loop.source, loop.closed_by) if cite is not None]
    last = max((cite.number for cite in changes), default=0)
    later = {turn.ask.message for turn in session_ledger.turns.all if turn.asks and turn.ask.number > last}
    if len(later) < STALE_AFTER:
        return frozenset()
    return frozenset(loop.id for loop in tasks.loops.values() if loop.is_open)


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
        "judgement": pin.judgement,
        "certain": pin.end_is_certain,
    }


def _loop(loop: Loop) -> JsonObject:
    return {
        "id": loop.id,
        "kind": loop.kind.value,
        "text": loop.text,
        "status": loop.status,
        "source": loop.source.message,
    }


def _artifact(artifact: Artifact) -> JsonObject:
    return {
        "kind": artifact.kind.value,
        "name": artifact.name,
        "action": artifact.action.value,
        "count": artifact.count,
        "changes": artifact.changes,
        "first": artifact.first.message,
        "last": artifact.last.message,
    }


def _failure(failure: Failure) -> JsonObject:
    return {
        "id": failure.id,
        "tool": failure.tool,
        "text": failure.subject,
        "lines": list[Json](failure.lines),
        "count": failure.count,
        "source": failure.sources[0].message if failure.sources else None,
        "fixed": cite_to_json(failure.fixed_by),
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
    return max(0, min((place for text in wanted if (place := low.find(text)) >= 0), default=0) - EXCERPT // 4)
