"""Requests of several parts that are closed one by one, and questions that the user's words do not answer."""

from __future__ import annotations

import pytest

from clew.ledger import Closed, Ledger, LoopKind
from clew.ledger.loop import LATER
from clew.ledger.request_parts import request_parts
from clew.message import Cite, Item
from tests.ledger.sessions import assistant, call, citations, did, items, ledger_of, ran, user

OF_THE_USER = (LoopKind.REQUEST, LoopKind.QUESTION)
BOTH = user("Implement login, then logout.")
HALF = assistant("Login is implemented.")
OTHER = user("Rename the parser.")


def open_of_the_user(*messages):
    return [loop.text for loop in ledger_of(*messages).loops.open if loop.kind in OF_THE_USER]


@pytest.mark.parametrize(
    ("asked", "report", "left"),
    [
        ("Implement login, then logout.", "Login is implemented.", "then logout."),
        ("Fix the parser and also update the README.", "The parser is fixed.", "and also update the README."),
        ("Fix the parser. Then write the docs.", "The parser is fixed.", "Then write the docs."),
        ("Please:\n1. Rename the table\n2. Add an index", "I renamed the table.", "Add an index"),
        ("Refund order 1001 and cancel order 1002.", "Order 1001 is refunded.", "and cancel order 1002."),
        ("- Fix the parser\n- Explain the cache", "The parser is fixed.", "Explain the cache"),
        (
            "What is the retry limit? Which port does the proxy use?",
            "The retry limit is 5.",
            "Which port does the proxy use?",
        ),
        (
            "Fix the parser and write the migration.",
            "The parser is fixed. The migration is not done yet.",
            "and write the migration.",
        ),
        (
            "Fix the parser and write the migration.",
            "The parser is fixed, but the migration is not done yet.",
            "and write the migration.",
        ),
        ("Add a dark mode and a search bar.", "Dark mode is in; I skipped the search bar.", "a search bar."),
        ("Add login, logout and signup.", "Everything is done except signup.", "signup."),
        ("Add login, logout and signup.", "All done, apart from signup, which needs a key.", "signup."),
        ("Delete the temp dir, then update the docs.", "I deleted the temp dir.", "then update the docs."),
        ("Add a map and a search bar.", "The search bar is in.", "Add a map"),
        (
            "- book a flight to Los Angeles\n- book a hotel",
            "The flight to Los Angeles is booked.",
            "book a hotel",
        ),
        ("1) login page 2) logout page", "The login page is built.", "logout page"),
        ("Please do (a) the login page (b) the logout page.", "The login page is built.", "the logout page."),
        ("Do two things: 1. wire the button, 2. wire the form", "The button is wired.", "wire the form"),
        ("Please add:\n- a login page\n- a logout page", "The login page is added.", "a logout page"),
        ("Fix the parser; lexer", "The parser is fixed.", "lexer"),
        ("book a flight and a hotel for Friday", "The flight for Friday is booked.", "a hotel"),
        ("Wire up the button and the form.", "The button is wired up.", "the form."),
        ("Refund orders 1001 and 1002.", "Order 1001 is refunded.", "1002."),
        (
            "Fix the login bug. Why does the retry count differ between staging and prod?",
            "The login bug is fixed.",
            "Why does the retry count differ between staging and prod?",
        ),
        (
            "Three things:\n1. bump the version\n2. update the changelog\n3. drop Python 3.9 from CI",
            "I bumped the version and updated the changelog.",
            "drop Python 3.9 from CI",
        ),
        (
            "For the release:\n- bump the version\n- update the changelog\n- drop Python 3.9 from CI",
            "I bumped the version and updated the changelog.",
            "drop Python 3.9 from CI",
        ),
        ("Two things:\n- harden the proxy\n- drop Python 3.9", "The proxy is hardened.", "drop Python 3.9"),
    ],
)
def test_what_a_report_leaves_out_stays_open_when_the_user_moves_on(asked, report, left):
    talk = (user(asked), assistant(report))
    assert open_of_the_user(*talk) == [left]
    assert open_of_the_user(*talk, OTHER) == [OTHER.text, left]
    ledger = Ledger.from_json(ledger_of(*talk).to_json())
    ledger.extend([item._replace(id="later") for item in items(OTHER)])
    assert [(loop.text, loop.status) for loop in ledger.loops.open] == [(OTHER.text, ""), (left, LATER)]
    texts = {item.id: item.message.text for item in items(*talk)}
    for cite, words in citations(ledger_of(*talk)):
        assert words is None or texts[cite.message][cite.start : cite.end] == words


@pytest.mark.parametrize(
    "report",
    [
        "Done.",
        "Both are implemented.",
        "Everything is in place, login first.",
        "Everything is in place, except on the logout page.",
        "All done. It works everywhere except for the logout page of old phones.",
        "Login and logout are implemented.",
        "I implemented it.",
        "Authentication works now.",
    ],
)
def test_a_report_that_may_speak_of_the_whole_closes_every_part(report):
    assert open_of_the_user(BOTH, assistant(report), OTHER) == [OTHER.text]


@pytest.mark.parametrize(
    ("asked", "report"),
    [
        ("Cancel order 1001. Can you help me with that?", "Order 1001 is cancelled."),
        ("Fix the parser. Why does it crash?", "The parser is fixed: it crashed on empty input."),
        ("Fix the parser. Why is it so slow?", "The parser is fixed. " + "It reads each line twice. " * 12),
        ("The release:\n- bump the version\n- it ships on Friday\n- Ana approves", "The version is bumped."),
    ],
)
def test_a_report_that_leaves_out_no_question_and_no_item_of_work_closes_the_request(asked, report):
    assert open_of_the_user(user(asked), assistant(report), OTHER) == [OTHER.text]


HANDLERS = user("Port all twelve handlers to the new router.")


@pytest.mark.parametrize(
    "reply",
    [
        "I haven't started on this yet; I looked at the code first.",
        "The port has not been started: I read the router first.",
        "I read the router. The port is not done yet.",
        "I looked at the router and I'm blocked on the missing key.",
        "I read the code, but I couldn't finish.",
        "I ported seven of the twelve handlers; webhooks are still to do.",
        "Seven out of 12 handlers are ported.",
        "I ported 3 of 5 groups.",
        "11/12 items are ported.",
        "Half of the handlers are ported.",
        "I ported the login handlers. Webhooks and jobs are still to do.",
        "I ported the login handlers. Next I will port webhooks.",
        "The login handlers are ported. Remaining work: webhooks.",
        "Not yet.",
        "Still working on it.",
        "Blocked: no key for the staging router.",
        "Nothing has been done on this so far.",
        "I have not ported them yet, only read the code.",
        "It could not be done: the repository is read-only.",
        "The port is partially done.",
        "Login handlers are ported, five to go.",
    ],
)
def test_a_reply_that_says_the_work_is_not_done_leaves_the_request_open(reply):
    talk = (HANDLERS, assistant(reply))
    waiting = ledger_of(*talk)
    assert HANDLERS.text in open_of_the_user(*talk)
    assert OTHER.text in then(Ledger.from_json(waiting.to_json()), OTHER)
    assert open_of_the_user(*talk, OTHER, assistant("The parser has its new name.")) == [HANDLERS.text]
    assert open_of_the_user(*talk, OTHER, assistant("All twelve handlers use the new router.")) == []
    assert open_of_the_user(*talk, user("Go on."), assistant("The handlers are ported.")) == []


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (HANDLERS.text, "All twelve handlers are ported. Nothing is still to do."),
        (HANDLERS.text, "The handlers are ported. Remaining work: none."),
        (HANDLERS.text, "The handlers are ported, and nothing is left."),
        (HANDLERS.text, "I ported all twelve of the twelve handlers."),
        (HANDLERS.text, "The handlers are ported. 3 of 5 slow tests failed before, too."),
        (HANDLERS.text, "All handlers are done; the old router has not been written to since."),
        ("Commit.", "Committed. The remaining files are unstaged, and other changes remain untouched."),
        ("Check whether the port is finished.", "The port is not finished yet."),
        ("Is the port finished?", "It has not been started."),
        ("Give me a status.", "Seven of the twelve handlers are ported; webhooks are still to do."),
        ("Port the first seven of the twelve handlers.", "I ported seven of the twelve handlers."),
    ],
)
def test_words_about_other_work_and_answers_about_progress_leave_nothing_open(asked, reply):
    assert open_of_the_user(user(asked), assistant(reply), OTHER) == [OTHER.text]


def test_a_report_that_calls_other_work_unfinished_closes_the_work_that_it_is_about():
    later = (HANDLERS, assistant("I haven't started on this yet; I looked at the code first."), OTHER)
    renamed = assistant("The parser is renamed; the twelve handlers for the router are still to do.")
    assert open_of_the_user(*later, renamed) == [HANDLERS.text]


def test_of_objects_in_a_row_each_is_a_part():
    asked = user("Update the docs, changelog and version.")
    docs, log = (
        assistant("The docs are updated."),
        assistant("The changelog and the version are updated too."),
    )
    assert open_of_the_user(asked, docs) == ["changelog", "version."]
    assert open_of_the_user(asked, docs, OTHER, log) == []
    assert open_of_the_user(asked, docs, user("Go on."), log) == []


@pytest.mark.parametrize(
    "report",
    [
        "All three are done.",
        "Everything you asked for is finished.",
        "All done.",
        "All of the requested changes are in place.",
        "Docs, changelog and version are updated.",
    ],
)
def test_a_clear_report_on_everything_closes_every_part(report):
    asked = user("Update the docs, changelog and version.")
    assert open_of_the_user(asked, assistant("The docs are updated."), OTHER, assistant(report)) == []


@pytest.mark.parametrize(
    "report", ["All tests pass and the docs are fixed.", "As requested, the docs are updated."]
)
def test_a_report_that_speaks_of_all_tests_or_of_the_request_speaks_of_no_other_part(report):
    asked = user("Update the docs, changelog and version.")
    assert open_of_the_user(asked, assistant(report)) == ["changelog", "version."]


@pytest.mark.parametrize("report", ["Done.", "That's it too.", "It works now."])
def test_a_vague_report_closes_what_words_or_calls_spoke_of(report):
    wrote = did("Write", {"file_path": "src/login.py", "content": "x"}, "ok")
    other = did("Write", {"file_path": "src/logout.py", "content": "x"}, "ok")
    assert open_of_the_user(BOTH, wrote, assistant(report), OTHER) == [OTHER.text, "then logout."]
    assert open_of_the_user(BOTH, wrote, other, assistant(report), OTHER) == [OTHER.text]
    assert open_of_the_user(BOTH, HALF, user("Go on."), assistant(report)) == ["then logout."]
    assert open_of_the_user(BOTH, HALF, user("Go on."), other, assistant(report)) == []
    steps = user("Fix the crash and write the manual.")
    told = assistant("The manual is written.")
    assert open_of_the_user(steps, told, user("Go on."), assistant(report)) == ["Fix the crash"]
    assert open_of_the_user(steps, told, user("Go on."), wrote, assistant(report)) == []
    copied = Ledger.from_json(ledger_of(BOTH, wrote).to_json())
    assert then(copied, assistant(report)) == ["then logout."]


def test_a_long_text_without_a_call_is_what_was_asked_for():
    asked = user("Describe the parser and the lexer.")
    text = (
        "The parser reads tokens one by one and builds a tree of them. " + "Each node knows its place. " * 12
    )
    assert open_of_the_user(asked, assistant(text)) == []
    assert open_of_the_user(asked, assistant("The parser reads tokens.")) == ["the lexer."]


def test_a_part_that_was_worked_on_is_closed_though_the_report_does_not_name_it():
    written = did("Write", {"file_path": "src/logout.py", "content": "x"}, "ok")
    read = did("Read", {"file_path": "src/logout.py"}, "x")
    said = (assistant("Logout clears the cookie now."), call("Bash", {"command": "ls"}))
    assert open_of_the_user(BOTH, written, HALF, OTHER) == [OTHER.text]
    assert open_of_the_user(BOTH, *said, HALF, OTHER) == [OTHER.text]
    assert open_of_the_user(BOTH, read, HALF, OTHER) == [OTHER.text, "then logout."]
    assert (
        open_of_the_user(user("Fix the parser, then check logout."), read, assistant("The parser works."))
        == []
    )


def test_a_part_is_closed_by_the_report_that_speaks_of_it_or_by_hand():
    ledger = ledger_of(BOTH, HALF, OTHER, assistant("Renamed."), user("And?"), assistant("Logout works too."))
    assert ledger.loops.open == ()
    assert ("then logout.", Closed.REPORTED) in [(loop.text, loop.closed) for loop in ledger.loops.closed]
    waiting = ledger_of(BOTH, HALF)
    waiting.close_loop(waiting.loops.open[0].id, "not needed")
    assert waiting.loops.open == ()


def closed_by_hand(ledger, place=0):
    ledger.close_loop(ledger.loops.open[place].id, "not needed")
    return Ledger.from_json(ledger.to_json())


def then(ledger, *messages):
    ledger.extend(Item(f"later{n}", message) for n, message in enumerate(messages))
    return [loop.text for loop in ledger.loops.open]


def test_a_request_closed_by_hand_leaves_no_parts():
    assert then(closed_by_hand(ledger_of(BOTH)), HALF) == []
    assert then(closed_by_hand(ledger_of(BOTH)), HALF, OTHER) == [OTHER.text]
    waiting = ledger_of(BOTH)
    closed = waiting.close_loop("q1", "not needed")
    waiting.reopen_loop(closed[0].id)
    assert then(waiting, HALF) == ["then logout."]


def test_a_part_closed_by_hand_is_not_opened_by_the_next_report():
    waiting = closed_by_hand(ledger_of(BOTH, HALF))
    assert then(waiting, assistant("Login is implemented and documented.")) == []


def test_a_request_of_sections_closed_by_hand_leaves_no_sections():
    first = assistant("Implemented Slice 1. Confirm and I'll start Slice 2.")
    left = then(closed_by_hand(ledger_of(SLICES)), first)
    assert [text for text in left if text.startswith("##")] == []


def test_going_on_keeps_the_whole_request_and_a_call_takes_the_report_back():
    assert open_of_the_user(BOTH, HALF, user("Go on.")) == [BOTH.text]
    assert open_of_the_user(BOTH, HALF, call("Bash", {"command": "ls"})) == [BOTH.text]


@pytest.mark.parametrize(
    "text",
    [
        "Find out why 8841 is wrong and fix it.",
        "Okay, fix the parser.",
        "Never push to main. Fix the parser.",
        "Behebe den Parser, den Lexer und die Ausgabe, damit der Bericht stimmt.",
        "Let's do two things:",
        "Compare the old and the new parser.",
        "Explain the difference between the parser and the lexer.",
        "Write a short and clear text.",
        "File a bug and move on.",
        "Yesterday the build failed and the tests broke.",
        "1. One-way\n2. Economy\n3. It's just me.",
        "My order is: 1) full size, 2) no backlight.",
        "Order details:\n- two boards\n- a hose",
    ],
)
def test_one_thing_is_asked_for_once(text):
    subjects = [part for part in request_parts(text, Cite("m0", 0, 0, len(text))) if part.words]
    assert len([part for part in subjects if "fix it" not in part.text]) <= 1


def test_what_a_long_message_asks_for_behind_its_beginning_is_open_too():
    story = "The importer reads the feed of yesterday and the totals differ by a few cents each time. " * 10
    text = f"{story}Add a retry to the uploader.\n\n{story}Then document the retry."
    assert open_of_the_user(user(text)) == [
        text[:600],
        "Add a retry to the uploader.",
        "Then document the retry.",
    ]
    plan = "Fix the importer.\n\n" + "\n".join(
        f"- Update module {n} of the importer service" for n in range(60)
    )
    assert open_of_the_user(user(plan)) == [plan[:600]]


SLICES = user(
    "Implement the onboarding as three slices. STOP after each slice.\n\n"
    "## Slice 1: server\nAdd auth.\n\n## Slice 2: CLI\nAdd a warning.\n\n## Slice 3: docs\nWrite them."
)
TWO, THREE = "## Slice 2: CLI", "## Slice 3: docs"


def test_numbered_sections_that_a_report_does_not_name_stay_open():
    first = assistant("Implemented Slice 1. All tests pass. Confirm and I'll start Slice 2.")
    assert open_of_the_user(SLICES, first, OTHER) == [OTHER.text, TWO, THREE]
    later = (SLICES, first, OTHER, assistant("The parser has its new name."), user("Now the next slice."))
    assert open_of_the_user(*later, assistant("Slice 2 is in place.")) == [THREE]
    assert open_of_the_user(*later, assistant("Slices 2-3 are in place.")) == []


@pytest.mark.parametrize(
    "report", ["Done.", "Slices 1 to 3 are in place.", "All three slices are in place, slice 1 first."]
)
def test_a_report_on_all_sections_closes_them(report):
    assert open_of_the_user(SLICES, assistant(report), OTHER) == [OTHER.text]


CRON = "Should the cron entry stay at 04:15?"


@pytest.mark.parametrize("reply", ["Add a test for the parser.", "Which tests fail?", "Go on."])
def test_a_request_for_something_else_does_not_answer_a_question_of_the_model(reply):
    ledger = ledger_of(user("Port it."), assistant(f"It is ported. {CRON}"), user(reply))
    assert [loop.text for loop in ledger.loops.open if loop.kind is LoopKind.ASKED] == [CRON]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (CRON, "Move the cron entry to 05:00."),
        (CRON, "No."),
        (CRON, "five in the morning is better for everyone"),
        (CRON, "Remove it."),
        ("Which database do you prefer?", "Add postgres."),
        ("What should I do next?", "Add a test for the parser."),
        ("Should I rename the table too?", "Fix the build first."),
    ],
)
def test_an_answer_need_not_repeat_the_words_of_the_question(question, reply):
    ledger = ledger_of(user("Port it."), assistant(f"It is ported. {question}"), user(reply))
    assert [loop.closed for loop in ledger.loops.closed if loop.kind is LoopKind.ASKED] == [Closed.ANSWERED]


FLIGHTS = assistant("There are two flights, at 9:10 and at 14:40. Which one do you prefer?")
WEATHER = (user("What is the weather there in May?"), assistant("It is sunny there in May."))


def asked_of_the_user(*messages):
    return [loop.text for loop in ledger_of(*messages).loops.open if loop.kind is LoopKind.ASKED]


def test_a_question_of_the_user_on_another_matter_does_not_answer_a_choice():
    talk = (user("Book me a flight to Rome."), FLIGHTS, *WEATHER)
    assert asked_of_the_user(*talk) == ["Which one do you prefer?"]
    assert asked_of_the_user(*talk, user("Looks good.")) == ["Which one do you prefer?"]
    assert asked_of_the_user(*talk, user("The one at 14:40.")) == []
    assert asked_of_the_user(talk[0], FLIGHTS, user("Is the flight at 9:10 cheaper?")) == []


TWO_QUESTIONS = assistant(
    "Before I start I need two answers:\n1. Should the invoices from before 2019 be migrated as well?\n"
    "2. Who approves the cutover on Sunday?"
)


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("Yes, migrate the old invoices too.", ["Who approves the cutover on Sunday?"]),
        ("Ana approves the cutover.", ["Should the invoices from before 2019 be migrated as well?"]),
        ("Migrate the old invoices too, and Ana.", []),
        ("1. yes\n2. Ana", []),
        ("Whatever you think is best.", []),
    ],
)
def test_of_several_questions_those_that_an_answer_does_not_speak_of_stay_open(reply, left):
    talk = (user("Move the invoices to the new database."), TWO_QUESTIONS, user(reply))
    assert asked_of_the_user(*talk) == left
    again = Ledger.from_json(ledger_of(*talk[:2]).to_json())
    again.extend([Item("later", talk[2])])
    assert [loop.text for loop in again.loops.open if loop.kind is LoopKind.ASKED] == left


@pytest.mark.parametrize(
    ("asked", "report"),
    [
        ("What is the retry limit? How does that sound?", "The retry limit is 5."),
        ("What is the retry limit? Don't make it too long, okay?", "The retry limit is 5."),
        (
            "What is the retry limit? Could a note be added to the file?",
            "The limit is 5. I can't add a note.",
        ),
    ],
)
def test_a_question_that_asks_nothing_or_gets_a_no_is_not_left_out(asked, report):
    assert open_of_the_user(user(asked), assistant(report)) == []


PADDING = " ".join(f"I read part {n} of the code and noted how its pieces fit together." for n in range(8))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Port the service to asyncio.", "I ran out of context, remaining: the mailer and the scheduler."),
        ("Make the export work on Windows.", "I could not get the path handling to work."),
        ("Fix the failing upload tests.", "test_upload_large is still failing with a timeout."),
        ("Migrate the handlers.", "Remaining:\n- billing\n- webhooks"),
        ("Add a cache to the client.", "The cache does not work yet."),
    ],
)
def test_a_long_report_that_says_the_work_is_unfinished_closes_nothing(asked, said):
    reply = assistant(f"{PADDING}\n\n{said}\n\n{PADDING}")
    found = ledger_of(user(asked), reply, OTHER)
    left = [loop for loop in found.loops.open if loop.kind is LoopKind.LEFT]
    assert [loop.text for loop in left] == [said]
    assert asked in [loop.text for loop in found.loops.open]
    (part,) = reply.parts
    assert part.text[left[0].source.start : left[0].source.end] == said


@pytest.mark.parametrize(
    "said",
    [
        "Two unrelated tests still fail.",
        "At first I could not get the path handling to work, which a retry solved.",
        "If it still fails, clear the cache.",
        "Every one of the 19 tools is covered.",
        "Remaining work: none.",
        '```\nraise Error("I could not open the file; it still fails")\n```',
        "I could not run the tests on Windows here.",
    ],
)
def test_a_long_report_on_finished_work_leaves_nothing_open(said):
    found = ledger_of(user("Add the flag."), assistant(f"{PADDING}\n\n{said}\n\nThe flag is added."), OTHER)
    assert [loop.text for loop in found.loops.open] == [OTHER.text]


def test_what_a_long_report_leaves_is_closed_by_a_later_one_or_by_tests_that_pass():
    first = [user("Port the handlers."), assistant(f"{PADDING} The billing webhook tests still fail.")]
    later = assistant("The billing webhook is ported, and its tests pass.")
    kinds = [loop.kind for loop in ledger_of(*first, OTHER).loops.open]
    assert LoopKind.LEFT in kinds
    for end in ([OTHER, later, user("Thanks.")], [OTHER, *ran("pytest -q", "12 passed in 0.1s")]):
        assert LoopKind.LEFT not in [loop.kind for loop in ledger_of(*first, *end).loops.open]


def test_what_a_long_answer_says_of_unfinished_code_is_no_open_work():
    reply = assistant(f"{PADDING} The deploy step is not implemented yet.")
    found = ledger_of(user("Explain what this project does."), reply, OTHER)
    assert [loop.text for loop in found.loops.open] == [OTHER.text]


def test_a_heading_over_a_list_later_in_a_message_is_no_request():
    text = "Please add:\n- search\n- Export formats:\n  - csv\n  - pdf"
    assert [part.text for part in request_parts(text, Cite("m1"), after=0)] == ["search"]
    assert [part.text for part in request_parts(text, Cite("m1"))] == ["search", "Export formats:"]


def test_a_reported_request_is_closed_though_something_else_is_said_not_to_be_done():
    said = (
        user("Refund REF-20931."),
        assistant("REF-20931 is refunded. I have not sent the e-mail yet."),
        user("Book a room."),
    )
    assert [loop.text for loop in ledger_of(*said).loops.open] == ["Book a room."]
