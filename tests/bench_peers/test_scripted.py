import json

from hypothesis import given
from hypothesis import strategies as st
from peers.peerkit.scripted import OPENING, lines_of, opening_of, shown_in, summary


def said(text, role="user"):
    return {"role": role, "content": text}


TALK = [
    said("Please look at src/store.py and tell me. It is slow today, and was so before."),
    said('I read "it"; 3 < 4 & so on, in short it is fine.', "assistant"),
    said("Thanks, now the parser please."),
]


def test_a_summary_says_the_first_sentence_of_each_message_shown():
    assert summary(TALK, [0, 2], 150).split("\n") == [
        OPENING,
        "User: Please look at src/store.py and tell me.",
        "User: Thanks, now the parser please.",
    ]


def test_where_room_is_short_the_messages_that_speak_are_drawn_from_all_of_the_list():
    messages = [said(f"This is what message {number} of them all has to say.") for number in range(1_000)]
    numbers = [int(line.split()[5]) for line in summary(messages, range(1_000), 5_000).split("\n")[1:]]
    assert numbers == sorted(numbers)
    assert 80 < len(numbers) < 100
    assert 350 < sum(numbers) / len(numbers) < 650


def test_a_first_sentence_that_is_too_long_is_cut():
    assert opening_of("one two three four", 9) == "one two t"


def test_a_message_is_known_again_however_it_is_escaped():
    assert shown_in(json.dumps(TALK[1]), TALK) == [1]
    assert shown_in(TALK[1]["content"].replace("<", "&lt;").replace("&", "&amp;"), TALK) == [1]


def test_a_message_that_was_trimmed_away_is_not_taken_for_shown():
    assert shown_in("\n".join(one["content"] for one in TALK[1:]), TALK) == [1, 2]


def test_a_summary_of_ours_is_summed_up_line_by_line():
    before = said(f"Summary follows.\n{OPENING}\nUser: first.\nAssistant: second.")
    assert lines_of(before) == ["User: first.", "Assistant: second."]


@given(st.lists(st.text(), max_size=30), st.integers(60, 2_000))
def test_a_summary_never_exceeds_its_room(texts, room):
    messages = [said(text) for text in texts]
    assert len(summary(messages, range(len(messages)), room)) <= room
