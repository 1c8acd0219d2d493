"""Mask secrets in whole messages: texts, arguments, results and the native objects they were read from.

A message holds most content twice: in its parts and in the provider's native object, which the parts share
pieces of. Both are masked by the same rules, and shared objects stay shared, so codecs still recognise
untouched parts. Content that a provider signed or encrypted would be rejected if changed: it is left alone,
and ``find_in_message`` reports it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from operator import is_
from typing import NamedTuple

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Message,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from clew.secrets.find import MIN_RUN, FoundSecret, find, mask, mask_of, own_key

SEALED = frozenset({"signature", "thoughtSignature", "thought_signature", "encrypted_content"})
"""Fields of provider blocks that hold signed or encrypted content."""
MODEL_WRITTEN = frozenset({"input", "arguments", "args", "output", "response"})
"""Fields of provider blocks whose content a model or tool wrote: a field name inside them seals nothing."""
MAX_NAMED_VALUE = 600
"""The longest value, in characters, that can be a secret because of its field name."""
_NAME = re.compile(r"(?i)pass|pwd|secret|token|key|auth|credential|phrase|mnemonic")
"""Field names that may make their value a secret."""


_VALUE_FIELDS = frozenset({"value", "text", "val", "secret_value", "stringValue"})
"""Fields whose meaning another field of the object names: ``{"name": "DB_PASSWORD", "value": …}``."""
_LABEL_FIELDS = ("name", "key", "Name", "Key", "field", "element", "selector", "label", "id", "header")
"""The fields that name it."""
_LABEL = re.compile(r"(?i)[\w-]*(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_-]?key|auth)[\w-]*")
"""The name of a secret in a label: ``Password field``, ``#password``."""
_USER_FIELDS = frozenset({"user", "username", "login", "email"})
"""Fields beside which a field ``pass`` holds a password, not a result."""
_PROGRAM = re.compile(r"[\w./+-]{1,100}")
MAX_COMMAND = 4_000
"""Characters of a list of words that may be a command; chosen by hand."""


class MessageSecret(NamedTuple):
    """A secret in a message."""

    part: int
    """Index of the part in the message."""
    where: str
    """Kind of the part: text, arguments, result, thinking, media, other."""
    rule: str
    shown: str
    """The mask that replaces it, or would replace it."""
    sealed: bool = False
    """It is in signed or encrypted content and cannot be masked."""


def mask_message(message: Message, key: bytes | None = None) -> Message:
    """Return a message without its secrets; the same object if it has none.

    Not searched: the bytes of images and other media, names of tools and calls, and signed thinking (see
    ``find_in_message``).
    """
    return _Masking(key).message(message)


def mask_json(value: JsonObject, key: bytes | None = None) -> JsonObject:
    """Return an object without the secrets in its texts, at any depth; the same object if it has none."""
    return _Masking(key).body(value)


def find_in_message(message: Message, key: bytes | None = None) -> list[MessageSecret]:
    """Return the secrets in a message, part by part, without revealing them."""
    sightings = (
        MessageSecret(i, where, rule, mask_of(rule, secret, key or own_key()), _is_sealed(part))
        for i, part in enumerate(message.parts)
        for where, rule, secret in _secrets(part)
    )
    return list(dict.fromkeys(sightings))


def _is_sealed(part: Part) -> bool:
    """Return True if a part must go back unchanged: signed thinking, an encrypted compaction."""
    return (isinstance(part, Thinking) and part.signed) or (
        isinstance(part, Compacted) and part.encrypted is not None
    )


# One message -----------------------------------------------------------------------------------------


class _Masking:
    """Masks one message; remembers what each object became, so that shared objects stay shared."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._masked: dict[int, Json] = {}
        """What each object becomes, by its identity; an object that must not be searched becomes itself."""
        self._natives: dict[int, Native] = {}
        self._model_written: set[int] = set()
        """Identities of objects that a model or tool wrote: a field ``signature`` in them seals nothing."""

    def body(self, value: JsonObject) -> JsonObject:
        self._model_written.update(map(id, _nodes(value)))
        masked = self._json(value)
        return masked if isinstance(masked, dict) else value

    def message(self, message: Message) -> Message:
        self._exclude_sealed(message.parts)
        self._mark_model_written(message.native)
        parts, native = self._parts(message.parts), self._native(message.native)
        same = native is message.native and parts is message.parts
        return message if same else replace(message, parts=parts, native=native)

    def _exclude_sealed(self, parts: Sequence[Part]) -> None:
        """Mark what must not be searched, even if repeated: media bytes, sealed parts."""
        for part in parts:
            if isinstance(part, ToolResult):
                self._exclude_sealed(part.parts)
            elif part.native and isinstance(part, Media):
                self._exclude_bytes(part, part.native.value)
            elif part.native and _is_sealed(part):
                self._masked.update((id(node), node) for node in _nodes(part.native.value))

    def _exclude_bytes(self, media: Media, value: Json) -> None:
        if _is_text(media):
            return
        for node in _nodes(value):
            if isinstance(node, str) and (_is_bytes(node) or (media.data and media.data in node)):
                self._masked[id(node)] = node

    def _mark_model_written(self, native: Native | None) -> None:
        """Mark what a model or tool wrote inside a provider's blocks."""
        for node in _nodes(native.value) if native else ():
            if isinstance(node, dict) and id(node) not in self._model_written:
                values = [child for name, child in node.items() if name in MODEL_WRITTEN]
                values += [node["content"]] if node.get("type") == "tool_result" and "content" in node else []
                self._model_written.update(id(inner) for child in values for inner in _nodes(child))

    def _parts(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        created = tuple(map(self._part, parts))
        return parts if all(map(is_, created, parts)) else created

    def _part(self, part: Part) -> Part:
        if _is_sealed(part):
            return part
        self._mark_model_written(part.native)
        native = self._native(part.native)
        created = self._masked_part(part, native)
        same = all(getattr(created, field.name) is getattr(part, field.name) for field in fields(part))
        return part if same else created

    def _masked_part(self, part: Part, native: Native | None) -> Part:
        """Return a part with the secrets in its texts masked."""
        match part:
            case Text() | Thinking():
                return replace(part, text=self._text(part.text), native=native)
            case ToolCall() | ApprovalRequest():
                return replace(part, arguments=self._arguments(part.arguments), native=native)
            case ToolResult():
                return replace(part, parts=self._parts(part.parts), native=native)
            case ApprovalAnswer(reason=str(reason)):
                return replace(part, reason=self._text(reason), native=native)
            case Compacted(text=str(text)):
                return replace(part, text=self._text(text), native=native)
            case Media():
                data = self._maybe(part.data) if _is_text(part) else part.data
                url = part.url if _is_bytes(part.url or "") else self._maybe(part.url)
                return replace(part, url=url, title=self._maybe(part.title), data=data, native=native)
            case Unknown():
                return replace(part, kind=self._text(part.kind), native=native)
            case Compacted() | ApprovalAnswer():
                return replace(part, native=native)

    def _arguments(self, raw: JsonObject | str) -> JsonObject | str:
        self._model_written.update(map(id, _nodes(raw)))
        masked = self._json(raw)
        return masked if isinstance(masked, dict | str) else raw

    def _native(self, native: Native | None) -> Native | None:
        if native is None:
            return None
        if (known_native := self._natives.get(id(native))) is not None:
            return known_native
        value = self._json(native.value)
        created = native if value is native.value else Native(native.wire, value)
        self._natives[id(native)] = created
        return created

    def _json(self, value: Json) -> Json:
        if not isinstance(value, str | list | dict):
            return value
        if id(value) not in self._masked:
            # From the innermost outwards: arguments may be nested deeper than Python's recursion limit.
            for node in reversed([node for node in _nodes(value) if isinstance(node, str | list | dict)]):
                if id(node) not in self._masked:
                    self._masked[id(node)] = self._fresh(node)
        return self._masked[id(value)]

    def _fresh(self, value: str | list[Json] | JsonObject) -> Json:
        """Return a text, list or object with its secrets masked; the same object if it has none."""
        if isinstance(value, str):
            return mask(value, self._key).text
        if isinstance(value, list):
            of_command = _secrets_of_command(value)
            values = [self._word(child, of_command.get(at)) for at, child in enumerate(value)]
            return value if all(map(is_, values, value)) else values
        children = [self._field(value, name) for name in value]
        names = [self._name(name) for name in value]
        if all(map(is_, children, value.values())) and all(map(is_, names, value)):
            return value
        return dict(zip(_distinct(names), children, strict=True))

    def _word(self, child: Json, found: FoundSecret | None) -> Json:
        """Return an item of a list masked; ``found`` is its secret as a word of a command."""
        masked = self._json(child)
        if masked is child and isinstance(child, str) and found:
            rule, start, end = found
            return child[:start] + mask_of(rule, child[start:end], self._key or own_key()) + child[end:]
        return masked

    def _name(self, name: str) -> str:
        """Return a field name without its secrets: a tool may be given an object with tokens as names."""
        return name if len(name) < MIN_RUN else mask(name, self._key).text

    def _field(self, holder: JsonObject, name: str) -> Json:
        child = holder[name]
        if name in SEALED and isinstance(child, str) and id(holder) not in self._model_written:
            return child
        masked = self._json(child)
        if isinstance(masked, str) and masked is child and (rule := _rule_in(holder, name, masked)):
            return mask_of(rule, masked, self._key or own_key())
        if isinstance(masked, list) and _NAME.search(name):
            items = [self._named_item(name, item) for item in masked]
            return masked if all(map(is_, items, masked)) else items
        return masked

    def _named_item(self, name: str, item: Json) -> Json:
        """Return an item of a list whose name makes secrets of its items: ``{"passwords": [...]}``."""
        rule = _rule_by_name(name.removesuffix("s"), item) if isinstance(item, str) else None
        return mask_of(rule, str(item), self._key or own_key()) if rule else item

    def _maybe(self, text: str | None) -> str | None:
        return None if text is None else self._text(text)

    def _text(self, text: str) -> str:
        masked = self._json(text)  # most texts are the same objects as in the native
        return masked if isinstance(masked, str) else text


def _distinct(names: list[str]) -> list[str]:
    """Return names that differ from each other: two secrets may have the same mask."""
    counts = Counter[str]()
    result: list[str] = []
    for name in names:
        counts[name] += 1
        result.append(f"{name} ({counts[name]})" if counts[name] > 1 else name)
    return result


def _is_bytes(address: str) -> bool:
    """Return True for a data URL in base64."""
    return address.startswith("data:") and ";base64," in address[:200]


def _is_text(media: Media) -> bool:
    """Return True if the media data is plain text, not base64."""
    return (media.media_type or "").startswith("text/")


def _nodes(value: Json) -> list[Json]:
    """Return a JSON value and all values in it, each before its children."""
    values = [value]
    for node in values:  # the list grows while it is iterated
        if isinstance(node, dict):
            values.extend(node.values())
        elif isinstance(node, list):
            values.extend(node)
    return values


def _rule_by_name(name: str, value: str) -> str | None:
    """Return the rule by which a field name makes its whole value a secret: ``{"password": "…"}``."""
    if not _NAME.search(name) or len(value) > MAX_NAMED_VALUE:
        return None
    lead = f'"{name}": "'
    secrets = find(f'{lead}{value}"')
    whole = (len(lead), len(lead) + len(value))
    return next((secret.rule for secret in secrets if (secret.start, secret.end) == whole), None)


def _rule_in(holder: JsonObject, name: str, value: str) -> str | None:
    """Return the rule by which a field's name, or a field beside it, makes its value a secret."""
    if name in _VALUE_FIELDS:
        labels = (match[0] for key in _LABEL_FIELDS if (match := _LABEL.search(str(holder.get(key, "")))))
        return next(filter(None, (_rule_by_name(label, value) for label in labels)), None)
    if name == "pass" and not _USER_FIELDS.isdisjoint(holder):
        name = "password"
    return _rule_by_name(name, value)


def _secrets_of_command(words: list[Json]) -> dict[int, FoundSecret]:
    """Return the secrets of a command given as words, by word: ``["mysql", "--password", "…"]``.

    The positions are those in the word.
    """
    texts = [word for word in words if isinstance(word, str)]
    is_command = 1 < len(texts) == len(words) and _PROGRAM.fullmatch(texts[0]) is not None
    if (
        not is_command
        or not any(word.startswith("-") for word in texts)
        or len(max(texts, key=len)) > MAX_COMMAND
    ):
        return {}
    found: dict[int, FoundSecret] = {}
    line = " ".join(texts)
    ends = [*accumulate(len(word) + 1 for word in texts)]
    for rule, start, end in find(line[:MAX_COMMAND]):
        at = bisect_right(ends, start)
        begin = ends[at] - len(texts[at]) - 1
        if end <= ends[at] - 1:
            found[at] = FoundSecret(rule, start - begin, end - begin)
    return found


# Only looking ----------------------------------------------------------------------------------------


class _Sighting(NamedTuple):
    where: str
    """Kind of the part, as in ``MessageSecret``."""
    rule: str
    secret: str


def _secrets(part: Part) -> Iterator[_Sighting]:
    """Yield the secrets in a part."""
    match part:
        case Text(text=text) | Thinking(text=text):
            yield from _in_text("text" if isinstance(part, Text) else "thinking", text)
        case ToolCall(arguments=str(text)) | ApprovalRequest(arguments=str(text)):
            yield from _in_text("arguments", text)
        case ToolCall(arguments=arguments) | ApprovalRequest(arguments=arguments):
            yield from _in_json("arguments", arguments)
        case ToolResult(parts=parts):
            for inner in parts:
                yield from (sighting._replace(where="result") for sighting in _secrets(inner))
        case Unknown(native=Native() as native):
            yield from _in_json("other", native.value, sealing=True)
        case Compacted(text=str(text)) | ApprovalAnswer(reason=str(text)):
            yield from _in_text("other", text)
        case Media():
            yield from _in_media(part)
        case _:
            pass


def _in_media(media: Media) -> Iterator[_Sighting]:
    url = None if _is_bytes(media.url or "") else media.url
    for text in filter(None, (url, media.title, media.data if _is_text(media) else None)):
        yield from _in_text("media", text)


def _in_text(where: str, text: str) -> Iterator[_Sighting]:
    for rule, start, end in find(text):
        yield _Sighting(where, rule, text[start:end])


def _in_json(where: str, value: Json, *, sealing: bool = False) -> Iterator[_Sighting]:
    for node in _nodes(value):
        if isinstance(node, dict):
            for name, child in node.items():
                yield from _in_text(where, name) if len(name) >= MIN_RUN else ()
                if isinstance(child, str) and not (sealing and name in SEALED):
                    yield from _in_field(where, node, name)
                elif isinstance(child, list) and _NAME.search(name):
                    yield from _in_named_list(where, name, child)
        elif isinstance(node, list):
            yield from _in_list(where, node)


def _in_named_list(where: str, name: str, items: list[Json]) -> Iterator[_Sighting]:
    for item in items:
        rule = _rule_by_name(name.removesuffix("s"), item) if isinstance(item, str) else None
        if rule:
            yield _Sighting(where, rule, str(item))


def _in_list(where: str, items: list[Json]) -> Iterator[_Sighting]:
    of_command = _secrets_of_command(items)
    for at, item in enumerate(items):
        if not isinstance(item, str):
            continue
        inside = list(_in_text(where, item))
        yield from inside
        if not inside and (found := of_command.get(at)):
            yield _Sighting(where, found.rule, item[found.start : found.end])


def _in_field(where: str, holder: JsonObject, name: str) -> Iterator[_Sighting]:
    value = str(holder[name])
    inside = list(_in_text(where, value))
    yield from inside
    if not inside and (rule := _rule_in(holder, name, value)):
        yield _Sighting(where, rule, value)
