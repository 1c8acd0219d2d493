"""Find text in a message that is another person's: mails, chats, prompts, licences, what somebody said.

Such a message is the user's own words, and a body that the words are about: "got this mail, can you sum it
up?" and the mail. What shows the body:

- words above it, before it on its line, or below it (``announced.py``),
- its own form: speakers with times, the head of a mail, a greeting and a name, a command at a prompt.

Words that adopt a text ("follow these rules:") show none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from clew.message.text import AnyCasePattern, lazy_pattern
from clew.rules.announced import ASKED_ABOUT, MAY_ANNOUNCE, ON_ONE_LINE, REPORTED, TAKEN_UP_HERE, announces
from clew.rules.pasted import LONG, REMEMBERED, TAKEN_UP, last_words, pasted_document

_FORWARDED = AnyCasePattern(
    r"^[ \t>]*-{2,}[ \t]*(?:forwarded|original|weitergeleitete|urspr[üu]ngliche)\b[^\n]*$"
    r"|^[ \t]*begin forwarded message:?[ \t]*$|^(?:from|von|de|da):[ \t]+\S[^\n]*\n"
    r"(?:(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|[àa]|objet|para"
    r"|asunto)[^\n:]{0,20}:[^\n]*\n){1,6}"
    r"|^on [^\n]{6,80} wrote:[ \t]*$|^am [^\n]{6,80} schrieb [^\n]{1,60}:[ \t]*$",
    re.MULTILINE,
)
"""The head of a forwarded mail, or the line above a quoted one."""
_GREETING = AnyCasePattern(
    r"^(?:hi|hello|hey|dear|good (?:morning|afternoon)|hallo|liebe[rs]?|sehr geehrte\w*|guten (?:tag"
    r"|morgen)|bonjour"
    r"|ch[eè]re?|hola|estimad[oa]s?|buen[oa]s \w+|ciao|gentile|salve|ol[áa]|prezad[oa]s?)\b"
    r"[^\n.?!:]{0,50}[,!]?[ \t]*$",
    re.MULTILINE,
)
_SIGNED = AnyCasePattern(
    r"^(?:(?:best|kind|warm) regards|regards|best(?: wishes)?|cheers|(?:many )?thanks|thank you"
    r"|sincerely|yours\b[^\n]{0,20}"
    r"|all the best|(?:viele|liebe|beste|sch[öo]ne) gr[üu](?:ß|ss)e|mit freundlichen gr[üu](?:ß|ss)en"
    r"|mfg|vg|lg"
    r"|cordialement|bien [àa] (?:vous|toi)|(?:un )?saludos?|atentamente|atenciosamente|abra[çc]os?"
    r"|cordiali saluti|saluti)[,!]?[ \t]*\n[ \t]*\w[^\n.?!:]{0,40}$",
    re.MULTILINE,
)
"""A sign-off and the name below it."""
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?"
_SPOKEN_AT = AnyCasePattern(
    rf"^(?:[\[(]{_TIME}[\])] ?[\w@][^\n:]{{0,40}}: "
    rf"|\[?\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},? {_TIME}\]?(?: ?[-–—])? [^\n:]{{1,40}}: "
    rf"|(?=[^\n\d]{{2,60}}\d)[^\W\d_][\w.'’-]*(?: [\w.'’()-]+){{0,3}}[ \t]+(?:[—–-] ?)?(?:(?:today"
    rf"|yesterday|heute|gestern) (?:at|um) )?"
    rf"{_TIME}[ \t]*$|<[@+]?[a-z][\w-]{{1,20}}> \S)",
    re.MULTILINE,
)
"""A speaker and a time, as chats show them: "[10:41] Jane Doe: hi", "Jane Doe  10:41 AM", "<jane> hi"."""
_SHOWN_BY = lazy_pattern(
    r"^(?:[\w.-]+@[\w.:~/-]+ ?[#$%] |[$%] )"
    r"(?:(?P<file>cat|less|more|head|tail|curl|wget|type|bat|man)"
    r"|(?!(?:is|are|was|means|signs?)\b)[a-z][\w.-]*)(?: [^\n]*)?$"
    r"|^[^\n]{0,80}\b(?:got|prints|printed|returned|shows|showed|outputs)(?: this| the following)?:(?P<got>)"
    r"[ \t]*$",
    re.MULTILINE,
)
"""A command at a prompt, or a line that says what one printed; its output follows."""
_FILE_NAMED = lazy_pattern(
    r"^(?!(?:[\w./-]*/)?(?:CLAUDE|AGENTS|GEMINI|RULES|CONVENTIONS)\b)`?[\w./-]*\w"
    r"\.(?:md|mdx|txt|rst|html?|log|csv|json|ya?ml|toml|cfg|ini)`?:[ \t]*$"
    r"(?![^.]{0,80}\bthis (?:file|page|document)\b)",
    re.MULTILINE,
)
"""The name of a document alone on a line, above its text; not of a file that agents are to follow."""
_TRIPLE = lazy_pattern(r"(\"{3}|'{3})(?:.*?\1|.*\Z)", re.DOTALL)
"""Text between triple quotation marks, as people put around a paste."""
_FENCED = lazy_pattern(r"\s*(?:`{3}|~{3}|>|<)")
_DIVIDER = lazy_pattern(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)
_OPENED = lazy_pattern(r"^[ \t]*<([A-Za-z][\w-]*)>[ \t]*\n\s*\Z", re.MULTILINE)
"""A tag alone on the line above: "<mail>"."""
_ASKING_WITHIN = 200
"""Characters of a last paragraph that only asks about the text above it; chosen by hand."""
_TAG_WITHIN = 80
"""Characters before an announcement in which a tag may open the block that it is in; chosen by hand."""


@lru_cache(maxsize=REMEMBERED)
def foreign(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a text that its own words mark as foreign: pasted, forwarded, to be worked on.

    Fenced, quoted or tagged text is recognised by ``lines.py``, so a fence after such a line ends the paste.
    """
    document = pasted_document(text)
    spans = [(document.start, document.end)] if document.material else []
    spans += [match.span() for match in _TRIPLE.finditer(text)] if '"""' in text or "'''" in text else []
    if forwarded := _FORWARDED.search(text):
        spans.append((forwarded.start(), len(text)))
    if "\n" in text:
        spans += _announced_texts(text)
        spans += _shown_texts(text)
        spans += _letters_and_chats(text)
        if asked := _asked_about(text):
            spans.append((0, asked))
    if ":" in text or "?" in text or '"' in text:
        spans += _on_one_line(text)
    return tuple(_merge_spans(sorted(spans)))


def _announced_texts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the text below a line that announces it."""
    ends = 0
    for line in MAY_ANNOUNCE.finditer(text):
        at = line.end()
        if (
            at >= ends
            and announces(text[line.start() : at], text[at : at + LONG])
            and not _FENCED.match(text, at)
        ):
            ends = _end_of_block(text, line.start(), _end_below(text, at))
            yield at, ends


def _end_below(text: str, at: int) -> int:
    """Return where a text ends that begins below an announcement."""
    opened = _DIVIDER.match(text, at + 1) or _DIVIDER.match(text, at + 2)
    if opened and (closed := _DIVIDER.search(text, opened.end())):
        return closed.start()
    if signed := _SIGNED.search(text, at):
        return signed.end()
    paragraph = text.find("\n\n", at)
    if text[at - 1] not in ":： \t*_" and paragraph > at:
        return paragraph  # without a colon and a blank line only the next lines are meant
    return last_words(text) if len(text) - at >= LONG else len(text)  # people add a word below a long text


def _end_of_block(text: str, start: int, end: int) -> int:
    """Return where the tagged block ends that a tag just before ``start`` opens; ``end`` if there is none."""
    tag = _OPENED.search(text[max(0, start - _TAG_WITHIN) : start])
    closed = text.find(f"</{tag[1]}>", start, end) if tag else -1
    return closed if closed >= 0 else end


def _on_one_line(text: str) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs in which the text is on the line that announces it, from there on."""
    for pattern in (ON_ONE_LINE, REPORTED):
        paragraph = -1  # once: a list may announce something in each item
        for line in pattern.finditer(text):
            if line.start() < paragraph or TAKEN_UP_HERE.search(text, *line.span()):
                continue
            end = text.find("\n\n", line.end())
            paragraph = end if end > 0 else len(text)
            yield line.start(), paragraph


def _letters_and_chats(text: str) -> Iterator[tuple[int, int]]:
    """Yield a letter with words before or behind it, and what is said in a chat."""
    if (greeted := _GREETING.search(text)) and (signed := _SIGNED.search(text, greeted.end())):
        before, behind = text[: greeted.start()], text[signed.end() :]
        if before.strip() or behind.strip():
            yield greeted.start(), signed.end()
    spoken = [match.span() for match in _SPOKEN_AT.finditer(text)]
    if spoken:
        end = text.find("\n\n", spoken[-1][1])
        yield spoken[0][0], end if end > 0 else len(text)


def _asked_about(text: str) -> int:
    """Return where the last words begin if they ask about the text above them; else 0."""
    body = text.rstrip()
    for mark in ("\n\n", "\n"):
        asked = body.rfind(mark)
        if asked > 0 and len(text) - asked <= _ASKING_WITHIN and ASKED_ABOUT.match(text[asked:]):
            return asked
    return 0


def _shown_texts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the output below a command at a prompt, and the text below the name of a document."""
    end = last_words(text) if len(text) >= LONG else len(text)
    for shown in _SHOWN_BY.finditer(text):
        paragraph = text.find("\n\n", shown.end())
        is_document = shown["file"] is not None or shown["got"] is not None
        if not _FENCED.match(text, shown.end()):
            yield shown.start(), end if is_document or paragraph < 0 else paragraph
    for named in _FILE_NAMED.finditer(text) if ":" in text else ():
        if not _FENCED.match(text, named.end()) and not TAKEN_UP.search(text, 0, named.start()):
            yield named.start(), end


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans with those that overlap or touch joined."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
