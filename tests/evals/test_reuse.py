"""A probe is what the agent can only have taken from before the cut."""

from __future__ import annotations

from clew_evals.passages import PassageSpeaker
from clew_evals.reuse import reuse_probes
from clew_evals.sessions import Cut
from tests.evals.sessions import FILLER, agent, call, cut, needs, result, user

BEFORE = [
    user("Use the table customer_orders_v2 for this."),
    call(1, "grep", pattern="limit"),
    result(1, "src/app/limits.py: the retry limit is MAX_RETRY_LIMIT"),
    agent(FILLER),
]


def keys(of: Cut) -> list[tuple[str, bool]]:
    return [(probe.key, probe.refetched) for probe in needs(of).probes]


def test_a_value_that_the_agent_writes_again_is_a_probe():
    found = needs(cut(BEFORE, [agent("I raise MAX_RETRY_LIMIT now.")])).probes
    assert [(one.key, one.kind, one.origin, one.first_turn, one.use) for one in found] == [
        ("MAX_RETRY_LIMIT", "env", PassageSpeaker.TOOL, 2, "text")
    ]
    assert found[0].question == "I raise ____ now."
    assert found[0].lines[0] == "src/app/limits.py: the retry limit is MAX_RETRY_LIMIT"
    assert (found[0].rare, found[0].far, found[0].hard) == (True, True, True)


def test_a_value_that_stands_nowhere_before_is_none():
    assert keys(cut(BEFORE, [agent("I add MIN_RETRY_LIMIT now.")])) == []


def test_short_arguments_count_and_bodies_do_not():
    short = call(2, "edit", file_path="src/app/limits.py", new_string="customer_orders_v2")
    long = call(3, "write", text="MAX_RETRY_LIMIT " * 30)
    assert keys(cut(BEFORE, [short, long])) == [("app/limits.py", False)]


def test_what_the_user_says_again_is_none_and_what_a_tool_shows_again_was_fetched_again():
    after = [
        user("MAX_RETRY_LIMIT, please"),
        result(1, "customer_orders_v2"),
        agent("MAX_RETRY_LIMIT customer_orders_v2"),
    ]
    assert keys(cut(BEFORE, after)) == [("customer_orders_v2", True)]


def test_what_the_system_prompt_holds_and_what_is_common_is_none():
    after = [agent("MAX_RETRY_LIMIT and customer_orders_v2")]
    assert keys(cut(BEFORE, after, system="Mind MAX_RETRY_LIMIT.")) == [("customer_orders_v2", False)]
    assert reuse_probes(cut(BEFORE, after), lambda key: key.startswith(("MAX", "customer"))) == []


def test_a_message_gives_at_most_four_probes():
    names = [f"value_number_{n}a" for n in range(9)]
    found = keys(cut([user(" ".join(names)), agent(FILLER)], [agent(" ".join(names))]))
    assert found == [(name, False) for name in names[:4]]


def test_the_cheapest_output_that_holds_a_value_is_what_its_loss_costs():
    before = [*BEFORE, call(2, "cat"), result(2, f"MAX_RETRY_LIMIT\n{FILLER}")]
    found = needs(cut(before, [agent("MAX_RETRY_LIMIT")])).probes[0]
    assert found.fetch is not None
    assert found.fetch[0] == 2
    assert found.mentions == 2
