"""The conversations of clients in clew's log: which session one belongs to, and what of it is new.

The log holds the first ``count`` entries of the client's list; a hash over them (without cache marks) says
whether a later list continues it. A list that starts with clew's own digest continues the session that the
digest names. Any other list gets a session of its own.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import dropwhile
from pathlib import Path
from weakref import WeakValueDictionary

from clew.budget import DEFAULT
from clew.log.store import SqliteStore
from clew.message import Json, JsonObject, Message
from clew.providers import wire_named
from clew.providers.cache_marks import without_marks
from clew.proxy.requests import CompactionRequest, is_earlier_digest
from clew.session import Session
from clew.session.parsed_input import ParsedInput
from clew.session.result import without_natives
from clew.settings import store_path

WORKSPACE = "local"
LOGGED_KEY, KNOWN_KEY = "proxy", "proxy_known"
"""Keys of the session's ``about`` events."""
KNOWN = 400
"""How many hashes of a compacted list are kept: clients repeat some of its messages beside the digest."""
OPEN_SESSIONS = 32
"""Sessions kept open, about 4 MB each at 200,000 tokens; others are read from the log again."""
_POLICY = replace(DEFAULT, keep_messages=1)


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
            return self.request.earlier[0]
        named = f"{self.request.session}\0{self.hashes[0]}"
        return f"proxy-{blake2b(named.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"

    @property
    def own_session(self) -> str:
        """Return the name of a session for this list alone."""
        return f"{self.session}-{chain(self.hashes)[:6]}"


class Conversation:
    """A session of the log that holds a client's conversation."""

    def __init__(self, name: str, store: SqliteStore, model: str) -> None:
        self.session = Session.open(name, store, workspace=WORKSPACE, model=model)
        self.session.gauge = replace(self.session.gauge, policy=_POLICY)

    def log(self, given: ClientList, upto: int | None = None, *more: Message, compacted: bool = False) -> int:
        """Append the new messages of the list's first ``upto`` entries and ``more``; return how many.

        Raises ``Diverged`` if the log holds another conversation. ``compacted`` notes that the client will
        replace its list by a digest.
        """
        upto = len(given.hashes) if upto is None else upto
        start, known = self._start(given, upto), self._texts(KNOWN_KEY)
        parsed = _parsed(given.request)
        new = [] if start is None else list(range(start, upto))
        if start is None:  # the list that replaced the logged one: its digest, repeated messages, new ones
            is_known = (given.hashes[n] in known or is_earlier_digest(parsed.entries[n]) for n in range(upto))
            places = dropwhile(lambda pair: pair[1], enumerate(is_known))
            new = [n for n, old in places if not old or not is_earlier_digest(parsed.entries[n])]
        read = [message for n in new for message in parsed.codec.read(parsed.entries[n], n)]
        system = parsed.system() if start == 0 else ()
        about: JsonObject = {LOGGED_KEY: {"count": upto, "chain": chain(given.hashes[:upto])}}
        if compacted:
            about[KNOWN_KEY] = {"entries": list[Json]((*known, *given.hashes)[-KNOWN:])}
        messages = [*map(without_natives, (*system, *read)), *more]
        if messages:
            self.session.add(*messages, about=about)
        return len(messages)

    def _start(self, given: ClientList, upto: int) -> int | None:
        """Return how many entries of a list are in the log; None for the list after a compaction."""
        logged = self.session.about.get(LOGGED_KEY)
        if not isinstance(logged, dict):
            return 0
        count = logged.get("count")
        if isinstance(count, int) and logged.get("chain") == chain(given.hashes[:count]):
            return min(count, upto)
        if given.request.earlier and self._is_last(given.request.earlier[1]):
            return None
        raise Diverged

    def _is_last(self, digest: str) -> bool:
        compactions = self.session.trace()
        return not compactions or compactions[-1].name == digest

    def _texts(self, key: str) -> tuple[str, ...]:
        about = self.session.about.get(key)
        entries = about.get("entries") if isinstance(about, dict) else None
        return tuple(one for one in entries if isinstance(one, str)) if isinstance(entries, list) else ()


class Conversations:
    """The sessions of one log; safe to use from several threads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        """Locks in use."""
        self._store: SqliteStore | None = None
        self._open: OrderedDict[str, Conversation] = OrderedDict()

    @contextmanager
    def locked(self, given: ClientList) -> Iterator[Conversation]:
        """Return the conversation of a list; no other thread uses it meanwhile."""
        name = given.session
        with self._guard:
            lock = self._locks.setdefault(name, threading.RLock())
        with lock:
            yield self._conversation(name, name, given)

    def separate(self, given: ClientList) -> Conversation:
        """Return a session of its own for a list that does not continue the logged conversation."""
        return self._conversation(given.session, given.own_session, given)

    def close(self) -> None:
        """Close the log."""
        with self._guard:
            self._open.clear()
            if self._store is not None:
                self._store.close()
                self._store = None

    def _conversation(self, name: str, session: str, given: ClientList) -> Conversation:
        with self._guard:
            conversation = self._open.pop(name, None)
        if conversation is None or session not in (name, conversation.session.name):
            model = given.request.body.get("model")
            conversation = Conversation(
                session, self._opened(), model if isinstance(model, str) else "unknown"
            )
        with self._guard:
            self._open[name] = conversation
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


def _parsed(request: CompactionRequest) -> ParsedInput:
    wire = wire_named(request.wire)
    entries: Sequence[object] = request.entries
    return ParsedInput.of(request.body | {wire.list_key: entries}, wire)
