"""The conversations of clients in clew's log: which session one belongs to, and which entries of it are new.

A client sends its whole list of messages with every request. The log remembers of the last one how many
entries it had and a hash over them (without cache marks), and compares the next list with that:

- it begins with the same 50 entries: the rest is new
- it begins with clew's digest, because the client replaced its history by it: new is what follows the digest
  and the messages that the client repeats next to it; the digest names the session
- anything else is another conversation (``Diverged``), and gets a session of its own.

``follow.py`` calls this for growing conversations, ``digests.py`` before it compacts one::

    client_list = ClientList.of(request)
    with conversations.locked(client_list) as conversation:
        conversation.log(client_list)        # appends the new messages to conversation.session
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from clew.budget import DEFAULT
from clew.log.store import SqliteStore
from clew.message import Json, JsonObject, Message
from clew.providers import wire_named
from clew.providers.marked_entries import without_marks
from clew.proxy.requests import SESSION_PREFIX, CompactionRequest, is_earlier_digest
from clew.session import Session
from clew.session.parsed_input import ParsedInput
from clew.session.result import without_natives
from clew.settings import store_path

WORKSPACE = "local"
LOGGED_KEY, KNOWN_KEY = "proxy", "proxy_known"
"""Keys of the session's ``about`` events."""
KNOWN = 400
"""How many hashes of a compacted list are kept: clients repeat some of its messages beside the digest."""
NAME_BYTES = 6
"""Bytes of the hash in a session's name."""
OPEN_SESSIONS = 32
"""Sessions kept open, about 4 MB each at 200,000 tokens; others are read from the log again."""
_POLICY = replace(DEFAULT, keep_messages=0)
"""The answer to a client is the digest, so only the last message (its request to compact) is kept."""


class Diverged(Exception):
    """A list does not continue the conversation that the log holds."""


@dataclass(frozen=True, slots=True)
class ClientList:
    """A client's list of messages as one of its requests holds it."""

    request: CompactionRequest
    hashes: tuple[str, ...]

    @classmethod
    def of(cls, request: CompactionRequest) -> ClientList:
        """Hash the entries of a request."""
        return cls(request, tuple(map(entry_hash, request.entries)))

    @property
    def session_name(self) -> str:
        """Return the name of its session: the one of clew's digest in it, or by the client's id."""
        if self.request.earlier:
            return self.request.earlier.session
        identity = f"{self.request.session}\0{self.hashes[0]}"
        digest = blake2b(identity.encode("utf-8", "replace"), digest_size=NAME_BYTES)
        return f"{SESSION_PREFIX}{digest.hexdigest()}"


class LoggedPart(NamedTuple):
    """The part of a client's list that the log holds."""

    entries: int
    list_hash: str
    """Over the hashes of these entries."""


class Conversation:
    """A session of the log that holds a client's conversation."""

    def __init__(self, name: str, store: SqliteStore, model: str) -> None:
        self.session = Session.open(name, store, workspace=WORKSPACE, model=model)
        self.session.gauge = replace(self.session.gauge, policy=_POLICY)

    def log(self, client_list: ClientList, upto: int | None = None, marker: Message | None = None) -> int:
        """Append the new messages of a list, or of its first ``upto`` entries; return how many.

        With a ``marker``, which is appended too, the client will replace the list by a digest. Raises
        ``Diverged`` if the log holds another conversation.
        """
        upto = len(client_list.hashes) if upto is None else upto
        is_first = self._logged is None
        new_entries = self._new_entries(client_list, upto)
        request, wire = client_list.request, wire_named(client_list.request.wire)
        parsed = ParsedInput.of({**request.body, wire.list_key: request.entries}, wire)
        messages = list(parsed.system() if is_first else ())
        messages += [message for n in new_entries for message in parsed.codec.read(parsed.entries[n], n)]
        messages = [*map(without_natives, messages), *([marker] if marker else [])]
        about: JsonObject = {LOGGED_KEY: {"count": upto, "chain": list_hash(client_list.hashes[:upto])}}
        if marker:
            replaced = (*self._replaced_hashes, *client_list.hashes)
            about[KNOWN_KEY] = {"entries": list[Json](replaced[-KNOWN:])}
        if messages:
            self.session.add(*messages, about=about)
        return len(messages)

    def continues_with(self, client_list: ClientList) -> bool:
        """Whether a list continues the conversation that the log holds."""
        try:
            self._new_entries(client_list, len(client_list.hashes))
        except Diverged:
            return False
        return True

    def _new_entries(self, client_list: ClientList, upto: int) -> Sequence[int]:
        """Return which of the first ``upto`` entries of a list the log does not hold, as indices."""
        logged = self._logged
        if logged is None:
            return range(upto)
        if logged.list_hash == list_hash(client_list.hashes[: logged.entries]):
            return range(logged.entries, upto)
        earlier, compactions = client_list.request.earlier, self.session.trace()
        if earlier and (not compactions or compactions[-1].name == earlier.digest):
            entries = client_list.request.entries[:upto]
            return _new_after_digest(entries, client_list.hashes, self._replaced_hashes)
        raise Diverged

    @property
    def _logged(self) -> LoggedPart | None:
        """Return the part of the client's list that the log holds; None if it holds none."""
        match self.session.about.get(LOGGED_KEY):
            case {"count": int(count), "chain": str(hash_)}:
                return LoggedPart(count, hash_)
        return None

    @property
    def _replaced_hashes(self) -> tuple[str, ...]:
        """Return the hashes of the entries that the client has replaced by digests."""
        match self.session.about.get(KNOWN_KEY):
            case {"entries": list(hashes)}:
                return tuple(item for item in hashes if isinstance(item, str))
        return ()


def _new_after_digest(entries: Sequence[Any], hashes: Sequence[str], replaced: Collection[str]) -> list[int]:
    """Return the indices of the new entries of a list that a client has compacted.

    Such a list begins with the digest and repeats some messages of before; what follows them is new.
    """
    first_new = 0
    while first_new < len(entries) and (
        hashes[first_new] in replaced or is_earlier_digest(entries[first_new])
    ):
        first_new += 1
    return [n for n in range(first_new, len(entries)) if not is_earlier_digest(entries[n])]


class _OpenConversation(NamedTuple):
    """A conversation that is kept open."""

    session_name: str
    """Where its client's lists lead to: several conversations have the same if their lists diverged."""
    conversation: Conversation


class Conversations:
    """The sessions of one log; safe to use from several threads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._guard = threading.Lock()
        """Held while one of the following is changed."""
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        """Locks in use, each for all sessions of a client's id."""
        self._store: SqliteStore | None = None
        self._open: OrderedDict[str, _OpenConversation] = OrderedDict()
        """By the name of the session in the log; the last used is at the end."""

    @contextmanager
    def locked(self, client_list: ClientList) -> Iterator[Conversation]:
        """Yield the conversation of a list; no other thread uses it meanwhile."""
        name = client_list.session_name
        with self._guard:
            base = name[: len(SESSION_PREFIX) + 2 * NAME_BYTES]
            lock = self._locks.setdefault(base, threading.RLock())
        with lock:
            yield self._opened(client_list, self._continued_session(client_list) or name)

    def separate(self, client_list: ClientList) -> Conversation:
        """Return a session of its own for a list that does not continue the logged conversation."""
        return self._opened(client_list, f"{client_list.session_name}-{list_hash(client_list.hashes)[:6]}")

    def close(self) -> None:
        """Close the log."""
        with self._guard:
            self._open.clear()
            if self._store is not None:
                self._store.close()
                self._store = None

    def _continued_session(self, client_list: ClientList) -> str | None:
        """Return the session of the client's open conversation that a list continues.

        Clients may alternate between conversations of the same id.
        """
        with self._guard:
            last_used_first = list(reversed(self._open.items()))
        alike = ((name, one) for name, one in last_used_first if one.session_name == client_list.session_name)
        return next((name for name, one in alike if one.conversation.continues_with(client_list)), None)

    def _opened(self, client_list: ClientList, session: str) -> Conversation:
        """Return the conversation of a session, opened if needed, and close the one used longest ago."""
        with self._guard:
            kept = self._open.pop(session, None)
        if kept is None:
            model = client_list.request.body.get("model")
            model = model if isinstance(model, str) else "unknown"
            conversation = Conversation(session, self._opened_store(), model)
            kept = _OpenConversation(client_list.session_name, conversation)
        with self._guard:
            self._open[session] = kept
            while len(self._open) > OPEN_SESSIONS:
                self._open.popitem(last=False)
        return kept.conversation

    def _opened_store(self) -> SqliteStore:
        with self._guard:
            if self._store is None:
                path = self._path or store_path()
                path.parent.mkdir(parents=True, exist_ok=True)
                self._store = SqliteStore(path)
            return self._store


def entry_hash(entry: object) -> str:
    """Return a hash of an entry's content, without cache marks."""
    value = without_marks(entry) if isinstance(entry, dict) else entry
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def list_hash(hashes: Iterable[str]) -> str:
    """Return one hash of several."""
    return blake2b("".join(hashes).encode(), digest_size=12).hexdigest()
