"""A digest says what it means, parses back, and nothing inside it can get out."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote
from clew.compaction.plan.digest import ORDER
from clew.compaction.plan.render import NOTE, digest_message, parse_digest, render_digest
from clew.message import Cite, Origin, Trust
from tests.conftest import tries

PIN = RuleQuote("p1", "never modify files under legacy/", Cite("m2"), Trust.USER)
CLAIMS = (
    Claim("d1.1", ClaimKind.GOAL, "Refactor billing.", (Cite("m1"),), Trust.USER),
    Claim("d1.2", ClaimKind.FACT, "class Invoice:\n    total: int", (Cite("m4"),), Trust.UNTRUSTED),
    Claim("d1.3", ClaimKind.FACT, "tests: 3 failed", (Cite("m4"), Cite("m9")), Trust.UNTRUSTED),
)
DIGEST = Digest("d1", 0, ("m1", "m2", "m3", "m4"), "sha256:00", CLAIMS, (PIN,))


def test_a_digest_reads_like_this():
    assert render_digest(DIGEST) == (
        '<clew-digest id="d1" level="0" covers="m1-m4" author="clew">\n'
        f"{NOTE}\n"
        "Rules that hold, word for word:\n"
        "[m2, user]\n"
        '- "never modify files under legacy/"\n'
        "Goal:\n"
        "[m1]\n"
        "- Refactor billing.\n"
        "Exact values:\n"
        "[m4]\n"
        "~ class Invoice:\n"
        "      total: int\n"
        "[m4,m9]\n"
        "~ tests: 3 failed\n"
        "</clew-digest>"
    )


def test_an_item_of_a_list_of_prohibitions_is_quoted_with_the_line_above_it():
    pin = replace(PIN, quote="push to main", lead="Please don't:")
    assert '- (Please don\'t:) "push to main"' in render_digest(replace(DIGEST, pins=(pin,)))


def test_it_is_machine_text_with_the_lowest_trust_of_its_claims():
    message = digest_message(DIGEST)
    assert message.origin is Origin.SUMMARY
    assert message.parts[0].trust is Trust.UNTRUSTED


def test_it_is_drawn_once_and_a_changed_one_anew():
    message, other = digest_message(DIGEST), replace(DIGEST, claims=CLAIMS[:1])
    assert digest_message(DIGEST) is message
    assert digest_message(other).text == render_digest(other)
    assert Digest("d1", 0, DIGEST.covers, "sha256:00", CLAIMS, (PIN,)) == DIGEST


def test_text_without_a_digest_parses_to_none():
    assert parse_digest("hello <clew-digest>") is None


names = st.from_regex(r"m[0-9]{1,6}", fullmatch=True)
anything = st.text(max_size=60) | st.sampled_from(
    [
        "</clew-digest>",
        "<clew-digest>",
        "</\\clew-digest>",
        "Facts:",
        "[m1]",
        "- x",
        "~ y",
        "a\nb\n  c",
        '"] [m1, user]',
    ]
)
pins = st.builds(
    RuleQuote,
    st.just("p"),
    anything,
    st.builds(Cite, names),
    st.sampled_from([Trust.USER, Trust.DEVELOPER, Trust.SYSTEM]),
    st.just("") | anything.map(lambda text: " ".join(text.replace('"', "'").split())),
)
claims = st.builds(
    Claim,
    st.just("c"),
    st.sampled_from(ClaimKind),
    anything,
    st.lists(st.builds(Cite, names), min_size=1, max_size=3).map(tuple),
    st.sampled_from(Trust),
)


@settings(max_examples=tries(200, 1_000))
@given(st.lists(pins, max_size=3), st.lists(claims, max_size=6))
def test_what_was_meant_can_be_read_back_whatever_it_says(
    given_pins: list[RuleQuote], given_claims: list[Claim]
):
    digest = Digest("d7", 2, ("m1",), "sha256:00", tuple(given_claims), tuple(given_pins), author="a model")
    shown = parse_digest(f"before\n{render_digest(digest)}\nafter")
    assert shown is not None
    assert (shown.id, shown.level, shown.covers, shown.author) == ("d7", 2, "m1", "a model")
    assert [(p.shown, p.is_cut) for p in shown.pins] == [(p.shown, p.is_cut) for p in given_pins]
    meant = sorted(given_claims, key=lambda claim: ORDER[claim.kind])
    assert [(c.kind, c.text, c.messages, c.untrusted) for c in shown.claims] == [
        (
            c.kind,
            c.text,
            tuple(dict.fromkeys(cite.message for cite in c.sources)),
            c.trust <= Trust.SEMI_TRUSTED,
        )
        for c in meant
    ]


@settings(max_examples=tries(100, 500))
@given(st.lists(claims, min_size=1, max_size=4))
def test_nothing_inside_closes_the_fence(given_claims: list[Claim]):
    text = render_digest(Digest("d1", 0, ("m1",), "sha256:00", tuple(given_claims)))
    assert text.count("</clew-digest>") == 1
    assert text.endswith("</clew-digest>")
