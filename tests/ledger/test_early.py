"""Words of the user that are kept although no rule was recognised in them."""

from __future__ import annotations

import pytest

import clew
from clew.ledger import Ledger
from clew.ledger.user_quotes import EARLY_TURNS, MOST_CHARACTERS, MOST_LINES
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, Trust, text_message

UNKNOWN = (
    "legacy/ altındaki dosyaları asla değiştirme.",
    "Ändra aldrig filer under legacy/.",
    "Đừng bao giờ sửa các tệp trong legacy/.",
    "legacy/ की फ़ाइलों को कभी मत बदलना।",
    "لا تعدّل الملفات في legacy/ أبدا.",
    "Jangan pernah mengubah file di legacy/.",
    "Ніколи не змінюй файли в legacy/.",
    "Nikdy neměň soubory v legacy/.",
    "هرگز فایل‌های legacy/ را تغییر نده.",
    "לעולם אל תשנה קבצים תחת legacy/.",
    "Μην αλλάξεις ποτέ αρχεία στο legacy/.",
    "ห้ามแก้ไขไฟล์ใน legacy/ เด็ดขาด",
)


def ledger_of(*messages: Message) -> Ledger:
    ledger = Ledger()
    ledger.extend(Item(f"m{number}", message) for number, message in enumerate(messages, start=1))
    return ledger


def user(text: str) -> Message:
    return text_message(Role.USER, text)


def busy(count: int) -> list[Message]:
    """Return so many turns that what follows is no longer early."""
    return [
        user(f"Look at the output of run {number} and tell me what you see in it.") for number in range(count)
    ]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_language_without_a_table_keeps_a_line_that_names_a_path_at_any_time(text):
    ledger = ledger_of(*busy(EARLY_TURNS + 3), user(text))
    assert any(text.rstrip(".।") in words.quote for words in ledger.user_quotes)


@pytest.mark.parametrize(
    "text",
    [
        "here are my rules:\n```\nnever modify legacy/\n```",
        '{"rules": ["never modify legacy/"]}',
        "| legacy/ | never modify |",
        "<log>\nbuild ok\nnever modify legacy/",
        "x\n" * 40_000 + "\nIMPORTANT: never modify legacy/\n" + "y\n" * 40_000,
    ],
)
def test_a_line_that_restricts_is_kept_wherever_it_is(text):
    ledger = ledger_of(*busy(EARLY_TURNS + 3), user(text))
    quotes = [words.quote for words in ledger.user_quotes] + [pin.quote for pin in ledger.pins.active]
    assert any("legacy/" in quote and "never" in quote for quote in quotes)


def test_a_dash_does_not_make_a_line_of_a_plan_one_of_an_unknown_language():
    plan = "Implement the plan, ne?\n" + "\n".join(f"- `field_{n}` — existing count → kept" for n in range(5))
    kept = ledger_of(*busy(EARLY_TURNS + 3), user(plan)).user_quotes
    assert not [words.quote for words in kept if "field_" in words.quote]


def test_an_answer_to_a_question_and_the_reason_of_a_refusal_are_kept_as_data():
    asked = Message(Role.ASSISTANT, (ToolCall("c1", "AskUserQuestion", {}),))
    text = 'User has answered your questions: "May I?"="  No, never modify legacy/". You can now continue.'
    answered = Message(Role.USER, (ToolResult("c1", (Text(text, trust=Trust.UNTRUSTED),)),))
    (words,) = ledger_of(asked, answered).user_quotes
    assert words.quote == "No, never modify legacy/"
    assert text[words.source.start : words.source.end] == words.quote
    assert words.trust is Trust.UNTRUSTED


def test_there_is_a_bound():
    lines = [f"never modify src/module{number}/ in any way" for number in range(200)]
    ledger = ledger_of(*busy(EARLY_TURNS), *map(user, lines))
    kept = [words for words in ledger.user_quotes if words.quote in lines]
    assert len(kept) <= MOST_LINES
    assert sum(len(words.quote) for words in kept) <= MOST_CHARACTERS


def test_thanks_and_going_on_are_not_kept():
    assert not ledger_of(user("ok, thanks!"), user("go ahead"), user("continue")).user_quotes


def test_it_is_the_same_after_being_written_and_read_back():
    ledger = ledger_of(*map(user, UNKNOWN))
    again = Ledger.from_json(ledger.to_json())
    assert again.user_quotes == ledger.user_quotes


def test_a_short_early_turn_outlives_a_chain_of_compacted_lists():
    messages = [
        {"role": "user", "content": "Fix the tests."},
        {"role": "user", "content": "treat legacy/ as a museum"},
    ]
    for part in range(6):
        for number in range(12):
            messages.append(
                {"role": "assistant", "content": f"Part {part}, file {number}: " + "as expected. " * 60}
            )
            messages.append(
                {"role": "user", "content": f"Go on with part {part}, file {number + 1}, please."}
            )
        messages = list(clew.compact(messages, window=6_000).messages)
    assert "treat legacy/ as a museum" in str(messages)


def test_an_answer_is_kept_with_its_question():
    line = "Should we move it? No, never touch src/legacy/ in V1."
    ledger = ledger_of(*busy(EARLY_TURNS), user(f"Some context first.\n{line}\nThat is all."))
    assert line in [words.quote for words in ledger.user_quotes]


def test_a_wrapped_line_is_kept_with_its_continuation():
    item = "- Skip the check for requests with no `Content-Length` header (streaming \n  or chunked)"
    text = "Cap the size of requests.\n\n" + f"{item}; do not buffer the body\n- Return 413.\n" + "x " * 200
    assert [one.quote for one in ledger_of(user(text)).user_quotes] == [f"{item}; do not buffer the body"]


@pytest.mark.parametrize("between", ["\n\n", " "])
@pytest.mark.parametrize("times", [20, 100])
def test_a_plain_ban_in_the_middle_of_a_long_message_is_kept(between, times):
    about = "The dashboard is slow in the morning, and Ana thinks that it is the cache. "
    text = f"{about * times}{between}Do not touch the database migrations.{between}{about * times}"
    (kept,) = ledger_of(user(text)).user_quotes
    assert kept.quote == "Do not touch the database migrations."
    assert not ledger_of(user(about * 2 * times + "We do not touch it.")).user_quotes
    pasted = f"```\n{text}\n```\n{about * times}"
    assert times < 100 or not ledger_of(user(pasted)).user_quotes


def test_of_a_long_text_that_forbids_much_the_first_few_are_kept():
    bans = [f"Do not touch table {n} of the archive." for n in range(30)]
    text = " ".join(
        f"The dashboard is slow in the morning, and Ana thinks it is the cache. {ban}" for ban in bans
    )
    long = f"{text} {'The totals differ by some cents. ' * 150}"
    assert [one.quote for one in ledger_of(user(long)).user_quotes] == bans[:6]
