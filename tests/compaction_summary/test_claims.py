"""A summariser writes prose; who said what, and how far it is believed, is looked up."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.summary.claims import (
    LONGEST_CLAIM,
    WrittenClaim,
    claims_of,
    claims_that_fit,
    distinct,
    sources_of,
    without_open_steps,
)
from clew.message import Cite, Item, Role, Trust, text_message
from tests.compaction_summary.scene import COUNTER, DIGEST_ITEM, EARLIER, INJECTION, SPAN, outline

SOURCES = sources_of(outline([DIGEST_ITEM, *SPAN], earlier=EARLIER))


def made(kind: ClaimKind, text: str, *sources: str) -> Claim | None:
    """Return what becomes of a claim."""
    return next(claims_of([WrittenClaim(kind, text, sources)], SOURCES), None)


def fact(text: str, kind: ClaimKind = ClaimKind.FACT) -> Claim:
    return Claim("", kind, text, (Cite("m1"),), Trust.ASSISTANT)


# Sources ---------------------------------------------------------------------------------------------


def test_a_message_is_cited_by_its_parts_that_have_words_and_believed_like_the_least_of_them():
    assert made(ClaimKind.FACT, "Twelve tests pass, and the user is content", "m5", "m4") == Claim(
        "",
        ClaimKind.FACT,
        "Twelve tests pass, and the user is content",
        (Cite("m5", 0), Cite("m5", 1), Cite("m4", 0), Cite("m4", 1)),
        Trust.UNTRUSTED,
    )


def test_a_paraphrase_of_the_user_is_believed_like_a_model():
    claim = made(ClaimKind.FACT, "The invoice module is to be refactored", "m1")
    assert claim is not None
    assert claim.trust is Trust.ASSISTANT


def test_a_quote_is_cited_at_its_exact_place_as_it_is_written_there():
    assert made(ClaimKind.FACT, "I  chose Decimal\nover float", "m7", "m4") == Claim(
        "",
        ClaimKind.FACT,
        "I chose Decimal over float",
        (Cite("m4", 1, 0, 26), Cite("m7", 0)),
        Trust.ASSISTANT,
        verbatim=True,
    )


def test_a_piece_of_a_word_is_no_quote():
    claim = made(ClaimKind.FACT, "2 passed in 2.31s", "m5")
    assert claim is not None
    assert not claim.verbatim


def test_a_quote_in_a_script_without_spaces_may_begin_anywhere():
    sources = sources_of(outline([Item("m1", text_message(Role.USER, "请永远不要修改旧目录。"))]))
    (claim,) = claims_of([WrittenClaim(ClaimKind.USER, "不要修改旧目录", ("m1",))], sources)
    assert claim.sources == (Cite("m1", 0, 3, 10),)


@pytest.mark.parametrize(
    "names", ["m3,m4", "[m3] [m4]", "m3-m4", "m3–m4", "messages m3 and m4", "m3, m99, m4."]
)
def test_ids_are_found_however_they_are_written(names: str):
    claim = made(ClaimKind.FACT, "Something about both", names)
    assert claim is not None
    assert {cite.message for cite in claim.sources} == {"m3", "m4"}


@pytest.mark.parametrize("names", [(), ("m99",), ("d1",), ("",), ("m",)])
def test_a_claim_that_cites_nothing_that_was_shown_is_dropped(names: tuple[str, ...]):
    assert made(ClaimKind.FACT, "TAX_RATE = 0.19", *names) is None


@pytest.mark.parametrize("endless", ["-" * 400_000, "a-" * 200_000, "m3." * 100_000, "\\" * 400_000])
def test_an_endless_source_is_looked_through_in_time_in_proportion(endless: str):
    assert made(ClaimKind.FACT, "TAX_RATE = 0.19", endless) is None


def test_a_claim_that_cites_everything_is_dropped():
    span = [Item(f"m{i}", text_message(Role.USER, f"Number {i}")) for i in range(40)]
    told = WrittenClaim(ClaimKind.FACT, "Numbers were named", tuple(item.id for item in span))
    assert list(claims_of([told], sources_of(outline(span)))) == []


@given(st.text(" \n\u3000ab", max_size=30), st.integers(0, 30), st.integers(1, 30))
def test_a_quote_is_the_very_words_of_its_place(text: str, start: int, length: int):
    sources = sources_of(outline([Item("m1", text_message(Role.USER, text))]))
    told = (
        [WrittenClaim(ClaimKind.FACT, wanted, ("m1",))]
        if (wanted := text[start : start + length].strip())
        else []
    )
    for claim in claims_of(told, sources):
        if claim.verbatim:
            assert claim.sources[0].quote(text_message(Role.USER, text)) == claim.text
            assert claim.text.split() == wanted.split()


def test_a_quote_is_looked_for_in_time_in_proportion():
    sources = sources_of(outline([Item("m1", text_message(Role.USER, "word " * 200_000))]))
    told = [WrittenClaim(ClaimKind.FACT, "word " * 200 + f"x{i}", ("m1",)) for i in range(100)]
    assert len(list(claims_of(told, sources))) == 100


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("a" * 600, "a" * 1_000_000),
        ("(ab" * 300 + "(a", "(ab" * 300_000),
        ("ab " * 300 + "a", "ab " * 300_000),
    ],
    ids=["one word", "signs", "words"],
)
def test_a_quote_is_looked_for_in_what_repeats_itself_in_time_in_proportion(wanted: str, text: str):
    sources = sources_of(outline([Item("m1", text_message(Role.USER, text))]))
    began = process_time()
    (claim,) = claims_of([WrittenClaim(ClaimKind.FACT, wanted, ("m1",))], sources)
    assert process_time() - began < 5
    assert not claim.verbatim


def test_signs_that_are_not_seen_are_taken_out_of_own_words_and_left_in_quotes():
    seen = made(
        ClaimKind.FACT, "The in\u00advoice\u200b module \u202eis to be re\U000e0066factored\u202c", "m1"
    )
    assert seen is not None
    assert seen.text == "The invoice module is to be refactored"
    persian = "می\u200cخواهم \u200bpush"
    sources = sources_of(outline([Item("m1", text_message(Role.USER, persian))]))
    quote, joined = claims_of(
        [WrittenClaim(ClaimKind.FACT, text, ("m1",)) for text in (persian, "نمی\u200cخواهم")], sources
    )
    assert (quote.text, quote.verbatim) == (persian, True)
    assert joined.text == "نمی\u200cخواهم"


# Whose words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ClaimKind.USER, ClaimKind.GOAL])
def test_the_users_words_are_taken_word_for_word_where_the_user_typed_them(kind: ClaimKind):
    quote = "Keep the public API stable."
    assert made(kind, quote, "m5", "m3") == Claim(
        "", kind, quote, (Cite("m5", 1, 6, 33),), Trust.USER, verbatim=True
    )


@pytest.mark.parametrize("kind", [ClaimKind.USER, ClaimKind.GOAL])
@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("You may delete anything under legacy/.", "m1"),
        ("The user wants the API to stay stable", "m5"),
        (INJECTION, "m3"),
        ("1 failed, 12 passed in 2.31s", "m5"),
        ("Todo list is empty.", "m6"),
        ("I will read the invoice module first.", "m2"),
    ],
)
def test_nobody_elses_words_are_taken_for_the_users(kind: ClaimKind, text: str, source: str):
    assert made(kind, text, source) is None


@pytest.mark.parametrize("kind", [ClaimKind.DECISION, ClaimKind.OPEN, ClaimKind.NEXT])
def test_what_rests_on_a_tool_does_not_steer(kind: ClaimKind):
    claim = made(kind, INJECTION, "m3")
    assert claim is not None
    assert (claim.kind, claim.trust) == (ClaimKind.FACT, Trust.UNTRUSTED)
    mixed = made(kind, "Floats round badly, says the log", "m4", "m3")
    assert mixed is not None
    assert mixed.kind is ClaimKind.FACT


def test_what_rests_on_the_assistant_does():
    claim = made(ClaimKind.NEXT, "Mend test_total", "m7")
    assert claim is not None
    assert (claim.kind, claim.trust) == (ClaimKind.NEXT, Trust.ASSISTANT)


def test_a_decision_of_the_users_in_other_words_is_a_fact():
    paraphrase = made(ClaimKind.DECISION, "Files under legacy/ stay as they are", "m1")
    quote = made(ClaimKind.DECISION, "Never modify files under legacy/.", "m1")
    assert paraphrase is not None
    assert quote is not None
    assert (paraphrase.kind, quote.kind) == (ClaimKind.FACT, ClaimKind.DECISION)


# An earlier digest -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["d1.1", "a1"])
def test_a_line_of_an_earlier_digest_that_is_repeated_stays_as_it_was(name: str):
    carried = made(ClaimKind.USER, "use  tabs.", name)
    assert carried == Claim("", ClaimKind.USER, "Use tabs.", (Cite("a1"),), Trust.USER, verbatim=True)


def test_a_line_made_of_several_earlier_ones_cites_their_sources():
    assert made(ClaimKind.FACT, "pytest, and port 8080 is taken", "d1.2", "d1.3") == Claim(
        "",
        ClaimKind.FACT,
        "pytest, and port 8080 is taken",
        (Cite("a2"), Cite("a3", 1)),
        Trust.UNTRUSTED,
    )


# All of them -----------------------------------------------------------------------------------------


def test_a_claim_that_is_too_long_ends_with_a_sentence_or_a_word():
    sentences = made(ClaimKind.FACT, "A sentence of some length. " * 90, "m1")
    words = made(ClaimKind.FACT, "word " * 900, "m1")
    neither = made(ClaimKind.FACT, "x" * 9_000, "m1")
    assert sentences is not None
    assert words is not None
    assert neither is not None
    assert sentences.text.endswith("length.")
    assert words.text.endswith("word")
    assert max(len(claim.text) for claim in (sentences, words, neither)) == LONGEST_CLAIM


def test_what_a_portion_left_open_may_be_done_by_now():
    claims = [fact("a", ClaimKind.OPEN), fact("b", ClaimKind.NEXT), fact("c", ClaimKind.ERROR)]
    assert list(without_open_steps(claims)) == [fact("a"), fact("c", ClaimKind.ERROR)]


def test_a_claim_that_says_again_what_is_known_or_was_said_is_left_out():
    claims = [fact("Port 8080 is taken."), fact("port  8080 is TAKEN."), fact("Keep it stable.")]
    assert distinct(claims, ["keep it stable."]) == [fact("Port 8080 is taken.")]


def test_where_there_is_no_room_for_all_the_kinds_that_code_keeps_go_first_and_then_the_oldest():
    claims = [
        fact("An old fact about the port of the server", ClaimKind.FACT),
        fact("It was decided to use Decimal everywhere", ClaimKind.DECISION),
        fact("A quote of the user about the invoices.", ClaimKind.USER),
        fact("A new fact about the port of the server", ClaimKind.FACT),
    ]
    cost = COUNTER.count_text(claims[0].text) + 6
    assert claims_that_fit(claims, 10 * cost, COUNTER) == tuple(claims)
    assert claims_that_fit(claims, 2 * cost + 4, COUNTER) == (claims[1], claims[3])
    assert claims_that_fit(claims, 3, COUNTER) == ()
