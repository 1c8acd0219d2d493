"""Which words are exact values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ledger import ValueKind
from clew.ledger.kinds import WORD, Known, KnownWords, classify, kind_of, values_in, with_punctuation


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("/repo/src/app.py", ValueKind.PATH, "/repo/src/app.py"),
        ("src/app.py.", ValueKind.PATH, "src/app.py"),
        ("~/.config/tool/", ValueKind.PATH, "~/.config/tool/"),
        ("@scope/package", ValueKind.PATH, "@scope/package"),
        ("app.py", ValueKind.FILE, "app.py"),
        (".gitignore", ValueKind.FILE, ".gitignore"),
        ("3f2a9b1c", ValueKind.HASH, "3f2a9b1c"),
        ("7fa299ee-d70a-4fff-b079-55a628f6b5fd", ValueKind.UUID, "7fa299ee-d70a-4fff-b079-55a628f6b5fd"),
        ("v1.22.3", ValueKind.VERSION, "v1.22.3"),
        ("8080", ValueKind.NUMBER, "8080"),
        ("85%", ValueKind.NUMBER, "85%"),
        ("$19.99", ValueKind.NUMBER, "$19.99"),
        ("250ms", ValueKind.NUMBER, "250ms"),
        ("2026-02-18", ValueKind.NUMBER, "2026-02-18"),
        ("API_BASE_URL", ValueKind.ENV, "API_BASE_URL"),
        ("$HOME_DIR", ValueKind.ENV, "HOME_DIR"),
        ("max_retries", ValueKind.IDENTIFIER, "max_retries"),
        ("0008_add_users", ValueKind.IDENTIFIER, "0008_add_users"),
        ("getUserName", ValueKind.IDENTIFIER, "getUserName"),
        ("HTTPServerConfig", ValueKind.IDENTIFIER, "HTTPServerConfig"),
        ("django.db.models", ValueKind.IDENTIFIER, "django.db.models"),
        ("kebab-case-name", ValueKind.IDENTIFIER, "kebab-case-name"),
        ("--dry-run", ValueKind.IDENTIFIER, "--dry-run"),
        ("ada@example.org", ValueKind.IDENTIFIER, "ada@example.org"),
        ("#42", ValueKind.ISSUE, "#42"),
        ("ENT-221", ValueKind.ISSUE, "ENT-221"),
        ("P-1222", ValueKind.ISSUE, "P-1222"),
        ("RE-2024-0137", ValueKind.ISSUE, "RE-2024-0137"),
        ("ENOENT", ValueKind.CODE, "ENOENT"),
        ("DE89370400440532013000", ValueKind.CODE, "DE89370400440532013000"),
        ("TS2345", ValueKind.CODE, "TS2345"),
    ],
)
def test_a_value_is_known_by_its_shape(word, kind, value):
    assert kind_of(word) == Known(kind, value)


@pytest.mark.parametrize(
    "word",
    [
        *(
            "return",
            "Hello",
            "read/write",
            "and/or",
            "UTF-8",
            "ERROR",
            "2024",
            "123",
            "end-to-end",
            "well-known",
        ),
        *("GitHub", "/dev/null", "//", "...", "---", "e.g"),
    ],
)
def test_plain_words_are_no_values(word):
    assert kind_of(word) is None


def test_a_sentence_is_cut_at_its_punctuation():
    assert WORD.findall('run("a/b.py", x_1=2); see #7') == ["run", "a/b.py", "x_1", "see", "#7"]


@pytest.mark.parametrize(
    ("text", "spoken", "found"),
    [
        ("see https://x.org/a?b=1.", False, [Known(ValueKind.URL, "https://x.org/a?b=1")]),
        (r"in C:\work\a.txt", False, [Known(ValueKind.PATH, r"C:\work\a.txt")]),
        ("it costs $1,299.00 for 30 days", True, [
            Known(ValueKind.NUMBER, "$1,299.00"), Known(ValueKind.NUMBER, "30 days"),
        ]),
        ("importe 165,90 euros", True, [Known(ValueKind.NUMBER, "165,90 euros")]),
        ("über 1.100,90 € brutto", True, [Known(ValueKind.NUMBER, "1.100,90 €")]),
        ("rows 1,2,3 of [12,34,56]", True, []),
        ("请登记订单1037，金额100元，订单RE-1038已发，单价1200円。", True, [
            Known(ValueKind.NUMBER, "100元"), Known(ValueKind.NUMBER, "1200円"),
            Known(ValueKind.NUMBER, "1037"), Known(ValueKind.NUMBER, "RE-1038"),
        ]),
        ("IBAN DE89 3704 0044 0532 0130 00, please", True, [
            Known(ValueKind.NUMBER, "DE89 3704 0044 0532 0130 00"),
        ]),
        ("call +34 612 34 1037 or +1 (212) 555-0100", True, [
            Known(ValueKind.NUMBER, "+34 612 34 1037"), Known(ValueKind.NUMBER, "+1 (212) 555-0100"),
        ]),
        ("on 5 March 2026 at 14:05, el 5 de marzo de 2026, am 5. März", True, [
            Known(ValueKind.NUMBER, "5 March 2026"), Known(ValueKind.NUMBER, "14:05"),
            Known(ValueKind.NUMBER, "5 de marzo de 2026"), Known(ValueKind.NUMBER, "5. März"),
        ]),
        ("March 5, 2026 or 2026年3月5日", True, [
            Known(ValueKind.NUMBER, "March 5, 2026"), Known(ValueKind.NUMBER, "2026年3月5日"),
        ]),
        ("see src/a.py:12:30, 16:9 and 2024年", True, []),
        ('call it "Night Train"', True, [Known(ValueKind.QUOTED, "Night Train")]),
        ('"Night Train" for 30 days', False, []),
        ('key = "[secret:anthropic-key:38c8]"', True, []),
    ],
)  # fmt: skip
def test_values_with_punctuation_have_patterns_of_their_own(text, spoken, found):
    assert [known for known, _ in with_punctuation(text, spoken=spoken)] == found


def test_words_that_would_split_in_many_ways_are_judged_at_once():
    hostile = ["a" + "A" * 250 + "!", "_" * 250 + "!", "a." * 140 + "!", "a-" * 140 + "!", "1" * 290 + "g!"]
    assert [kind_of(word) for word in hostile] == [None] * 5


def test_known_words_forget_when_they_are_too_many(monkeypatch):
    monkeypatch.setattr("clew.ledger.kinds._REMEMBERED", 3)
    known = KnownWords()
    for word in ("one", "two", "three", "four_five"):
        known[word]
    assert dict(known) == {"four_five": Known(ValueKind.IDENTIFIER, "four_five")}


PIECES = (
    'the parser I don\'t Done. parse_query src/a.py, `a b` "Night Train" 30 days $1,299.00 3 42 1276 ms'
    " https://x.org/a?b C:\\work\\a.txt parseQuery (foo_bar) v1.2.3 #7 \n \t \u00a0 \u2028 über 你好 x_1=2"
    " 订单1037，金额100元 165,90 € 14:05 5. März 2026 +34 612 34 DE89 3704 0044 P-1222"
)
TEXTS = st.lists(st.sampled_from(PIECES.split(" ")), max_size=12) | st.lists(st.text(max_size=6), max_size=8)


@given(TEXTS, st.sampled_from([" ", "", "\n"]), st.booleans())
def test_plain_words_are_passed_over_without_losing_a_value(pieces, gap, spoken):
    text = gap.join(pieces)
    words = [word for word in dict.fromkeys(WORD.findall(text)) if classify(word) is not None]
    assert values_in(text, spoken=spoken) == (words, with_punctuation(text, spoken=spoken))
