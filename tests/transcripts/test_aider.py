"""aider: chats in Markdown."""

from __future__ import annotations

import pytest

from clew.transcripts.readers.aider import read, sniff
from clew.transcripts.records import Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import tell

# aider ends its own lines and the person's with two blanks, here drawn as ¶.
HISTORY = """
# aider chat started at 2026-08-01 10:00:00

> Aider v0.50¶
> Models: gpt-4o¶

#### fix the parser¶
#### and test it¶

Sure.

#### Plan

> a quotation

1. fix

> Applied edit to a.py¶
# aider chat started at 2026-08-01 11:00:00

> Aider v0.50¶

# aider chat started at 2026-08-01 12:00:00

#### /clear¶
#### hello¶
""".replace("¶", "  ")


def test_every_chat_in_which_something_was_said_is_a_session():
    source = open_source(HISTORY.encode(), ".aider.chat.history.md")
    assert sniff(source) == 1
    records = list(read(source))
    time = "2026-08-01T10:00:00"
    assert records[0] == Start(f".aider.chat.history#L2@{time}", "aider", time=time)
    assert tell(records) == [
        "start .aider.chat.history#L2@2026-08-01T10:00:00",
        "L4 user/injected: <untrusted>Aider v0.50\nModels: gpt-4o",
        "L7 user: fix the parser\nand test it",
        "L10 assistant: Sure.\n\n#### Plan\n\n> a quotation\n\n1. fix",
        "L18 user/injected: <untrusted>Applied edit to a.py",
        "start .aider.chat.history#L19@2026-08-01T11:00:00",
        "L21 user/injected: <untrusted>Aider v0.50",
        "start .aider.chat.history#L23@2026-08-01T12:00:00",
        "L25 user: /clear\nhello",
    ]


ARCHITECT = """
# aider chat started at 2026-08-01 10:00:00

#### move the config into one file¶

<thinking>Two files read it.</thinking>

Move every setting into `settings.py`.

- Never import `os` anywhere else.
- Delete `config.py`.

> Tokens: 7.2k sent, 130 received.¶

#### Move every setting into `settings.py`.¶
####¶
#### - Never import `os` anywhere else.¶
#### - Delete `config.py`.¶

Done.

#### Done.¶
""".replace("¶", "  ")


def test_a_plan_that_aider_passes_to_its_editor_is_not_the_words_of_the_user():
    records = list(read(open_source(ARCHITECT.encode(), ".aider.chat.history.md")))
    told = tell(records)
    assert told[1] == "L4 user: move the config into one file"
    assert told[4].startswith("L15 user/injected: <assistant>Move every setting into `settings.py`.")
    assert told[-1] == "L22 user: Done."


@pytest.mark.parametrize("head", ["# aider chat started at 2026-08-01 1{}:00:00\n", "Chat {}\n"])
def test_histories_of_one_name_are_sessions_of_their_own(head):
    pages = [f"{head.format(n)}\n#### hello  \n" for n in (1, 2)]
    starts = [next(read(open_source(page.encode(), ".aider.chat.history.md"))) for page in pages]
    assert starts[0].session_id != starts[1].session_id


def test_a_command_to_forget_is_a_boundary():
    chat = "# aider chat started at now\n\n#### hi  \n\nHello.\n\n#### /clear  \n\n> Cleared.  \n"
    assert tell(read(open_source(chat.encode(), "h.md")))[3:] == [
        "L7 user: /clear",
        "boundary L7:forgotten by clear keeps nothing",
        "L9 user/injected: <untrusted>Cleared.",
    ]


def test_a_page_that_shows_a_chat_is_read_by_its_marks_alone():
    page = b"# Hello\n\nAn example.\n\n#### change it\n\nDone.\n\n> Commit 1  \n"
    assert 0 < sniff(open_source(page)) < 1
    assert tell(read(open_source(page, "page.md"))) == [
        "start page-717c84c4",
        "L1 assistant: # Hello\n\nAn example.",
        "L5 user: change it",
        "L7 assistant: Done.",
        "L9 user/injected: <untrusted>Commit 1",
    ]


def test_other_text_is_not_taken_for_a_chat():
    assert not sniff(open_source(b"# Title\n\n#### Heading\n\n> quotation\n"))
