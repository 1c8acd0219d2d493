"""Requests that the user withdraws, and words that only look like that."""

from __future__ import annotations

import pytest

from clew.ledger import Closed, Ledger, LoopKind
from tests.ledger.sessions import assistant, did, ledger_of, user

ASKED = user("Build the CSV importer for the address book, with a preview of ten rows")
WORK = did("Bash", {"command": "ls"}, "a")


def open_of(*messages):
    return [loop.text for loop in ledger_of(*messages).loops.open if loop.kind is LoopKind.REQUEST]


@pytest.mark.parametrize(
    "words",
    [
        "wait, scrap that. legal says no. translate the mails instead",
        "nvm the csv importer, translate the mails please",
        "forget about the importer. Translating the mails is more urgent.",
        "we're dropping the csv importer. Please translate the mails.",
        "plans changed: translate the mails first, the csv importer is cancelled",
        "hold off on the importer work, translate the mails instead pls",
        "instead of the csv importer do the mail translation",
        "let's not do the csv importer after all, translate the mails",
        "the importer is no longer needed. Could you translate the mails?",
    ],
)
def test_a_withdrawn_request_is_neither_open_nor_the_goal(words):
    ledger = ledger_of(ASKED, WORK, user(words))
    again = Ledger.from_json(ledger.to_json())
    for one in (ledger, again):
        assert [loop.text for loop in one.loops.open] == [words]
        assert one.goal is not None
        assert one.goal.quote == words
        assert (ASKED.text, Closed.CANCELLED) in [(loop.text, loop.closed) for loop in one.loops.closed]


@pytest.mark.parametrize(
    "words", ["scrap that", "nvm the csv importer", "the importer is cancelled, legal says no"]
)
def test_words_that_only_withdraw_open_nothing(words):
    assert open_of(ASKED, WORK, user(words)) == []


def test_a_goal_that_is_withdrawn_gives_way_to_the_one_before():
    first = user("Port the mailer to the new queue.")
    later = user("New task: build the csv importer for the address book.")
    ledger = ledger_of(first, WORK, later, WORK, user("the csv importer is cancelled"))
    assert ledger.goal is not None
    assert ledger.goal.quote == first.text


@pytest.mark.parametrize(
    "words",
    [
        "drop the old address table",
        "cancel order 1001",
        "stop the dev server first",
        "use tabs instead of spaces",
        "don't forget the preview",
        "is the importer cancelled?",
        "skip the header row",
        "the mail translation is cancelled, go on with the rest",
        "hold that file open while you read it",
    ],
)
def test_work_with_such_words_withdraws_nothing(words):
    assert ASKED.text in open_of(ASKED, WORK, user(words))


def test_a_later_part_of_a_request_is_not_the_whole():
    asked = user("Fix the parser, then update the docs.")
    assert asked.text in open_of(asked, WORK, user("the docs are cancelled"))


def test_what_was_put_off_can_be_withdrawn_too():
    talk = (ASKED, assistant("Noted."), user("Rename the parser."), assistant("The parser is renamed."))
    assert open_of(*talk) == [ASKED.text]
    assert open_of(*talk, user("nvm the csv importer")) == []
