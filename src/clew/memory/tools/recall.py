"""Reading tools: search what left the window, open it, and show a range of it.

Each tool is a function and a ``Tool`` with its name and schema; an answer quotes messages between fences,
each with its reference, role, trust and time:
``[m12, user, 2026-11-15T09:00:00Z, characters 0-80; score 2.10]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from clew.compaction.plan.digest import spans
from clew.errors import InputError
from clew.memory.index import Entry, EntryKind, Filters
from clew.memory.memory import why_outdated
from clew.memory.references import Quotation, Resolved
from clew.memory.scope import InView, SearchScope
from clew.memory.search import SearchHit
from clew.memory.selection import excerpt_start, reasons
from clew.memory.tools.tool import (
    MOST_CHARACTERS,
    Tool,
    ToolAnswer,
    ToolContext,
    bounded_number,
    integer,
    object_schema,
    string,
)
from clew.message import Role, Trust

_BACKTICKS = re.compile("`+")
FRAME = 200
"""Characters around a quotation, roughly: its heading with the reasons, the fence, what is missing."""
LEAST_HIT = 400
"""Characters of an answer for each hit; a small window gets fewer hits instead of shorter ones."""


def quotations_answer(
    quotations: Iterable[Quotation], heading: str = "", most: int = MOST_CHARACTERS
) -> ToolAnswer:
    """Return quotations as one answer of about ``most`` characters, with the lowest trust among them."""
    listed = list(quotations)
    blocks = [*([heading] if heading else []), *_blocks(listed, most)]
    return ToolAnswer(
        "\n".join(blocks), min((quotation.trust for quotation in listed), default=Trust.SEMI_TRUSTED)
    )


def _blocks(quotations: list[Quotation], room: int) -> Iterator[str]:
    room -= min(room // 2, FRAME * (len(quotations) - 1))
    for waiting, quotation in zip(range(len(quotations), 0, -1), quotations, strict=True):
        shown = quotation.text[: room // waiting]  # room left by a short one goes to the next ones
        room -= len(shown)
        about = (quotation.ref, quotation.role, quotation.trust.label, quotation.time, quotation.about)
        yield f"[{', '.join(dict.fromkeys(filter(None, about)))}]"
        yield fence_verbatim(shown)
        if len(shown) < len(quotation.text):
            missing = len(quotation.text) - len(shown)
            following = quotation.start + len(shown)
            yield f"({missing:,} more characters: artifact_open {quotation.ref} from {following})"


def fence_verbatim(text: str) -> str:
    """Return a text verbatim, in a fence that it cannot close."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


MOST_NAMES = 16
"""Names per message: those nearest to the hit. The limits here were chosen by hand."""
NAMES_CHARACTERS = 500
"""Characters of the names of one message."""
FAR = 12_000
"""Characters around a hit in which names are searched."""
# In the order of the alternatives: src/app/main; main.py; snake_case; SNAKE_CASE; camelCase; 4f2a91c.
# The lookahead rejects ordinary words at once: a name has a sign, a digit or a capital.
_NAME = re.compile(
    r"(?<![\w/.@-])(?=[^\s/._A-Z0-9]{0,200}+[/._A-Z0-9])(?:"
    r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"
    r"|\w[\w-]*\.[A-Za-z]\w{0,4}(?![\w/(])"
    r"|[A-Za-z_]*[a-z0-9](?:_[A-Za-z0-9]+)+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
    r"|[A-Za-z]*[a-z0-9][A-Z][A-Za-z0-9]*"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])"
    r")"
)
SHORTEST = 5
"""Least characters of a name that is listed with a hit: shorter ones say little. Chosen by hand."""


def lost_names(found: Sequence[tuple[Entry, str]], view: InView) -> Iterator[tuple[Entry, list[str]]]:
    """Yield names near each hit in its message that neither the hits nor the view show.

    ``found`` are hits with the whole text of their messages; each message is searched once.
    """
    shown = "\n".join(entry.text for entry, _ in found)
    messages = {(entry.session, entry.ref): (entry, text) for entry, text in reversed(found)}
    for entry, text in reversed(messages.values()):
        middle = entry.start + len(entry.text) // 2
        names: list[str] = []
        for name in _nearest(text, middle):
            if name not in shown and not view.holds(name):
                names.append(name)
                shown += f"\n{name}"
            if len(names) == MOST_NAMES or sum(map(len, names)) > NAMES_CHARACTERS:
                break
        if names:
            yield entry, names


def _nearest(text: str, middle: int) -> list[str]:
    """Return the names around a position of a text, nearest first."""
    matches = _NAME.finditer(text, max(0, middle - FAR), middle + FAR)
    near = sorted((abs(match.start() - middle), match[0].rstrip(".")) for match in matches)
    return list(dict.fromkeys(name for _, name in near if SHORTEST <= len(name) <= 200))


MESSAGES = (EntryKind.TURN, EntryKind.ARTIFACT)
"""Kinds of entries that are pieces of a message."""
MOST_HITS = 20
"""Most hits of one search by the agent; chosen by hand."""
EXCERPT = 1_600
"""Characters of a hit: one or two adjoining pieces of the index, whole."""
REPLY = 400
"""Characters of the user's reply to a hit."""
MOST_NEIGHBOURS = 10
MOST_ORIGINALS = 50
"""Most messages shown on each side of an opened one, and most originals quoted; chosen by hand."""
MOST_END = 2**53
"""A larger end means the end of the message."""
_ROLES = ("user", "assistant", "tool", "system")


# Search ----------------------------------------------------------------------------------------------


def _search(context: ToolContext, arguments: dict[str, Any]) -> ToolAnswer:
    """Answer a search of the model: the best hits outside its view, or the best ones if all are in view."""
    limit = bounded_number(arguments, "limit", 1, MOST_HITS, 5)
    limit = max(1, min(limit, context.answer_characters // LEAST_HIT))
    filters = _filters(arguments)
    where = SearchScope(arguments["where"]) if arguments["where"] else None
    view = InView(context.session.name, context.session.view())
    search_result = context.memory.find(arguments["query"], filters, limit, view, where)
    seen = list(dict.fromkeys(context.memory.ref(entry) for entry in search_result.in_view))
    if search_result.hits:
        heading = f"{len(search_result.hits)} found, best first{_not_indexed(context)}:"
        if seen:
            heading = f"In view already, not repeated here: {', '.join(seen)}. {heading}"
        answer = quotations_answer(
            _with_replies(context, search_result.hits, view), heading, context.answer_characters
        )
        room = context.window_tenth - len(answer.text)
        names = _other_names(context, search_result.hits, view, room)
        return replace(answer, text="\n".join([answer.text, *names]))
    if seen:  # everything found is in view: show the best of it, rather than only a list of ids
        hits = _asking_last(context, context.memory.search(arguments["query"], filters, limit + 1, where))[
            :limit
        ]
        heading = f"{len(hits)} found, all in view already:"
        return quotations_answer(_hit_quotations(context, hits), heading, context.answer_characters)
    return ToolAnswer(f"nothing found for {arguments['query']!r}{_not_indexed(context)}")


def _not_indexed(context: ToolContext) -> str:
    """Say how many sessions a search could not cover yet; empty if none."""
    left = context.memory.not_indexed
    are = "session is" if left == 1 else "sessions are"
    return f" ({left:,} {are} not indexed yet: search again to cover more)" if left else ""


def _other_names(context: ToolContext, hits: Sequence[SearchHit], view: InView, room: int) -> Iterator[str]:
    """Yield, in a fence, names in the rest of the found messages that the view no longer shows.

    Those of the best hits come first; they take about ``room`` characters at most.
    """
    messages = {(hit.entry.session, hit.entry.seq): hit.entry for hit in hits if hit.entry.kind in MESSAGES}
    texts = {place: context.memory.resolver.whole_text(entry) for place, entry in messages.items()}
    places = ((hit.entry, (hit.entry.session, hit.entry.seq)) for hit in hits)
    result = [(entry, texts[place]) for entry, place in places if place in texts]
    lines = []
    for entry, names in lost_names(result, view):
        line = f"{context.memory.ref(entry)}: {', '.join(names)}"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    if lines:
        yield "Other names in these messages that are not in view:"
        yield fence_verbatim("\n".join(lines))


def _asking_last(context: ToolContext, hits: list[SearchHit]) -> list[SearchHit]:
    """Rank the user's current question after hits with the same values: it does not answer itself."""
    asked = next((item.id for item in reversed(context.session.view()) if item.message.role is Role.USER), "")
    question = next((hit for hit in hits if context.memory.ref(hit.entry) == asked), None)
    rivals = [hit for hit in hits if question and hit is not question and hit.why.exact]
    if question is None or not any(set(hit.why.exact) >= set(question.why.exact) for hit in rivals):
        return hits
    return [*(hit for hit in hits if hit is not question), question]


def _filters(arguments: dict[str, Any]) -> Filters:
    return Filters(
        kinds=(EntryKind(arguments["kind"]),) if arguments["kind"] else (),
        roles=(arguments["role"],) if arguments["role"] else (),
        files=(arguments["file"],) if arguments["file"] else (),
        after=arguments["after"] or "",
        before=arguments["before"] or "",
    )


def _hit_quotations(context: ToolContext, hits: Sequence[SearchHit]) -> Iterator[Quotation]:
    memory, outdated = context.memory, context.memory.outdated()
    for hit in hits:
        entry = hit.entry
        start = excerpt_start(hit, EXCERPT)
        shown = entry.text[start : start + EXCERPT]
        first = entry.start + start
        about = [f"characters {first}-{first + len(shown)}"]
        about += [f"from {', '.join(entry.sources)}"] if entry.sources else []
        about += filter(None, [memory.origin(entry), why_outdated(entry, outdated)])
        about += [f"score {hit.score:.2f}", *reasons(hit.why)]
        labels = memory.ref(entry), entry.time, entry.role, entry.trust
        yield Quotation(*labels, shown, "; ".join(about), first)


def _with_replies(context: ToolContext, hits: Sequence[SearchHit], view: InView) -> Iterator[Quotation]:
    """Yield hits; after each message of the assistant what the user said to it, unless the model sees it."""
    shown = {context.memory.ref(hit.entry) for hit in hits}
    for hit, quotation in zip(hits, _hit_quotations(context, hits), strict=True):
        yield quotation
        reply = context.memory.reply(hit.entry)
        if reply and reply.ref not in shown and not view.holds(reply.text):
            shown.add(reply.ref)
            yield reply._replace(text=reply.text[:REPLY], about=f"in reply to {quotation.ref}")


RECALL_SEARCH = Tool(
    "recall_search",
    "Search what was said or seen before, in this session and in others of this project, including what is "
    "no longer in view. Finds exact values (paths, ids, error texts) verbatim, words in any form, and "
    "dates such as 'last Tuesday'. Each hit has a reference for recall_open.",
    object_schema(
        query=string("What to look for: a question, words, or an exact value."),
        limit=integer(f"How many hits, at most {MOST_HITS}; 5 if null.", optional=True),
        where=string(
            "Where to look; this_project if null. Use everywhere only if asked.",
            optional=True,
            of=SearchScope,
        ),
        kind=string("What to look for; anything if null.", optional=True, of=EntryKind),
        role=string("Who said it; anyone if null.", optional=True, of=_ROLES),
        file=string("The path of a file that it is about; any if null.", optional=True),
        after=string("Not before this time, like 2026-11-15T08:00; any if null.", optional=True),
        before=string("Before this time; any if null.", optional=True),
    ),
    _search,
)


# Open ------------------------------------------------------------------------------------------------


def _open(context: ToolContext, arguments: dict[str, Any]) -> ToolAnswer:
    """Answer with what a reference points to, and the originals of its messages."""
    ref = arguments["ref"].strip()
    if ref.startswith("p") and ref[1:].isdecimal():
        return _rule(context, ref)
    opened = context.memory.open(ref, bounded_number(arguments, "neighbours", 0, MOST_NEIGHBOURS, 1))
    quotations = [*opened.quotations, *_messages(context, opened.holds)]
    return quotations_answer(quotations, _heading(opened), context.answer_characters)


def _messages(context: ToolContext, refs: Sequence[str]) -> list[Quotation]:
    """Return the originals of the messages among these references."""
    places = (context.memory.resolver.place(ref) for ref in refs[:MOST_ORIGINALS])
    return [context.memory.resolver.message(place) for place in places if place]


def _heading(opened: Resolved) -> str:
    """Return a line with what was opened, and what to open next."""
    if opened.what == "message":
        return ""
    is_local = all("@" not in name for name in opened.holds)
    holds = spans(opened.holds) if is_local else f"{opened.holds[0]} to {opened.holds[-1]}"
    of = {"archive": "the digest of older digests", "line": "a line of a digest"}.get(opened.what)
    return f"{opened.ref} is {of or f'a {opened.what}'}" + (f", over {holds}:" if opened.holds else ":")


def _rule(context: ToolContext, ref: str) -> ToolAnswer:
    behind = context.session.expand(ref)
    heading = f"{ref} is a {behind.what}\n{fence_verbatim(behind.text)}\nand comes from these:"
    return quotations_answer(_messages(context, behind.ids), heading, context.answer_characters)


RECALL_OPEN = Tool(
    "recall_open",
    "Show original messages, whatever the view shows of them now. Takes the reference of a message "
    "(m12, or m12@SESSION), of a digest (d1), of a line of one (d1.4), of a digest of the archive (a1), or "
    "of a rule (p2).",
    object_schema(
        ref=string("The reference."),
        neighbours=integer(
            f"Messages to show before and after it, at most {MOST_NEIGHBOURS}; 1 if null.", optional=True
        ),
    ),
    _open,
)


# A range ---------------------------------------------------------------------------------------------


def _range(context: ToolContext, arguments: dict[str, Any]) -> ToolAnswer:
    """Answer with a range of one message, in characters or lines."""
    place = context.memory.resolver.place(arguments["ref"])
    if place is None:
        raise InputError(
            f"{arguments['ref']!r} is not a message", "use one like m12; recall_open takes other references"
        )
    quotation = context.memory.resolver.message(place)
    unit, first, glue = ("lines", 1, "\n") if arguments["unit"] == "lines" else ("characters", 0, "")
    texts: Sequence[str] = quotation.text.split("\n") if glue else quotation.text
    start = bounded_number(arguments, "start", first, max(first, len(texts) - 1 + first), first)
    end = bounded_number(arguments, "end", start, MOST_END, len(texts))
    shown = glue.join(texts[start - first : end])
    about = f"{unit} {start}-{min(end, len(texts))} of {len(texts)}"
    most = context.answer_characters
    if len(shown) > most:
        about = f"{about}, cut after {most} characters"
    return quotations_answer([quotation._replace(text=shown[:most], about=about)], most=most)


ARTIFACT_OPEN = Tool(
    "artifact_open",
    "Show a range of one message verbatim, for instance of a tool output that is too long to show "
    f"whole. At most {MOST_CHARACTERS} characters at once.",
    object_schema(
        ref=string("The reference of the message: m41, or m41@SESSION."),
        unit=string(
            "What start and end count; characters if null.", optional=True, of=("characters", "lines")
        ),
        start=integer(
            "The first character, counted from 0, or the first line, counted from 1; the beginning if null.",
            optional=True,
        ),
        end=integer("The character to stop before, or the last line; the end if null.", optional=True),
    ),
    _range,
)
