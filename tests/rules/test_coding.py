"""What people say to an agent that codes: in haste, between pastes, around what their editor adds."""

from __future__ import annotations

import pytest

from clew.message import Role, Trust, text_message
from clew.rules import find_candidates

FILLER = "The importer reads a row, looks its owner up and writes both to the new table.\n"


def quotes(text: str) -> list[str]:
    return [found.quote for found in find_candidates(text_message(Role.USER, text))]


@pytest.mark.parametrize(
    "text",
    [
        "lets keep the old menu for now",
        "thats it, lets only touch the parser",
        "only yaml files",
        "Update the table as in notes.md don't include the totals",
        "Work autonomously.",
        "Complete all chapters before reporting.",
        "Once a task is done, update the changelog.",
        "commit always before the release",
        "dont add anything else besides this",
        "still keep in mind the budget",
        "I want plain facts, with no assumptions",
        "Make only wording changes.",
        "The wide layout is fine so it does not need any changing.",
        "Before moving a column, check the installed version of the driver.",
        "You can continue until all of them pass.",
    ],
)
def test_a_rule_said_in_haste_is_found(text: str):
    assert quotes(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Before going to the next part.",
        "In the future;",
        "Focus on:",
        "IMPORTANT DETAILS",
        "fix Uncaught TypeError: the amount must be a string",
        "Unhandled exception in the view: the clerk is not allowed to sign.",
        "error AB1234: the value must not be null",
        "npm warn config Use `--other` instead.",
        "C:\\work\\main.al(40,2): error AB0104: a semicolon must be added",
        "max-width: 900px;",
        "here's my feedback.",
        "make sure each link goes to the right page",
        "Nothing moves.",
        "the reply never came through",
        "the local file (not the example)",
        "check first for the variable",
        "is the finding you mentioned, critical",
        "make sure you have the compiler installed",
    ],
)
def test_what_a_program_printed_and_what_breaks_off_is_no_rule(text: str):
    assert quotes(text) == []


def test_a_page_that_a_tool_loads_in_the_name_of_the_user_lays_down_nothing():
    page = f"Base directory for this skill: /home/me/.tools/review\n\nNever push.\n{FILLER * 10}"
    assert quotes(page) == []


def test_what_the_reviewer_of_an_editor_found_lays_down_nothing():
    found = "Such files should never be committed.\nKeep the single element."
    assert quotes(f"Verify these issues exist and fix them:\n\nBug 1:\n{found}\n") == []


def test_behind_the_editors_own_headings_the_person_speaks():
    context = f"# Context from my IDE setup:\n\n## Open tabs:\n- never.md: notes/never.md\n\n{FILLER * 8}"
    request = "## My request for Codex:\nDon't touch the header.\n"
    assert quotes(f"{context}\n{request}") == ["Don't touch the header."]


def test_far_inside_a_long_paste_a_faint_rule_is_passed_over_and_a_plain_one_is_not():
    faint, plain = "For all clients write in lowercase.", "Never delete a row."
    assert quotes(faint) == [faint]
    assert quotes(f"{FILLER * 12}\n{faint}\n{plain}\n\n{FILLER * 12}") == [plain]


def test_a_system_prompt_is_read_alike_from_end_to_end():
    faint = "For all clients write in lowercase."
    message = text_message(Role.SYSTEM, f"{FILLER * 12}\n{faint}\n\n{FILLER * 12}")
    assert [(found.quote, found.trust) for found in find_candidates(message)] == [(faint, Trust.SYSTEM)]


def test_a_ban_that_its_own_colon_completes_is_not_handed_to_the_list_below():
    ban = "Don't touch anything else: here is what to change:"
    assert quotes(f"{ban}\n- the title\n- the footer") == [ban]


def test_a_line_that_names_where_to_work_shows_no_file():
    text = f"Update only the settings files under:\napp/config/\n\nDo not touch the docs.\n{FILLER * 10}"
    assert "Do not touch the docs." in quotes(text)


def test_a_path_with_backslashes_is_one_word():
    assert quotes("@\\home\\me\\keep-it\\1.txt:3 connects now") == []


def test_chinese_is_read_however_its_letters_are_written():
    simplified, traditional = "从现在开始不许改数据库", "從現在開始不許改數據庫"
    assert quotes(traditional) == [traditional]
    assert [
        [reason.cue for reason in found.reasons]
        for found in find_candidates(text_message(Role.USER, simplified))
    ] == [
        [reason.cue for reason in found.reasons]
        for found in find_candidates(text_message(Role.USER, traditional))
    ]


def test_a_list_completes_the_ban_over_it_and_stands_for_it():
    assert quotes("Please don't:\n- rename the tables\n- drop the index") == [
        "rename the tables",
        "drop the index",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Now, you're going to solve this issue on your own.",
        "You have one question to answer.",
        "It may be necessary to install the package from source before you can run it.",
        "The server runs on port `8000` and you can reach it from within the container.",
        "The capsule holds a message for the future that nobody can read.",
        "If the issue has code in it, run it to make sure you can reproduce the bug.",
        "If you find any trouble, go back to the file you edited.",
        "Whatever you do not hand over will be lost.",
        "The printer does not use the same order of terms as the parser.",
    ],
)
def test_what_a_harness_tells_an_agent_of_its_task_is_no_rule(text: str):
    assert quotes(text) == []


def test_the_task_that_a_briefing_hands_on_is_no_rule_and_what_follows_it_may_be_one():
    told = "You're a helpful agent named 'scout'.\nYour manager gave you this task.\n---\nTask:\n"
    task = "Please find the paper on bags of fish. Provide the exact value.\n---\n"
    assert quotes(told + task + FILLER * 8 + "\nProvide one file per call.") == ["Provide one file per call."]
