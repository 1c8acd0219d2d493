"""The plain policies that clew is read against, at the same number of the reader's own tokens.

A history is a list of rows ``{"role", "text", "spoken"}``, as ``cuts.py`` writes them; tool calls and results
are text in ``<tool_call>`` and ``<tool_response>``. Needs nothing but a tokenizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

Row = dict[str, Any]
Rows = list[Row]

OUTPUT, OMITTED = "<tool_response>", "<tool_response>\n[old output omitted]\n</tool_response>"
FRAME = 12
"""Tokens around a message's text, at the most."""
SHORTEST_PIECE = 60
LONGEST_CALL, LONGEST_EDGE = 260, 160
PROSE_TOKENS, ASKED_TOKENS = 260, 400
STORY_SHARE = CALLS_SHARE = 0.2
_CALL = re.compile(r"(?s)<tool_call>\s*(.*?)\s*</tool_call>")


class Tokens(Protocol):
    """What a policy has to know of a reader: how it counts."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        ...


def block(row: Row) -> str:
    """Return a message as the reader sees it."""
    return f"<|im_start|>{row['role']}\n{row['text']}<|im_end|>\n"


def is_output(row: Row) -> bool:
    return str(row["text"]).startswith(OUTPUT)


def is_request(row: Row) -> bool:
    return row["role"] == "user" and bool(row.get("spoken")) and not is_output(row)


def first_request(rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if is_request(row)), None)


class Policies:
    """The plain policies over one reader's tokens."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._sizes: dict[str, int] = {}

    def views(self, rows: Rows, room: int) -> dict[str, Rows]:
        """Return the view of every policy in this many tokens."""
        found = {
            "recent": self.recent(rows, room),
            "masked": self.masked(rows, room),
            "story+calls+recent": self.story_calls_recent(rows, room),
            "graded40": self.graded(rows, room, 0.4),
            "graded60": self.graded(rows, room, 0.6),
        }
        first = first_request(rows)
        if first is not None:
            found["first+recent"] = self.first_recent(rows, room, first)
        return found

    def size(self, rows: Sequence[Row]) -> int:
        """Return the tokens of messages."""
        return sum(self._size(block(row)) for row in rows)

    def _size(self, text: str) -> int:
        """Return the tokens of a text; long histories are counted once."""
        known = self._sizes.get(text)
        if known is None:
            known = self._sizes[text] = len(self._tokens.encode(text))
        return known

    # The policies ---------------------------------------------------------------------------------------

    def recent(self, rows: Sequence[Row], room: int) -> Rows:
        """Keep the newest messages; of the first that does not fit, its end."""
        kept: Rows = []
        for row in reversed(rows):
            size = self.size([row])
            if size > room:
                left = room - FRAME
                if left > SHORTEST_PIECE:
                    end = self._tokens.decode(self._tokens.encode(row["text"])[-left:])
                    kept.append({**row, "text": end})
                break
            kept.append(row)
            room -= size
        return kept[::-1]

    def first_recent(self, rows: Rows, room: int, first: Row) -> Rows:
        """Keep the first request in at most a quarter of the room, and the newest messages."""
        head = {**first, "text": self.edges(first["text"], room // 4, 3 / 4, "\n[...]\n")}
        rest = [row for row in rows if row is not first]
        return [head, *self.recent(rest, room - self.size([head]))]

    def masked(self, rows: Rows, room: int) -> Rows:
        """Empty the oldest tool results until the rest fits, then drop the oldest messages but the user's."""
        shown = list(rows)
        sizes = [self.size([row]) for row in shown]
        total = sum(sizes)
        for i, row in enumerate(shown):
            if total > room and is_output(row):
                shown[i] = {**row, "text": OMITTED}
                total, sizes[i] = total - sizes[i] + self.size([shown[i]]), self.size([shown[i]])
        kept: Rows = []
        for row, size in zip(shown, sizes, strict=True):
            if total > room and not is_request(row):
                total -= size
            else:
                kept.append(row)
        return kept if total <= room else self.recent(kept, room)

    def story_calls_recent(self, rows: Rows, room: int) -> Rows:
        """List the turns and the calls in a fifth of the room each, then the newest messages."""
        first = first_request(rows)
        asked = self.edges(first["text"], max(60, room // 6)) if first else ""
        story = self._newest_lines(self._story(rows), int(room * STORY_SHARE), "Story so far:\n")
        calls = self._newest_lines(_calls(rows), int(room * CALLS_SHARE), "Calls so far:\n")
        head = {"role": "user", "text": f"First request: {asked}\n{story}\n{calls}"}
        return [head, *self.recent(rows, max(0, room - self.size([head])))]

    def graded(self, rows: Rows, room: int, verbatim: float) -> Rows:
        """Keep the newest verbatim in a share of the room; shorten what is older, as far back as it fits."""
        first = first_request(rows)
        asked = self.edges(first["text"], max(60, room // 6)) if first else ""
        head = {"role": "user", "text": f"First request: {asked}"}
        room -= self.size([head])
        kept: Rows = []
        used = 0
        for row in reversed(rows):
            shown = row if used + self.size([row]) <= room * verbatim else self._faded(row)
            size = self.size([shown])
            if used + size > room:
                left = room - used - FRAME
                if left > SHORTEST_PIECE and not is_output(shown):
                    kept.append({**shown, "text": self.edges(shown["text"], left, 3 / 4, "\n[...]\n")})
                break
            kept.append(shown)
            used += size
        return [head, *kept[::-1]]

    # Their pieces ---------------------------------------------------------------------------------------

    def edges(self, text: str, room: int, front: float = 2 / 3, mark: str = " [...] ") -> str:
        """Return the beginning and the end of a text that takes more tokens than this."""
        ids = self._tokens.encode(text)
        if len(ids) <= room:
            return text
        start, end = int(room * front), int(room * (1 - front))
        return f"{self._tokens.decode(ids[:start])}{mark}{self._tokens.decode(ids[len(ids) - end :])}"

    def _faded(self, row: Row) -> Row:
        if is_output(row):
            return {**row, "text": _output_edges(row["text"])}
        if row["role"] == "assistant":
            text = _CALL.sub(_short_call, row["text"])
            return {**row, "text": self.edges(text, PROSE_TOKENS, 3 / 4, "\n[...]\n")}
        return {**row, "text": self.edges(row["text"], ASKED_TOKENS, 3 / 4, "\n[...]\n")}

    def _story(self, rows: Sequence[Row]) -> list[str]:
        lines, last = [], ""
        for row in rows:
            if is_request(row):
                if last:
                    lines.append(f"Agent reported: {self.edges(last, PROSE_TOKENS)}")
                lines.append(f"User: {self.edges(row['text'], 300)}")
                last = ""
            elif row["role"] == "assistant":
                last = _CALL.sub("", row["text"]).strip() or last
        return [*lines, f"Agent last said: {self.edges(last, PROSE_TOKENS)}"] if last else lines

    def _newest_lines(self, lines: Sequence[str], room: int, head: str) -> str:
        kept: list[str] = []
        room -= len(self._tokens.encode(head))
        for line in reversed(lines):
            room -= len(self._tokens.encode(line)) + 1
            if room < 0:
                break
            kept.append(line)
        return head + "\n".join(reversed(kept))


def _calls(rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    for row in rows:
        if row["role"] == "assistant":
            lines += [_call_line(match[1]) for match in _CALL.finditer(row["text"])]
        elif is_output(row) and lines:
            body = [line.strip() for line in row["text"].splitlines()[1:-1] if line.strip()]
            if body:
                last = f" ... {body[-1][:80]}" if len(body) > 1 else ""
                lines[-1] += f" -> {body[0][:80]}{last}"
    return lines


def _call_line(text: str) -> str:
    try:
        call = json.loads(text)
        given = call["arguments"]
        shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        return f"- {call['name']} {shown[:LONGEST_EDGE]}"
    except (ValueError, KeyError, TypeError):
        return f"- {text[:LONGEST_EDGE]}"


def _short_call(match: re.Match[str]) -> str:
    said = match[1]
    return f"<tool_call>\n{said if len(said) < LONGEST_CALL else said[:LONGEST_CALL] + ' ...'}\n</tool_call>"


def _output_edges(text: str) -> str:
    body = [line.rstrip() for line in text.splitlines()[1:-1] if line.strip()]
    shown = [line[:LONGEST_EDGE] for line in (body[:1] + body[1:][-1:])]
    if len(body) > 2:
        shown.insert(1, f"[... {len(body) - 2} lines]")
    return "\n".join([OUTPUT, *shown, "</tool_response>"])
