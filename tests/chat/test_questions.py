"""A question that the user does not answer stays open in plain lists, sessions and chats until it is."""

from __future__ import annotations

import pytest

import clew
from clew.ledger import LoopKind
from clew.ledger.ledger import Ledger
from clew.log.store import MemoryStore
from clew.message import Role, text_message
from clew.session import Session
from clew.testing import ScriptedModel
from tests.chat.talk import new_chat, tell

WORK = [
    (
        f"Describe module {n}.",
        f"Module {n} reads table {n}, converts its rows and writes them to the store. " * 9,
    )
    for n in range(14)
]
SCRIPTS = {
    "which timezone": (
        ("Port the billing job.", "It is ported. One thing: which timezone should the 04:15 run use?"),
        ("Also fix the typo in the README title.", "The typo in the README title is fixed."),
        ("which timezone should the 04:15 run use?", "Use UTC for the 04:15 run."),
    ),
    "which flight": (
        ("Book me a flight to Rome.", "There are two, at 9:10 and at 14:40. Which one do you prefer?"),
        ("What is the weather there in May?", "It is mostly sunny there in May."),
        ("Which one do you prefer?", "The one at 14:40."),
    ),
    "one of two": (
        ("Move the invoices.", "Should those from before 2019 be moved too? Who approves the cutover?"),
        ("Yes, move those from before 2019 too.", "Those from before 2019 are part of the plan now."),
        ("Who approves the cutover?", "Ana approves the cutover."),
    ),
}
scripts = pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)


def open_questions(ledger: Ledger) -> list[str]:
    return [loop.text for loop in ledger.loops.open if loop.kind is LoopKind.ASKED]


@scripts
def test_in_a_plain_list(script):
    *turns, (question, answer) = script
    messages = [
        {"role": role, "content": text}
        for turn in [*turns, *WORK]
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    waiting = clew.compact(messages, target_tokens=1_500)
    assert question in str(waiting.messages[0])
    assert len(open_questions(waiting.ledger)) == 1
    answered = clew.compact([*messages, {"role": "user", "content": answer}], target_tokens=1_500)
    assert open_questions(answered.ledger) == []


@scripts
def test_in_a_session(script):
    *turns, (question, answer) = script
    session = Session.open("s", MemoryStore(), model="claude-sonnet-4-5", window=8_000)
    for asked, reply in [*turns, *WORK]:
        session.add(text_message(Role.USER, asked), text_message(Role.ASSISTANT, reply))
    session.compact(target_tokens=1_500)
    assert question in str(session.request().body("anthropic", {"model": "m", "max_tokens": 9}))
    assert len(open_questions(session.ledger)) == 1
    session.add(text_message(Role.USER, answer))
    assert open_questions(session.ledger) == []


@scripts
def test_in_a_chat(script):
    *turns, (question, answer) = script
    chat = new_chat(ScriptedModel(*(reply for _, reply in [*turns, *WORK]), "Thanks."))
    for asked, _ in [*turns, *WORK]:
        tell(chat, asked)
    chat.session.compact(target_tokens=1_500)
    assert len(open_questions(chat.session.ledger)) == 1
    tell(chat, answer)
    assert question in str(chat.model.asked[-1].messages)
    assert open_questions(chat.session.ledger) == []
