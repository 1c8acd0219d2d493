"""A compaction of what was compacted before is no copy of a copy."""

from __future__ import annotations

from clew.compaction.plan import Claim, ClaimKind, Condense, Plan
from clew.compaction.propose import Written, propose
from clew.compaction.task import CompactionTask
from clew.message import Cite, Item, Role, Trust, text_message
from tests.compaction_propose.sessions import (
    COUNTER,
    LONG,
    Living,
    items,
    misquotes,
    read,
    spoken,
    step,
    tokens_of,
)

OUTPUT = "\n".join(f"row {n}: checked entry_{n} in table_{n % 9}, which is fine" for n in range(400))


def shrunk_then_condensed() -> tuple[dict[str, str], Plan]:
    """Compact a view in which one output is shown in excerpt already."""
    whole = items(
        [
            text_message(Role.USER, "Look at the tables."),
            *step("c1", "run", {"cmd": "check"}, OUTPUT),
            *[spoken("Then I looked elsewhere, which took a while and led nowhere.")] * 900,
        ]
    )
    first = propose(_situation(whole, whole, tokens_of(whole) - 1_000))
    (shrink,) = first.operations
    assert not isinstance(shrink, Condense)
    view = [Item(item.id, shrink.message) if item.id == "m3" else item for item in whole]  # type: ignore[union-attr]
    plan = propose(_situation(whole, view, 8_000))
    return {item.id: item.message.parts[0].text for item in whole if item.id == "m3"}, plan  # type: ignore[union-attr]


def _situation(whole: list[Item], view: list[Item], target: int) -> CompactionTask:
    originals = {item.id: item.message for item in whole}
    return CompactionTask(
        view=view, counter=COUNTER, target_tokens=target, ledger=read(whole), originals=originals.get
    )


def test_lines_of_an_output_shown_in_excerpt_are_quoted_from_the_whole():
    said_first, plan = shrunk_then_condensed()
    quotes = [one.text for one in plan.digests[0].claims if one.verbatim and one.sources[0].message == "m3"]
    assert quotes
    assert all(quote in said_first["m3"] for quote in quotes)


def test_people_are_quoted_from_what_they_said_not_from_its_excerpt():
    living = Living([text_message(Role.USER, f"Check this list:\n{LONG * 20}\nand tell me about entry_7.")])
    living.compact(500)
    assert "kept as m1" in living.view[0].message.text
    living.add(
        spoken(f"I looked at item_{n} of the list, and it is fine as far as I can see.") for n in range(60)
    )
    (digest,) = living.compact(900).digests
    assert not any("kept as m1" in claim.text for claim in digest.claims)
    assert misquotes(digest.claims, living.log.get) == []


def test_prose_of_an_earlier_digest_is_carried_and_never_turned_into_a_quote():
    living = Living(
        [text_message(Role.USER, "Port it."), *(spoken(f"Step {n} touched file_{n}.py.") for n in range(80))]
    )
    prose = Claim("", ClaimKind.FACT, "All steps up to file_9.py went well.", (Cite("m9"),), Trust.ASSISTANT)
    living.compact(700, Written((prose,), "a model", "1"))
    living.add(spoken(f"Step {n} touched file_{n}.py.") for n in range(80, 120))
    (digest,) = living.compact(700).digests
    (carried,) = (one for one in digest.claims if one.text == prose.text)
    assert carried._replace(id="") == prose
    assert (digest.author, digest.prompt_version) == ("clew", None)


def test_twenty_compactions_keep_every_rule_and_quote_nothing_wrong():
    living = Living(
        [
            text_message(Role.SYSTEM, "Be brief."),
            text_message(Role.USER, "Port it. Never modify files under legacy/."),
        ]
    )
    for n in range(24):
        living.go_on(["ask", "read", "run", "fail", "talk", "edit", "log"] * (1 + n % 3))
        living.compact(3_000)
        if living.shown is None:
            continue  # pruning was enough so far
        digest = living.shown[1]
        assert "Never modify files under legacy/." in [pin.quote for pin in digest.pins]
        assert misquotes(digest.claims, living.log.get) == []
        assert digest.covers == tuple(f"m{k}" for k in range(2, 2 + len(digest.covers)))
    assert living.compactions > 15
