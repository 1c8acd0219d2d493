"""What a person says matters is kept rather than the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

import clew
from clew.compaction.plan import ClaimKind
from clew.compaction.propose import propose
from clew.compaction.propose.focus import Focus
from clew.message import Message, Role, Text, ToolCall, ToolResult, text_message, words
from tests.compaction_propose.sessions import Living, spoken, step


@pytest.mark.parametrize(
    ("said_now", "text", "meets"),
    [
        ("the auth bug", "the Authentication failed", True),
        ("the auth bug", "src/auth/login.py", True),
        ("the auth bug", "userAuth is None", True),
        ("the auth bug", "auth_token", True),
        ("the auth bug", "coauthored by the others", False),
        ("the auth bug", "the others", False),
        ("größe", "die Größe der Tabelle", True),
        ("the", "the table", False),
        ("", "anything", False),
        (None, "anything", False),
    ],
)
def test_a_text_meets_the_focus_where_a_word_begins_like_one_of_it(
    said_now: str | None, text: str, meets: bool
):
    assert Focus(said_now).meets(text) is meets


def long_session() -> Living:
    messages = [text_message(Role.USER, "Work through the list.")]
    for n in range(120):
        area = "auth" if n % 12 == 5 else "menu"
        messages += step(f"c{n}", "run", {"cmd": f"check {n}"}, f"{area}_check_{n} wrote report_{n}.txt")
        messages += [
            text_message(Role.USER, f"What about the {area} part {n}?"),
            spoken(f"The {area}_page_{n} is done."),
        ]
    return Living(messages)


def kept(living: Living, focus: str | None, kind: ClaimKind) -> list[str]:
    digest = propose(replace(living.situation(3_000), focus=focus)).digests[0]
    return [claim.text for claim in digest.claims if claim.kind is kind]


@pytest.mark.parametrize("kind", [ClaimKind.REPORT, ClaimKind.USER])
def test_lines_and_words_in_focus_are_kept_first(kind: ClaimKind):
    living = long_session()
    without, within = kept(living, None, kind), kept(living, "the auth bug", kind)
    assert sum("auth" in text for text in within) > 2 * sum("auth" in text for text in without)


def test_the_same_focus_gives_the_same_plan():
    now = replace(long_session().situation(1_200), focus="auth")
    assert propose(now) == propose(now)


@pytest.mark.parametrize("share", [0.6, 0.35, 0.15])
def test_a_line_of_old_output_that_a_person_names_stays_whatever_the_size(share: float):
    messages = [text_message(Role.USER, "Look at the settings.")]
    for number in range(40):
        lines = [f"setting_{number}_{line} = {line * 7}" for line in range(80)]
        if number == 3:
            lines[40] = "GATEWAY_TIMEOUT_MS = 48211"
        messages += read(f"src/{number}.py", "\n".join(lines))
    messages.append(text_message(Role.USER, "Go on."))
    size = clew.compact(messages, window=10**6).tokens_before
    kept = clew.compact(messages, window=10**6, target_tokens=int(size * share), focus="the gateway timeout")
    assert any("GATEWAY_TIMEOUT_MS = 48211" in shown(message) for message in kept.messages)
    plain = clew.compact(messages, window=10**6, target_tokens=int(size * share))
    assert not any("48211" in shown(message) for message in plain.messages)


def read(path: str, text: str) -> list[Message]:
    return [
        Message(Role.ASSISTANT, (ToolCall(path, "read", {"path": path}),)),
        Message(Role.TOOL, (ToolResult(path, (Text(text),)),)),
    ]


def shown(message: Message) -> str:
    return "\n".join(words(part) for part in message.parts)
