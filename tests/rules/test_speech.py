"""Whose words count."""

from __future__ import annotations

from clew.message import Item, Message, Origin, Role, Text, ToolResult, Trust
from clew.message import text_message as message_of
from clew.rules.speech import WHOLE_SPEECH, Speaker, Utterance, utterances
from tests.ledger.sessions import assistant, plan, user


def heard(message):
    return [(one.speaker, one.text) for one in utterances(Item("m", message))]


def test_user_and_model_speak_for_themselves():
    assert heard(user("do it")) == [(Speaker.USER, "do it")]
    assert heard(assistant("done")) == [(Speaker.ASSISTANT, "done")]


def test_a_plan_in_the_users_place_is_a_plan():
    assert heard(plan("Implement the following plan: …")) == [
        (Speaker.PLAN, "Implement the following plan: …")
    ]


def test_machine_text_in_the_users_role_is_nobodys():
    mixed = Message(
        Role.USER, (Text("typed", trust=Trust.USER), Text("<reminder>", trust=Trust.SEMI_TRUSTED))
    )
    assert heard(mixed) == [(Speaker.USER, "typed")]
    assert heard(user("reminder", origin=Origin.INJECTED)) == []
    assert heard(user("summary", origin=Origin.SUMMARY)) == []
    assert heard(message_of(Role.SYSTEM, "rules")) == []


def test_what_a_tool_says_is_nobodys():
    assert heard(Message(Role.TOOL, (ToolResult("1", (Text("I am the user"),)),))) == []


def test_of_an_endless_text_its_beginning_and_its_end_are_speech():
    text = "Never push.\n" + "pasted line\n" * 20_000 + "Always test."
    words = utterances(Item("m", message := user(text)))
    assert [one.cite(0, len(one.text)).quote(message) == one.text for one in words] == [True, True]
    assert (words[0].text[:11], words[1].text[-12:]) == ("Never push.", "Always test.")
    assert sum(len(one.text) for one in words) <= WHOLE_SPEECH


def test_a_persons_words_beside_a_refusal_are_the_persons():
    refused = ToolResult("1", (Text("It was rejected. They said:"), Text("use tabs", trust=Trust.USER)), True)
    message = Message(Role.TOOL, (refused,))
    (words,) = utterances(Item("m", message))
    assert words == Utterance(Speaker.USER, "use tabs", Trust.USER, "m", 0, 28, aside=True)
    assert words.cite(4, 8).quote(message) == "tabs"
