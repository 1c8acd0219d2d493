"""A model is asked so often and no more, and what it says stands only as far as it may."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import ClaimKind
from clew.compaction.propose.brief import Outline, Written
from clew.compaction.propose.summary import PROMPT_VERSION, Limits, SessionRequest, write
from clew.errors import ContextTooLong, ModelBusy, ModelFailed, ModelRefused, ModelTimeout, SummaryFailed
from clew.message import Item, Message, Role, Trust, text_message
from clew.providers.model import Ask, Reply, Steps, Stop, run, run_async
from clew.providers.scripted import Line
from clew.testing import AsyncScriptedModel, ScriptedModel, extractive, shown_messages
from tests.compaction_summary.scene import (
    COUNTER,
    DIGEST_ITEM,
    EARLIER,
    INJECTION,
    MESSAGES,
    SPAN,
    many,
    outline,
)
from tests.conftest import tries
from tests.summarisers import BAD_SUMMARISERS, GOOD_SUMMARISERS, bad_summariser, good_summariser

SOME = Limits(calls=12)
ALL = [item.id for item in SPAN]


def steps(made: Outline, window_tokens: int = 100_000, **more: object) -> Steps[Written]:
    settings = {"limits": SOME, **more}
    return write(made, model_name="scripted", window_tokens=window_tokens, counter=COUNTER, **settings)  # type: ignore[arg-type]


def written(model: ScriptedModel, made: Outline | None = None, **more: object) -> Written:
    return run(steps(made or outline(), **more), model)  # type: ignore[arg-type]


def names(asks: Sequence[Ask]) -> list[list[str]]:
    """Return which messages each question showed."""
    return [list(dict.fromkeys(one.id for one in shown_messages(ask))) for ask in asks]


def parts(count: int) -> tuple[Outline, int]:
    """Return a span, and a window in which it is read in so many parts."""
    made = outline(many(count * 2, words=100), MandatoryContent(), room_tokens=2_000)
    return made, 4_800


# One question ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOOD_SUMMARISERS)
def test_a_good_summariser_is_asked_once_and_all_is_read(name: str):
    model = good_summariser(name)
    done = written(model)
    assert (len(model.asked), list(done.read), done.problems) == (1, ALL, ())
    assert (done.author, done.prompt_version) == ("scripted", PROMPT_VERSION)
    assert {cite.message for claim in done.claims for cite in claim.sources} == set(ALL) - {"m6"}


def test_the_same_steps_run_with_a_model_that_is_awaited():
    there = AsyncScriptedModel(good_summariser())
    assert asyncio.run(run_async(steps(outline()), there)) == written(good_summariser())


def test_what_code_keeps_is_not_said_twice():
    kept = json.dumps({"kind": "goal", "text": "Refactor src/billing/invoice.py, please.", "sources": ["m1"]})
    other = json.dumps({"kind": "fact", "text": "TAX_RATE = 0.19", "sources": ["m3"]})
    assert [claim.text for claim in written(ScriptedModel(f"{kept}\n{other}")).claims] == ["TAX_RATE = 0.19"]


def test_what_was_wrong_before_is_in_the_question():
    model = good_summariser()
    written(model, misses=('"59 EUR" is invented',), focus="the tax rate")
    assert '"59 EUR" is invented' in model.asked[0].instruction
    assert "the tax rate" in model.asked[0].instruction


def test_claims_fit_their_room():
    made = outline(many(60, words=1), MandatoryContent(), room_tokens=300)
    done = written(ScriptedModel.always(extractive), made)
    assert 5 < len(done.claims) < 60
    assert sum(COUNTER.count_text(claim.text) for claim in done.claims) <= 300


# Bad summarisers -------------------------------------------------------------------------------------

FAIL = {
    "timeout": "took too long",
    "busy": "429 scripted",
    "failed": "500 scripted",
    "refused": "401 scripted",
    "too_long": "larger than the model's window",
    "empty": "it said nothing",
    "whitespace": "it said nothing",
    "only_thinking": "it thought and said nothing",
    "tool_call": "it called a tool",
    "declines": "it declined",
    "garbage": "no claims in JSON",
    "prose": "no claims in JSON",
    "echo": "no claims in JSON",
    "wrong_language": "none of its claims",
    "cites_nothing": "none of its claims",
    "no_claims": "nothing to say",
    "thinks_aloud": "cut before its first claim",
}
"""What is said of those that nothing can be had of."""


REQUESTS = {"transcript": None, "session": SessionRequest(tuple(MESSAGES))}


@pytest.mark.parametrize("way", REQUESTS)
@pytest.mark.parametrize("name", FAIL)
def test_a_bad_summariser_that_nothing_can_be_had_of_is_given_up_in_time(name: str, way: str):
    model = bad_summariser(name)
    with pytest.raises(SummaryFailed, match=FAIL[name]):
        written(model, request=REQUESTS[way])
    assert len(model.asked) <= 6


@pytest.mark.parametrize("way", REQUESTS)
@pytest.mark.parametrize("name", sorted(BAD_SUMMARISERS.keys() - FAIL))
def test_of_any_other_bad_summariser_only_what_may_stand_stands(name: str, way: str):
    model = bad_summariser(name)
    done = written(model, request=REQUESTS[way])
    assert {cite.message for claim in done.claims for cite in claim.sources} <= set(ALL)
    assert_nothing_is_the_users_that_the_user_did_not_say(done)
    assert len(model.asked) == 1


def assert_nothing_is_the_users_that_the_user_did_not_say(done: Written) -> None:
    by_id = {item.id: item.message for item in SPAN}
    for claim in done.claims:
        if claim.kind in (ClaimKind.USER, ClaimKind.GOAL):
            (cite,) = claim.sources
            assert cite.quote(by_id[cite.message]) == claim.text
            assert by_id[cite.message].parts[cite.part].trust >= Trust.USER
        if claim.kind in (ClaimKind.DECISION, ClaimKind.OPEN, ClaimKind.NEXT):
            assert claim.trust >= Trust.ASSISTANT


@pytest.mark.parametrize("name", ["invents_instructions", "longer_than_its_input"])
def test_what_is_invented_or_said_again_goes_and_the_rest_stays(name: str):
    assert written(bad_summariser(name)).claims == written(good_summariser()).claims


def test_an_order_in_a_tools_output_is_a_quote_of_a_tool_at_most():
    done = written(bad_summariser("obeys_tool_output"))
    obeyed = [claim for claim in done.claims if INJECTION in claim.text]
    assert {(claim.kind, claim.trust) for claim in obeyed} == {(ClaimKind.FACT, Trust.UNTRUSTED)}


def test_of_an_answer_that_was_cut_what_was_said_is_used():
    whole, cut = written(good_summariser()), written(bad_summariser("cut_at_max_tokens"))
    assert 0 < len(cut.claims) < len(whole.claims)
    assert cut.claims == whole.claims[: len(cut.claims)]


@settings(max_examples=tries(20, 60))
@given(
    st.text() | st.sampled_from(["", "{", '{"claims": [{}]}', '{"claims": 3}', "[[]]"]), st.sampled_from(Stop)
)
def test_whatever_a_model_says_there_are_claims_that_may_stand_or_a_failure(text: str, stop: Stop):
    model = ScriptedModel.always(Reply(text_message(Role.ASSISTANT, text), stop))
    try:
        done = written(model)
    except SummaryFailed:
        return
    assert {cite.message for claim in done.claims for cite in claim.sources} <= set(ALL)


# Asking again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [ModelBusy(), ModelFailed(), "", "Sorry?", BAD_SUMMARISERS["tool_call"]])
def test_a_question_is_asked_again_where_that_may_help(first: Line):
    model = ScriptedModel(first, extractive)
    assert written(model).claims == written(good_summariser()).claims
    assert len(model.asked) == 2


def test_the_second_time_it_is_said_what_was_wrong_the_first():
    model = ScriptedModel("Once upon a time", extractive)
    written(model)
    assert "The answer could not be used: it holds no claims in JSON." in model.asked[1].instruction


def test_a_refusal_is_not_asked_again():
    model = ScriptedModel(ModelRefused("no such model"))
    with pytest.raises(SummaryFailed, match="no such model"):
        written(model)


@pytest.mark.parametrize("error", [ContextTooLong(), ModelTimeout()])
def test_what_was_too_much_at_once_is_asked_in_two(error: ContextTooLong | ModelTimeout):
    model = ScriptedModel(error, extractive, extractive)
    done = written(model)
    assert list(done.read) == ALL
    first, second = names(model.asked[1:])
    assert [*first, *second] == ALL


def test_one_message_that_was_too_much_is_asked_in_two():
    made = outline([Item("m1", text_message(Role.USER, "One line of many.\n" * 100))], MandatoryContent())
    model = ScriptedModel(ContextTooLong(), extractive, extractive)
    assert written(model, made).read == ("m1",)
    assert "[m1 user, to be continued]" in model.asked[1].instruction
    assert "[m1 user, continued]" in model.asked[2].instruction


# Many parts ------------------------------------------------------------------------------------------


def test_a_span_larger_than_the_window_is_read_in_parts():
    made, window = parts(5)
    model = good_summariser()
    done = written(model, made, window_tokens=window)
    assert [one for shown_there in names(model.asked) for one in shown_there] == [
        item.id for item in made.span
    ]
    assert len(model.asked) == 5
    assert done.read == tuple(item.id for item in made.span)
    order = [int(claim.sources[0].message[1:]) for claim in done.claims]
    assert order == sorted(order)


def test_one_part_of_five_that_fails_is_left_out_and_the_others_stay():
    made, window = parts(5)
    model = ScriptedModel(extractive, extractive, ModelRefused("filtered"), extractive, extractive)
    done = written(model, made, window_tokens=window)
    missing = [item.id for item in made.span if item.id not in done.read]
    assert missing == names(model.asked)[2]
    assert done.problems == (f"{missing[0]}–{missing[-1]}: filtered: the provider rejected this request",)
    assert {cite.message for claim in done.claims for cite in claim.sources} <= set(done.read)


def test_a_model_that_fails_twice_in_a_row_is_not_asked_for_the_rest():
    made, window = parts(5)
    model = ScriptedModel(extractive, ModelRefused(), ModelRefused())
    done = written(model, made, window_tokens=window)
    assert list(done.read) == names(model.asked)[0]
    assert done.problems[-1] == "2 of the parts were not asked about"


def test_where_there_are_fewer_calls_than_parts_the_newest_are_read():
    made, window = parts(5)
    model = good_summariser()
    done = written(model, made, window_tokens=window, limits=Limits(calls=2))
    assert len(model.asked) == 2
    assert done.read == tuple(item.id for item in made.span[-4:])
    assert done.problems == ("3 of the parts were not asked about",)


def test_no_more_calls_are_made_than_allowed():
    made, window = parts(5)
    model = ScriptedModel.always(ContextTooLong())
    with pytest.raises(SummaryFailed):
        written(model, made, window_tokens=window, limits=Limits(calls=3))
    assert len(model.asked) == 3


def test_what_an_early_part_leaves_open_is_told_as_a_fact_and_its_next_step_not_at_all():
    def answer(ask: Ask) -> Reply:
        source = next(one.id for one in shown_messages(ask) if one.role is Role.ASSISTANT)
        kinds = ("open", "next")
        claims = [{"kind": kind, "text": f"Do {kind} of {source}", "sources": [source]} for kind in kinds]
        return Reply(text_message(Role.ASSISTANT, json.dumps({"claims": claims})))

    made, window = parts(2)
    done = written(ScriptedModel.always(answer), made, window_tokens=window)
    assert [claim.kind for claim in done.claims] == [ClaimKind.FACT, ClaimKind.OPEN, ClaimKind.NEXT]


sizes = st.lists(st.integers(0, 600), min_size=1, max_size=12)


@settings(max_examples=tries(20, 60))
@given(sizes, st.integers(3_000, 20_000), st.integers(100, 3_000))
def test_all_is_read_whatever_the_sizes_and_no_question_is_larger_than_the_window(
    words: list[int], window: int, room: int
):
    span = [
        Item(f"m{i}", text_message(Role.USER, f"Note {i}. " + "one more word\n" * n))
        for i, n in enumerate(words)
    ]
    model = good_summariser()
    done = written(
        model, outline(span, MandatoryContent(), room), window_tokens=window, limits=Limits(calls=500)
    )
    assert done.read == tuple(item.id for item in span)
    for ask in model.asked:
        asked = COUNTER.count_all(ask.history) + COUNTER.count_text(ask.instruction)
        assert asked + ask.max_output_tokens <= window


# Behind the session's own request --------------------------------------------------------------------

REQUEST = SessionRequest((*MESSAGES, text_message(Role.USER, "Go on.")), "You are careful.")


def test_where_the_session_fits_the_question_goes_behind_its_own_request():
    model = good_summariser()
    done = written(model, request=REQUEST)
    (ask,) = model.asked
    assert (ask.messages, ask.system) == (REQUEST.messages, REQUEST.system)
    assert names(model.asked) == [ALL]
    assert list(done.read) == ALL
    assert {cite.message for claim in done.claims for cite in claim.sources} <= set(ALL)


def test_thinking_that_the_request_leaves_out_does_not_matter():
    bare = tuple(
        replace(one, parts=tuple(part for part in one.parts if part.native is None)) for one in MESSAGES
    )
    unthought = (*bare[:3], replace(bare[3], parts=bare[3].parts[1:]), *bare[4:])
    model = good_summariser()
    written(model, request=SessionRequest(unthought))
    assert model.asked[0].messages == unthought


@pytest.mark.parametrize(
    "messages",
    [
        tuple(MESSAGES[1:]),
        tuple(reversed(MESSAGES)),
        (*MESSAGES[:2], text_message(Role.TOOL, "[shortened]"), *MESSAGES[3:]),
        (*MESSAGES, text_message(Role.USER, "word " * 100_000)),
    ],
    ids=["one is missing", "another order", "one is shown smaller", "it does not fit"],
)
def test_a_request_that_does_not_show_all_of_the_span_or_does_not_fit_is_not_used(
    messages: tuple[Message, ...],
):
    model = good_summariser()
    done = written(model, request=SessionRequest(messages))
    assert [ask.messages for ask in model.asked] == [()]
    assert list(done.read) == ALL


@pytest.mark.parametrize(
    "first", [BAD_SUMMARISERS["tool_call"], ContextTooLong(), ModelTimeout(), "Working on it."]
)
def test_what_fails_behind_the_session_is_asked_without_it(first: Line):
    model = ScriptedModel(first, extractive)
    done = written(model, request=REQUEST)
    assert [ask.messages for ask in model.asked] == [REQUEST.messages, ()]
    assert list(done.read) == ALL
    assert len(done.problems) == 1
    assert done.problems[0].startswith("behind the session: ")


# An earlier digest -----------------------------------------------------------------------------------


@pytest.mark.parametrize("request_too", [False, True])
def test_lines_of_an_earlier_digest_are_carried_over_with_their_sources(request_too: bool):
    made = outline([DIGEST_ITEM, *SPAN], MandatoryContent(), earlier=EARLIER)
    request = SessionRequest((DIGEST_ITEM.message, *MESSAGES)) if request_too else None
    name = "a2" if request_too else "d1.2"
    line = json.dumps({"kind": "decision", "text": "Chose pytest over nose", "sources": [name]})
    done = written(ScriptedModel(line), made, request=request)
    assert done.claims == (EARLIER.claims[1]._replace(id=""),)
    assert done.read == ("d1", *ALL)


# Not asked at all ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "window"),
    [(outline([]), 100_000), (outline(room_tokens=20), 100_000), (outline(), 900)],
    ids=["nothing to read", "no room for the digest", "no room for the question"],
)
def test_where_nothing_can_come_of_it_nobody_is_asked(made: Outline, window: int):
    with pytest.raises(SummaryFailed):
        written(ScriptedModel(), made, window_tokens=window)
