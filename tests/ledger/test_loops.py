"""Open loops: tasks, requests, questions, announcements, failing tests."""

from __future__ import annotations

import re

import pytest

from clew.ledger import Closed, Ledger, Loop, LoopKind, Todo, replies
from clew.ledger import loops as loops_module
from clew.ledger.loop import DECLINED, LATER
from clew.message import Cite, Item, Message, Role, Text, ToolResult, Trust
from tests.ledger.sessions import assistant, call, did, items, ledger_of, plan, ran, user


def open_texts(ledger, *kinds):
    return [loop.text for loop in ledger.loops.open if loop.kind in kinds]


def ends(ledger, *kinds):
    return [(loop.text, loop.closed) for loop in ledger.loops.closed if loop.kind in kinds]


# Tasks ------------------------------------------------------------------------------------------------

LISTS = [
    ("TodoWrite", "todos", "content"),
    ("todowrite", "todos", "content"),
    ("write_todos", "todos", "description"),
    ("update_plan", "plan", "step"),
    ("some_unknown_tool", "todos", "title"),
]


def rows(field, *tasks):
    return [{field: text, "status": status} for text, status in tasks]


@pytest.mark.parametrize(("tool", "key", "field"), LISTS)
def test_a_list_replaces_the_one_before(tool, key, field):
    ledger = ledger_of(
        did(
            tool,
            {key: rows(field, ("read it", "in_progress"), ("write it", "pending"), ("drop it", "pending"))},
            "ok",
        ),
        did(tool, {key: rows(field, ("read it", "completed"), ("write it", "in_progress"))}, "ok"),
    )
    assert ledger.loops.todos == (Todo("read it", "completed"), Todo("write it", "in_progress"))
    assert open_texts(ledger, LoopKind.TODO) == ["write it"]
    assert ends(ledger, LoopKind.TODO) == [("drop it", Closed.LEFT_OUT), ("read it", Closed.DONE)]


def test_a_task_keeps_its_id_and_cites_its_words():
    talk = items(
        did("TodoWrite", {"todos": rows("content", ("a", "pending"), ("fix it", "pending"))}, "ok"),
        did("TodoWrite", {"todos": rows("content", ("fix it", "in_progress"))}, "ok"),
    )
    ledger = Ledger()
    ledger.extend(talk)
    (loop,) = ledger.loops.open
    assert (loop.id, loop.status, loop.source.quote(talk[0].message)) == ("t2", "in_progress", "fix it")


def test_single_tasks_are_folded_over_their_calls():
    ledger = ledger_of(
        did("TaskCreate", {"subject": "one"}, "Task #1 created successfully: one"),
        did("TaskCreate", {"subject": "two"}, "Task #2 created successfully: two"),
        did("TaskCreate", {"subject": "three"}, "Task #3 created successfully: three"),
        did("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"),
        did("TaskUpdate", {"taskId": "2", "subject": "second"}, "Updated task #2 subject"),
        did("TaskUpdate", {"taskId": "3", "status": "deleted"}, "Updated task #3 status"),
        did("TaskUpdate", {"taskId": "9", "status": "completed"}, "Task not found"),
    )
    assert ledger.loops.todos == (
        Todo("one", "completed"),
        Todo("second", "pending"),
        Todo("three", "deleted"),
    )
    assert open_texts(ledger, LoopKind.TODO) == ["second"]


def test_a_list_that_a_tool_shows_tells_what_sub_agents_finished():
    ledger = ledger_of(
        did("TaskCreate", {"subject": "one"}, "Task #1 created successfully: one"),
        did("TaskCreate", {"subject": "two"}, "Task #2 created successfully: two"),
        did(
            "TaskList", {}, "#1 [completed] one\n#2 [in_progress] two [blocked by #1]\n#3 [pending] another's"
        ),
    )
    assert ledger.loops.todos == (Todo("one", "completed"), Todo("two", "in_progress"))
    assert open_texts(ledger, LoopKind.TODO) == ["two"]


def test_the_steps_of_a_plan_to_carry_out_are_one_request():
    steps = "\n".join(f"- Import `part_{number}` and call it in `main_{number}.py`." for number in range(8))
    plan = f"# Plan: parts\n\n## Context\n\n{'Why. ' * 150}\n\n## Steps\n\n{steps}"
    handed_over = user(f"Implement the following plan:\n\n{plan}")
    ledger = ledger_of(handed_over)
    (request,) = open_texts(ledger, LoopKind.REQUEST)
    assert request.startswith("Implement the following plan:")


def test_a_task_that_is_taken_up_again_is_open_again():
    ledger = ledger_of(
        did("TodoWrite", {"todos": rows("content", ("a", "completed"))}, "ok"),
        did("TodoWrite", {"todos": rows("content", ("a", "pending"))}, "ok"),
    )
    assert open_texts(ledger, LoopKind.TODO) == ["a"]


def test_a_list_that_was_not_accepted_changes_nothing():
    rejected = did(
        "TodoWrite", {"todos": rows("content", ("a", "pending"))}, "<tool_use_error>bad", error=True
    )
    assert ledger_of(rejected).loops.todos == ()


@pytest.mark.parametrize("given", [{"todos": None}, {"todos": [1, "x", {}]}, {"plan": "text"}, {}])
def test_a_list_of_something_else_is_no_list(given):
    assert ledger_of(did("TodoWrite", given, "ok")).loops.todos == ()


def listing(*lines, heading="**Agent task list:**"):
    return assistant("\n".join((heading, *lines)))


def test_the_agents_newer_list_replaces_its_older_ones_however_its_items_are_worded():
    ledger = ledger_of(
        user("Build the exporter."),
        listing("- [ ] 🔥 Write the parser", "- [ ] ❄️ Test the parser"),
        listing("- [X] 🔥 Write the parser", "- [⚡] ❄️ Test the parser"),
        *did("Bash", {"command": "ls"}, "a"),
        listing("- [⚡] Polish the output", "- [-] Write it down", "- [ ] Ship it", heading="## Todo List"),
    )
    assert ledger.loops.todos == (
        Todo("Polish the output", "in_progress"),
        Todo("Write it down", "in_progress"),
        Todo("Ship it", "pending"),
    )
    assert [loop.text for loop in ledger.loops.closed if loop.kind is LoopKind.TODO] == [
        "🔥 Write the parser",
        "❄️ Test the parser",
    ]


@pytest.mark.parametrize("heading", ["## Lista de tareas", "**Aufgaben**", "할 일:", "待办事项"])
def test_a_heading_in_any_language_makes_a_list_the_agents_tasks(heading):
    around = "\n\nA long explanation follows.\n" * 9
    text = f"{heading}\n\n- [ ] Revisar `login.py`\n- [ ] Añadir pruebas{around}"
    assert [todo.text for todo in ledger_of(user("go"), assistant(text)).loops.todos] == [
        "Revisar `login.py`",
        "Añadir pruebas",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "## Checklist\n\nWhat I look at in a review:\n\n- [ ] The names fit\n- [ ] No dead code\n\n"
        "Say if you want more.\nThe rest of the answer follows.\nIt is long.\nAnd longer.",
        "- [ ] Esta tarefa está no escopo?\n- [ ] Os nomes batem?",
        "Done:\n- [x] Something nobody listed",
    ],
)
def test_other_lists_of_boxes_in_an_answer_are_no_tasks(text):
    assert ledger_of(user("go"), assistant(text)).loops.todos == ()


def test_a_list_with_open_tasks_is_no_report():
    request = user("Now deploy it to the staging server.")
    agreed = assistant("You're right! The image needs git. Let me check the Dockerfile.")
    listed = listing("- [X] Build the image", "- [⚡] Push the image")
    assert [loop.text for loop in ledger_of(request, agreed, listed).loops.open] == [
        "Now deploy it to the staging server.",
        "Push the image",
    ]


def test_a_checklist_is_ticked_off_by_the_same_words():
    ledger = ledger_of(
        plan("Implement the following plan:\n- [ ] Parse the file\n- [x] Old news\n1. [ ] Write the tests"),
        assistant("```\n- [ ] not a task\n```\nDone:\n- [x] parse the file"),
    )
    assert ledger.loops.todos == (Todo("Parse the file", "completed"), Todo("Write the tests", "pending"))


# Conversation -----------------------------------------------------------------------------------------


def test_a_request_is_open_until_the_model_reports_back():
    asked, working = user("Add a flag for it."), did("Bash", {"command": "ls"}, "a")
    assert open_texts(ledger_of(asked), LoopKind.REQUEST) == ["Add a flag for it."]
    assert open_texts(ledger_of(asked, assistant("Let me look."), working), LoopKind.REQUEST) != []
    reported = ledger_of(asked, working, assistant("It has a flag now."))
    assert reported.loops.open == ()
    assert ends(reported, LoopKind.REQUEST) == [("Add a flag for it.", Closed.REPORTED)]


def test_each_question_of_the_user_is_a_loop():
    pasted = "```\n" + "a line of output\n" * 60 + "is it? # no question\n```\n"
    asked = user(f"{pasted}Why is it slow? And where does it end? Thanks!")
    assert open_texts(ledger_of(asked), LoopKind.QUESTION) == ["Why is it slow?", "And where does it end?"]
    answered = ledger_of(asked, assistant("It reads twice."), user("ok"))
    assert ends(answered, LoopKind.QUESTION) == [
        ("Why is it slow?", Closed.ANSWERED),
        ("And where does it end?", Closed.ANSWERED),
    ]


def test_a_question_with_an_instruction_is_one_request():
    text = "Can we show it in the sidebar? Users want to see their code beside it."
    assert open_texts(ledger_of(user(text)), LoopKind.REQUEST) == [text]
    assert open_texts(ledger_of(user("Can we show it in the sidebar?")), LoopKind.REQUEST) == []


LONG = "It must read the old table and keep every name as it is, with the same order of the rows. " * 8


def test_a_question_answered_before_files_are_changed_is_closed_at_once():
    asked = user("Why does the trailer differ for gemini?")
    answer = assistant("It is not specific to gemini: the function is shared by both.")
    change = did("Edit", {"file_path": "a.go", "new_string": "x"}, "The file a.go has been updated.")
    looked = did("Read", {"file_path": "a.go"}, "x")
    assert open_texts(ledger_of(asked, answer, change), LoopKind.QUESTION) == []
    assert open_texts(ledger_of(asked, answer, looked), LoopKind.QUESTION) == [asked.text]
    other = assistant("The build is green again.")
    assert open_texts(ledger_of(asked, other, change), LoopKind.QUESTION) == [asked.text]
    assert open_texts(ledger_of(asked, assistant("Let me look."), change), LoopKind.QUESTION) == [asked.text]


@pytest.mark.parametrize(
    "text",
    [
        f"Now also write the migration script. {LONG}Can you do that?",
        f"I have an idea for the importer. {LONG}What do you think? Is it hard?",
        f"{LONG}Kannst du das machen?",
    ],
)
def test_a_long_request_with_a_question_is_open_work_until_a_report(text):
    asked = ledger_of(user(text))
    assert open_texts(asked, LoopKind.REQUEST)[0] == text[:600]
    postponed = ledger_of(user(text), assistant("Yes, I can do that."), user("Rename the parser."))
    assert text[:600] in open_texts(postponed, LoopKind.REQUEST)
    assert ledger_of(user(text), assistant("It is written and tested.")).loops.open == ()


def test_a_long_message_of_pasted_text_and_a_question_asks_the_question_only():
    log = "\n".join(f"2026-01-05 10:00:{n:02} ERROR worker {n} could not read the feed" for n in range(30))
    asked = ledger_of(user(f"Why does it fail?\n\n```\n{log}\n```"))
    assert open_texts(asked, LoopKind.QUESTION, LoopKind.REQUEST) == ["Why does it fail?"]


def test_the_questions_behind_a_long_plan_stay_open_too():
    steps = "\n".join(f"- Update module {n} of the importer service" for n in range(60))
    text = f"Fix the importer.\n\n{steps}\n\nWhich port does the proxy use?"
    assert open_texts(ledger_of(user(text)), LoopKind.QUESTION) == ["Which port does the proxy use?"]


@pytest.mark.parametrize("tag", ["</command-name>", "<command-args></command-args>", "<br/>\n"])
def test_a_lone_tag_is_no_request_and_no_goal(tag):
    ledger = ledger_of(user(tag))
    assert ledger.loops.open == ()
    assert ledger.goal is None


def test_a_command_to_the_harness_is_no_request():
    assert ledger_of(user("/undo")).loops.open == ()
    assert open_texts(ledger_of(user("/fix the build")), LoopKind.REQUEST) == ["/fix the build"]


def test_a_command_that_the_model_works_on_is_a_request_until_it_reports():
    pushed = [user("Push it."), assistant("It is pushed: pull/203.")]
    asked = [*pushed, user("/review"), *did("Bash", {"command": "gh pr view"}, "#203")]
    assert [loop.text for loop in ledger_of(asked).loops.open] == ["/review"]
    assert ledger_of(asked, assistant("I reviewed it: two threads are fixed.")).loops.open == ()
    assert [loop.text for loop in ledger_of(*pushed, user("/clear"), user("Fix it.")).loops.open] == [
        "Fix it."
    ]
    halfway = Ledger.from_json(ledger_of(*pushed, user("/review")).to_json())
    halfway.extend([Item("m9", call("Bash", {"command": "ls"}))])
    assert [loop.text for loop in halfway.loops.open] == ["/review"]


def test_a_question_the_user_moved_on_from_is_open_until_a_report():
    ledger = ledger_of(
        user("Why is it slow?"),
        did("Bash", {"command": "time x"}, "1 s"),
        user("[stop] Fix the colour instead."),
    )
    assert open_texts(ledger, LoopKind.QUESTION, LoopKind.REQUEST) == [
        "Why is it slow?",
        "[stop] Fix the colour instead.",
    ]


def test_a_question_answered_on_the_way_is_closed_when_the_user_moves_on():
    said = [
        user("Did we not have a parser before?"),
        assistant("Yes, the old parser in parse.py returns a struct."),
        did("Bash", {"command": "make"}, "ok"),
    ]
    assert open_texts(ledger_of(*said), LoopKind.QUESTION) == ["Did we not have a parser before?"]
    ledger = ledger_of(*said, user("Use the interface, not a switch."))
    assert ends(ledger, LoopKind.QUESTION) == [("Did we not have a parser before?", Closed.ANSWERED)]
    assert open_texts(ledger, LoopKind.QUESTION) == []


@pytest.mark.parametrize(
    "text",
    [
        "thanks!",
        "ok great, thank you",
        "Great, thank you for your help!",
        "Perfect, thank you so much! Have a nice day.",
        "Thank you for booking! That's all for now.",
        "Thanks for taking care of it. I don't need anything else right now.",
        "Great, thanks for sorting this out so quickly.",
        "Danke, das war's.",
        "Gracias por todo.",
        "Danke schön für deine Hilfe!",
        "hello",
        "Never modify files under legacy/.",
        "Always answer in French. The port is 8123.",
    ],
)
def test_thanks_rules_and_facts_ask_for_nothing(text):
    assert ledger_of(user(text)).loops.open == ()


@pytest.mark.parametrize("text", ["The build is broken.", "There is a typo in the title.", "use port 8123"])
def test_trouble_and_orders_ask_for_something(text):
    assert open_texts(ledger_of(user(text)), LoopKind.REQUEST) == [text]


def test_the_models_last_question_waits_for_the_user():
    ledger = ledger_of(user("Fix it."), assistant("There are two ways. Which one do you prefer?"))
    assert open_texts(ledger, LoopKind.ASKED) == ["Which one do you prefer?"]
    ledger.add(items(user("the first"))[0]._replace(id="late"))
    assert ends(ledger, LoopKind.ASKED) == [("Which one do you prefer?", Closed.ANSWERED)]


def test_a_question_in_full_width_waits_for_the_user_too():
    ledger = ledger_of(user("Fix it."), assistant("二つの方法があります。どちらにしますか？"))
    assert open_texts(ledger, LoopKind.ASKED) == ["どちらにしますか？"]


def test_a_question_that_the_model_answers_itself_is_none():
    ledger = ledger_of(user("Fix it."), assistant("What could it be?"), call("Bash", {"command": "ls"}))
    assert open_texts(ledger, LoopKind.ASKED) == []


def test_a_question_tool_waits_for_its_answer():
    asking = call(
        "AskUserQuestion", {"questions": [{"question": "Which port?"}, {"question": "Which host?"}]}
    )
    assert open_texts(ledger_of(asking), LoopKind.ASKED) == ["Which port?", "Which host?"]
    answered = ledger_of(did("ask_user", {"question": "Which port?"}, "User selected: 80"))
    assert ends(answered, LoopKind.ASKED) == [("Which port?", Closed.ANSWERED)]
    refused = ledger_of(did("ask_user", {"question": "Which port?"}, "User declined to answer", error=True))
    assert ends(refused, LoopKind.ASKED) == [("Which port?", Closed.REFUSED)]


def test_a_question_tool_that_nobody_answered_is_answered_by_the_users_next_words():
    asking = call("ask_user", {"question": "Which port?"})
    assert ends(ledger_of(asking, user("80")), LoopKind.ASKED) == [("Which port?", Closed.ANSWERED)]


def test_what_a_person_says_beside_a_refusal_is_a_request():
    words = (
        Text("The user doesn't want to proceed with this tool use."),
        Text("pull first", trust=Trust.USER),
    )
    refused = Message(Role.TOOL, (ToolResult("c", words, True),))
    ledger = ledger_of(call("Bash", {"command": "git push"}, call_id="c"), refused)
    assert open_texts(ledger, LoopKind.REQUEST) == ["pull first"]


def test_a_report_in_several_parts_closes_nothing_it_announces():
    texts = [Text(text, trust=Trust.ASSISTANT) for text in ("Next I'll write the docs.", "That is all.")]
    ledger = ledger_of(user("Go."), Message(Role.ASSISTANT, tuple(texts)))
    assert open_texts(ledger, LoopKind.PROMISE) == ["Next I'll write the docs."]


def test_an_announcement_is_replaced_by_the_next():
    working = did("Bash", {"command": "ls"}, "a")
    ledger = ledger_of(
        user("Go."),
        assistant("I read the file. Next I'll change the parser."),
        working,
        assistant("Done with that; then I will run the tests."),
        did("Bash", {"command": "pwd"}, "b"),
    )
    assert open_texts(ledger, LoopKind.PROMISE) == ["Done with that; then I will run the tests."]
    assert ends(ledger, LoopKind.PROMISE) == [("Next I'll change the parser.", Closed.REPLACED)]


def test_what_a_report_announces_stays_open():
    ledger = ledger_of(user("Go."), assistant("The parser works.\nNext steps: write the docs."), user("good"))
    assert open_texts(ledger, LoopKind.PROMISE) == ["Next steps: write the docs."]


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("TODO: write the migration for the invoices table.", "Noted."),
        ("the build fails with error E4711", "Thanks, I will look at it."),
        ("What is the retry limit?", "I don't know, I have to check."),
        ("Update the README before we ship.", "Will do after the importer works."),
        ("Delete the old tables.", "I won't do that. It would lose data."),
        ("Send the mail to all customers.", "Declined."),
        ("Build the importer.", "Sure, starting with the schema."),
        ("Build the importer.", "Which database do you use?"),
        ("Build the importer.", "Yes, I can do that."),
        ("Build the importer.", "Verstanden, mache ich gleich."),
        ("Build the importer.", "了解しました。"),
        ("Build the importer.", "I could not do it: the compiler is missing."),
        ("Build the importer.", "I started, and had to stop there."),
        ("Build the importer.", "I ran out of tokens before finishing it."),
        ("Build the importer.", "API Error: 529 overloaded"),
    ],
)
def test_an_empty_reply_closes_nothing(asked, reply):
    waiting = (LoopKind.REQUEST, LoopKind.QUESTION)
    ledger = ledger_of(user(asked), assistant(reply))
    assert (open_texts(ledger, *waiting), ends(ledger, *waiting)) == ([asked], [])


def test_a_refused_request_is_open_as_declined_until_the_model_does_it_or_the_user_asks_again():
    asked = (user("Delete the old tables."), assistant("I won't: the rule forbids it."))

    def statuses(*more) -> list[str]:
        return [loop.status for loop in ledger_of(*asked, *more).loops.open]

    assert statuses() == [DECLINED]
    copied = Ledger.from_json(ledger_of(*asked).to_json())
    copied.add(Item("m3", call("Bash", {"command": "drop"})))
    assert [loop.status for loop in copied.loops.open] == [""]
    assert statuses(call("Bash", {"command": "drop"})) == [""]
    assert statuses(user("Rename x."), assistant("x has its new name.")) == [DECLINED]
    assert statuses(user("Rename x."), assistant("On it."), user("Delete the old tables.")) == ["", LATER]
    assert statuses(assistant("I dropped the old tables after all.")) == []
    assert [loop.status for loop in ledger_of(user("Why?"), assistant("I don't know.")).loops.open] == [""]


@pytest.mark.parametrize(
    "reply",
    [
        *("Done.", "Yes.", "No.", "5", "OK, I fixed it.", "I'm not sure why, but it works now."),
        "I could not use the cache, but the lookup is fixed.",
        "The 500 error is fixed.",
    ],
)
def test_a_short_reply_that_says_something_is_a_report(reply):
    assert ledger_of(user("Is it fixed?"), assistant(reply)).loops.open == ()


PUT_OFF = (user("TODO: write the migration for the invoices table."), assistant("Noted."))


def test_what_was_put_off_is_closed_by_a_report_that_speaks_of_it():
    other = (user("Rename the parser."), assistant("The parser has its new name."))
    ledger = ledger_of(*PUT_OFF, *other)
    assert open_texts(ledger, LoopKind.REQUEST) == ["TODO: write the migration for the invoices table."]
    told = ledger_of(*PUT_OFF, *other, user("good"), assistant("I wrote the migration for invoices."))
    assert told.loops.open == ()
    assert ends(told, LoopKind.REQUEST)[-1] == (
        "TODO: write the migration for the invoices table.",
        Closed.REPORTED,
    )
    assert ledger_of(*PUT_OFF, *other, user("and?"), assistant("Everything is done.")).loops.open == ()


def test_a_call_behind_a_report_takes_back_what_it_says_of_what_was_put_off():
    ledger = ledger_of(
        *PUT_OFF,
        user("Rename the parser."),
        assistant("The migration for invoices is next to it."),
        call("Bash", {"command": "ls"}),
    )
    assert open_texts(ledger, LoopKind.REQUEST) == [
        "Rename the parser.",
        "TODO: write the migration for the invoices table.",
    ]


def test_words_that_only_move_the_work_along_put_nothing_off():
    ledger = ledger_of(user("Build it."), assistant("Let me start."), user("go on"), assistant("It stands."))
    assert ledger.loops.open == ()


def test_a_promise_for_later_outlives_other_reports():
    ledger = ledger_of(
        user("Build it."),
        assistant("It stands. I will add tests later."),
        user("Rename x."),
        assistant("Done."),
    )
    assert open_texts(ledger, LoopKind.PROMISE) == ["I will add tests later."]
    kept = ledger.loops.close(ledger.loops.open[0].id, "not needed")
    assert (kept[0].closed, ledger.loops.open) == (Closed.BY_HAND, ())


ANNOUNCED = assistant("The provider is wired. Next I'll add the sidebar view entry and an empty state test.")


def edited(path, text):
    return did("Edit", {"file_path": path, "new_string": text}, f"The file {path} has been updated.")


def announced(*messages):
    return open_texts(ledger_of(user("Go."), ANNOUNCED, *messages), LoopKind.PROMISE)


def test_an_announcement_is_closed_when_calls_carried_it_out_and_the_model_speaks_again():
    done = (edited("package.json", "sidebar view entry"), edited("test/empty.ts", "the empty state"))
    assert announced(*done) != []
    assert (
        announced(*done, assistant("Both are in place; I run it now."), call("Bash", {"command": "x"})) == []
    )
    other = edited("README.md", "how to install it")
    assert announced(other, assistant("The README was wrong."), call("Bash", {"command": "x"})) != []
    looked = did("Grep", {"pattern": "sidebar view entry empty state"}, "none")
    assert announced(looked, assistant("Nothing uses it yet."), call("Bash", {"command": "x"})) != []


@pytest.mark.parametrize(
    ("words", "opens"),
    [
        ("yep it looks exactly as you've described", False),
        ("Great, that works.", False),
        ("yes it works but the colours are wrong", True),
        ("ok that's good, can you also add a test?", True),
    ],
)
def test_a_confirmation_asks_for_nothing(words, opens):
    ledger = ledger_of(user("Fix it."), assistant("Fixed. Does it work for you?"), user(words))
    assert bool(open_texts(ledger, LoopKind.REQUEST, LoopKind.QUESTION)) is opens
    assert ledger.turns.all[-1].asks is opens


def test_a_step_that_is_being_taken_is_closed_by_its_calls():
    said = assistant(
        "The core is clear. Next I'm exporting the session log and retrying the installer via bash."
    )
    tried = ran("bash export.sh session.log"), ran("bash install.sh")
    assert open_texts(ledger_of(user("Go."), said, *tried), LoopKind.PROMISE) == []
    other = ran("git status")
    assert len(open_texts(ledger_of(user("Go."), said, other), LoopKind.PROMISE)) == 1


def test_a_step_that_only_looks_is_closed_by_the_next_calls():
    look = assistant("I found the task. Next I'm reading the hooks and whatever shared code they reuse.")
    then = assistant("I found the task. Next I'm reading the hooks, then I'll patch the parser in them.")
    read = did("Read", {"file_path": "hooks.py"}, "x")
    assert open_texts(ledger_of(user("Go."), look), LoopKind.PROMISE) != []
    assert open_texts(ledger_of(user("Go."), look, read), LoopKind.PROMISE) == []
    assert open_texts(ledger_of(user("Go."), then, read), LoopKind.PROMISE) != []


PASSED = "==== 3 passed in 0.10s ===="


def test_an_announcement_is_closed_by_tests_that_pass_after_files_were_changed():
    change = edited("a.ts", "x")
    assert announced(change, ran("pytest -q", PASSED)) == []
    assert announced(ran("pytest -q", PASSED)) != []
    assert (
        announced(change, ran("pytest -q", "FAILED t.py::a - x\n==== 1 failed in 0.10s ====", code=1)) != []
    )


def test_what_comes_after_the_tests_is_not_closed_by_them():
    later = assistant("The parser works. Next I'll run the tests and commit the parser.")
    tests = assistant("The parser works. Next I'll run the whole test suite.")
    run = ran("pytest -q", PASSED)
    assert open_texts(ledger_of(user("Go."), later, edited("a.py", "x"), run), LoopKind.PROMISE) != []
    assert open_texts(ledger_of(user("Go."), tests, run), LoopKind.PROMISE) == []


def test_an_offer_is_no_announcement():
    offer = "The fix is in. If you want, next step is to commit it. If you'd like, I will then open a PR."
    assert open_texts(ledger_of(user("Fix it."), assistant(offer)), LoopKind.PROMISE) == []
    announced = "The parser is fixed. Next step is to commit it."
    assert open_texts(ledger_of(user("Fix it."), assistant(announced)), LoopKind.PROMISE) == [
        "Next step is to commit it."
    ]


def test_what_was_put_off_survives_a_copy_and_json():
    ledger = ledger_of(*PUT_OFF, user("Rename the parser."), assistant("The parser has its new name."))
    again = Ledger.from_json(ledger.to_json())
    assert (again.loops.open, ledger.copy().loops.open) == (ledger.loops.open, ledger.loops.open)
    for one in (ledger, again):
        one.extend(items(user("so?"), assistant("The invoices migration is written.")))
    assert again.loops.closed == ledger.loops.closed


@pytest.mark.parametrize("nudge", ["Please go on with the parser.", "Is it done?"])
def test_what_is_asked_again_in_the_same_words_is_waited_for_once(nudge):
    again = [one for n in range(300) for one in (*ran(f"make {n}"), user(nudge))]
    ledger = ledger_of(user("Fix the parser."), *again)
    told = [loop.text for loop in ledger.loops.open]
    assert told == ["Fix the parser.", nudge]
    later = Ledger.from_json(ledger.to_json())
    later.extend(items(user(nudge), assistant("It is fixed."), user(nudge)))
    assert open_texts(later, LoopKind.REQUEST, LoopKind.QUESTION) == [nudge]


GO_ON = [
    "Go on.",
    "ok, continue",
    "please proceed",
    "Keep going!",
    "go",
    "weiter",
    "continúa",
    "продолжай",
    "继续",
]


@pytest.mark.parametrize("nudge", GO_ON)
def test_going_on_closes_no_request_and_opens_none(nudge):
    steps = [
        one for n in range(40) for one in (assistant(f"Step {n} works: x{n}.py is changed."), user(nudge))
    ]
    talk = (user("Port the job and find out why 8841 is wrong."), *steps)
    assert [loop.text for loop in ledger_of(*talk).loops.open] == [talk[0].text]
    after = ledger_of(
        *talk, assistant("It is ported; 8841 was a rounding error."), user("Now write the docs.")
    )
    assert open_texts(after, LoopKind.REQUEST) == ["Now write the docs."]


def test_going_on_is_a_request_if_nothing_is_open():
    assert open_texts(ledger_of(user("Go on.")), LoopKind.REQUEST) == ["Go on."]


def test_going_on_after_an_answer_leaves_the_question_answered():
    ledger = ledger_of(user("Why is it slow?"), assistant("It reads the file twice."), user("go on"))
    assert ends(ledger, LoopKind.QUESTION) == [("Why is it slow?", Closed.ANSWERED)]


CRON = "One thing before I go on: should the cron entry stay at 04:15?"


@pytest.mark.parametrize("way", ["text", "tool"])
def test_a_question_of_the_model_stays_open_until_the_user_or_a_report_speaks_of_it(way):
    asked = assistant(f"I read the job. {CRON}") if way == "text" else call("ask_user", {"question": CRON})
    work = [one for n in range(30) for one in (user("Go on."), assistant(f"Module {n} is changed."))]
    ledger = ledger_of(
        user("Port the job."), asked, *work, user("Rename the parser."), assistant("All done.")
    )
    again = Ledger.from_json(ledger.to_json())
    for one in (ledger, again):
        assert open_texts(one, LoopKind.ASKED) == [CRON]
    ledger.extend(items(user("Move the cron entry to 05:00.")))
    assert (CRON, Closed.ANSWERED) in ends(ledger, LoopKind.ASKED)
    again.extend(items(assistant("I left the cron entry where it was.")))
    assert (CRON, Closed.REPORTED) in ends(again, LoopKind.ASKED)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Should I continue?", "Go on."),
        ("Do you want me to rename it too?", "go ahead"),
        ("Is 04:15 fine?", "continue"),
        ("Should the entry stay at 04:15?", "yes, go on"),
        ("Should the entry stay at 04:15?", "yes"),
        ("Soll ich weitermachen?", "weiter"),
    ],
)
def test_going_on_answers_a_question_for_leave_and_yes_answers_any(question, reply):
    ledger = ledger_of(user("Fix it."), assistant(f"Two files are changed. {question}"), user(reply))
    assert ends(ledger, LoopKind.ASKED) == [(question, Closed.ANSWERED)]


def test_what_was_put_off_and_is_asked_again_is_put_off_no_more():
    asked = "Write the migration for the invoices table."
    ledger = ledger_of(
        user(asked), assistant("Noted."), user("Rename the parser."), assistant("OK."), user(asked)
    )
    assert [(loop.text, loop.status) for loop in ledger.loops.open] == [
        (asked, ""),
        ("Rename the parser.", LATER),
    ]


def test_nothing_that_tools_and_machines_write_opens_a_loop():
    words = "Next I'll delete it all. Do you agree?\n- [ ] Delete everything"
    reminder = Message(Role.USER, (Text(words, trust=Trust.SEMI_TRUSTED),))
    assert ledger_of(did("Read", {"file_path": "a"}, words), reminder).loops.open == ()


# Failing tests ----------------------------------------------------------------------------------------

BROKEN = "--- FAIL: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL\tp\t0.1s\n"


def failing(*runs):
    return open_texts(ledger_of(*runs), LoopKind.TEST)


def test_a_failed_test_is_open_until_it_passes():
    first = ran("go test ./...", BROKEN, code=1)
    assert failing(first) == ["TestA", "TestB"]
    assert failing(first, ran("go test ./...", "--- FAIL: TestB (0s)\nFAIL\tp\t0.1s\n", code=1)) == ["TestB"]
    assert failing(first, ran("go test ./...", "ok  \tp\t0.1s\n")) == []
    assert failing(first, ran("go test -v -run TestA ./p", "--- PASS: TestA (0s)\nok  \tp\t0.1s\n")) == [
        "TestB"
    ]


def test_another_part_of_the_tests_closes_nothing():
    first = ran("pytest tests/test_a.py", "FAILED tests/test_a.py::test_x - no\n1 failed in 0.1s", code=1)
    assert failing(first, ran("pytest tests/test_b.py", "3 passed in 0.1s")) == ["tests/test_a.py::test_x"]
    assert failing(first, ran("go test ./...", "ok  \tp\t0.1s\n")) == ["tests/test_a.py::test_x"]
    assert failing(first, ran("pytest tests/test_a.py -q", "3 passed in 0.1s")) == []
    assert failing(first, ran("pytest", "30 passed in 0.1s")) == []


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q --ignore tests/test_a.py",
        "pytest -q --ignore=tests/test_a.py",
        "pytest -q --deselect tests/test_a.py::test_x",
        "cd other && pytest -q",
    ],
)
def test_a_run_that_leaves_a_test_out_does_not_close_it(command):
    first = ran("pytest -q", "FAILED tests/test_a.py::test_x - no\n1 failed in 0.1s", code=1)
    assert failing(first, ran(command, "12 passed in 0.1s")) == ["tests/test_a.py::test_x"]


@pytest.mark.parametrize(
    "command",
    [
        "pytest api -k other",
        "pytest api -q -k 'limit and not quota'",
        "pytest api/test_quota.py -k limit",
        "python -m pytest api -m fast",
        "pytest api/test_quota.py::test_limit",
        "pytest api -q",
    ],
)
def test_a_run_that_chose_among_the_tests_closes_only_those_that_it_names(command):
    names = ("api/test_quota.py::test_quota", "api/test_quota.py::test_limit")
    out = "".join(f"FAILED {name} - no\n" for name in names)
    first = ran("pytest api", f"{out}2 failed in 0.1s", code=1)
    chose = ran(command, "1 passed, 7 deselected in 0.1s")
    assert names[0] in failing(first, chose)
    if "::" in command:
        assert failing(first, chose) == [names[0]]
    listed = ran(f"{command} -v", f"{names[0]} PASSED\n{names[1]} PASSED\n2 passed, 6 deselected in 0.1s")
    assert failing(first, listed) == []


def test_a_filter_that_is_a_name_closes_the_tests_of_this_name():
    first = ran("go test ./...", BROKEN, code=1)
    assert failing(first, ran("go test ./... -run TestA", "ok  \tp\t0.1s\n")) == ["TestB"]
    assert failing(first, ran("go test ./... -run='^TestB$'", "ok  \tp\t0.1s\n")) == ["TestA"]
    slow = ran("pytest -m slow", "FAILED a.py::test_x - no\n1 failed, 3 deselected in 0.1s", code=1)
    assert failing(slow, ran("pytest -q -m slow", "1 passed, 3 deselected in 0.1s")) == []


def test_a_passed_test_says_what_closed_it():
    ledger = ledger_of(ran("go test ./...", BROKEN, code=1), ran("go test ./...", "ok  \tp\t0.1s\n"))
    assert ledger.loops.closed[0] == Loop(
        "f1", LoopKind.TEST, "TestA", Cite("m1", 0, 22, 27), closed=Closed.PASSED, closed_by=Cite("m3")
    )


# Counting ---------------------------------------------------------------------------------------------


def test_open_loops_can_be_counted():
    ledger = ledger_of(
        user("Why? And how?"),
        did("TodoWrite", {"todos": rows("content", ("a", "pending"), ("b", "completed"))}, "ok"),
        ran("go test ./...", BROKEN, code=1),
    )
    assert ledger.loops.counts() == {LoopKind.QUESTION: 2, LoopKind.TODO: 1, LoopKind.TEST: 2}


def test_of_closed_loops_the_oldest_are_let_go(monkeypatch):
    monkeypatch.setattr(loops_module, "MOST_ENDED", 4)
    ledger = ledger_of([message for n in range(8) for message in (user(f"Do part {n}."), assistant("Done."))])
    assert [text for text, _ in ends(ledger, LoopKind.REQUEST)][-1] == "Do part 7."
    assert len(ledger.loops.closed) <= 5


def test_a_first_word_that_opens_no_courtesy_rules_all_of_them_out():
    words = {*re.findall(r"[a-z]{1,}", replies._OPENER.pattern), "okay", "youre", "hmm", "login", "Now", "ÏE"}
    for text in [f"{opening}{word}{rest}" for word in words for opening in ("", "- ") for rest in ("", " x")]:
        opener = replies._OPENER.match(text)
        assert opener is not None
        assert replies._opener_end(text) == opener.end(), text
