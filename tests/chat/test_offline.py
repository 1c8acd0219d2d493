"""The offline model: quotes and cites, admits what it does not know, declines what a rule forbids."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat import Answer, ToolStarted
from clew.chat.offline import RequestedCall, parse_tool_request
from clew.chat.offline_lookup import ViewPassage, best, passages
from clew.message import Item, Role, text_message
from tests.chat.talk import disk_chat, new_chat, reply_to, tell

FILES = ("read_file", "list_files", "search_files", "write_file")


def test_it_quotes_the_turn_that_answers_and_cites_it():
    chat = new_chat()
    assert reply_to(chat, "The deploy token is kestrel-42. The port is 8123.") == "Noted [m1]."
    assert reply_to(chat, "What is the port?") == '[m1] you said: "The port is 8123."'


def test_of_two_that_say_the_same_the_later_one_counts():
    chat = new_chat()
    reply_to(chat, "The port is 8123.")
    reply_to(chat, "The port is 9000.")
    assert reply_to(chat, "what is the port") == '[m3] you said: "The port is 9000."'


def test_it_says_that_it_does_not_know():
    assert reply_to(new_chat(), "Who is the king of France?").startswith(
        "I don't know: nothing in view answers"
    )


def test_it_declines_what_a_rule_forbids_and_cites_the_rule():
    chat = new_chat()
    assert 'rule [p1] is in force: "Never modify files under legacy/."' in reply_to(
        chat, "Never modify files under legacy/."
    )
    assert reply_to(chat, "Please delete legacy/old.py").startswith(
        'I won\'t: [p1] [m1] "Never modify files under legacy/." forbids it.'
    )


@pytest.mark.parametrize(
    ("rule", "forbidden", "fine"),
    [
        ("Never modify files under legacy/.", "edit legacy/a.py now", "edit src/a.py now"),
        ("Never modify files under legacy/.", "remove ./legacy/deep/b.py", "read legacy/a.py"),
        ("Do not push to main without asking.", "push the branch", "commit the branch"),
        ("Never use emojis in commit messages.", "use emojis in commit messages", "use plain words"),
        ("Don't touch `*.lock` files.", "update uv.lock", "update notes.txt"),
    ],
)
def test_a_rule_forbids_what_it_names_and_nothing_else(rule: str, forbidden: str, fine: str):
    chat = new_chat()
    chat.session.pin(rule)
    assert reply_to(chat, forbidden).startswith("I won't: [p1]")
    assert not reply_to(chat, fine).startswith("I won't")


def test_a_polite_request_is_a_request(tmp_path: Path):
    chat = new_chat(root=tmp_path)
    reply_to(chat, "Never modify files under legacy/.")
    for asked in ("Can you delete legacy/old.py?", "Could you please write legacy/a.py with x?"):
        assert reply_to(chat, asked).startswith("I won't: [p1]")


def test_a_rule_that_was_taken_off_forbids_nothing():
    chat = new_chat()
    chat.session.unpin(chat.session.pin("Never modify files under legacy/.").id)
    assert not reply_to(chat, "delete legacy/old.py").startswith("I won't")


def test_asking_about_what_is_forbidden_is_allowed():
    chat = new_chat()
    reply_to(chat, "Never modify files under legacy/.")
    assert reply_to(chat, "May I modify files under legacy/?").startswith("[m1] you said:")


def test_it_reads_a_file_and_answers_from_it(tmp_path: Path):
    (tmp_path / "app.cfg").write_text("host = localhost\nport = 8123\n")
    chat = new_chat(root=tmp_path)
    assert reply_to(chat, "read app.cfg: what is the port?") == '[m3] read_file answered: "port = 8123"'


def test_it_writes_a_file_when_a_person_agrees(tmp_path: Path):
    chat = new_chat(root=tmp_path)
    assert reply_to(chat, "write notes.txt with two words", [Answer.YES]).startswith("Done [m3]")
    assert (tmp_path / "notes.txt").read_text() == "two words\n"


def test_what_is_not_in_view_is_looked_for_in_memory(tmp_path: Path):
    chat = disk_chat(tmp_path)
    reply_to(chat, "The deploy token is kestrel-42.")
    for number in range(40):
        reply_to(chat, f"Part {number} is {number} mm wide and was measured by Anna on the old bench.")
    chat.session.compact(target_tokens=250)
    in_view = "\n".join(item.message.text for item in chat.session.view())
    happened = tell(chat, "How wide is part 7?")
    asked = [one.name for one in happened if isinstance(one, ToolStarted)]
    assert ("Part 7 is" in in_view, asked) == (False, ["recall_search"])
    assert chat.session.view()[-1].message.text.startswith('[m17] you said: "Part 7 is 7 mm wide')


def test_a_line_of_a_digest_is_cited_by_the_turn_it_comes_from(tmp_path: Path):
    chat = disk_chat(tmp_path)
    reply_to(chat, "The deploy token is kestrel-42.")
    for number in range(40):
        reply_to(chat, f"Part {number} is {number} mm wide and was measured by Anna on the old bench.")
    chat.session.compact()
    assert (
        reply_to(chat, "What is the deploy token?")
        == '[m1] on record (d1): "The deploy token is kestrel-42."'
    )


@pytest.mark.parametrize(
    ("request_", "deed"),
    [
        (
            "read src/a.py",
            RequestedCall("read_file", {"path": "src/a.py", "start_line": None, "lines": None}),
        ),
        (
            "Please show me README.md.",
            RequestedCall("read_file", {"path": "README.md", "start_line": None, "lines": None}),
        ),
        ("list files in src", RequestedCall("list_files", {"path": "src"})),
        ("list the files", RequestedCall("list_files", {"path": None})),
        ("ls", RequestedCall("list_files", {"path": None})),
        ("ls ..", RequestedCall("list_files", {"path": ".."})),
        ("ls src/..", RequestedCall("list_files", {"path": "src/.."})),
        ("list files in src.", RequestedCall("list_files", {"path": "src"})),
        (
            "search the files for 'port' in src",
            RequestedCall("search_files", {"text": "port", "path": "src"}),
        ),
        ("create a.txt with hello", RequestedCall("write_file", {"path": "a.txt", "text": "hello\n"})),
        (
            'put "hello there" into a.txt',
            RequestedCall("write_file", {"path": "a.txt", "text": "hello there\n"}),
        ),
        ("I read the news", None),
        ("open the window", None),
    ],
)
def test_a_few_plain_ways_of_asking_are_tool_calls(request_: str, deed: RequestedCall | None):
    assert parse_tool_request(request_, FILES) == deed


@pytest.mark.parametrize(
    "rule",
    [
        "Do not push to main.",
        "do not use tabs in the code",
        "When you commit, sign off the commit.",
        "Where possible, always use type hints.",
    ],
)
def test_a_rule_that_begins_like_a_question_is_no_question(rule: str):
    assert reply_to(new_chat(), rule).startswith("Noted [m1]")


@pytest.mark.parametrize(
    "question", ["When did we deploy", "where is the token", "Do we push", "When's lunch"]
)
def test_a_question_needs_no_question_mark(question: str):
    assert reply_to(new_chat(), question).startswith("I don't know")


def test_a_tool_that_it_does_not_have_is_not_called():
    assert parse_tool_request("read a.py", ()) is None


def test_its_own_words_are_no_source():
    items = [
        Item("m1", text_message(Role.USER, "The port is 1.")),
        Item("m2", text_message(Role.ASSISTANT, '[m1] you said: "The port is 1."')),
    ]
    assert [one.ref for one in passages(items)] == ["m1"]


def test_a_sentence_with_half_of_the_words_is_no_answer():
    items = [Item("m1", text_message(Role.USER, "The port of Hamburg is large."))]
    assert best("what is the port of the database server", list(passages(items))) is None


def test_a_sentence_that_answers_is_not_hidden_by_one_with_more_pairs():
    question = "when does the blue harbour ferry leave for Norway"
    # Half of the words, but in the order of the question: its bonus is larger than the missing words.
    near = "The blue harbour ferry is new."
    answer = "To Norway we leave at nine: a ferry, painted blue."
    both = [ViewPassage("m1", "you said", near), ViewPassage("m2", "you said", answer)]
    assert best(question, both[1:]) == both[1]
    assert best(question, both) == both[1]


def test_a_name_that_is_nearly_the_same_is_no_answer():
    chat = new_chat()
    reply_to(chat, "The value of KEY_3_40 is 17. The value of KEY_3_41 is 18.")
    assert reply_to(chat, "What is the value of KEY_3_41?") == '[m1] you said: "The value of KEY_3_41 is 18."'
    assert reply_to(chat, "What is the value of KEY_2_40?").startswith("I don't know")
    assert reply_to(chat, "What is the value of KEY_3_4?").startswith("I don't know")


def test_lines_of_a_file_stand_in_a_fence_as_they_are(tmp_path: Path):
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    told = reply_to(new_chat(root=tmp_path), "read a.py")
    assert told == "[m3] read_file answered:\n\n```\ndef f():\n    return 1\n```"


@pytest.mark.parametrize(
    "question",
    ["list the rules", "What are my rules?", "which rules are in force?", "Please show me all rules."],
)
def test_it_lists_the_rules(question: str):
    chat = new_chat()
    reply_to(chat, "Never modify files under legacy/.")
    chat.session.pin("Ask before you push.")
    told = reply_to(chat, question).splitlines()
    assert told[0] == "Rules in force:"
    assert told[2:] == ['- [p1] [m1] "Never modify files under legacy/."', '- [p2] "Ask before you push."']


def test_it_says_that_there_are_no_rules():
    assert reply_to(new_chat(), "What are the rules?") == "No rules are in force."


def test_a_question_about_what_a_rule_says_is_not_a_list():
    chat = new_chat()
    reply_to(chat, "The rules for deployment are in ops/deploy.md.")
    assert "ops/deploy.md" in reply_to(chat, "What are the rules for deployment?")


def test_it_says_what_was_done_and_where(tmp_path: Path):
    chat = new_chat(root=tmp_path)
    reply_to(chat, "write the file notes.txt with: hello", [Answer.YES])
    told = reply_to(chat, "What did you do so far?")
    assert told.startswith("Done so far:")
    assert "notes.txt" in told
    assert "What did you do" not in told


def test_it_says_that_nothing_was_done():
    assert reply_to(new_chat(), "What was done so far?") == "Nothing was done yet."
