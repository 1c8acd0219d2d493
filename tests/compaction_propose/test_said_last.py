"""What the user said last: to a call that they refused, with a slash command, or by agreeing to an offer."""

from __future__ import annotations

from dataclasses import replace

from clew.compaction.plan import ClaimKind, Digest
from clew.message import Message, Origin, Role, Text, ToolCall, ToolResult, Trust, text_message
from tests.compaction_propose.sessions import Living, spoken, step

FIX = text_message(Role.USER, "Fix the parser of the settings file, with tests.")
TO_CALL = "do we test the prompt anywhere?"
PROMPT = "Review the changes.\n\n" + "\n".join(f"{n}. Check part {n} of the changes." for n in range(12))


def work(count: int) -> list[Message]:
    return [one for n in range(count) for one in step(f"w{n}", "run", {"cmd": f"make {n}"}, f"{n} ok\n" * 80)]


def refused(name: str, said: str) -> list[Message]:
    call = ToolCall(name, "Bash", {"command": "git push"}, trust=Trust.ASSISTANT)
    words = (Text("The user rejected this tool use. They said:"), Text(said, trust=Trust.USER))
    return [
        Message(Role.ASSISTANT, (call,)),
        Message(Role.TOOL, (ToolResult(name, words, is_error=True),)),
    ]


def command(name: str, arguments: str) -> Message:
    machine = Trust.SEMI_TRUSTED
    before = (
        f"<command-message>{name[1:]}</command-message>\n<command-name>{name}</command-name>\n<command-args>"
    )
    parts = (
        Text(before, trust=machine),
        Text(arguments, trust=Trust.USER),
        Text("</command-args>", trust=machine),
    )
    return Message(Role.USER, parts)


def digest_of(messages: list[Message], tokens: int = 3_000) -> Digest:
    (digest,) = Living(messages).compact(tokens).digests
    return digest


def now(digest: Digest) -> list[str]:
    return [one.text for one in digest.claims if one.kind is ClaimKind.NEXT]


def open_items(digest: Digest) -> list[str]:
    return [one.text for one in digest.claims if one.kind is ClaimKind.OPEN]


def test_words_that_refuse_a_call_come_first_and_are_not_listed_again():
    digest = digest_of([FIX, *work(60), *refused("r", TO_CALL), *work(3)])
    assert now(digest)[0] == TO_CALL
    assert not [one for one in open_items(digest) if TO_CALL in one]
    assert any(one.kind is ClaimKind.GOAL and one.text == FIX.text for one in digest.claims)


def test_words_that_refuse_a_call_are_past_once_the_call_is_made():
    pushed = step("p", "Bash", {"command": "git push"}, "Everything up-to-date")
    digest = digest_of([FIX, *work(60), *refused("r", TO_CALL), *pushed, *work(3)])
    assert TO_CALL not in now(digest)


def test_the_arguments_of_a_slash_command_are_shown_with_it():
    digest = digest_of([FIX, *work(9), spoken("Fixed."), command("/review", "this branch"), *work(60)])
    assert now(digest)[0] == "/review this branch"
    assert not open_items(digest)


def test_the_prompt_of_a_slash_command_that_leaves_the_view_is_quoted_as_data():
    prompt = replace(text_message(Role.USER, PROMPT), origin=Origin.INJECTED)
    prompt = replace(prompt, parts=(Text(PROMPT, trust=Trust.SEMI_TRUSTED),))
    digest = digest_of([FIX, *work(9), spoken("Fixed."), command("/review", "all"), prompt, *work(90)], 4_000)
    (quoted,) = (one for one in digest.claims if "11. Check part 11 of the changes." in one.text)
    assert quoted.trust is Trust.UNTRUSTED


def agreed(*since: Message) -> Digest:
    offer = spoken("I listed the options.\n\nShall I move the checks to a package of their own?")
    return digest_of([FIX, *work(9), offer, text_message(Role.USER, "yes"), *since])


def test_an_agreement_is_part_of_the_story_once_the_agent_chose_another_way():
    other = spoken("That makes a cycle. The solution is to move them into the parser.", *step_call())
    digest = agreed(*work(5), other, *work(90))
    assert "yes" not in now(digest)
    story = [one.text for one in digest.claims if one.kind in (ClaimKind.USER, ClaimKind.REPORT)]
    assert "Shall I move the checks to a package of their own?" in story
    assert "yes" in story
    assert open_items(digest) == ['request: yes (to: "Shall I move the checks to a package of their own?")']


def test_a_change_of_course_soon_before_a_compaction_may_be_about_a_detail():
    other = spoken("Let me try another way to run the tests.", *step_call())
    assert now(agreed(*work(90), other, *work(2)))[0] == "yes"


BODY = "The columns hold names and amounts of money, as in the tables of last year.\n" * 3
STEPS = "\n".join(f"### {n}. Change module_{n}\n\nIt reads table_{n} as agreed.\n{BODY}" for n in range(12))
PLAN = replace(
    text_message(Role.USER, f"# Plan: new tables\n\n{STEPS}"),
    parts=(Text(f"Implement the following plan:\n\n# Plan: new tables\n\n{STEPS}", trust=Trust.ASSISTANT),),
    origin=Origin.INJECTED,
)


def goal(digest: Digest) -> str:
    (found,) = (one.text for one in digest.claims if one.kind is ClaimKind.GOAL)
    return found


def test_of_a_plan_that_was_carried_out_the_steps_are_shown():
    asked = text_message(Role.USER, "Why is the second table empty? Please look into it.")
    running = digest_of([PLAN, *work(20), asked, *work(90)], 9_000)
    assert "It reads table_5 as agreed" in goal(running)
    done = digest_of([PLAN, *work(20), spoken("All of it is implemented."), asked, *work(90)], 9_000)
    assert len(goal(done)) < 2_000
    assert all(f"### {n}. Change module_{n}" in goal(done) for n in range(12))


def test_of_a_plan_that_a_later_one_replaced_the_title_is_shown():
    call = ToolCall(
        "e", "ExitPlanMode", {"plan": "# Plan: other tables\n\nOne table."}, trust=Trust.ASSISTANT
    )
    approved = ToolResult("e", (Text("User has approved your plan. You can now start coding."),))
    plan = [Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (approved,))]
    shown = goal(digest_of([PLAN, *work(20), *plan, *work(90)], 9_000))
    assert shown.startswith("Implement the following plan:\n\n# Plan: new tables")
    assert len(shown) <= 401


def step_call() -> tuple[ToolCall]:
    return (ToolCall("x", "run", {"cmd": "make x"}, trust=Trust.ASSISTANT),)
