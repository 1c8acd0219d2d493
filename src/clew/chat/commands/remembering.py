"""Commands for rules, notes and what left the view."""

from __future__ import annotations

from clew.chat.happenings import Told, Turn
from clew.chat.loop import Chat
from clew.errors import InputError
from clew.memory.notes import Draft
from clew.memory.notes.note import LIVE
from clew.memory.notes.rules import key_of

MOST_QUOTED = 6
LONGEST = 600


def pin(chat: Chat, words: str) -> Turn:
    """Set a rule by hand."""
    made = chat.session.pin(needed(words, "the rule", "/pin never touch legacy/"))
    yield Told(f'{made.id} stands word for word from now on: "{made.quote}"')


def unpin(chat: Chat, words: str) -> Turn:
    """Take a rule off."""
    id_, _, why = needed(words, "a rule's id", "/unpin p2").partition(" ")
    ended = chat.session.unpin(id_, why.strip() or "revoked by hand")
    yield Told(f'{ended.id} no longer stands: "{ended.quote}"')


def pins(chat: Chat, _words: str) -> Turn:
    """List the rules that stand."""
    rows = [
        f'{one.id:<4} "{one.quote}"{f" [{one.source.message}]" if one.source else " (by hand)"}'
        + (f" {one.certainty}: {one.found_because}" if one.source else "")
        for one in chat.session.pins
    ]
    yield Told("\n".join(rows) or "no rules stand; /pin sets one, and clew finds those that you lay down")


def remember(chat: Chat, words: str) -> Turn:
    """Keep a note that outlives the session."""
    text = needed(words, "what to keep", "/remember Use uv, never pip.")
    note = chat.memory.notebook.add(Draft(key=key_of(text), text=text))
    yield Told(f"{note.id} is {note.status}: {note.text}")


def forget(chat: Chat, words: str) -> Turn:
    """Let a note hold no more."""
    wanted, _, why = needed(words, "a note's id or key", "/forget w3").partition(" ")
    note = chat.memory.notebook.forget(chat.memory.notebook.meant(wanted).id, why=why.strip())
    yield Told(f"{note.id} is forgotten: {note.text}")


def notes(chat: Chat, _words: str) -> Turn:
    """List the notes that hold or wait."""
    live = [note for note in chat.memory.notebook.notes() if note.status in LIVE]
    rows = [f"{note.id:<4} {note.status:<11} {note.text}" for note in live]
    yield Told("\n".join(rows) or "no notes; /remember keeps one")


def recall(chat: Chat, words: str) -> Turn:
    """Search all that was ever said."""
    query = needed(words, "what to look for", "/recall deploy token")
    yield Told(chat.kit.run("recall_search", {"query": query, "limit": MOST_QUOTED, "where": None}).text)


def expand(chat: Chat, words: str) -> Turn:
    """Show what stands behind a reference."""
    ref = needed(words, "a reference", "/expand d1").split()[0]
    found = chat.session.expand(ref)
    lines = [f"{ref} is a {found.what}{f': {found.text}' if found.text else ''}"]
    if found.what == "digest":
        lines += _digest_lines(chat, ref)
    elif found.quotes:
        lines += [f'  [{quote.cite.message}] "{quote.words}"' for quote in found.quotes]
    else:
        lines += _messages(chat, found.ids)
    yield Told("\n".join(lines))


def _digest_lines(chat: Chat, ref: str) -> list[str]:
    """Return the lines of a digest, each with what to expand to see its turns."""
    made = next((one for one in chat.session.trace() if one.digest and one.digest.id == ref), None)
    if made is None or made.digest is None:
        return [str(chat.session.explain(ref))]
    rules = [f'  {one.id:<6} rule "{one.quote}" [{one.source.message}]' for one in made.digest.pins]
    return rules + [
        f"  {claim.id:<6} {claim.kind.value}: {_short(claim.text)} [{claim.sources[0].message}]"
        for claim in made.digest.claims
    ]


def _messages(chat: Chat, ids: tuple[str, ...]) -> list[str]:
    shown = list(chat.session.originals(ids[:MOST_QUOTED]))
    lines = []
    for item in shown:
        said = item.message.text or "\n".join(result.text for result in item.message.results)
        calls = [f"{call.name} {call.input_text}" for call in item.message.calls]
        lines.append(
            f"  [{item.id}] {item.message.role}: {_short(' '.join([said, *calls]).strip(), LONGEST)}"
        )
    more = len(ids) - len(shown)
    return [*lines, f"  … and {more:,} more"] if more > 0 else lines


def _short(text: str, most: int = 200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}…"


def trust(chat: Chat, words: str) -> Turn:
    """Let an instruction file count that this session wrote."""
    path = needed(words, "a file", "/trust AGENTS.md")
    chat.trust(path)
    yield Told(f"{path} counts as instructions from now on, with the words that it has now")


def needed(words: str, what: str, example: str) -> str:
    """Return what was typed behind a command; nothing is an ``InputError`` that shows how."""
    if not words:
        raise InputError(f"it wants {what}", f"for example: {example}")
    return words
