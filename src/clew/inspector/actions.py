"""Actions of a person in the inspector: preview, compact, undo, pin, keep, notes.

A page sends the action's name and its fields: ``{"does": "pin", "quote": "never push"}``; ``act`` runs it.
All append to the log, except ``preview`` and a first ``keep``, which only returns the passage to confirm.

A preview lists what a compaction would take out of the view (``leaving``): ``{"kind": "turn", "before": 12,
"left": 3, "things": [{"source": "m4", "text": "fix it"}, …]}``, if three of twelve requests of the user would
leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypedDict

from clew.compaction.plan import ClaimKind, Condense, Plan, Shrink
from clew.compaction.plan.digest import spans
from clew.compaction.plan.render import render_digest
from clew.compaction.verify import Report
from clew.compaction.verify.report import LossKind
from clew.errors import InputError
from clew.inspector.context import view_tokens
from clew.inspector.history import compactions_of, find, report_to_json
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.inspector.transcript import message_of, stored_message
from clew.memory.notes import Category, Draft, NoteScope, note_to_json
from clew.memory.notes.note import key_of
from clew.message import Cite, Item, Json, JsonObject, Message, Trust, fixed_prefix, message_number, words
from clew.session import Compaction, DecidedCompaction, Session
from clew.session.message_range import split_range

LONGEST_TEXT = 20_000
"""Most characters of a text that a page may send."""
PASSAGE = 600
"""Most characters of a passage that is kept verbatim."""
Fields = Mapping[str, Any]


def act(pool: SessionPool, handle: OpenSession, fields: Fields) -> JsonObject:
    """Run an action and return its result."""
    does = str(fields.get("does"))
    if does in _ON_SESSION:
        return _ON_SESSION[does](handle, fields)
    if does in _ON_NOTES:
        return _ON_NOTES[does](pool, handle, fields)
    raise InputError(f"unknown action {does!r}")


def text_of(fields: Fields, name: str) -> str:
    """Return a text field, or raise ``InputError`` if it is missing, blank or too long."""
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a text that is not blank")
    if len(value) > LONGEST_TEXT:
        raise InputError(f"{name} has {len(value):,} characters; the limit is {LONGEST_TEXT:,}")
    return value.strip()


def _target(handle: OpenSession, fields: Fields) -> int | None:
    """Return the target for ``Session.compact``; a page sends the size of the whole request."""
    value = fields.get("target_tokens")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError("target_tokens must be a number above zero")
    beyond = _prompt_tokens(handle) + handle.unlogged_tokens(handle.message_index.upto)
    if value <= beyond:
        what = f"{beyond:,} tokens are the system prompt and what the log does not contain"
        raise InputError(f"{what}, which no compaction removes", f"give a target above {beyond:,}")
    return value - beyond


class CompactArguments(TypedDict):
    """The keyword arguments of ``Session.compact``: a range of messages, or a target for the whole view."""

    target_tokens: int | None
    focus: str | None
    messages: str | None


def _compact_arguments(handle: OpenSession, fields: Fields) -> CompactArguments:
    messages, focus = split_range(text_of(fields, "focus")) if fields.get("focus") else (None, None)
    target = None if messages else _target(handle, fields)
    return {"target_tokens": target, "focus": focus, "messages": messages}


# Compaction ------------------------------------------------------------------------------------------


def _prompt_tokens(handle: OpenSession) -> int:
    """Return the tokens of the system prompt, which a target of ``Session.compact`` leaves out."""
    items, counter = handle.session.view(), handle.session.counter
    return sum(counter.count(item.message) for item in items[: fixed_prefix(items)])


def _preview(handle: OpenSession, fields: Fields) -> JsonObject:
    outcome = handle.session.preview(**_compact_arguments(handle, fields))
    if outcome is None:
        return {"preview": None}
    return {"preview": {**_outcome(handle, outcome), "price": str(handle.session.price(outcome))}}


def _outcome(handle: OpenSession, outcome: DecidedCompaction) -> JsonObject:
    plan, unlogged = outcome.plan, handle.unlogged_tokens(handle.message_index.upto)
    condensed = [operation for operation in plan.operations if isinstance(operation, Condense)]
    digest = condensed[0].digest if condensed else None
    return {
        "before": plan.tokens_before + unlogged,
        "after": plan.tokens_after + unlogged,
        "target": plan.target_tokens + unlogged,
        "reason": plan.reason,
        "smaller": sum(isinstance(operation, Shrink) for operation in plan.operations),
        "condensed": spans(digest.covers) if digest else "",
        "claims": len(digest.claims) if digest else 0,
        "rules": len(digest.pins) if digest else 0,
        "leaves": leaving(handle, plan, outcome.report),
        "report": report_to_json(outcome.report),
    }


def _require_on(handle: OpenSession) -> None:
    if handle.session.is_off:
        raise InputError("compaction is switched off", "press “Switch compaction on” on the page Compactions")


def _compact(handle: OpenSession, fields: Fields) -> JsonObject:
    _require_on(handle)
    compaction = handle.session.compact(**_compact_arguments(handle, fields))
    return {"compaction": _compaction_json(handle, compaction)}


def _compaction_json(handle: OpenSession, compaction: Compaction | None) -> Json:
    if compaction is None:
        return None
    plan, unlogged = compaction.plan, handle.unlogged_tokens(handle.message_index.upto)
    sizes: JsonObject = {"before": plan.tokens_before + unlogged, "after": plan.tokens_after + unlogged}
    return {"seq": compaction.seq, **sizes}


def _undo(handle: OpenSession, fields: Fields) -> JsonObject:
    count = fields.get("count", 1)
    if not isinstance(count, int):
        raise InputError("count must be a number")
    before = view_tokens(handle, handle.message_index.catch_up())  # as the context view shows it
    newest = text_of(fields, "newest") if fields.get("newest") else None
    undone = handle.session.undo(count, newest=newest)
    after = view_tokens(handle, handle.message_index.catch_up())
    return {"undone": len(undone), "before": before, "after": after}


def _redo(handle: OpenSession, fields: Fields) -> JsonObject:
    """Redo an undone compaction: of the same range or to the same size, with the same focus."""
    _require_on(handle)
    past = find(handle, text_of(fields, "name")).compaction
    messages = past.asked_range
    # The plan's target has the prompt, which ``Session.compact`` does not count.
    target = None if messages else max(1, past.plan.target_tokens - _prompt_tokens(handle))
    done = handle.session.compact(target_tokens=target, focus=past.focus, messages=messages)
    return {"compaction": _compaction_json(handle, done)}


def _switch(handle: OpenSession, fields: Fields) -> JsonObject:
    if fields.get("off") is True:
        handle.session.switch_off()
    else:
        handle.session.switch_on()
    return {"off": handle.session.is_off}


# Rules -----------------------------------------------------------------------------------------------


def _pin(handle: OpenSession, fields: Fields) -> JsonObject:
    return {"pin": handle.session.pin(text_of(fields, "quote")).id}


def _keep(handle: OpenSession, fields: Fields) -> JsonObject:
    """Keep a passage of a message as a fact, with that message's trust label.

    The first call returns the exact passage; it is kept when the page sends it back as ``passage``.
    """
    wanted, source = text_of(fields, "text"), text_of(fields, "source")
    stored = stored_message(handle, message_number(source))
    if stored is None:
        raise InputError(f"there is no message {source:.40}")
    part = next((part for part in message_of(stored).parts if wanted in words(part)), None)
    if part is None:
        raise InputError(f"{source} does not contain that text")
    passage = _passage(words(part), wanted)
    if fields.get("passage") != passage:
        return {"passage": passage, "source": source, "trust": part.trust.label}
    return {"kept": handle.session.keep(passage, source).id}


def _unkeep(handle: OpenSession, fields: Fields) -> JsonObject:
    return {"kept": handle.session.unkeep(text_of(fields, "fact")).id}


def _passage(text: str, wanted: str) -> str:
    """Return the line that contains a text; of a very long line, the part around it."""
    place = text.find(wanted)
    start = text.rfind("\n", 0, max(place, 0)) + 1
    end = text.find("\n", place + len(wanted))
    line = text[start : end if end >= 0 else len(text)].strip()
    if len(line) <= PASSAGE:
        return line
    first = max(0, line.find(wanted) - PASSAGE // 2)
    return line[first : first + PASSAGE].strip()


def _edit_pin(handle: OpenSession, fields: Fields) -> JsonObject:
    pin, quote = text_of(fields, "pin"), text_of(fields, "quote")
    return {"pin": handle.session.edit_pin(pin, quote, shown=_shown(fields)).id}


def _unpin(handle: OpenSession, fields: Fields) -> JsonObject:
    return {"pin": handle.session.unpin(text_of(fields, "pin"), shown=_shown(fields)).id}


def _shown(fields: Fields) -> str | None:
    """Return the wording that the page shows: it may show an older state than this process knows."""
    shown = fields.get("shown")
    return shown if isinstance(shown, str) else None


def _confirm_rules(handle: OpenSession, fields: Fields) -> JsonObject:
    shown = fields.get("shown")
    if not isinstance(shown, list):
        raise InputError("shown must list the rules that the page shows")
    return {"confirmed": [pin.id for pin in handle.session.confirm_rules(map(str, shown))]}


# Notes -----------------------------------------------------------------------------------------------

OPERATOR = Trust.DEVELOPER
"""The trust of a person with the token: the operator of this clew, who may also set policies."""


def _note_add(pool: SessionPool, handle: OpenSession, fields: Fields) -> JsonObject:
    text = text_of(fields, "text")
    chosen, wanted_scope = fields.get("category"), fields.get("scope")
    category = Category(chosen) if chosen in list(Category) else Category.USER_PREFERENCE
    scope = NoteScope(wanted_scope) if wanted_scope in list(NoteScope) else NoteScope.WORKSPACE
    key = text_of(fields, "key") if fields.get("key") else key_of(text)
    trust = OPERATOR if category is Category.ORGANIZATION_POLICY else Trust.USER
    draft = Draft(key=key, text=text, category=category, scope=scope, trust=trust)
    return {"note": note_to_json(pool.notebook(handle.ctx.session).add(draft))}


def _note_change(does: str) -> Callable[[SessionPool, OpenSession, Fields], JsonObject]:
    def change(pool: SessionPool, handle: OpenSession, fields: Fields) -> JsonObject:
        notebook = pool.notebook(handle.ctx.session)
        changes = {"approve": notebook.approve, "reject": notebook.reject, "forget": notebook.forget}
        note = changes[does](text_of(fields, "note"), trust=OPERATOR, why="in the inspector")
        return {"note": note_to_json(note)}

    return change


_ON_SESSION: Mapping[str, Callable[[OpenSession, Fields], JsonObject]] = {
    "preview": _preview,
    "compact": _compact,
    "undo": _undo,
    "redo": _redo,
    "switch": _switch,
    "pin": _pin,
    "keep": _keep,
    "unkeep": _unkeep,
    "confirm_rules": _confirm_rules,
    "edit_pin": _edit_pin,
    "unpin": _unpin,
}
_ON_NOTES: Mapping[str, Callable[[SessionPool, OpenSession, Fields], JsonObject]] = {
    "note_add": _note_add,
    "note_approve": _note_change("approve"),
    "note_reject": _note_change("reject"),
    "note_forget": _note_change("forget"),
}


MOST_LISTED = 60
"""Items of each kind that are listed; the counts are complete."""
_CHECKED = (LossKind.RULE, LossKind.OPEN, LossKind.GOAL, LossKind.DECISION, LossKind.FAILURE)
"""Kinds whose losses the checks of a compaction report."""


class QuotedItem(NamedTuple):
    """A request, a finding, a file name, …, with the id of its message."""

    source: str
    text: str


def leaving(handle: OpenSession, plan: Plan, report: Report) -> list[Json]:
    """Return, for each kind of item, how many there are now and which of them would leave the view.

    A turn leaves if no line of the digest cites it, a finding if the new view does not contain its text, and
    a file if the new view does not name it. Files are counted that the session changed, or touched last in a
    message that would leave.
    """
    session = handle.session
    dropped_ids: set[str] = set()
    shrunk: dict[str, Message] = {}
    for operation in plan.operations:
        if isinstance(operation, Shrink):
            shrunk[operation.id] = operation.message
        else:
            dropped_ids.update(operation.ids)
    staying = [shrunk.get(item.id, item.message) for item in session.view() if item.id not in dropped_ids]
    parts = (part for message in staying for part in message.parts)
    text_after = "\n".join([*map(render_digest, plan.digests), *map(words, parts)])
    cited = {cite.message for digest in plan.digests for claim in digest.claims for cite in claim.sources}
    turns, findings = _requests_and_findings(session, dropped_ids)
    findings += _findings_of_digests(handle, dropped_ids)
    files = [
        QuotedItem(file.last.message, file.name)
        for file in session.ledger.artifacts.files
        if file.changed or file.last.message in dropped_ids
    ]
    return [
        _loss_row("turn", turns, [turn for turn in turns if turn.source in dropped_ids - cited]),
        _loss_row("finding", findings, [finding for finding in findings if finding.text not in text_after]),
        _loss_row("file", files, [file for file in files if not _is_named(file.text, text_after)]),
        *(_of_report(report, kind) for kind in _CHECKED),
    ]


def _is_named(path: str, text: str) -> bool:
    """Whether a text names a file: by its path, or by folder and the rest, as in "in src/: a.py, b.py"."""
    if path in text and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-]|\.\w)", text):
        return True
    folders = (path[: at + 1] for at, letter in enumerate(path) if letter == "/")
    return any(
        re.search(rf"{re.escape(folder)}: [^\n]*(?<![\w/]){re.escape(path[len(folder) :])}(?![\w/])", text)
        for folder in folders
        if f"{folder}: " in text
    )


def _requests_and_findings(
    session: Session, dropped_ids: set[str]
) -> tuple[list[QuotedItem], list[QuotedItem]]:
    """Return the requests and the findings of messages that are in view or would leave it."""
    turns = session.ledger.turns
    asks = [item.ask for item in turns.all if item.asks]
    findings = [finding.source for finding in turns.findings]
    seen = dropped_ids | {item.id for item in session.view()}
    cites = [item for item in (*asks, *findings) if item.message in seen]
    texts = {item.id: item for item in session.originals(dict.fromkeys(cite.message for cite in cites))}
    return _quotes(texts, asks), _quotes(texts, findings)


def _findings_of_digests(handle: OpenSession, dropped_ids: set[str]) -> list[QuotedItem]:
    """Return the findings of the digests that would leave the view."""
    digests = [past.compaction.digest for past in compactions_of(handle) if past.name in dropped_ids]
    claims = chain.from_iterable(digest.claims for digest in digests if digest)
    return [
        QuotedItem(claim.sources[0].message, claim.text)
        for claim in claims
        if claim.kind is ClaimKind.FINDING
    ]


def _quotes(items: dict[str, Item], cites: Sequence[Cite]) -> list[QuotedItem]:
    known = [cite for cite in cites if cite.message in items]
    return [QuotedItem(cite.message, cite.quote(items[cite.message].message)) for cite in known]


def _loss_row(kind: str, all_: Sequence[QuotedItem], lost: Iterable[QuotedItem]) -> JsonObject:
    rows: list[Json] = [{"source": item.source, "text": _first_line(item.text)} for item in lost]
    return {"kind": kind, "before": len(all_), "left": len(rows), "things": rows[:MOST_LISTED]}


def _first_line(text: str) -> str:
    """Return the start of a text exactly as it is in its message, so that it can be kept verbatim."""
    return text.strip().split("\n", 1)[0][:240]


def _of_report(report: Report, kind: LossKind) -> JsonObject:
    before = next((item.before for item in report.kept if item.matter is kind), 0)
    lost = (QuotedItem(item.source, item.text) for item in report.lost if item.matter is kind)
    return {**_loss_row(kind.value, (), lost), "before": before}
