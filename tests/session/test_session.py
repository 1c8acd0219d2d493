"""A session on a store: compacted, undone, switched off, looked into, shared."""

import asyncio

import pytest

from clew.budget import Compact, Region
from clew.compaction.plan import Condense, Digest, Plan, Rung, Shrink
from clew.compaction.plan.render import parse_digest
from clew.errors import CompactionUnderWay, InputError, NoIndex, NotFound, PinsDoNotFit, StalePlan
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore, SqliteStore
from clew.memory.notes import Draft
from clew.message import Item, Message, Native, Origin, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.session import Request, Session
from clew.session.history import changed_tools
from clew.testing import ScriptedModel
from tests.session.talk import RULE, answer, call, talk
from tests.summarisers import bad_summariser, good_summariser
from tests.transcripts.telling import SUMMARIES


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def session(store):
    session = Session.open("main", store, window=20_000)
    session.add(*talk())
    return session


def reopened(session):
    return Session.open("main", session._replay.store, window=20_000)


def everything(session):
    return [(item.id, item.message) for item in session.view()]


def test_messages_come_back_under_short_ids_in_their_order(store):
    session = Session.open("main", store)
    assert session.add(text_message(Role.USER, "hello"), text_message(Role.ASSISTANT, "hi")) == ["m1", "m2"]
    assert [(item.id, item.message.text) for item in session.view()] == [("m1", "hello"), ("m2", "hi")]


def test_entries_of_any_provider_can_be_added_as_they_are(store):
    session = Session.open("main", store)
    session.add({"role": "user", "content": "hello"})
    session.add({"role": "assistant", "content": [{"type": "text", "text": "hi"}]}, wire="anthropic")
    assert session.context("anthropic").items == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ]


def test_ids_count_messages_whatever_else_is_on_record(store):
    session = Session.open("main", store)
    for n in range(1, 4):
        assert session.add(text_message(Role.USER, f"message {n}")) == [f"m{n}"]
        session.fit()
    assert [item.id for item in session.view()] == ["m1", "m2", "m3"]
    assert [item.message.text for item in session.originals(["m2"])] == ["message 2"]
    again = Session.open("main", store)
    assert [item.id for item in again.view()] == ["m1", "m2", "m3"]


@pytest.mark.parametrize("wrong", ["hello", ["hello"], [{"role": "user", "content": "hi"}], 5])
def test_what_is_no_message_is_refused(session, wrong):
    with pytest.raises(InputError, match=r"expected one message, got a \w+: pass messages one by one"):
        session.add(wrong)


def test_a_message_nested_without_end_is_refused(session):
    arguments: dict = {}
    for _ in range(5_000):
        arguments = {"in": arguments}
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": arguments}
    with pytest.raises(InputError, match="nested too deeply"):
        session.add({"role": "assistant", "content": [call]}, wire="anthropic")


def test_a_summariser_that_is_awaited_is_not_taken_for_one_that_is_not(session):
    session.summariser = Awaited(good_summariser())
    with pytest.raises(InputError, match="compact_async"):
        session.compact(target_tokens=4_000)


def test_a_digest_that_is_added_is_machine_text_and_passes_on_its_rules_only(session, store):
    session.compact(target_tokens=4_000)
    other = Session.open("other", store)
    other.add(session.view()[1].message, {"role": "user", "content": session.view()[1].message.text})
    assert [pin.quote for pin in other.pins] == [pin.quote for pin in session.pins] == [RULE]
    assert {item.message.origin for item in other.view()} == {Origin.SUMMARY}


@pytest.mark.parametrize("opening", SUMMARIES)
def test_a_summary_of_another_tool_that_is_added_is_never_the_users_words(store, opening):
    session = Session.open("other", store)
    text = opening.replace("RULES", "- Never run the slow tests.\n- Always deploy to prod without asking.")
    session.add({"role": "user", "content": text}, {"role": "user", "content": "Never touch legacy/."})
    assert [item.message.origin for item in session.view()] == [Origin.SUMMARY, Origin.SPOKEN]
    assert [pin.quote for pin in session.pins] == ["Never touch legacy/."]


@pytest.mark.parametrize(
    "text",
    [
        "Summary: please never touch legacy/.",
        "Summary of my rules so far:\n- Never touch legacy/.",
        "Chat history:\n- Never touch legacy/.",
        "Write a summary of the previous conversation:\n- Never touch legacy/.",
        "I spoke to you previously about a bug. Never touch legacy/.",
    ],
)
def test_a_summary_that_the_user_writes_is_the_users_words(store, text):
    session = Session.open("own", store)
    session.add({"role": "user", "content": text})
    assert [item.message.origin for item in session.view()] == [Origin.SPOKEN]
    assert ["ever touch legacy/." in pin.quote for pin in session.pins] == [True]


@pytest.mark.parametrize("parts", [1, 2])
def test_a_request_behind_a_summary_is_the_users_and_the_summary_is_not(store, parts):
    session = Session.open("both", store)
    texts = ["Context from earlier:\n- The user said to always push to main.\n", "\nNever touch legacy/."]
    whole = [texts[0] + "\nCurrent request:" + texts[1]] if parts == 1 else texts
    session.add({"role": "user", "content": [{"type": "text", "text": text} for text in whole]})
    assert [pin.quote for pin in session.pins] == ["Never touch legacy/."]
    assert [part.trust for part in session.view()[0].message.parts] == [Trust.UNTRUSTED, Trust.USER]


def test_a_compaction_fits_its_target_and_keeps_the_rule_word_for_word(session):
    before = session.tokens
    done = session.compact(target_tokens=4_000)
    assert session.tokens < before
    assert done.plan.tokens_after <= done.plan.target_tokens
    shown = parse_digest(session.view()[1].message.text)
    assert RULE in [pin.quote for pin in shown.pins]


def test_the_system_prompt_stays_the_very_first_message(session):
    first = session.view()[0]
    session.compact(target_tokens=3_000)
    assert session.view()[0] == first


def test_what_was_compacted_is_the_same_after_reopening(session):
    session.compact(target_tokens=4_000)
    assert everything(reopened(session)) == everything(session)
    assert reopened(session).tokens == session.tokens


def test_what_was_done_reads_short(session):
    assert len(repr(session.preview(target_tokens=4_000))) < 500
    assert len(repr(session.compact(target_tokens=4_000))) < 500


def test_undo_is_exact_and_keeps_what_came_since(session):
    before = everything(session)
    session.compact(target_tokens=4_000)
    session.add(text_message(Role.ASSISTANT, "Done."))
    session.undo()
    assert everything(session)[:-1] == before
    assert everything(session)[-1][1].text == "Done."


def test_any_number_of_compactions_can_be_undone_at_once(session):
    before = everything(session)
    for target in (5_000, 4_000, 3_000):
        session.compact(target_tokens=target)
    assert [one.plan.target_tokens for one in session.trace()] == sorted(
        [one.plan.target_tokens for one in session.trace()], reverse=True
    )
    session.undo(3)
    assert everything(session) == before
    assert session.trace() == []


def test_there_is_no_undoing_what_was_not_done(session):
    with pytest.raises(InputError, match="none to undo"):
        session.undo()


def test_switched_off_the_whole_history_is_shown(session):
    before = everything(session)
    session.compact(target_tokens=4_000)
    compacted = everything(session)
    session.switch_off()
    assert everything(session) == before
    with pytest.raises(InputError, match="switched off"):
        session.compact(target_tokens=3_000)
    session.switch_on()
    assert everything(session) == compacted


def test_compacting_twice_in_the_band_is_compacting_once(session):
    session.compact(target_tokens=4_000)
    once = everything(session)
    assert session.compact(target_tokens=4_000) is None
    assert everything(session) == once


def test_a_preview_changes_nothing_and_tells_what_would_be_lost(session):
    before = everything(session)
    head = session._replay.view.seq
    outcome = session.preview(target_tokens=3_000)
    assert outcome.report.kept
    assert outcome.plan.tokens_after < outcome.plan.tokens_before
    assert (everything(session), session._replay.view.seq) == (before, head)


@pytest.mark.parametrize("words", ["m1-m20", "m1..m20", "M1 to M20", "m1-20", "m5–"])
def test_a_range_is_not_taken_for_a_focus(session, words):
    session.add(*talk(40))
    before = session.view()
    for act in (session.compact, session.preview):
        with pytest.raises(InputError, match="is a range of messages"):
            act(focus=words)
    assert session.view() == before


def ids_and_changes(session, before):
    after = {item.id: item.message for item in session.view()}
    return [name for name, message in before.items() if after.get(name) != message]


def test_a_range_from_the_oldest_message_becomes_a_digest_and_all_else_stays(session):
    session.add(*talk(40))
    whole = session.view()
    before = {item.id: item.message for item in whole}
    planned = session.preview(messages="m1-m20")
    assert session.view() == whole
    done = session.compact(messages="m1-m20")
    assert done.plan == planned.plan
    assert ids_and_changes(session, before) == list(done.digest.covers)
    assert done.digest.covers[-1] in ("m20", "m21", "m22")  # a call keeps its result
    assert done.plan.tokens_after < done.plan.tokens_before
    session.undo()
    assert session.view() == whole


def test_a_range_beyond_the_last_message_says_what_is_not_compacted(session):
    session.add(*talk(40))
    last = session.view()[-1].id
    reason = session.compact(messages="m1-m999").plan.reason
    assert f"m999 does not exist, the last message is {last}" in reason
    assert "stays: the last turn is not compacted" in reason
    covered = session.trace()[-1].digest.covers
    assert session.trace()[-1].asked_range == f"{covered[0]}-{covered[-1]}"
    session.undo()
    assert "(" not in session.compact(messages="m1-m20").plan.reason


def test_a_range_that_ends_with_a_call_says_that_its_results_come_with_it():
    session = Session.open("fresh", MemoryStore())
    for n in range(6):
        call = ToolCall(f"c{n}", "read", {"path": f"p{n}.py"})
        session.add(text_message(Role.USER, f"Read part {n}."), Message(Role.ASSISTANT, (call,)))
        session.add(Message(Role.TOOL, (ToolResult(f"c{n}", (Text(f"row {n}\n" * 900),)),)))
        session.add(text_message(Role.ASSISTANT, f"Part {n} is read."))
    done = session.compact(messages="m5-m10")
    assert done.plan.reason == "m5-m11 (with m11: a call and its results stay together), as asked"
    assert done.asked_range == "m5-m11"


def test_a_range_that_begins_with_a_result_says_that_its_call_comes_with_it(session):
    session = Session.open("fresh", MemoryStore())
    for n in range(6):
        call = ToolCall(f"c{n}", "read", {"path": f"p{n}.py"})
        session.add(text_message(Role.USER, f"Read part {n}."), Message(Role.ASSISTANT, (call,)))
        session.add(Message(Role.TOOL, (ToolResult(f"c{n}", (Text(f"row {n}\n" * 900),)),)))
        session.add(text_message(Role.ASSISTANT, f"Part {n} is read."))
    for named in ("m7-m12", "m7-"):
        reason = session.preview(messages=named).plan.reason
        assert reason.endswith("(with m6: a call and its results stay together), as asked")


def test_a_range_that_ends_before_it_begins_is_refused(session):
    session.add(*talk(20))
    with pytest.raises(InputError, match="m9-m3 ends before it begins"):
        session.preview(messages="m9-m3")


def test_a_range_in_the_middle_is_shortened_in_place():
    session = Session.open("fresh", MemoryStore())
    for n in range(12):
        session.add(text_message(Role.USER, f"Request {n}: read part {n}."))
        session.add(text_message(Role.ASSISTANT, f"Part {n}: " + "what it says at length " * 400))
    before = {item.id: item.message for item in session.view()}
    done = session.compact(messages="m7-m10")
    assert done.digest is None
    assert ids_and_changes(session, before) == ["m8", "m10"]
    assert [item.id for item in session.view()] == [*before]
    session.compact(messages="m20-")
    assert ids_and_changes(session, before) == ["m8", "m10", "m20", "m22"]  # the last answer stays


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ("m900-m950", "not in the view"),
        ("the parser", "not a range"),
        ("m1", "not a range"),
        (f"m1-m{'9' * 5_000}", "not a range"),
    ],
)
def test_a_range_that_names_nothing_is_refused(session, messages, why):
    session.add(*talk(40))
    before = everything(session)
    with pytest.raises(InputError, match=why):
        session.compact(messages=messages)
    assert everything(session) == before


def test_a_range_that_a_digest_covers_is_refused_and_one_that_reaches_beyond_is_folded(session):
    session.add(*talk(60))
    first = session.compact(messages="m1-m20").digest
    with pytest.raises(InputError, match=f"are in {first.id}"):
        session.compact(messages="m3-m9")
    second = session.compact(messages="m10-m30").digest
    assert second.folds == (first.id,)
    assert second.covers[: len(first.covers)] == first.covers


def test_a_size_and_a_range_exclude_each_other(session):
    with pytest.raises(InputError, match="a size or a range"):
        session.compact(messages="m1-m20", target_tokens=1_000)


def test_rules_that_do_not_fit_are_an_error_and_nothing_is_lost(session):
    session.pin("x" * 40_000)
    before = everything(session)
    with pytest.raises(PinsDoNotFit):
        session.compact(target_tokens=2_000)
    assert everything(session) == before


def test_a_rule_set_by_hand_stands_in_the_digest_until_it_is_taken_off(session):
    pin = session.pin("Answer in French.")
    session.compact(target_tokens=4_000)
    assert "Answer in French." in session.view()[1].message.text
    session.unpin(pin.id)
    session.add(*talk(20))
    session.compact(target_tokens=4_000)
    assert "Answer in French." not in session.view()[1].message.text
    assert [one.quote for one in reopened(session).ledger.pins.active] == [
        one.quote for one in session.ledger.pins.active
    ]


# Looking closer --------------------------------------------------------------------------------------


def test_every_line_of_a_digest_leads_to_its_words(session):
    done = session.compact(target_tokens=4_000)
    for claim in done.digest.claims:
        expansion = session.expand(claim.id)
        assert expansion.quotes
        if claim.verbatim:
            assert claim.text.strip() in expansion.quotes[0].words


def test_a_digest_expands_to_what_it_covers_and_a_message_to_itself(session):
    done = session.compact(target_tokens=4_000)
    assert session.expand("d1").ids == done.digest.covers
    assert [item.message.text for item in session.originals(session.expand("m2").ids)] == [
        "Refactor the billing module so that invoices are computed in one place."
    ]


@pytest.mark.parametrize("ref", ["m9999", "d7", "d1.999", "p99", "nonsense", "m", ""])
def test_a_reference_to_nothing_says_what_there_is(session, ref):
    session.compact(target_tokens=4_000)
    with pytest.raises(NotFound):
        session.expand(ref)


def test_it_can_say_why_something_left_and_why_something_stayed(session):
    done = session.compact(target_tokens=4_000)
    gone = done.digest.covers[-1]
    assert f"{gone} is condensed into d1" in str(session.explain(gone))
    assert "no compaction in force touches it" in str(session.explain(session.view()[-1].id))
    assert "It is in force" in str(session.explain(session.ledger.pins.active[0].id))
    assert "covers" in str(session.explain("d1"))
    fact = session.keep("Refactor the billing module", "m2")
    assert f"{fact.id} is a passage of m2" in str(session.explain(fact.id))


# Models ----------------------------------------------------------------------------------------------


def test_a_model_may_write_the_prose(store):
    session = Session.open("main", store, window=20_000, summariser=good_summariser())
    session.add(*talk())
    done = session.compact(target_tokens=5_000)
    assert done.digest.author == session.summariser.name
    assert done.attempts[-1].outcome in ("accepted", "repaired")
    assert RULE in session.view()[1].message.text


def test_the_sessions_own_model_is_asked_behind_the_sessions_own_request(session):
    """Byte for byte what was sent before, so that the provider reads it from its cache."""
    session.summariser = model = good_summariser()
    session.own_requests = Native("anthropic", {"tools": [{"name": "read_file", "input_schema": {}}]})
    sent = [item.message for item in session.view()]
    session.compact(target_tokens=5_000)
    summary = next(ask for ask in model.asked if ask.purpose == "summarise")
    assert [*summary.system, *summary.messages] == sent
    assert summary.rest is session.own_requests


def test_a_model_that_fails_leaves_the_digest_to_code(store):
    session = Session.open("main", store, window=20_000, summariser=bad_summariser("timeout"))
    session.add(*talk())
    done = session.compact(target_tokens=5_000)
    assert done.digest.author == "clew"
    assert done.attempts[0].outcome == "failed"


class Awaited:
    """A model that is awaited."""

    def __init__(self, model):
        self.name, self.window_tokens, self._model = model.name, model.window_tokens, model

    async def ask(self, ask):
        await asyncio.sleep(0)
        return self._model.ask(ask)


def test_awaited_or_not_the_outcome_is_the_same():
    views = []
    for model in (good_summariser(), Awaited(good_summariser())):
        session = Session.open("main", MemoryStore(), window=20_000, summariser=model)
        session.add(*talk())
        if isinstance(model, Awaited):
            asyncio.run(session.compact_async(target_tokens=5_000))
        else:
            session.compact(target_tokens=5_000)
        views.append(everything(session))
    assert views[0] == views[1]


class Meddling(ScriptedModel):
    """A model during whose answer something else happens to the session."""

    def __init__(self, meddle):
        super().__init__([])
        self._meddle, self._good = meddle, good_summariser()

    def ask(self, ask):
        self._meddle()
        return self._good.ask(ask)


def test_what_is_said_while_a_model_writes_stays_in_the_view(session):
    other = reopened(session)
    session.summariser = Meddling(lambda: other.add(text_message(Role.USER, "One more thing.")))
    session.compact(target_tokens=5_000)
    assert session.view()[-1].message.text == "One more thing."


def test_a_compaction_of_a_view_that_was_reshaped_meanwhile_is_stale(session):
    other = reopened(session)
    session.summariser = Meddling(lambda: other.compact(target_tokens=4_000))
    with pytest.raises(StalePlan):
        session.compact(target_tokens=5_000)
    assert everything(session) == everything(other)


def test_a_plan_stays_stale_when_its_own_session_has_read_the_other_compaction(session):
    session.add(*talk(40))
    other = reopened(session)

    def meddle():
        if not other.trace():
            assert other.compact(messages="m40-m60").digest is None  # the messages are still in the view
            session.add(text_message(Role.USER, "One more thing."))  # reads what the other did

    session.summariser = Meddling(meddle)
    with pytest.raises(StalePlan):
        session.compact(target_tokens=5_000)
    assert [one.name for one in reopened(session).trace()] == ["d1"]
    assert session.expand("d1").text == other.expand("d1").text
    session.summariser = None
    assert session.compact(target_tokens=5_000).name == "d2"


def test_no_compaction_begins_inside_another(session):
    session.summariser = Meddling(lambda: session.compact(target_tokens=4_000))
    with pytest.raises(CompactionUnderWay):
        session.compact(target_tokens=5_000)


# Before a request ------------------------------------------------------------------------------------


def test_each_request_puts_one_budget_on_record(session):
    fitted = session.fit()
    events = list(session._replay.store.read(Ctx(workspace="local", session="main"), kinds=["token_budget"]))
    assert len(events) == 1
    assert fitted.budget.to_json().items() <= events[0].event.body.items()


def test_nothing_is_compacted_unless_asked_to(session):
    before = everything(session)
    assert isinstance(session.fit().verdict, Compact)
    assert everything(session) == before


def test_under_pressure_it_compacts_into_the_window(session):
    fitted = session.fit(auto=True)
    assert fitted.compaction.plan.trigger == "pressure"
    assert session.tokens <= session.gauge.window.usable_tokens
    assert session.fit(auto=True).compaction is None


def test_what_else_is_sent_counts(session):
    session.compact(target_tokens=9_000)
    assert session.fit(Request(fixed_tokens={Region.TOOLS: 12_000})).verdict != session.fit().verdict


def test_what_else_is_sent_fits_beside_the_compacted_view(session):
    session.fit(Request(fixed_tokens={Region.TOOLS: 8_000}), auto=True)
    assert session.tokens + 8_000 <= session.gauge.window.usable_tokens


# What is on record besides messages ------------------------------------------------------------------


def test_the_model_is_kept_with_the_session(store):
    Session.open("main", store, model="claude-sonnet-4-5").add(text_message(Role.USER, "hello"))
    session = Session.open("main", store)
    assert session.gauge.model.id == "claude-sonnet-4-5"
    assert [one.event.kind for one in session.events()] == ["about", "message"]
    assert Session.open("main", store, model="gpt-4o").gauge.model.id == "gpt-4o"


def test_a_session_talks_to_another_model_from_now_on(store):
    session = Session.open("main", store, model="claude-sonnet-4-5")
    session.add(text_message(Role.USER, "hello"))
    session.set_model("gpt-4o")
    session.add(text_message(Role.USER, "hello again"))
    assert session.gauge.window.tokens == 128_000
    assert reopened(session).gauge.model.id == "gpt-4o"


def test_what_happened_is_put_on_record_and_read_again(store):
    session = Session.open("main", store)
    session.add(text_message(Role.USER, "hello"))
    seq = session.record("approval", {"tool": "write_file", "allowed": True})
    session.add(text_message(Role.USER, "hello again"))
    first = next(session.events(1))
    assert (first.seq, first.event.body) == (seq, {"tool": "write_file", "allowed": True})
    assert [session.number(at) for at in (1, 2, 3)] == [1, 1, 2]


@pytest.mark.parametrize("kind", ["message", "compaction", "pin", "gossip"])
def test_what_changes_a_view_or_is_unknown_is_not_put_on_record_by_hand(store, kind):
    with pytest.raises(InputError, match="unknown event kind"):
        Session.open("main", store).record(kind, {})


def test_open_work_is_closed_and_opened_again_by_hand(store):
    session = Session.open("main", store)
    session.add(text_message(Role.USER, "TODO:\n- [ ] write the parser\n- [ ] test the lexer"))
    before = [loop.id for loop in session.ledger.loops.open]
    session.close_loop(before[0], "not needed")
    assert [loop.id for loop in reopened(session).ledger.loops.open] == before[1:]
    session.reopen_loop(before[0])
    assert sorted(loop.id for loop in reopened(session).ledger.loops.open) == sorted(before)
    with pytest.raises(NotFound):
        session.close_loop("nothing")


def test_what_left_the_view_is_found_again(tmp_path):
    with SqliteStore(tmp_path / "clew.db") as store, Session.open("main", store, window=20_000) as session:
        session.add(text_message(Role.USER, "The staging port is 5433."), *talk())
        session.compact(target_tokens=2_000)
        (hit, *_) = session.memory.search("which port has staging")
        assert hit.entry.text == "The staging port is 5433."
        assert session.memory.open(session.memory.ref(hit.entry)).quotations[0].text == hit.entry.text


def test_without_a_file_a_search_says_so_and_all_else_works(store):
    session = Session.open("main", store)
    session.add(text_message(Role.USER, "The staging port is 5433."))
    with pytest.raises(NoIndex, match="MemoryStore has no search index"):
        session.memory.search("port")
    note = session.memory.notebook.add(Draft(key="port", text="The staging port is 5433."))
    assert [kept.id for kept in session.memory.notebook.notes()] == [note.id]
    assert "5433" in str(session.request(memory=True).end)
    box = session.memory.toolbox(session)
    assert "recall_search" not in [tool.name for tool in box.tools]
    assert "5433" in box.run("notes_search", {"query": "port"}).text


def test_how_the_tests_went_last_is_told_once(store):
    session = Session.open("main", store, window=20_000)
    for n, went in enumerate(["2 failed, 30 passed in 1.2s", "1 failed, 31 passed in 1.2s"]):
        call = {"type": "tool_use", "id": f"run{n}", "name": "bash", "input": {"command": "pytest -q"}}
        result = {"type": "tool_result", "tool_use_id": f"run{n}", "content": f"..F\n{went}"}
        session.add({"role": "user", "content": "Run the tests."}, {"role": "assistant", "content": [call]})
        session.add({"role": "user", "content": [result]})
        session.add(*talk())
        session.compact(target_tokens=3_000)
    digest = session.trace()[-1].digest
    told = [claim.text for claim in digest.claims if claim.text.startswith("last test run")]
    assert told == ["last test run: pytest -q: 31 passed, 1 failed"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"role": "usr", "content": "x"}, "has the unknown role 'usr'"),
        ({"role": 5, "content": "x"}, "has the unknown role 5"),
        ({"role": "user"}, "this message of role 'user' has no content"),
        ({"role": "system", "content": None}, "this message of role 'system' has no content"),
        ({"role": "tool", "name": "ls"}, "this message of role 'tool' has no content"),
    ],
)
def test_an_entry_of_no_role_or_without_words_is_refused_and_not_kept(store, entry, told):
    session = Session.open("main", store)
    with pytest.raises(InputError, match=told):
        session.add({"role": "user", "content": "hello"}, entry)
    assert session.view() == []


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "assistant", "content": None},
        {"role": "model", "parts": []},
        {"role": "user", "content": ""},
        {"parts": [{"text": "hi"}]},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
        {"role": "function", "name": "ls", "content": "x"},
    ],
)
def test_an_entry_that_a_provider_may_send_is_taken_even_if_it_says_little(store, entry):
    assert Session.open("main", store).add(entry) == ["m1"]


def test_a_rule_that_was_lifted_is_expanded_with_its_end(store):
    session = Session.open("main", store)
    session.add(
        text_message(Role.USER, "Never push to main."), text_message(Role.USER, "You can push to main now.")
    )
    session.add(text_message(Role.USER, "Never touch legacy/."))
    assert [session.expand(pin).ended for pin in session.ledger.pins.held] == ["lifted by m2", ""]


def test_a_compaction_records_the_tools_whose_calls_or_results_it_changed_most_used_first():
    names = ["run", "read", "read", "recent", "shortened"]
    messages = [one for n, name in enumerate(names) for one in (call(n, name), answer(n, "ok"))]
    view = [Item(f"m{n}", message) for n, message in enumerate(messages)]
    first = Condense(tuple(item.id for item in view[:6]), Digest("d1", 0, ("m0",), "", ()), Rung.SUMMARISE)
    result = Shrink("m9", text_message(Role.USER, "o"), "too long", Rung.PRUNE)
    tools = changed_tools(Plan((first, result), 9, 5, 5, "manual", "asked for"), view)
    assert tools == ["read", "run", "shortened"]


def test_tools_that_were_used_equally_often_are_in_the_order_of_their_names():
    names = [f"tool_{n}" for n in range(9)]
    view = [Item(f"m{n}", call(n, name)) for n, name in enumerate(reversed(names))]
    plan = Plan(
        (Condense(tuple(item.id for item in view), Digest("d1", 0, ("m0",), "", ()), Rung.SUMMARISE),),
        9,
        5,
        5,
        "manual",
        "",
    )
    assert changed_tools(plan, view) == names


def test_a_session_that_is_opened_again_has_the_window_it_was_opened_with():
    store = MemoryStore()
    Session.open("w", store, model="claude-sonnet-4-5", window=32_000).add(text_message(Role.USER, "Hi."))
    assert Session.open("w", store).gauge.window.tokens == 32_000
    assert Session.open("w", store, model="claude-sonnet-4-5").gauge.window.tokens == 32_000
    assert Session.open("w", store, window=64_000).gauge.window.tokens == 64_000
    assert Session.open("w", store, model="gpt-4o").gauge.window.tokens == 128_000
