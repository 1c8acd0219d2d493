"""What the user asked first stays in the view, also if a reply has reported it done."""

from __future__ import annotations

import pytest

import clew
from clew.errors import BudgetExceeded

FIRST = (
    "hello, i took over the booking service from Pia. since monday the calendar shows every slot twice and"
    " the clinics are angry. can you find out why? and pls keep your hands off everything in"
    " /opt/booking/frozen, the lawyers look at it"
)
"""A request with a ban in words of the user's own."""


def steps(count: int, start: int) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for number in range(start, start + count):
        call = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "Read",
            "input": {"file_path": f"/opt/m{number}.py"},
        }
        text = "\n".join(f"def slot_{number}_{row}(day): return day[{row}]" for row in range(60))
        made += [
            {"role": "assistant", "content": [{"type": "text", "text": "I read on."}, call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}],
            },
        ]
    return made


def story(first: str = FIRST) -> list[dict[str, object]]:
    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": text}

    return [
        said("user", first),
        *steps(20, 0),
        said(
            "assistant", "I found it: the importer writes each slot on both retries, so all are there twice."
        ),
        said("user", "ok, a unique index then, and call it 0112"),
        *steps(20, 20),
        said("assistant", "Migration 0112 is written, with the unique index."),
        said("user", "void the old slots. then write the description of the change"),
        *steps(20, 40),
    ]


def view_of(messages: object) -> str:
    return str(messages)


@pytest.mark.parametrize(("window", "target"), [(8_000, None), (24_000, 3_000), (24_000, 1_500)])
def test_what_the_user_asked_first_stays_though_it_was_reported_done(window, target):
    fitted = clew.compact(story(), window=window, target_tokens=target)
    shown = view_of(fitted.messages)
    assert fitted.ledger.goal is not None
    assert "every slot twice" in shown
    assert "/opt/booking/frozen" in shown


def test_a_compaction_that_is_refused_leaves_a_list_that_fits_as_it_is(monkeypatch):
    def refuse(*_args: object) -> None:
        raise BudgetExceeded("it does not fit")

    messages = [{"role": "user", "content": "Go on."}, *steps(12, 0)]
    window = round(clew.compact(messages, window=200_000).tokens_before / 0.8 / 0.9)
    assert clew.compact(messages, window=window).changed
    monkeypatch.setattr("clew.compaction.decide.propose", refuse)
    kept = clew.compact(messages, window=window)
    assert not kept.changed
    assert kept.messages == messages
    with pytest.raises(BudgetExceeded):
        clew.compact(messages, window=window, target_tokens=2_000)
    with pytest.raises(BudgetExceeded):
        clew.compact(messages, window=window // 2)
