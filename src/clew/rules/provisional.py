"""Provisional rules ("don't write code yet"), and the go-ahead that ends them."""

from __future__ import annotations

import re

from clew.rules.values import Found, Kind

_WORK = re.compile(
    r"\b(?:cod(?:e|ing)|implement\w*|chang\w+|edits?|editing|modif\w+|anything|action|actions|start"
    r"|begin|proceed|build\w*"
    r"|fix\w*|refactor\w*|touch\w*|write|writing|execut\w*|run(?:ning)?)\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"\byet\b|\bfor now\b|\bright now\b|\bat this (?:point|stage)\b|\bfor the moment\b"
    r"|\bjust (?:the )?(?:analysis|plan|report|review"
    r"|explanation)\b|\b(?:only|just) (?:look|read|analy[sz]e|explain|plan|discuss|investigate"
    r"|diagnose|validate)\b|\buntil i\b"
    r"|\bwithout (?:implement|chang|writ|edit|modify|touch|making|doing)\w*",
    re.IGNORECASE,
)
_CODE_ONLY = re.compile(
    r"\b(?:do not|don['’]?t|no|without|never)\b[^.]{0,30}\b(?:cod(?:e|ing)|implementation|implement\w*"
    r"|any(?:thing)? changes|anything"
    r"|any changes|changes|action|commands?)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"[\w.-]+/|\w\.[a-z]{1,4}\b|\b(?:always|never|ever)\b", re.IGNORECASE)
_ACTS = (
    "push",
    "commit",
    "merge",
    "deploy",
    "delete",
    "remove",
    "release",
    "publish",
    "install",
    "force",
    "drop",
)
"""Acts that a plain "go ahead" does not permit: they must be named."""
_GO_AHEAD = re.compile(
    r"(?:\A|[.!,;:\n]\s*|\b(?:ok(?:ay)?|yes|yeah|yep|sure|great|good|perfect|please|now|then|so|and"
    r"|looks good|sounds good|approved)\W+)"
    r"(?:please |now |let['’]?s |you can (?:now )?|feel free to |start to |then |just )*"
    r"(?:go ahead|do it|do that|proceed|go for it|make it so|ship it|implement|get started"
    r"|start (?:coding|implementing|building|with)"
    r"|begin (?:coding|implementing)|execute (?:it|the plan|this)|apply (?:it|them|the (?:changes?|fix"
    r"|plan))|make the changes?"
    r"|write (?:the |it|this)(?: code)?|carry (?:it )?on|build it|fix it|code it|you(?:['’]re"
    r"| are) (?:good|free|clear) to (?:go|start))\b"
    r"|\A\W*(?:approved|lgtm|green light|go)\W*\Z|\b(?:plan|proposal|design) (?:is )?(?:approved"
    r"|looks good|sounds good)\b",
    re.IGNORECASE,
)
_NOT_GO = re.compile(
    r"\b(?:don['’]?t|do not|not|never|before|until|once|after|if|when|should|shall|can|could|would"
    r"|may) (?:you |we |i )?(?:\w+ )?"
    r"(?:go ahead|do it|proceed|implement|get started|start)\b(?!\W*please)|\?\s*\Z",
    re.IGNORECASE,
)
_SHORT = 400
"""Characters of a message that may give the go-ahead by its opening words; chosen by hand."""


def is_provisional(rule: Found) -> bool:
    """Return True if a rule holds only until the user gives the go-ahead."""
    if rule.kind not in (Kind.PROHIBITION, Kind.SCOPE, Kind.REQUIREMENT):
        return False
    text = rule.quote
    if _FOR_NOW.search(text):
        return True
    return rule.kind is Kind.PROHIBITION and _CODE_ONLY.search(text) is not None and not _PLACE.search(text)


def go_ahead(text: str) -> str:
    """Return the words of a short message that give the go-ahead; empty if there are none."""
    if len(text) > _SHORT:
        text = text[: text.find("\n", 1)] if "\n" in text[1:_SHORT] else ""
    match = _GO_AHEAD.search(text)
    if match is None or _NOT_GO.search(text):
        return ""
    return match[0].strip(" .,;:!\n") or text.strip()


def ends_by(rule: Found, text: str) -> bool:
    """Return True if a go-ahead covers what a provisional rule forbids."""
    named = [act for act in _ACTS if re.search(rf"\b{act}", rule.quote, re.IGNORECASE)]
    if named:
        return any(re.search(rf"\b{act}", text, re.IGNORECASE) for act in named)
    return _WORK.search(rule.quote) is not None or _FOR_NOW.search(rule.quote) is not None
