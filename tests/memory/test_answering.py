"""What is an answer: not the question, not what stands beside it, not what looked for it before."""

import pytest

from clew.log.protocol import Ctx
from clew.memory import Memory
from clew.message import Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session

QUESTION = "what port did we choose for the kiln"


@pytest.fixture
def session(place):
    return Session.open("main", place.store)


@pytest.fixture
def found(place, session):
    index = place.index("", workspace="local")  # by words alone: places are easy to tell
    memory = Memory(session.store, Ctx(workspace="local", session="other"), index)

    def find(query=QUESTION):
        Memory(session.store, session.ctx, index).catch_up()
        return [hit.entry.ref for hit in memory.search(query)]

    return find


def looked_up(n, words="Let me use recall_search."):
    call = ToolCall(f"c{n}", "recall_search", {"query": QUESTION})
    result = ToolResult(f"c{n}", (Text("[m3] the port of the kiln is 8443"),))
    return Message(Role.ASSISTANT, (Text(words), call)), Message(Role.TOOL, (result,))


def talk(session):
    session.add(
        text_message(Role.USER, "The kiln needs a port."),
        text_message(Role.ASSISTANT, "For the kiln we choose port 8443."),
        text_message(Role.USER, "ok"),
        text_message(Role.ASSISTANT, "Fine."),
    )


def test_a_question_is_no_answer_to_itself(session, found):
    talk(session)
    session.add(
        text_message(Role.USER, "What port did we choose for the kiln?"),
        text_message(Role.USER, QUESTION),
        text_message(Role.ASSISTANT, "Let me look for what port we choose for the kiln."),
    )
    assert found() == ["m2", "m1"]


def test_what_has_nothing_but_its_neighbours_is_no_hit(session, found):
    talk(session)
    assert {"m3", "m4"}.isdisjoint(found())


def test_looking_something_up_leaves_nothing_to_be_found(session, found):
    talk(session)
    session.add(*looked_up(1, "Let me use recall_search for the port of the kiln."))
    assert found() == ["m2", "m1"]


def test_what_is_told_at_length_beside_a_look_up_stays(session, found):
    session.add(*looked_up(1, "The kiln has port 8443, as we choose on Monday. " * 6))
    assert found() == ["m1"]


def test_a_question_that_tells_something_is_found(session, found):
    session.add(text_message(Role.USER, "Do you remember that we choose port 8443 for the kiln in Bergen?"))
    assert found() == ["m1"]


def test_a_neighbour_with_little_of_its_own_comes_behind_the_others(session, found):
    session.add(
        text_message(Role.ASSISTANT, "For the kiln we choose port 8443."),
        text_message(Role.USER, "The kiln, good."),
        text_message(Role.USER, "Thanks."),
        text_message(Role.USER, "Bergen has a port, too: choose well."),
    )
    assert found() == ["m1", "m4", "m2"]


def test_a_brief_neighbour_that_tells_something_new_keeps_its_place(session, found):
    session.add(
        text_message(Role.ASSISTANT, "For the kiln we choose port 8443."),
        text_message(Role.USER, "The kiln stands in Bergen behind the old bakery."),
        text_message(Role.USER, "Thanks."),
        text_message(
            Role.USER,
            "Oslo has a harbour, a port of sorts, and ferries to Denmark; nobody there would choose well.",
        ),
    )
    assert found() == ["m1", "m2", "m4"]


def test_a_long_neighbour_with_few_of_the_words_comes_behind_the_others(session, found):
    session.add(
        text_message(Role.ASSISTANT, "For the kiln we choose port 8443."),
        text_message(
            Role.USER, "The kiln is old. " + "Bread, glaze, invoices and ferries to Denmark are due. " * 10
        ),
        text_message(Role.USER, "Thanks."),
        text_message(Role.USER, "Bergen has a port, too: choose well."),
    )
    assert found() == ["m1", "m4", "m2"]
