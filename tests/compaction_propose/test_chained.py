"""A compaction of what was compacted before is no copy of a copy."""

from __future__ import annotations

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose import Written
from clew.message import Cite, Role, Trust, text_message
from tests.compaction_propose.sessions import (
    LONG,
    Living,
    misquotes,
    spoken,
)


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
