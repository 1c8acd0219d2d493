"""Write the digest of a client's conversation, and keep the conversation in clew's log.

A request carries the whole conversation, so nothing has to be recorded before the first compaction. At the
next one the client sends clew's digest and what came after it: only that is appended, and the new digest
builds on the old one.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import dropwhile

from clew.budget import DEFAULT
from clew.log import ABOUT
from clew.log.store import SqliteStore
from clew.message import Item, Message, Origin, Role, text_message
from clew.message.text import ellipsize, escape_tags
from clew.providers import wire_named
from clew.providers.cache_marks import unmarked
from clew.proxy.requests import CompactionRequest, is_earlier_digest
from clew.proxy.sealed import SealedDigest
from clew.session import Session
from clew.session.parsed_input import ParsedInput
from clew.session.result import without_natives
from clew.settings import store_path

DIGEST_TOKENS = 6_000
"""Target size of an answer. Agents' own summaries have 1,000 to 8,000 tokens."""
WORKSPACE = "local"
ABOUT_KEY = "proxy"
KNOWN = 400
"""How many hashes of the newest entries are kept, to find out which ones are new at the next compaction."""
RESULT_CHARS = 600
MARKER = "(the client compacted the conversation here)"
_POLICY = replace(DEFAULT, keep_messages=1)


@dataclass(frozen=True, slots=True)
class WrittenDigest:
    """The answer to a compaction request."""

    session: str
    digest: str
    text: str
    tokens_before: int
    tokens: int

    def sealed(self) -> SealedDigest:
        """Return what an opaque item holds."""
        return SealedDigest(self.session, self.digest, self.text)


class DigestWriter:
    """Writes digests into one log; safe to use from several threads."""

    def __init__(self, target_tokens: int = DIGEST_TOKENS) -> None:
        self.target_tokens = target_tokens
        self._guard = threading.Lock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._store: SqliteStore | None = None

    def write(self, request: CompactionRequest) -> WrittenDigest:
        """Log what is new of a conversation, compact it, and return the digest."""
        hashes = [entry_hash(entry) for entry in request.entries]
        name = _name(request, hashes)
        with self._guard:
            lock = self._locks[name]
        with lock:
            return self._write(request, name, hashes)

    def close(self) -> None:
        """Close the log."""
        with self._guard:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _write(self, request: CompactionRequest, name: str, hashes: list[str]) -> WrittenDigest:
        parsed = ParsedInput.of(
            request.body | {_list_key(request): request.entries}, wire_named(request.wire)
        )
        session = Session.open(name, self._opened(), workspace=WORKSPACE, model=parsed.model or "unknown")
        known = _known(session)
        if known and not _continues(request, hashes, known, session):
            fresh = f"{name}-{blake2b(''.join(hashes).encode(), digest_size=3).hexdigest()}"
            session = Session.open(
                fresh, self._opened(), workspace=WORKSPACE, model=parsed.model or "unknown"
            )
            known = _known(session)
        session.gauge = replace(session.gauge, policy=_POLICY)
        pairs = zip(parsed.entries, hashes, strict=True)
        new = [
            (entry, mark)
            for entry, mark in dropwhile(lambda pair: pair[1] in known or is_earlier_digest(pair[0]), pairs)
            if not is_earlier_digest(entry)
        ]
        messages = () if known else parsed.system()
        read = (
            message for place, (entry, _) in enumerate(new) for message in parsed.codec.read(entry, place)
        )
        session.add(
            *map(without_natives, (*messages, *read)), text_message(Role.USER, MARKER, Origin.INJECTED)
        )
        tail = [*known, *(mark for _, mark in new)][-KNOWN:]
        session.record(ABOUT.name, {ABOUT_KEY: {"entries": list(tail)}})
        before = session.tokens
        session.compact(target_tokens=_target(request, self.target_tokens), focus=request.focus)
        return _rendered(session, before)

    def _opened(self) -> SqliteStore:
        with self._guard:
            if self._store is None:
                path = store_path()
                path.parent.mkdir(parents=True, exist_ok=True)
                self._store = SqliteStore(path)
            return self._store


def entry_hash(entry: object) -> str:
    """Return a hash of an entry's content, without cache marks."""
    value = unmarked(entry) if isinstance(entry, dict) else entry
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _name(request: CompactionRequest, hashes: Iterable[str]) -> str:
    """Return the name of the session: the one of the last digest, by the client's id, or by content."""
    if request.earlier:
        return request.earlier[0]
    told = request.session or "".join(hashes)
    return f"proxy-{blake2b(told.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def _known(session: Session) -> list[str]:
    about = session.about.get(ABOUT_KEY)
    entries = about.get("entries") if isinstance(about, dict) else None
    return [one for one in entries if isinstance(one, str)] if isinstance(entries, list) else []


def _continues(request: CompactionRequest, hashes: list[str], known: list[str], session: Session) -> bool:
    """Whether a conversation continues the logged one: by clew's digest in it, or by its entries."""
    if request.earlier:
        made = session.trace()
        return any(one.name == request.earlier[1] for one in made[-1:]) or not made
    return known[-1] in hashes


def _list_key(request: CompactionRequest) -> str:
    return wire_named(request.wire).list_key


def _target(request: CompactionRequest, most: int) -> int:
    limit = request.body.get("max_tokens") or request.body.get("max_output_tokens")
    return min(most, int(limit * 0.8)) if isinstance(limit, int) and limit > 500 else most


def _rendered(session: Session, before: int) -> WrittenDigest:
    """Return the view after the compaction as one text: the digest, then the newest messages."""
    made = session.trace()
    name = made[-1].name if made else "d0"
    parts: list[str] = []
    newest: list[str] = []
    for item in session.view():
        if item.message.origin is Origin.SUMMARY:
            parts.append(item.message.text)
        elif item.message.role is not Role.SYSTEM and item.message.text != MARKER:
            newest += _lines(item)
    if newest:
        parts.append("\n".join(["The newest messages, shortened:" if made else "The conversation:", *newest]))
    parts.append(
        f"Every earlier turn is in clew's log: `clew expand {session.name} m12` prints turn m12 "
        f"(clew session {session.name}, digest {name})"
    )
    text = "\n\n".join(parts)
    return WrittenDigest(session.name, name, text, before, session.counter.count_text(text))


def _lines(item: Item) -> Iterator[str]:
    message: Message = item.message
    if message.text.strip():
        yield f"[{item.id}, {message.role.value}] {escape_tags(message.text.strip())}"
    for call in message.calls:
        yield f"[{item.id}, tool call] {call.name}({escape_tags(ellipsize(call.input_text, RESULT_CHARS))})"
    for result in message.results:
        yield f"[{item.id}, tool result: data] {escape_tags(ellipsize(result.text, RESULT_CHARS))}"
