"""aider: chats in Markdown."""

from __future__ import annotations

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
    assert records[0] == Start(".aider.chat.history#L2", "aider", time="2026-08-01T10:00:00")
    assert tell(records) == [
        "start .aider.chat.history#L2",
        "L4 user/injected: <untrusted>Aider v0.50\nModels: gpt-4o",
        "L7 user: fix the parser\nand test it",
        "L10 assistant: Sure.\n\n#### Plan\n\n> a quotation\n\n1. fix",
        "L18 user/injected: <untrusted>Applied edit to a.py",
        "start .aider.chat.history#L19",
        "L21 user/injected: <untrusted>Aider v0.50",
        "start .aider.chat.history#L23",
        "L25 user: /clear\nhello",
    ]


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
        "start page",
        "L1 assistant: # Hello\n\nAn example.",
        "L5 user: change it",
        "L7 assistant: Done.",
        "L9 user/injected: <untrusted>Commit 1",
    ]


def test_other_text_is_not_taken_for_a_chat():
    assert not sniff(open_source(b"# Title\n\n#### Heading\n\n> quotation\n"))
