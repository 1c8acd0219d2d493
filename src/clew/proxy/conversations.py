"""The conversations of clients in clew's log: which session one belongs to, and which entries of it are new.

A client sends its whole list of messages with every request. The log remembers of the last one how many
entries it had and a hash over them (without cache marks), and compares the next list with that:

- it begins with the same 50 entries: the rest is new
- it begins with clew's digest, because the client replaced its history by it: new is what follows the digest
  and the messages that the client repeats next to it; the digest names the session
- anything else is another conversation (``Diverged``), and gets a session of its own.

::

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
from typing import Any
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
    def session(self) -> str:
        """Return the name of its session: the one of clew's digest in it, or by the client's id."""
        if self.request.earlier:
            return self.request.earlier.session
        identity = f"{self.request.session}\0{self.hashes[0]}"
        digest = blake2b(identity.encode("utf-8", "replace"), digest_size=NAME_BYTES)
        return f"{SESSION_PREFIX}{digest.hexdigest()}"

    @property
    def own_session(self) -> str:
        """Return the name of a session for this list alone."""
        return f"{self.session}-{chain(self.hashes)[:6]}"


class Conversation:
    """A session of the log that holds a client's conversation."""

    def __init__(self, name: str, store: SqliteStore, model: str) -> None:
        self.session = Session.open(name, store, workspace=WORKSPACE, model=model)
        self.session.gauge = replace(self.session.gauge, policy=_POLICY)

    def log(
        self, client_list: ClientList, upto: int | None = None, *more: Message, compacted: bool = False
    ) -> int:
        """Append the new messages of the list's first ``upto`` entries and ``more``; return how many.

        Raises ``Diverged`` if the log holds another conversation. ``compacted`` notes that the client will
        replace its list by a digest.
        """
        upto = len(client_list.hashes) if upto is None else upto
        is_first = self._logged is None
        new_entries = self._new_entries(client_list, upto)
        request, wire = client_list.request, wire_named(client_list.request.wire)
        parsed = ParsedInput.of({**request.body, wire.list_key: request.entries}, wire)
        system = parsed.system() if is_first else ()
        new_messages = [message for n in new_entries for message in parsed.codec.read(parsed.entries[n], n)]
        messages = [*map(without_natives, (*system, *new_messages)), *more]
        about: JsonObject = {LOGGED_KEY: {"count": upto, "chain": chain(client_list.hashes[:upto])}}
        if compacted:
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
        count = logged.get("count")
        if isinstance(count, int) and logged.get("chain") == chain(client_list.hashes[:count]):
            return range(count, upto)
        earlier, compactions = client_list.request.earlier, self.session.trace()
        if earlier and (not compactions or compactions[-1].name == earlier.digest):
            entries = client_list.request.entries[:upto]
            return _new_after_digest(entries, client_list.hashes, self._replaced_hashes)
        raise Diverged

    @property
    def _logged(self) -> JsonObject | None:
        """How many entries of the client's list the log holds, and their hash; None if it holds none."""
        logged = self.session.about.get(LOGGED_KEY)
        return logged if isinstance(logged, dict) else None

    @property
    def _replaced_hashes(self) -> tuple[str, ...]:
        """The hashes of the entries that the client has replaced by digests."""
        about = self.session.about.get(KNOWN_KEY)
        entries = about.get("entries") if isinstance(about, dict) else None
        hashes = entries if isinstance(entries, list) else ()
        return tuple(item for item in hashes if isinstance(item, str))


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


class Conversations:
    """The sessions of one log; safe to use from several threads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        """Locks in use."""
        self._store: SqliteStore | None = None
        self._open: OrderedDict[str, tuple[str, Conversation]] = OrderedDict()
        """By session: the name its client's lists lead to (``ClientList.session``), and the conversation.

        Several sessions have the same such name if the client's lists diverged; the last used is at the end.
        """

    @contextmanager
    def locked(self, client_list: ClientList) -> Iterator[Conversation]:
        """Return the conversation of a list; no other thread uses it meanwhile."""
        name = client_list.session
        with self._guard:
            base = name[: len(SESSION_PREFIX) + 2 * NAME_BYTES]  # one lock for all sessions of a client's id
            lock = self._locks.setdefault(base, threading.RLock())
        with lock:
            yield self._continued(name, client_list) or self._open_conversation(name, name, client_list)

    def separate(self, client_list: ClientList) -> Conversation:
        """Return a session of its own for a list that does not continue the logged conversation."""
        return self._open_conversation(client_list.session, client_list.own_session, client_list)

    def close(self) -> None:
        """Close the log."""
        with self._guard:
            self._open.clear()
            if self._store is not None:
                self._store.close()
                self._store = None

    def _continued(self, name: str, client_list: ClientList) -> Conversation | None:
        """Return the client's open conversation that a list continues: clients may alternate between some."""
        with self._guard:
            last_used_first = list(reversed(self._open.items()))
        for session, (list_name, conversation) in last_used_first:
            if list_name == name and conversation.continues_with(client_list):
                return self._open_conversation(name, session, client_list)
        return None

    def _open_conversation(self, name: str, session: str, client_list: ClientList) -> Conversation:
        """Return the conversation of a session, opened if needed, and close the one used longest ago."""
        with self._guard:
            _, conversation = self._open.pop(session, (name, None))
        if conversation is None:
            model = client_list.request.body.get("model")
            model = model if isinstance(model, str) else "unknown"
            conversation = Conversation(session, self._opened_store(), model)
        with self._guard:
            self._open[session] = name, conversation
            while len(self._open) > OPEN_SESSIONS:
                self._open.popitem(last=False)
        return conversation

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


def chain(hashes: Iterable[str]) -> str:
    """Return one hash of several."""
    return blake2b("".join(hashes).encode(), digest_size=12).hexdigest()
