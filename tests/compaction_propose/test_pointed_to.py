"""What a file that the request points to says is next."""

from __future__ import annotations

import pytest

import clew
from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.pointed_to import LONGEST_ITEM, said_next
from clew.message import Cite, Message, Role, Trust, text_message
from tests.compaction_propose.sessions import items, read, spoken, step

RESUME = """# Resume here

## Landed
- the importer

## What happens first next session
1. Probe the hooks.
2. Note the result on #47.

## Notes
- be quick
"""
NEXT = "## What happens first next session\n1. Probe the hooks.\n2. Note the result on #47."
PLAN = "# Plan\n\nWhy.\n\n## Task 1: parser\nWrite it.\n\n```md\n## not a heading\n```\n\n## Task 2: docs\n"


def said(asked: str, *messages: Message, gone: bool = True, room: int = 0) -> list[str]:
    view = items([text_message(Role.USER, asked), *messages])
    find = {item.id: item.message for item in view}.get
    request = Claim("", ClaimKind.NEXT, asked, (Cite("m1"),), Trust.USER)
    files = read(view).artifacts.files
    claims = list(said_next([request], files, {item.id for item in view if gone}, find, room))
    assert all(claim.trust is Trust.UNTRUSTED and claim.kind is ClaimKind.ARTIFACT for claim in claims)
    return [claim.text for claim in claims]


def reading(path: str, text: str) -> list[Message]:
    return step(f"r{path}", "Read", {"file_path": path}, text)


@pytest.mark.parametrize("asked", ["pick up where we left off", "Continue with the next task.", "resume"])
def test_a_request_that_only_points_back_leads_to_what_the_last_session_left(asked: str):
    assert said(asked, *reading("/w/RESUME-HERE.md", RESUME)) == [f"RESUME-HERE.md\n{NEXT}"]


def test_line_numbers_and_long_sections_are_left_out():
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(RESUME.split("\n"), start=1))
    assert said("resume", *reading("/w/HANDOFF.md", numbered)) == [f"HANDOFF.md\n{NEXT}"]
    (long,) = said("resume", *reading("/w/HANDOFF.md", "## Next\n" + "do a step of it\n" * 200))
    assert long.startswith("HANDOFF.md\n## Next\ndo a step of it\n")
    assert len(long) < LONGEST_ITEM * 1.2


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        ("Fix the parser and then continue with the docs.", reading("/w/guide.md", RESUME)),
        ("Fix the typo in RESUME-HERE.md.", reading("/w/RESUME-HERE.md", RESUME)),
        ("resume", reading("/w/guide.md", RESUME)),
        ("resume", reading("/w/resume.py", RESUME)),
        ("resume", reading("/w/RESUME-HERE.md", "# Resume\n\nnothing is left")),
        (f"continue. {'Do the parser as we said. ' * 10}", reading("/w/RESUME-HERE.md", RESUME)),
        (
            "resume",
            [
                *reading("/w/NEXT.md", RESUME),
                *step("w", "Write", {"file_path": "/w/NEXT.md", "content": "x"}, "ok"),
            ],
        ),
    ],
)
def test_a_file_that_the_request_does_not_mean_or_that_was_changed_is_not_quoted(
    asked: str, messages: list[Message]
):
    assert said(asked, *messages) == []


def test_what_the_view_shows_is_not_quoted():
    assert said("resume", *reading("/w/RESUME-HERE.md", RESUME), gone=False) == []


def test_of_a_plan_to_follow_the_headings_are_quoted():
    asked = "Implement the plan in docs/plan.md."
    assert said(asked, *reading("/w/docs/plan.md", PLAN)) == [
        "plan.md\n# Plan\n## Task 1: parser\n## Task 2: docs"
    ]
    assert said("resume", *reading("/w/docs/plan.md", PLAN)) == []


def test_a_windows_path_passes_the_checks_of_a_digest():
    read_it = step("r", "view", {"path": "C:\\u\\memory\\RESUME-HERE.md"}, RESUME)
    work = [
        one
        for n in range(60)
        for one in (spoken(f"Part {n}."), *step(f"c{n}", "run", {"cmd": f"make {n}"}, f"{n} is done\n" * 80))
    ]
    done = clew.compact(
        [text_message(Role.USER, "pick up where we left off"), *read_it, *work], target_tokens=3_000
    )
    assert done.digest is not None
    assert f"RESUME-HERE.md\n{NEXT}" in [claim.text for claim in done.digest.claims]


# Lists of tasks ----------------------------------------------------------------------------------------

PHASE = """# Phase 1

- [x] Plan
- [ ] Map it:
  - read `a.ts`
- [ ] Build it
- [ ] Test it:
  - all of it
- [ ] Run it
"""


def test_the_list_of_tasks_that_is_read_first_is_quoted_though_the_request_does_not_name_it():
    asked = "Start the development of phase 1, complete all tasks."
    shown = "PHASE-1.md\n- [ ] Map it:\n  - read `a.ts`\n- [ ] Build it\n- [ ] Test it:"
    assert said(asked, *reading("/w/PHASE-1.md", PHASE), *reading("/w/TODO.md", PHASE)) == [
        f"{shown}\n- [ ] Run it"
    ]
    assert said(asked, *reading("/w/PHASE-1.md", PHASE), gone=False) == []
    all_items = said(asked, *reading("/w/PHASE-1.md", PHASE), room=20_000)
    assert all_items == [f"{shown}\n  - all of it\n- [ ] Run it"]


def test_items_are_quoted_under_their_headings_and_those_that_the_request_names_first():
    sections = (f"## FW-00{n} - Part {n}\n\n### Criteria\n\n- [ ] Part {n} works\n" for n in range(1, 4))
    backlog = "# Backlog\n\n" + "\n".join(sections)
    first, *others = said("Implement FW-003 of issues.md", *reading("/w/issues.md", backlog))
    assert first == "issues.md\n## FW-003 - Part 3\n### Criteria\n- [ ] Part 3 works"
    assert others[0] == "issues.md\n## FW-001 - Part 1\n### Criteria\n- [ ] Part 1 works"


@pytest.mark.parametrize(
    ("path", "text"),
    [("/w/README.md", "# A\n- [ ] one example\n"), ("/w/list.py", PHASE), ("/w/a.md", "- [x] a\n- [x] b")],
)
def test_a_text_without_unchecked_items_is_no_list_of_tasks(path: str, text: str):
    assert said("Complete all tasks.", *reading(path, text)) == []


def test_an_item_of_one_endless_line_is_cut():
    endless = "- [ ] Audit " + "every parser " * 200
    (quoted,) = said("Do PLAN.md", *reading("PLAN.md", f"{endless}\n  - first the reader"))
    item = quoted.removeprefix("PLAN.md\n")
    assert LONGEST_ITEM - 20 < len(item) <= LONGEST_ITEM
    assert item.endswith((" every", " parser"))
