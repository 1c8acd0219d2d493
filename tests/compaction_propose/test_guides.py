"""A skill or a task file keeps its orders and steps when it is shortened, and when it leaves the view."""

from __future__ import annotations

import clew
from clew.compaction.propose.excerpt import ExcerptSource
from clew.compaction.propose.guides import is_guide, is_skill, order_steps
from clew.message import Message, Origin, Role, Text, Trust, text_message
from tests.compaction_propose.sessions import spoken, step

FILLER = "\n".join(f"Some words about part {n} of the project and why it is as it is." for n in range(150))
SKILL = f"""Base directory for this skill: /home/a/.skills/design

# Design first

{FILLER}

<HARD-GATE>
Do NOT write any code until the user has approved the design.
</HARD-GATE>

1. Explore the project
2. Present the design

{FILLER}
"""
ORDER = "Do NOT write any code until the user has approved the design."


def _work(first: int, count: int) -> list[Message]:
    return [
        message
        for n in range(first, first + count)
        for message in step(f"c{n}", "read", {"path": f"src/f{n}.py"}, f"text {n}\n" + f"value_{n} = 1\n" * 9)
    ]


def test_of_a_guide_orders_and_steps_are_shown_before_the_rest():
    shown = ExcerptSource(SKILL, is_guide=True).excerpt(500)
    for line in (ORDER, "1. Explore the project", "2. Present the design", "# Design first"):
        assert line in shown
    assert ORDER not in ExcerptSource(SKILL).excerpt(500)


def test_an_order_is_shown_with_the_lines_that_it_goes_on_in():
    order = "- Restart-gated work: prompt the owner to restart, never park it silently, as the\n  owner said."
    text = f"{order}\n- Next."
    ((first, second),) = order_steps(text)
    assert [text[slice(*one)] for one in (first, second)] == text.split("\n")[:2]


def test_checked_items_are_no_strict_orders():
    assert list(order_steps("- [x] Never push.", strict=True)) == []


def test_an_order_is_quoted_with_what_it_announces_never_half_of_it():
    text = """1. Tests
4. **PUSH TO REMOTE** - This is MANDATORY:
   ```bash
   git pull --rebase
   git status  # MUST show "up to date with origin"
   ```
5. **Clean up** - Clear stashes

**YOU MUST:**

- ask first
- go on

```bash
run --all  # NEVER alone
```

You MUST do this:
"""
    steps = ["\n".join(text[slice(*one)] for one in step) for step in order_steps(text, strict=True)]
    push, ask = text.index("4."), text.index("**YOU")
    assert steps == [text[push : text.index("\n5.")], text[ask : text.index("\n\n```bash\nrun")]]
    shown = ExcerptSource(f"{FILLER}\n{text}\n{FILLER}", is_guide=True).excerpt(400)
    assert ("MANDATORY:" in shown) == ("git pull --rebase" in shown)


def test_orders_that_the_quoted_text_of_their_file_shows_are_not_quoted_twice():
    points = "\n".join(f"- Point {n} of the panel in `panel.py` is drawn as agreed" for n in range(9))
    task = f"# Tasks\n\n- NEVER push the code\n- [ ] Write the panel in `panel.py`\n{points}\n"
    messages = [
        text_message(Role.USER, "Process the tasks of docs/tasks-01.md"),
        *step("t", "read", {"path": "docs/tasks-01.md"}, task),
        *_work(0, 90),
        spoken("Now I go on with docs/tasks-01.md: write the panel in `panel.py`."),
        *_work(90, 2),
    ]
    made = clew.compact(messages, window=100_000, target_tokens=4_100)
    assert made.digest is not None
    quoted = [claim.text for claim in made.digest.claims if "NEVER push" in claim.text]
    assert [text.split("\n")[0] for text in quoted] == ["text of docs/tasks-01.md:"]


def test_skills_and_guides_are_known_by_how_they_begin_and_by_their_names():
    assert is_skill(SKILL)
    assert is_skill('<skill-context name="design">')
    assert not is_skill("The skill is ready.")
    assert is_guide("C:\\notes\\RESUME-HERE.md", "")
    assert is_guide("docs/playbook-01.md", "Process the tasks of docs/playbook-01.md")
    assert not is_guide("docs/playbook-01.md", "Go on.")
    assert not is_guide("src/resume.py", "")


def test_a_skill_that_is_running_keeps_its_orders_however_much_follows():
    skill = Message(Role.USER, (Text(SKILL),), origin=Origin.INJECTED)
    messages = [text_message(Role.USER, "Add a panel."), spoken("I use the skill."), skill, *_work(0, 12)]
    made = clew.compact(messages, window=100_000, target_tokens=2_600)
    assert any(ORDER in message.text for message in made.messages)


def test_a_task_file_that_leaves_the_view_has_its_bans_in_the_digest_as_data():
    task = f"# Tasks\n\n- NEVER push the code\n\n{FILLER}\n- [ ] Write the panel\n"
    messages = [
        text_message(Role.USER, "Process the tasks of docs/tasks-01.md"),
        *step("t", "read", {"path": "docs/tasks-01.md"}, task),
        *_work(0, 90),
    ]
    made = clew.compact(messages, window=100_000, target_tokens=4_000)
    assert made.digest is not None
    quoted = [claim for claim in made.digest.claims if "NEVER push" in claim.text]
    assert {claim.trust for claim in quoted} == {Trust.UNTRUSTED}
    assert not any("NEVER push" in pin.quote for pin in made.digest.pins)


def test_a_skill_that_leaves_the_view_in_its_turn_has_its_bans_in_the_digest():
    skill = Message(Role.USER, (Text(SKILL),), origin=Origin.INJECTED)
    messages = [text_message(Role.USER, "Add a panel."), spoken("I use the skill."), skill, *_work(0, 90)]
    made = clew.compact(messages, window=100_000, target_tokens=3_000)
    assert made.digest is not None
    assert any(ORDER in claim.text for claim in made.digest.claims)
