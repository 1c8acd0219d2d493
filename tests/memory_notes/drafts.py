"""Notes for tests: a clock that stands still, drafts, and messages that an agent was shown."""

from __future__ import annotations

from hypothesis import strategies as st

from clew.log.store import MemoryStore
from clew.memory.notes import Author, Category, Draft, Notebook, NoteScope, NoteSource, Priority
from clew.message import Item, Message, Role, Text, ToolResult, Trust, text_message

AT_MS = 1_790_000_000_000
NOW = "2026-09-21T14:13:20.000Z"


def notebook(store=None, **fields):
    """Return a notebook whose clock stands still."""
    own = {"workspace": "home", "session": "main", "clock": lambda: AT_MS}
    return Notebook(store or MemoryStore(), **{**own, **fields})


def draft(text="Use tabs.", key="style", **fields):
    """Return a person's draft."""
    return Draft(key=key, text=text, **fields)


def proposal(text="Use tabs.", key="style", messages=(), **fields):
    """Return an agent's draft."""
    own = {"trust": Trust.ASSISTANT, "source": NoteSource(Author.AGENT, "main", tuple(messages))}
    return Draft(key=key, text=text, **{**own, **fields})


def page(text, id_="m3"):
    """Return a message in which a tool shows a web page."""
    return Item(id_, Message(Role.TOOL, (ToolResult("c1", (Text(text),), trust=Trust.UNTRUSTED),)))


def user(text, id_="m1"):
    """Return something the user said."""
    return Item(id_, text_message(Role.USER, text))


drafts = st.builds(
    Draft,
    key=st.sampled_from(["style", "Style", "deploy", "a-key", "a key", "名前"]),
    text=st.sampled_from(["Use tabs.", "Deploy with scripts/deploy.sh", "never on Fridays", "x" * 1_000]),
    category=st.sampled_from(Category),
    scope=st.sampled_from(NoteScope),
    tags=st.lists(st.sampled_from(["ci", "python"]), max_size=2).map(tuple),
    priority=st.sampled_from(Priority),
    trust=st.sampled_from(Trust),
    source=st.sampled_from([NoteSource(Author.PERSON), NoteSource(Author.AGENT, "main", ("m1",))]),
    expires=st.sampled_from([None, "2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]),
)
