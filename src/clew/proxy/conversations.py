"""The conversations of clients in clew's log: which session one belongs to, and what of it is new.

The log holds the first ``count`` entries of the client's list; a hash over them (without cache marks) says
whether a later list continues it: of a list of 52 entries that begins with the same 50, two are new. A list
that starts with clew's own digest continues the session that the digest names; of it everything is new that
follows the digest and the messages that the client repeats beside it. Any other list gets a session of its
own.
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
        start, known = self._start(client_list, upto), self._known_hashes()
        request, wire = client_list.request, wire_named(client_list.request.wire)
        parsed = ParsedInput.of({**request.body, wire.list_key: request.entries}, wire)
        if start is None:
            new = _new_after_digest(parsed.entries[:upto], client_list.hashes, known)
        else:
            new = list(range(start, upto))
        new_messages = [message for n in new for message in parsed.codec.read(parsed.entries[n], n)]
        system = parsed.system() if start == 0 else ()
        about: JsonObject = {LOGGED_KEY: {"count": upto, "chain": chain(client_list.hashes[:upto])}}
        if compacted:
            about[KNOWN_KEY] = {"entries": list[Json]((*known, *client_list.hashes)[-KNOWN:])}
        messages = [*map(without_natives, (*system, *new_messages)), *more]
        if messages:
            self.session.add(*messages, about=about)
        return len(messages)

    def continues_with(self, client_list: ClientList) -> bool:
        """Whether a list continues the conversation that the log holds."""
        try:
            self._start(client_list, len(client_list.hashes))
        except Diverged:
            return False
        return True

    def _start(self, client_list: ClientList, upto: int) -> int | None:
        """Return how many entries of a list are in the log; None for the list after a compaction."""
        logged = self.session.about.get(LOGGED_KEY)
        if not isinstance(logged, dict):
            return 0
        count = logged.get("count")
        if isinstance(count, int) and logged.get("chain") == chain(client_list.hashes[:count]):
            return min(count, upto)
        earlier, compactions = client_list.request.earlier, self.session.trace()
        if earlier and (not compactions or compactions[-1].name == earlier.digest):
            return None
        raise Diverged

    def _known_hashes(self) -> tuple[str, ...]:
        """Return the hashes of the entries that the list had before it was compacted."""
        about = self.session.about.get(KNOWN_KEY)
        entries = about.get("entries") if isinstance(about, dict) else None
        hashes = entries if isinstance(entries, list) else ()
        return tuple(item for item in hashes if isinstance(item, str))


def _new_after_digest(entries: Sequence[Any], hashes: Sequence[str], known: Collection[str]) -> list[int]:
    """Return the indices of the new entries of a list that a client has compacted.

    Such a list begins with the digest and repeats some messages of before; what follows them is new.
    """
    repeated = (hashes[n] in known or is_earlier_digest(entry) for n, entry in enumerate(entries))
    first_new = next((n for n, is_repeated in enumerate(repeated) if not is_repeated), len(entries))
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
        """By session: the name by which its client's lists are found, and the conversation."""

    @contextmanager
    def locked(self, client_list: ClientList) -> Iterator[Conversation]:
        """Return the conversation of a list; no other thread uses it meanwhile."""
        name = client_list.session
        with self._guard:
            base = name[: len(SESSION_PREFIX) + 2 * NAME_BYTES]  # one lock for all sessions of a client's id
            lock = self._locks.setdefault(base, threading.RLock())
        with lock:
            yield self._continued(name, client_list) or self._conversation(name, name, client_list)

    def separate(self, client_list: ClientList) -> Conversation:
        """Return a session of its own for a list that does not continue the logged conversation."""
        return self._conversation(client_list.session, client_list.own_session, client_list)

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
            own = [(key, one) for key, (client, one) in reversed(self._open.items()) if client == name]
        for key, conversation in own:
            if conversation.continues_with(client_list):
                return self._conversation(name, key, client_list)
        return None

    def _conversation(self, name: str, session: str, client_list: ClientList) -> Conversation:
        """Return the conversation of a session, opened if it is not open."""
        with self._guard:
            _, conversation = self._open.pop(session, (name, None))
        if conversation is None:
            model = client_list.request.body.get("model")
            name_of_model = model if isinstance(model, str) else "unknown"
            conversation = Conversation(session, self._opened(), name_of_model)
        with self._guard:
            self._open[session] = name, conversation
            while len(self._open) > OPEN_SESSIONS:
                self._open.popitem(last=False)
        return conversation

    def _opened(self) -> SqliteStore:
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
