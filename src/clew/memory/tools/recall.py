"""Tools that read: finding what left the window, opening it, and looking at a range of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.errors import InputError, NotFound
from clew.memory.entries import catch_up
from clew.memory.search import Hit, Query, search
from clew.memory.tools.desk import Desk
from clew.memory.tools.passages import (
    MOST_CHARACTERS,
    Quotation,
    around,
    fenced,
    message_at,
    place_of,
    quoted,
    ref_of_event,
)
from clew.memory.tools.schema import between, takes, text, whole
from clew.memory.tools.tool import Tool, ToolAnswer
from clew.ports.index import Filters

MOST_HITS = 20
EXCERPT = 600
"""Characters of a hit: enough to tell whether to open it."""
MOST_NEIGHBOURS = 10
MOST_ORIGINALS = 50
MOST_END = 2**53
"""An end beyond the message is its end."""


# Search ----------------------------------------------------------------------------------------------


def _search(desk: Desk, given: dict[str, Any]) -> ToolAnswer:
    if desk.index is None:
        raise InputError("nothing is indexed here", "open what you know the reference of with recall_open")
    own = desk.session.name
    catch_up(desk.notebook.store, desk.ctx(own), desk.index)
    query = Query(
        text=given["query"],
        at=desk.notebook.now,
        filters=Filters(sessions=(own,) if given["where"] == "this_session" else ()),
        limit=between(given, "limit", 1, MOST_HITS, 5),
    )
    hits = search(desk.index, desk.notebook.workspace, query, desk.embedder)
    if not hits:
        return ToolAnswer(f"nothing was found for {given['query']!r}")
    return quoted((_found(desk, hit) for hit in hits), f"{len(hits)} found, best first:")


def _found(desk: Desk, hit: Hit) -> Quotation:
    entry = hit.entry
    start = _excerpt_start(hit)
    shown = entry.text[start : start + EXCERPT]
    first = entry.start + start
    about = [f"characters {first}-{first + len(shown)}"]
    about += [f"has {', '.join(hit.why.exact)}"] if hit.why.exact else []
    return Quotation(_ref(desk, hit), entry.time, entry.role, entry.trust, shown, "; ".join(about))


def _excerpt_start(hit: Hit) -> int:
    """Return where an excerpt begins: a little before the first thing that was looked for."""
    low = hit.entry.text.lower()
    wanted = (*(value.lower() for value in hit.why.exact), *hit.why.terms)
    places = [place for one in wanted if (place := low.find(one)) >= 0]
    return max(0, min(places, default=0) - EXCERPT // 4)


def _ref(desk: Desk, hit: Hit) -> str:
    """Return a reference that can be opened; what belongs to no session keeps the index's own."""
    entry = hit.entry
    event, _, nth = entry.ref.partition(".")
    try:
        stored = desk.notebook.store.find(desk.ctx(entry.session), event)
    except NotFound:
        return entry.ref
    return ref_of_event(desk, entry.session, stored, int(nth or 0))


RECALL_SEARCH = Tool(
    "recall_search",
    "Search everything said or seen before, in this session and earlier ones, also what is no longer in "
    "view. Finds exact values (paths, ids, error texts) to the letter, words in any form, and dates such as "
    "'last Tuesday'. Each hit has a reference for recall_open.",
    takes(
        query=text("What to look for: a question, words, or an exact value."),
        limit=whole(f"How many hits, at most {MOST_HITS}; 5 if null.", optional=True),
        where=text("Where to look; everywhere if null.", optional=True, of=("this_session", "everywhere")),
    ),
    _search,
)


# Open ------------------------------------------------------------------------------------------------


def _open(desk: Desk, given: dict[str, Any]) -> ToolAnswer:
    ref = given["ref"].strip()
    place = place_of(desk, ref)
    if place:
        return quoted(around(desk, place, between(given, "neighbours", 0, MOST_NEIGHBOURS, 1)))
    behind = desk.session.expand(ref)
    more = len(behind.ids) - MOST_ORIGINALS
    left_out = f" (and {more} more messages)" if more > 0 else ""
    own = f"\n{fenced(behind.text)}" if behind.text else ""
    heading = f"{ref} is a {behind.what}{own}\nand comes from these{left_out}:"
    places = (place_of(desk, id_) for id_ in behind.ids[:MOST_ORIGINALS])
    return quoted((message_at(desk, place) for place in places if place), heading)


RECALL_OPEN = Tool(
    "recall_open",
    "Show messages as they were said, whatever the view shows of them now. Takes the reference of a message "
    "(m12, or m12@SESSION), of a digest (d1), of a line of one (d1.4), or of a rule (p2).",
    takes(
        ref=text("The reference."),
        neighbours=whole(
            f"Messages to show before and after it, at most {MOST_NEIGHBOURS}; 1 if null.", optional=True
        ),
    ),
    _open,
)


# A range ---------------------------------------------------------------------------------------------


def _range(desk: Desk, given: dict[str, Any]) -> ToolAnswer:
    place = place_of(desk, given["ref"])
    if place is None:
        raise InputError(f"{given['ref']!r} is no message", "m12 is one; recall_open takes the others")
    found = message_at(desk, place)
    unit, first, glue = ("lines", 1, "\n") if given["unit"] == "lines" else ("characters", 0, "")
    said: Sequence[str] = found.text.split("\n") if glue else found.text
    start = between(given, "start", first, max(first, len(said) - 1 + first), first)
    end = between(given, "end", start, MOST_END, len(said))
    shown = glue.join(said[start - first : end])
    about = f"{unit} {start}-{min(end, len(said))} of {len(said)}"
    if len(shown) > MOST_CHARACTERS:
        about = f"{about}, cut after {MOST_CHARACTERS} characters"
    return quoted([found._replace(text=shown[:MOST_CHARACTERS], about=about)])


ARTIFACT_OPEN = Tool(
    "artifact_open",
    "Show a range of one message to the letter, for instance of a tool's output that is too long to show "
    f"whole. At most {MOST_CHARACTERS} characters at once.",
    takes(
        ref=text("The reference of the message: m41, or m41@SESSION."),
        unit=text("What start and end count; characters if null.", optional=True, of=("characters", "lines")),
        start=whole(
            "The first character, counted from 0, or the first line, counted from 1; the beginning if null.",
            optional=True,
        ),
        end=whole("The character to stop before, or the last line; the end if null.", optional=True),
    ),
    _range,
)
