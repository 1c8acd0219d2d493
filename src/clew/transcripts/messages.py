"""Build messages with the right labels: who wrote a text, attached files, fingerprints.

``typed_message("<context>…</context>Fix it", "Fix it")`` has one part that the user typed (``Trust.USER``)
and one of the harness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice

from clew.message import Media, MediaKind, Message, Origin, Part, Role, Text, ToolResult, Trust, trust_of

MACHINE_TRUST = trust_of(Role.USER, Origin.INJECTED)
"""The trust of harness text in the user's role."""


def user_message(parts: Iterable[Part]) -> Message:
    """Make a user message of labelled parts; if the user wrote none of them, its origin is the harness."""
    stored = tuple(parts)
    if any(map(_is_personal, stored)):
        return Message(Role.USER, stored)
    lowered = (replace(part, trust=min(part.trust, MACHINE_TRUST)) for part in stored)
    return Message(Role.USER, tuple(lowered), Origin.INJECTED)


def typed_message(whole: str, typed: str) -> Message:
    """Make a user message of a text of which the user typed one piece; the rest is from the harness."""
    if not typed:
        return injected_message(whole)
    before, value, after = whole.partition(typed)
    if not value:
        return user_message([Text(typed, trust=Trust.USER)])
    pieces = ((before, MACHINE_TRUST), (typed, Trust.USER), (after, MACHINE_TRUST))
    return user_message(Text(text, trust=trust) for text, trust in pieces if text)


def injected_message(text: str, trust: Trust = MACHINE_TRUST) -> Message:
    """Make a message in the user's role that the user did not write."""
    return Message(Role.USER, (Text(text, trust=trust),), Origin.INJECTED)


def typed_text(message: Message) -> str:
    """Return what the user typed, without the harness's text around it."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return ""
    texts = (part.text for part in message.parts if isinstance(part, Text) and part.trust is Trust.USER)
    return "\n".join(texts).strip()


TELLING_WORDS = 4
"""Requests with fewer words, such as "hi", "commit" and "fix tests", do not say what a session is about."""
TELLING_CHARACTERS = 16
"""The same for writing without spaces between words."""
MOST_SEARCHED = 50
"""Requests that are searched for a telling one."""


_HOOK_OUTPUT = re.compile(r"\W*(?:\w+ ){0,3}(?:stopped|blocked|denied|rejected) by (?:\w+ ){0,2}hook\b", re.I)
"""Some tools record the message of a hook as the user's."""


def first_telling(requests: Iterable[str]) -> str:
    """Return the first request that says what a session is about; if none does, the first one."""
    first = ""
    for text in islice(requests, MOST_SEARCHED):
        first = first or text
        if is_telling(text):
            return text
    return first


def is_telling(request: str) -> bool:
    """Return True if a request says what a session is about."""
    is_long = not request.isascii() and len(request) >= TELLING_CHARACTERS
    is_words = is_long or len(request.split()) >= TELLING_WORDS
    return is_words and not request.startswith("/") and not _HOOK_OUTPUT.match(request)


def _is_personal(part: Part) -> bool:
    match part:
        case Text():
            return part.trust is Trust.USER and bool(part.text.strip())
        case Media():
            return True
        case _:
            return False


def relabel(message: Message, origin: Origin) -> Message:
    """Return the message with another origin, and each part with at most the trust of that origin."""
    most = trust_of(message.role, origin)
    parts = tuple(replace(part, trust=min(part.trust, most)) for part in message.parts)
    return replace(message, parts=parts, origin=origin)


def label_machine_text(message: Message, starts: tuple[str, ...], trust: Trust) -> Message:
    """Lower the trust of text parts with these prefixes; relabel the message if nothing else is left."""
    parts = tuple(
        replace(part, trust=min(part.trust, trust))
        if isinstance(part, Text) and part.text.lstrip().startswith(starts)
        else part
        for part in message.parts
    )
    marked = replace(message, parts=parts)
    is_personal = user_message(parts).origin is Origin.SPOKEN
    return marked if is_personal else relabel(marked, Origin.INJECTED)


_KINDS: dict[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video"}


def media_kind(media_type: str | None) -> MediaKind:
    """Return the media kind of a media type."""
    if media_type == "application/pdf":
        return "document"
    return _KINDS.get((media_type or "").partition("/")[0], "file")


def media_from_url(url: str, media_type: str | None, trust: Trust, title: str | None = None) -> Media:
    """Make a media part from a URL; a data URL is decoded into type and data."""
    from clew.providers.media import read_url  # only readers need providers

    place = read_url(url)
    value = media_type or place.media_type
    return Media(media_kind(value), value, place.data, place.url, title=title, trust=trust)


def image_from_url(url: str, trust: Trust) -> Media:
    """Make an image from a URL that does not give its type."""
    return replace(media_from_url(url, None, trust), kind="image")


def fingerprint(value: Message | ToolResult) -> bytes:
    """Return a fingerprint of a message or result."""
    return blake2b(repr(value).encode(errors="replace"), digest_size=16).digest()


# Texts that a harness inserted ------------------------------------------------------------------------
#
# The files of tools say who wrote what. A plain list of messages does not: its texts are recognised by their
# wording.

_CANDIDATE = re.compile(
    r"<[A-Za-z]|\[Request interrupted|\[SYSTEM NOTIFICATION|Caveat: The messages|# AGENTS\.md"
    r"|This session is being continued|# Context from|Another language model started|Here is a summary of the"
    r"|I spoke to you previously about"
)
"""Prefilter: every inserted text matches this; other texts cost one search."""
_SUMMARIES = (
    ("<state_snapshot>", "</state_snapshot>"),
    ("<summary>", "</summary>"),
    ("Here is a summary of the conversation to date:\n", ""),
    ("I spoke to you previously about a number of things.\n", ""),
)
"""How the summaries of Gemini CLI, Anthropic's SDKs, LangChain's middleware and aider begin and end."""


def label_speakers(message: Message) -> Message:
    """Return a user message of a plain list with inserted texts labelled as such; others unchanged."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return message
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if not any(may_be_summary(text) or _CANDIDATE.search(text) for text in texts):
        return message
    if _is_summary(message):
        return relabel(message, Origin.SUMMARY)
    if (summarised := _label_summaries(message)) is not message:
        return summarised
    # Imported only if the prefilter matches.
    from clew.transcripts.readers.claude_code.user_messages import wire_message
    from clew.transcripts.readers.codex import label_speakers as label_codex_texts

    labelled = label_codex_texts(message)
    if labelled.origin is Origin.SPOKEN:
        labelled = wire_message(labelled.parts)
    if labelled.origin is Origin.SPOKEN and labelled.parts == message.parts:
        return message
    if labelled.origin is Origin.INJECTED and any(isinstance(part, ToolResult) for part in message.parts):
        # Tool results followed by a reminder: a tool message without any text of the user.
        labelled = replace(labelled, role=Role.TOOL, origin=Origin.SPOKEN)
    return replace(labelled, native=message.native)


def _label_summaries(message: Message) -> Message:
    """Return the message with the summaries that its texts begin with labelled as such; others unchanged."""
    parts = tuple(piece for part in message.parts for piece in _summary_and_rest(part))
    if parts == message.parts:
        return message
    if any(map(_is_personal, parts)) or any(isinstance(part, ToolResult) for part in parts):
        return replace(message, parts=parts)
    return relabel(message, Origin.SUMMARY)


def _summary_and_rest(part: Part) -> Iterator[Part]:
    """Yield a text as the summary that it begins with and the rest; another part, or text, unchanged."""
    end = summary_end(part.text) if isinstance(part, Text) else 0
    if not isinstance(part, Text) or not end:
        yield part
    elif not part.text[end:].strip():
        yield replace(part, trust=Trust.UNTRUSTED)
    else:
        yield Text(part.text[:end], trust=Trust.UNTRUSTED)
        yield Text(part.text[end:], trust=part.trust)


def _is_summary(message: Message) -> bool:
    if not all(isinstance(part, Text) for part in message.parts):
        return False
    text = message.text.strip()
    return any(text.startswith(start) and text.endswith(end) for start, end in _SUMMARIES)


# Summaries of other programs -------------------------------------------------------------------------
#
# A summary that some program put in the user's role is recognised by its shape: a heading that names a
# summary or an earlier conversation, and below it reports of what "the user" said; people do not write so of
# themselves. Of "Conversation summary: the user asked for tests" all is the summary; "Summary: please always
# run tests" is the user's own.

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


_ELSEWHERE = re.compile(
    r"\W*(?:(?:Aquí (?:está|tienes) )?(?:el |un )?resum(?:en|o) d[ea] (?:la |esta )?convers"
    r"|(?:Hier (?:ist|folgt) )?(?:die |eine )?Zusammenfassung (?:des|der|unseres|unserer) [\w ]{0,24}"
    r"(?:Gespräch|Konversation|Unterhaltung|Chat|Sitzung)"
    r"|(?:Voici )?(?:le |un )?résumé de (?:la |notre )?(?:conversation|discussion|session)"
    r"|(?:Ecco )?(?:il |un )?riassunto della (?:conversazione|chat)"
    r"|[^\n:：，。]{0,12}(?:对话|會話|会话|聊天|對話|会話|대화)[^\n:：，。]{0,8}(?:摘要|总结|總結|概要|要約|まとめ|요약)"
    r")[^\n:：]{0,60}[:：]?[ \t]*(?:\n|(?<=[:：]))",
    re.I,
)
"""The heading of a summary of a conversation in other languages."""
_REPORTED_ELSEWHERE = re.compile(
    r"\b(?:el usuario|o usuário|der (?:be)?nutzer|die (?:be)?nutzerin|l['’]utilisat(?:eur|rice)"
    r"|l['’]utente)\b|用户|使用者|ユーザー|利用者|사용자",
    re.I,
)
"""The person whom such a summary reports on."""


def may_be_summary(text: str) -> bool:
    """Return True if the first line may be the heading of a summary: a fast check that misses none."""
    line = _FIRST_LINE.match(text)
    return line is not None and bool(
        _SUMMARY.search(heading := line[1].replace("_", " "))
        or _CONVERSATION.search(heading)
        or _ELSEWHERE.match(text)
    )


def summary_end(text: str) -> int:
    """Return the end of the summary that a text begins with; 0 if it begins with none."""
    line = _FIRST_LINE.match(text)
    if line is None:
        return 0
    if (elsewhere := _ELSEWHERE.match(text)) and _REPORTED_ELSEWHERE.search(text, elsewhere.end()):
        return len(text)
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
    """Return the heading and where it ends: behind its tag or colon, or with its line if it has neither."""
    if tag := _TAG.match(text, line.start(1)):
        return tag[0], tag.end()
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
