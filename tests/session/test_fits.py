"""Compaction always fits: long rules are cut, found rules collapse, only rules set by hand can refuse."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.compaction.propose import digest_input
from clew.compaction.verify.report import LossKind
from clew.errors import BudgetExceeded, PinsDoNotFit
from clew.log.store import MemoryStore
from clew.message import LONGEST_RULE
from clew.providers.scripted import ScriptedModel
from clew.rules.rule import MadeBy
from clew.session import Session
from tests.conftest import tries
from tests.summarisers import good_summariser

LATER = [{"role": "assistant", "content": "ok " * 3_000}, {"role": "user", "content": "Go on."}]
PASTES = {
    "chinese without a full stop": "不要修改遗留目录，" + "必须保留所有文件和目录以及它们的内容，" * 6_000,
    "one endless word": "never touch " + "legacy/" * 5_000,
    "one endless sentence": "Never modify " + "the old files of the first and the second part, " * 2_000,
    "many rules": "\n".join(f"Never modify files under module_{n}/." for n in range(400)),
}


def rules(count: int) -> list[dict]:
    told = ("Never modify files under module_{0}/.", "Understood, I leave module_{0} alone.")
    speakers = zip(("user", "assistant"), told, strict=True)
    each = [{"role": role, "content": text} for role, text in speakers]
    return [{**one, "content": one["content"].format(n)} for n in range(count) for one in each]


@pytest.mark.parametrize("name", PASTES)
def test_no_paste_is_so_long_that_a_list_cannot_be_compacted(name):
    done = clew.compact([{"role": "user", "content": PASTES[name]}, *LATER], 4_000)
    assert done.tokens_after < 2_000
    assert done.report.accepted
    assert all(len(pin.quote) <= LONGEST_RULE for pin in done.ledger.pins.all)


def test_a_rule_is_cut_at_a_clause_marked_and_leads_to_all_of_it():
    said = (
        "Never modify files under legacy/, "
        + "nor those of the first or of the second part, " * 30
        + "whatever happens."
    )
    done = clew.compact([{"role": "user", "content": said}, *LATER * 6], 4_000)
    (rule,) = done.ledger.pins.active
    assert rule.quote.endswith("part,")
    assert rule.source.end - rule.source.start > 1_400
    shown = done.messages[0]["content"]
    assert f'- "{rule.quote}" …' in shown
    again = clew.compact([*done.messages, *LATER], 4_000)
    assert [pin.quote for pin in again.ledger.pins.active] == [rule.quote]
    assert f'- "{rule.quote}" …' in again.messages[0]["content"]


@pytest.mark.parametrize("window", [4_000, 8_000])
def test_found_rules_collapse_the_oldest_first_to_a_line_that_leads_to_them(window):
    given = [*rules(400), *LATER]
    done = clew.compact(given, window)
    shown = done.messages[0]["content"]
    kept = [n for n in range(400) if f'"Never modify files under module_{n}/."' in shown]
    assert kept
    assert kept == list(range(kept[0], 400))
    assert f"[m1,m3,m5,m7,m9,m11,m13,m15,m17,m19,m21,m23]\n- {kept[0]} more rules apply" in shown
    assert len(done.ledger.pins.active) == 400
    (count,) = (one for one in done.report.kept if one.matter is LossKind.RULE)
    assert (count.before, count.stand) == (400, 400 - kept[0])  # the report counts those not shown
    again = clew.compact([*done.messages, *LATER], window, previous=done)
    assert again.tokens_after <= window


def test_what_is_less_certain_collapses_before_what_is_as_old():
    sure, unsure = "Never modify files under {}/.", "You should not edit {}/ please."
    texts = [text.format(f"module_{n}") for n in range(200) for text in (sure, unsure)]
    reply = {"role": "assistant", "content": "ok " * 100}
    messages = [one for text in texts for one in ({"role": "user", "content": text}, reply)]
    done = clew.compact([*messages[:-1], *LATER], 8_000)
    found = {pin.quote: pin.confidence for pin in done.ledger.pins.active}
    assert len(set(found.values())) > 1
    shown = done.messages[0]["content"]
    kept = [certainty for quote, certainty in found.items() if f'"{quote}"' in shown]
    assert sum(kept) / len(kept) > sum(found.values()) / len(found)


def test_rules_set_by_hand_never_collapse_and_alone_can_refuse():
    session = Session.open("s", MemoryStore(), window=8_000)
    session.add(*rules(400), *LATER)
    by_hand = session.pin("Answer in French.").id
    done = session.compact(target_tokens=3_000)
    assert any(pin.id == by_hand for pin in done.plan.digests[-1].pins)
    for n in range(300):
        session.pin(f"Never delete the table {n} of the store in the cellar of the house.")
    with pytest.raises(PinsDoNotFit):
        session.compact(target_tokens=2_000)


def test_without_rules_set_by_hand_there_is_another_reason_to_refuse():
    session = Session.open("s", MemoryStore())
    session.add(*rules(40), *LATER)
    assert all(pin.made_by is MadeBy.FOUND for pin in session.pins)
    with pytest.raises(BudgetExceeded) as refused:
        session.compact(target_tokens=20)
    assert not isinstance(refused.value, PinsDoNotFit)


def test_a_system_prompt_that_is_sent_again_pins_nothing():
    laws = " ".join(f"Never modify files under module_{n}/." for n in range(300))
    prompt = {"role": "system", "content": f"You are careful. {laws}"}
    changed = {"role": "system", "content": f"You are most careful. {laws} Never push to main."}
    talk = [one for n in range(24) for one in ({"role": "user", "content": f"Read {n}."}, LATER[0])]
    done = clew.compact([prompt, *talk, prompt, changed, prompt, LATER[1]], 60_000)
    assert [pin.quote for pin in done.ledger.pins.active] == ["Never push to main."]


scripts = st.text(st.sampled_from("never 不要 nie legacy/ , . ，\n必须x"), min_size=1, max_size=40)


@settings(max_examples=25)
@given(st.lists(st.builds(lambda text, n: text * n, scripts, st.integers(1, 2_000)), min_size=1, max_size=3))
def test_whatever_is_pasted_it_fits(pasted):
    messages = [
        one
        for text in pasted
        for one in (
            {"role": "user", "content": f"Never touch {text}"},
            {"role": "assistant", "content": "ok"},
        )
    ]
    assert clew.compact([*messages, *LATER], 4_000).tokens_after <= 4_000


@pytest.mark.parametrize("window", [2_000, 2_500])
def test_found_rules_stay_whole_if_they_fit_the_window_though_not_the_target(window):
    said = [f"Never edit the files under module_{n}/ without asking me first." for n in range(20)]
    session = clew.Session.open("it", clew.MemoryStore(), window=window)
    session.add({"role": "user", "content": "Tidy up.\n" + "\n".join(f"- {one}" for one in said)})
    for n in range(30):
        text = {"type": "text", "text": f"I look at part {n} now."}
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"part_{n}.py"}}
        output = "\n".join(f"rate_{n}_{k} = table[{k}] * {n + k}" for k in range(12))
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
        session.add({"role": "assistant", "content": [text, call]}, {"role": "user", "content": [result]})
    done = session.compact()
    shown = "\n".join(item.message.text for item in session.view())
    assert [one for one in said if one not in shown] == []
    assert done.plan.tokens_after <= 0.6 * session.gauge.window.usable_tokens


SAID = (
    "Fix parser {0} so that it reads tables. ",
    "The queue {0} was moved to the shard group in week {1} and nobody wrote down why. ",
    "Please also rotate the certificate of gw-{0}. ",
    "What does cache {0} do? ",
    "修复表格解析器{0}，请同时更新证书{1}。",
    "テスト{0}を書いてください。",
)
PARAGRAPHS = st.builds(
    lambda sentence, times, mark: mark + "".join(sentence.format(n, n * 7 % 50) for n in range(times)),
    st.sampled_from(SAID),
    st.sampled_from((1, 2, 20, 150)),
    st.sampled_from(("", "- ")),
)
REQUESTS = st.builds(
    lambda first, parts, gap, last: gap.join([first, *parts, last]).strip("\r\n"),
    st.sampled_from(("", "Hi,", "Fix the typo in README.")),
    st.lists(PARAGRAPHS, min_size=1, max_size=12),
    st.sampled_from(("\n", "\n\n", "\r\n", "\n  \t")),
    st.sampled_from(("", "That is the background, take your time.")),
)
LISTING = "\n".join(f"v_{n} = compute({n * 7919 % 10_007})" for n in range(40))
READS = [
    message
    for n in range(30)
    for message in (
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/f{n}.py"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n}\n{LISTING}"}],
        },
    )
]
READS.insert(4, {"role": "assistant", "content": "The typo in README is fixed."})


@given(REQUESTS, st.sampled_from((1_200, 1_500, 2_000, 4_000)))
@settings(max_examples=tries(60, 2_000))
def test_no_shape_of_a_request_makes_a_compaction_fail(asked: str, target: int):
    done = clew.compact([{"role": "user", "content": asked}, *READS], window=100_000, target_tokens=target)
    assert done.tokens_after <= target


@pytest.mark.parametrize("target", [1_200, 1_500, 4_000])
def test_a_digest_that_is_too_large_with_the_open_work_restored_is_made_smaller(monkeypatch, target):
    text = "".join(SAID[1].format(n, n * 7 % 50) for n in range(60))
    excerpt = "Fix the typo.\n[… 1 line]\nTake your time."
    monkeypatch.setattr(digest_input, "request_excerpt", lambda *_: excerpt)
    asked = {"role": "user", "content": f"Fix the typo.\n{text}\nTake your time."}
    done = clew.compact([asked, *READS], window=100_000, target_tokens=target)
    assert done.tokens_after <= target
    assert asked["content"][:300] in done.messages[0]["content"].replace("\n  ", "\n")


def _asked_again_and_again(times: int) -> tuple[Session, list]:
    """Compact a short session of one-line orders without a size, as often as asked."""
    session = Session.open("s", MemoryStore(), window=16_000)
    for rule in RULES_FOUND:
        session.add({"role": "user", "content": rule}, {"role": "assistant", "content": "Noted."})
    for n in range(25):
        order = f"Order N-{n} costs {n * 37} EUR and ships to depot {n} in week {n + 3}."
        session.add({"role": "user", "content": order}, {"role": "assistant", "content": f"Noted {n}."})
    return session, [session.compact() for _ in range(times)]


RULES_FOUND = (
    "Never wire money to account DE44.",
    "Never email the client without my sign-off.",
    "Ändere nie etwas unter vertraege/.",
)


def test_found_rules_stay_in_a_window_with_room_for_them_however_often_it_is_compacted():
    session, done = _asked_again_and_again(5)
    text = "\n".join(item.message.text for item in session.view())
    assert done[0]
    assert done[-2:] == [None, None]
    assert all(rule in text for rule in RULES_FOUND)
    assert "more rules apply" not in text


def test_a_compaction_that_nobody_sized_and_that_frees_next_to_nothing_is_not_made():
    session, _ = _asked_again_and_again(0)
    sizes = [session.tokens]
    while session.compact():
        sizes.append(session.tokens)
    assert len(sizes) > 1
    assert all(after <= before * 0.95 for before, after in pairwise(sizes))


def test_no_model_is_paid_for_a_compaction_that_would_free_next_to_nothing():
    model = good_summariser()
    session = Session.open("s", MemoryStore(), window=16_000, summariser=model)
    session.add(*rules(150), *LATER)  # the rules take most of what a compaction leaves
    calls = [_calls(model)]
    while session.compact():
        calls.append(_calls(model))
    assert len(calls) > 1
    assert calls[-1] == _calls(model)


def _calls(model: ScriptedModel) -> int:
    """Return how often a model was asked to write something."""
    return sum(ask.purpose != "judge" for ask in model.asked)
