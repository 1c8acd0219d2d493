"""Recognise a summary that some program put in the user's role, by its shape.

Of "Conversation summary: the user asked for tests", ``summary_end`` is the length: all is the summary.
It is 0 for the user's own "Summary: please always run tests". A summary has a heading that names a summary
or an earlier conversation, and below it reports what "the user" said; people do not write so of themselves.
"""

from __future__ import annotations

import re

_FIRST_LINE = re.compile(r"\s*([^\n]{1,160})")
_LONGEST_HEADING = 120
"""Characters of a heading; the longest known one ("The following is a summary of …") has 90."""
_SUMMARY = re.compile(
    r"\b(?:summar(?:y|ies|i[sz]ed|i[sz]ation)|recap|compact(?:ed|ion)|condensed|compressed|hand-?off)\b", re.I
)
_CONVERSATION = re.compile(
    r"\b(?:conversations?|chats?|sessions?|dialogues?|threads?|history|context|messages|turns|discussions?"
    r"|transcript|interactions?)\b",
    re.I,
)
_EARLIER = re.compile(
    r"\b(?:previous(?:ly)?|earlier|prior|past|older|so far|to date|until now|before|history)\b", re.I
)
_BEGINS = re.compile(
    r"\W*(?:(?:the|a|an|our|your|ai|auto\w*|running|full|short|brief|detailed|generated|\d+)[ -]+)*"
    r"(?:(?:the )?following (?:is|are)|here(?:'s| is| are)|below (?:is|are)|this is|what happened"
    r"|summar\w+|recap|compact\w+|condensed|compressed|hand-?off|conversation|chat|session|dialogue|thread"
    r"|history|context|messages?|turns|discussion|transcript|interactions?|previous(?:ly)?|earlier|prior|past"
    r"|older)\b",
    re.I,
)
"""How a heading begins; "Write a summary of the previous conversation" is a request."""
_FRAME = re.compile(r"[\[(<{=]|#{1,6}\s|\*\*|-{3,}")
"""How a heading begins that is set apart from the text: "[compacted history]", "## Conversation summary"."""
_TAG = re.compile(r"<([A-Za-z][\w-]*)>")
_OWN = re.compile(r"\b(?:i|i'm|my|me|you|your|please)\b", re.I)
_REPORTED = re.compile(
    r"\b(?:the |this )?(?:user|human|customer)s?"
    r"(?: (?:also|then|first|later|explicitly|clearly|initially|just|has|had))?"
    r" (?:said|says|asked|asks|wants|wanted|requested|requests|prefers|preferred|told|instructed|instructs"
    r"|stated|states|insist(?:s|ed)|confirmed|approved|mentioned|specified|reported|rejected|declined|agreed"
    r"|decided|emphasi[sz]ed|clarified|corrected|complained|shared|pasted|provided|set|gave)\b"
    r"|\bthe user's (?:\w+ )?(?:requests?|goals?|instructions?|preferences?|rules?|constraints?"
    r"|questions?|intent(?:ion)?|messages?)\b"
    r"|^\W*(?:the )?(?:assistant|agent|ai|model) (?:has|had|then|also|was|\w+ed)\b"
    r"|^\W*(?:user|human|assistant|ai|system)(?:\*\*)?: ?\S",
    re.I | re.MULTILINE,
)
"""What a summary says of the people in the conversation; also the lines of a transcript."""
_BEHIND = re.compile(
    r"^\W*(?:end (?:of (?:the )?)?[\w ]{0,30}(?:summary|history|context|conversation)"
    r"|(?:my |the |user'?s? )?(?:current|new|latest|next)(?: user)?"
    r" (?:request|message|question|task|input|prompt))"
    r"\W*?(?:\n|\Z|:[ \t]*)|^(?:-{3,}|={3,}|\*{3,})[ \t]*\n",
    re.I | re.MULTILINE,
)
"""The line between a summary and the request that follows it in the same text."""


def may_be_summary(text: str) -> bool:
    """Return True if the first line may be the heading of a summary: a fast check that misses none."""
    line = _FIRST_LINE.match(text)
    return line is not None and bool(
        _SUMMARY.search(heading := line[1].replace("_", " ")) or _CONVERSATION.search(heading)
    )


def summary_end(text: str) -> int:
    """Return the end of the summary that a text begins with; 0 if it begins with none."""
    line = _FIRST_LINE.match(text)
    if line is None:
        return 0
    heading, body = _heading(text, line)
    words = heading.replace("_", " ").replace("-", " ") if _TAG.match(heading) else heading
    kinds = [bool(kind.search(words)) for kind in (_SUMMARY, _CONVERSATION, _EARLIER)]
    if sum(kinds) < 2 or len(heading) > _LONGEST_HEADING or not _BEGINS.match(words):
        return 0
    end = _end(text, heading, body)
    is_alone = text[body : body + 1] in ("", "\n")
    is_certain = is_alone and (all(kinds) or (kinds[0] and _FRAME.match(heading) is not None))
    if _REPORTED.search(text, body, end) or (is_certain and not _OWN.search(text, line.start(1), end)):
        return end
    return 0


def _heading(text: str, line: re.Match[str]) -> tuple[str, int]:
    """Return the heading and where it ends: behind its colon, or with its line if that has none."""
    colon = line[1].find(":")
    end = line.start(1) + colon + 1 if colon >= 0 else line.end()
    return text[line.start(1) : end].strip(), end


def _end(text: str, heading: str, body: int) -> int:
    """Return where the summary ends: at its closing tag, at a line that announces the request, or never."""
    if tag := _TAG.match(heading):
        closing = f"</{tag[1]}>"
        closed = text.find(closing, body)
        return closed + len(closing) if closed >= 0 else len(text)
    behind = _BEHIND.search(text, body)
    return behind.end() if behind and _REPORTED.search(text, body, behind.start()) else len(text)
