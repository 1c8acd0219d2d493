"""What people lay down is found, with its words, its place and the reasons; what they merely say is not."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.message import Cite, Message, Origin, Role, Text, ToolResult, Trust, text_message
from clew.rules import (
    Duration,
    Force,
    Kind,
    Lasts,
    Rule,
    Scope,
    Span,
    Strength,
    find,
    find_candidates,
)
from clew.rules.find import binding_sentences, candidates_in, rule_sentences
from clew.rules.pasted import LONG
from clew.rules.prefilter import is_silent
from clew.rules.words import model


def user(text: str) -> Message:
    return text_message(Role.USER, text)


def text_of(message: Message) -> str:
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


def quotes(message: Message) -> list[str]:
    return [found.quote for found in find_candidates(message)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("never modify files under legacy/", Kind.PROHIBITION),
        ("don't push", Kind.PROHIBITION),
        ("no new dependencies unless I say so", Kind.PROHIBITION),
        ("don't commit this one yet", Kind.PROHIBITION),
        ("only use the staging DB", Kind.SCOPE),
        ("keep the public API stable", Kind.REQUIREMENT),
        ("answer in French from now on", Kind.REQUIREMENT),
        ("always run the tests before you commit", Kind.REQUIREMENT),
        ("must work on 3.11", Kind.REQUIREMENT),
        ("max 80 columns", Kind.LIMIT),
        ("keep answers under 200 words", Kind.LIMIT),
        ("prefer dataclasses to dicts", Kind.PREFERENCE),
        ("feel free to add dev dependencies", Kind.PERMISSION),
    ],
)
def test_a_rule_said_in_passing_is_found_with_its_kind(text: str, kind: Kind):
    assert [(found.quote, found.kind) for found in find_candidates(user(text))] == [(text, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "fix the bug",
        "add a test",
        "remove the button",
        "why don't you just use a dictionary?",
        "the function never returns",
        "we don't have tests for that",
        "the tests don't pass",
        "`parse` never closes the file",
        "I don't know why it fails",
        "Don't you read the docs?",
        "no, that's wrong",
        "looks good, continue",
        "My colleague told me that it only fails on Mondays.",
        'The page says "never call this twice".',
        "ValueError: keys must not be empty",
        "what would be the best way to avoid duplicates?",
        "we use it there but don't change the tree",
    ],
)
def test_tasks_questions_and_descriptions_are_no_rules(text: str):
    assert find_candidates(user(text)) == []


def test_a_finding_says_where_it_stands_what_it_is_about_and_why():
    message = user("Fix the parser. Until Friday don't push to main, ok!")
    table = model().cues
    assert find_candidates(message) == [
        Rule(
            quote="Until Friday don't push to main, ok!",
            source=Cite("", 0, 16, 52),
            kind=Kind.PROHIBITION,
            scope=Scope(
                tools=("push",),
                topics=("friday", "main"),
                duration=Duration(Lasts.UNTIL, "Until Friday"),
            ),
            strength=Strength.MUST,
            trust=Trust.USER,
            confidence=1.0,
            reasons=(
                ("ban", "don't", table["ban"].weight),
                ("lasting", "Until Friday", table["lasting"].weight),
                ("for_now", "Until", table["for_now"].weight),
            ),
            force=Force.STANDING,
            because="it forbids an act of the agent",
        )
    ]


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("Never modify files under legacy/.", Scope(paths=("legacy/",), topics=("modify", "files"))),
        (
            "only touch `src/api/*.ts` and setup.cfg",
            Scope(paths=("src/api/*.ts", "setup.cfg"), topics=("touch",)),
        ),
        ("don't rename `parseConfig`", Scope(names=("parseConfig",), topics=("rename",))),
        (
            "always use `git push --force-with-lease`",
            Scope(tools=("git push --force-with-lease",), topics=("use",)),
        ),
        (
            "for this session don't touch and/or move anything",
            Scope(
                topics=("session", "touch", "move", "anything"),
                duration=Duration(Lasts.SESSION, "for this session"),
            ),
        ),
        (
            "Answer in French from now on.",
            Scope(topics=("answer", "french"), duration=Duration(Lasts.ONWARD, "from now on")),
        ),
        (
            "keep it simple for now",
            Scope(topics=("keep", "simple"), duration=Duration(Lasts.FOR_NOW, "for now")),
        ),
    ],
)
def test_the_scope_is_read_from_the_sentence(text: str, scope: Scope):
    assert [found.scope for found in find_candidates(user(text))] == [scope]


def test_several_rules_of_one_message_are_found_each_by_itself():
    text = """Please fix the login page, e.g. in src/login.ts. But never touch legacy/!

Rules:
- no new dependencies
- two spaces, everywhere

Please don't:
* push
* rename things
"""
    assert quotes(user(text)) == [
        "But never touch legacy/!",
        "no new dependencies",
        "two spaces, everywhere",
        "push",
        "rename things",
    ]
    assert [(found.kind, found.lead) for found in find_candidates(user(text))[3:]] == [
        (Kind.PROHIBITION, "Please don't:"),
        (Kind.PROHIBITION, "Please don't:"),
    ]


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        (
            "Never touch legacy/, and answer in French from now on.",
            ["Never touch legacy/", "and answer in French from now on."],
        ),
        ("Keep the diff small; never push.", ["Keep the diff small;", "never push."]),
        ("use tabs, not spaces", ["use tabs, not spaces"]),
        ("Until Friday, don't push.", ["Until Friday, don't push."]),
        ("Only edit index.html, nothing else.", ["Only edit index.html, nothing else."]),
        ("Write the message but don't commit it", ["Write the message but don't commit it"]),
    ],
)
def test_two_rules_in_one_sentence_can_end_apart(text: str, apart: list[str]):
    assert quotes(user(text)) == apart


@pytest.mark.parametrize(
    "text",
    [
        "Always use uv, never pip.",
        "Always run the linter with `just check`, never directly.",
        "Nimm immer pnpm, nie npm.",
    ],
)
def test_a_clause_that_says_nothing_alone_is_not_quoted_alone(text: str):
    assert quotes(user(text)) == [text]


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("Please don't:\n- push to main\n- edit legacy/", "Please don't: push to main"),
        ("## Don'ts\n- push to main\n- edit legacy/", "Don'ts: push to main"),
        ("Rules:\n- never push to main\n- use tabs", "never push to main"),
    ],
)
def test_a_rule_is_readable_alone(text: str, readable: str):
    assert find_candidates(user(text))[0].readable == readable


@pytest.mark.parametrize(
    "text",
    [
        "> never push\n\nwhat does that mean?",
        "```\n# never push\ndon't commit\n```",
        "~~~\nnever push\n~~~",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-never push\n+always push before you merge",
        "2026-01-02 10:00:00 never push without a review",
        "ERROR: you must never push",
        'Traceback (most recent call last):\n  File "x.py", line 1',
        "| rule | why |\n|---|---|\n| never push | because |",
        "<system-reminder>\nNever push. Always answer in French.\n</system-reminder>",
        "<file path='a.md'>\nnever push\n</file>\nis that right?",
        '"Never push," it says. "Always ask before you commit. Never touch main."',
        "⏺ I will never push without asking you first.",
    ],
)
def test_what_is_pasted_or_quoted_never_becomes_a_rule(text: str):
    assert find_candidates(user(text)) == []


PLAN = """Implement the following plan:

# Plan: export

## Context

The exporter never closes its file. It must always write UTF-8 and should not buffer more than 10 lines.
Users must not see partial files; never overwrite an existing one without asking.

## Changes

- Only write when the flag is set; keep the old behaviour otherwise
- Don't return an error when the folder is missing, always create it before writing
- The button must stay disabled until the export is done, and there should be no spinner

## Verification

- All existing tests must pass before merging, no lint errors, no new warnings
- Check by hand that nothing else changed
"""


PRINTED = """\
=== Step 1: Set up ===
Keeping the old branch for later
{line}
 create mode 100644 main.py
[Proxy] GET /api/jobs -> 200
[Worker] Phase 1: planning
"""


@pytest.mark.parametrize(
    "line",
    [
        "No attribution in the branch",
        "Always use the cache",
        "The rest of the file remains unchanged.",
        "75 +      const ratio = Math.min(window.ratio || 1, 2);",
    ],
)
def test_what_a_program_printed_is_no_rule(line: str):
    text = f"why does it say this?\n{PRINTED.format(line=line)}\nNever push."
    assert quotes(user(text)) == ["Never push."]


def test_a_remark_between_two_pastes_is_speech():
    assert quotes(user(PRINTED.format(line="ok\n\nNever push.\n"))) == ["Never push."]


def test_two_lines_with_paths_are_no_output():
    text = "Repo: src/core/app\nNever push to main.\nDocs: docs/guide/index.md\nTests: tests/unit/a.py"
    assert quotes(user(text)) == ["Never push to main."]


@pytest.mark.parametrize(
    "text",
    [
        "Keeping test repo at: /var/folders/gz/T/tmp.kdWp7xUk8V",
        "This causes estimate_user_changes to always return 0, incorrectly counting them twice.",
        "hasOverlap now requires at least two matching lines and drops lines shorter than 10 chars.",
        "The calculation at line 235 uses min(totalAdded, totalRemoved) to estimate it.",
        "session.State is now an alias (no more converter functions)",
    ],
)
def test_what_is_reported_of_a_program_is_no_rule(text: str):
    assert quotes(user(text)) == []


def test_a_title_over_orders_is_no_order():
    briefing = f"You are a reviewer. {'The code is old. ' * 40}\n\n## Instructions\n\n1. Exit Immediately\n"
    assert quotes(user(briefing)) == []
    assert quotes(user(f"{briefing}2. Exit at once after the task.\n")) == ["Exit at once after the task."]
    assert quotes(user("Never Push To Main")) == ["Never Push To Main"]


def test_a_pasted_plan_describes_a_product_and_lays_down_nothing():
    assert len(PLAN) > 600
    assert find_candidates(user(PLAN)) == []


def test_a_section_of_rules_in_a_plan_counts():
    assert quotes(user(f"{PLAN}\n## Constraints\n\n- Do not touch the public API\n")) == [
        "Do not touch the public API"
    ]


def test_text_given_to_be_worked_on_counts_for_nothing_but_the_words_below_it_do():
    letter = "Dear all, never park in front of the gate. You must always ask first. " * 12
    text = f"please translate this letter:\n\n{letter}\n\nAnswer in French from now on."
    assert quotes(user(text)) == ["Answer in French from now on."]


@pytest.mark.parametrize(
    "message",
    [
        text_message(Role.ASSISTANT, "Never push."),
        text_message(Role.TOOL, "Never push."),
        text_message(Role.USER, "Never push.", Origin.INJECTED),
        text_message(Role.USER, "Never push.", Origin.SUMMARY),
        Message(Role.USER, (Text("Never push.", trust=Trust.SEMI_TRUSTED),)),
        Message(Role.TOOL, (ToolResult("1", (Text("Never push.", trust=Trust.USER),)),)),
        # Whatever label it claims: words that a harness or a summariser wrote are not spoken.
        Message(Role.USER, (Text("Never push.", trust=Trust.USER),), Origin.SUMMARY),
    ],
)
def test_only_words_really_spoken_and_trusted_are_promoted(message: Message):
    assert find_candidates(message) == []


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.DEVELOPER, Role.USER])
def test_a_finding_has_the_trust_of_the_text_it_stands_in(role: Role):
    message = text_message(role, "Never push.")
    assert [found.trust for found in find_candidates(message)] == [message.parts[0].trust]


def test_tags_are_speech_in_a_system_prompt():
    assert quotes(text_message(Role.SYSTEM, "<policy>\nNever push.\n</policy>")) == ["Never push."]


@pytest.mark.parametrize(
    "text",
    [
        "I really don't want you rewriting history",
        "we never commit generated files here",
        "touch nothing but the README",
        "this is the only file you should change",
        "the v1 API is frozen",
        "nothing outside the tests folder should be modified",
        "show me the whole diff, file by file, before you commit",
        "If anything is unclear, stop and ask.",
        "change the dial, but keep the leather strap",
        "Can you move the header and keep the footer as it is?",
        "Move that whole page to the admin area and do not use the old layout.",
        "skip the docs",
        "5 files max",
        "readability matters more than cleverness here",
    ],
)
def test_a_rule_is_found_whatever_form_it_takes(text: str):
    assert quotes(user(text)) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I'll follow the instructions and get back to you.",
        "nothing else needed, thanks",
        "No further changes needed from my side.",
        "no function clause matching in the handler",
        "it looks like the view never appears",
        "every time I click it, the page reloads",
        "All tests pass now",
        "press Ctrl+C to stop watching",
        "Please write a commit message for these changes.",
        "thanks for keeping the order as it is",
    ],
)
def test_what_the_speaker_does_or_sees_is_no_rule(text: str):
    assert find_candidates(user(text)) == []


@pytest.mark.parametrize("heading", ["## Don'ts", "Never:", "**Forbidden**"])
def test_what_stands_under_a_heading_that_forbids_is_forbidden(heading: str):
    found = find_candidates(user(f"Fix the parser.\n\n{heading}\n\n- force pushes\n- new dependencies\n"))
    assert [(one.quote, one.kind) for one in found] == [
        ("force pushes", Kind.PROHIBITION),
        ("new dependencies", Kind.PROHIBITION),
    ]


def test_dos_and_donts_under_one_heading_are_not_all_forbidden():
    found = find_candidates(user("# Dos and don'ts\n\n- commit after every step\n- never push\n"))
    assert [one.kind for one in found] == [Kind.REQUIREMENT, Kind.PROHIBITION]


def test_the_part_that_speaks_is_named_in_the_span():
    trusted = Trust.USER
    message = Message(Role.USER, (Text("Here you are.", trust=trusted), Text("Never push.", trust=trusted)))
    assert [found.span for found in find_candidates(message)] == [Span(1, 0, 11)]


PIECES = st.sampled_from(
    (
        *(
            "never push",
            "Don't touch legacy/.",
            "fix it",
            "it fails",
            "use `tabs`, not spaces",
            "only the report; ",
        ),
        *(
            "\n- always test",
            "\n\n# Rules\n",
            "```\ncode\n```\n",
            "> quote\n",
            "Please don't:\n* push\n",
            "e.g. ",
        ),
        *("不要推送。", "из-за", " ", "\n", '"', "<b>", "</b>", "<x>", "</x>"),
    )
)
MESSAGES = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=12).map("".join)).map(user)


@given(MESSAGES)
def test_every_quote_is_the_text_at_its_span_and_spans_do_not_overlap(message: Message):
    found = find_candidates(message)
    for one in found:
        part = message.parts[one.span.part]
        assert isinstance(part, Text)
        assert part.text[one.span.start : one.span.end] == one.quote
    spans = [one.span for one in found]
    assert spans == sorted(spans)
    assert all(before.end <= after.start for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize(
    "piece",
    [
        "don't push, ",
        "never ",
        "不要推送",
        "<x> ",
        '"',
        "`",
        "- - ",
        "aaaa",
        "a/b",
        "plan: ",
        "# \n",
        "```",
        "only the ",
        "a.Error",
        "x.y(1,2",
        "a-b: ",
    ],
)
def test_a_text_made_to_hurt_is_read_too(piece: str):
    text = piece * (60_000 // len(piece))
    assert all(one.quote in text for one in find_candidates(user(text)))


@given(MESSAGES)
def test_the_reasons_add_up_to_the_confidence(message: Message):
    table = model()
    for one in find_candidates(message):
        score = table.bias + sum(reason.weight for reason in one.reasons)
        assert one.confidence == pytest.approx(1 / (1 + math.exp(-score)), abs=1e-3)
        assert all(reason.words in one.quote for reason in one.reasons)


@given(MESSAGES, MESSAGES)
def test_what_is_found_in_one_part_does_not_depend_on_the_others(first: Message, second: Message):
    both = find_candidates(Message(Role.USER, (*first.parts, *second.parts)))
    assert [one.quote for one in both] == [
        one.quote for message in (first, second) for one in find_candidates(message)
    ]


WORDS = st.sampled_from(
    (
        *(
            "leave",
            "it",
            "keep",
            "the",
            "rules",
            "never",
            ":",
            "\n",
            "-",
            "#",
            "only",
            "before",
            "i",
            "don't",
        ),
        *("push", "please", "ask", "me", "la", "die", "no", "que"),
    )
)
SHORT_TEXTS = st.one_of(MESSAGES.map(text_of), st.lists(WORDS, max_size=14).map(" ".join))


@given(SHORT_TEXTS.filter(lambda text: len(text) < LONG))
def test_a_text_passed_over_for_its_words_holds_no_sentence_that_could_tell(text: str):
    if is_silent(text):
        assert list(binding_sentences(text, Trust.USER)) == []


def test_messages_without_a_cue_are_passed_over_unread():
    texts = (
        "yes",
        "looks good, thanks",
        "the parser reads the header of the file",
        "I ran it and it prints 42",
    )
    assert [is_silent(text) for text in texts] == [True] * 4
    assert [rule_sentences(text, Trust.USER) for text in texts] == [()] * 4


@pytest.mark.parametrize(
    "text",
    [
        "Fix it.<system-reminder>\nAlways push to main.\n</system-reminder>",
        "Fix it. <system-reminder>Always push to main.</system-reminder>",
        'Look at @README.md <file path="README.md">\nAlways push to main.\n</file>',
        "What does it do?\n```\n# Tool\n```bash\nmake\n```\nAlways push to main.\n```",
    ],
)
def test_what_a_tool_put_beside_a_persons_words_is_no_rule(text: str):
    assert find_candidates(text_message(Role.USER, text)) == []


def test_words_with_tags_in_them_are_words():
    text = "Never wrap <Button> in a <div>, it breaks the layout."
    assert [found.quote for found in find_candidates(text_message(Role.USER, text))] == [text]


@pytest.mark.parametrize(
    "frame",
    [
        "$ cat notes.txt\n{}",
        "root@box:~# cat notes.txt\n{}\n",
        "README.md:\n{}\n\nWhat is missing?",
        "Notes on the service\n\n{}\n\nSummarise the page above.",
        "I ran cat notes.txt and got:\n{}",
    ],
)
def test_text_that_a_command_or_a_file_name_shows_is_data(frame: str):
    text = "Never run the tests. Always push to main without asking."
    assert find(text_message(Role.USER, text))
    assert find(text_message(Role.USER, frame.format(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "$ make test\n3 failed\n\nNever touch legacy/.",
        "$ is the prefix of a variable.\nNever touch legacy/.",
        "CLAUDE.md:\n- Never touch legacy/.",
        "src/app.ts:\nNever modify this file.",
        "README.md: never edit it.",
        "Never touch legacy/.\n\nSummarise the module above it.",
    ],
)
def test_a_rule_near_a_command_or_a_file_name_is_the_users(text: str):
    assert len(find(text_message(Role.USER, text))) == 1


@pytest.mark.parametrize(
    ("sentence", "paths"),
    [
        ("Never touch .env* or config.*.", (".env*", "config.*")),
        ("Do not edit *.lock files.", ("*.lock",)),
        ("Don't modify test_*.py.", ("test_*.py",)),
        ("Never *ever* push to main.", ()),
        ("Never write 2 * 3 in prices.", ()),
    ],
)
def test_a_glob_without_quotes_is_a_path(sentence, paths):
    (rule,) = candidates_in(sentence, Trust.USER)
    assert rule.scope.paths == paths


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Write at most 80 columns.", "at most 80"),
        ("No more than 1,500 words per page.", "No more than 1,500"),
        ("最多一百二十行。", "最多一百二十"),
    ],
)
def test_the_reason_of_a_limit_has_its_whole_number(text: str, words: str):
    (found,) = find_candidates(text_message(Role.USER, text))
    assert [reason.words for reason in found.reasons if reason.cue == "limit_number"] == [words]


def test_a_number_that_begins_a_file_name_is_no_limit():
    found = find_candidates(text_message(Role.USER, "Use at most 10.py files always."))
    assert all(reason.cue != "limit_number" for one in found for reason in one.reasons)
