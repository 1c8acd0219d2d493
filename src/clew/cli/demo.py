"""``clew demo``: a short session with a scripted model and the real engine, to watch."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from clew.budget import DEFAULT, Limit
from clew.chat import Chat, Turn, ViewCompacted, open_chat
from clew.chat.commands import run_command
from clew.chat.reports import meter
from clew.cli.chat_terminal import Screen
from clew.cli.report import digest_text
from clew.cli.terminal import Terminal
from clew.cli.text import one_line, typed
from clew.compaction.plan import ClaimKind, Digest
from clew.log.store import SqliteStore
from clew.message import JsonObject
from clew.session import Session

WINDOW = 32_000
POLICY = replace(DEFAULT, down_to=Limit(share=0.15))
"""Compacts further than usual, so that a session this short gets a digest."""
SHOWN = 16
"""Lines of the digest that are printed."""
PAUSE = 2.0
"""Seconds between the steps on a terminal: the whole takes about half a minute."""
RULE = "Move the billing service to the 2027 rates. Never modify files under legacy/."
ROWS = 70
"""Rows of a rate table: the tables of all regions fill the window."""
REGIONS = (
    *("at", "be", "bg", "cy", "cz", "de", "dk", "ee", "es", "fi", "fr", "gr", "hr", "hu"),
    *("ie", "it", "lt", "lu", "lv", "mt", "nl", "pl", "pt", "ro", "se", "si", "sk"),
)


class DemoStep(NamedTuple):
    """A call of the scripted agent: what it says, calls and gets back."""

    says: str
    tool: str
    arguments: JsonObject
    output: str


def steps() -> Iterator[DemoStep]:
    """Yield the work of the scripted agent."""
    config = 'name = "billing"\nport = 8431\nworkers = 4\nrates = "rates/"\n'
    yield DemoStep("I'll read the configuration first.", "read_file", {"path": "billing.toml"}, config)
    for number, region in enumerate(REGIONS):
        path = f"rates/{region}.csv"
        yield DemoStep(f"Next, the rates of {region}.", "read_file", {"path": path}, _table(region, number))
        highest = (number * 11) % ROWS
        says = (
            f"{region} has {ROWS} rates and no duplicates; the highest is that of {region}-{highest:03}, and "
            f"code {region}-{(highest + 9) % ROWS:03} is a service that was booked as goods until 2025."
        )
        yield DemoStep(says, "run", {"command": f"python check_rates.py {path}"}, f"{path}: ok")
    update: JsonObject = {"command": "python update_rates.py --year 2027 rates/*.csv"}
    yield DemoStep("I'll update all tables.", "run", update, f"{ROWS * len(REGIONS)} rows changed")
    failed = "FAILED tests/test_rounding.py::test_half_cents - assert 12.345 == 12.35\n1 failed, 211 passed"
    yield DemoStep("I'll run the tests.", "run", {"command": "pytest -q"}, failed)
    says = "The cause: rates are rounded twice, in load_rate and in total. I'll round only in total."
    yield DemoStep(
        says, "edit_file", {"path": "billing/money.py", "text": "return rate"}, "edited billing/money.py"
    )
    yield DemoStep("", "run", {"command": "pytest -q"}, "212 passed in 3.41s")


def _table(region: str, number: int) -> str:
    """Return a rate table; its seal is in the middle, where no excerpt shows it."""
    rows = [
        f"{region}-{row:03},{'goods' if row % 3 else 'services'},{0.05 + (row * 7 + number) % 40 / 200:.3f}"
        for row in range(ROWS)
    ]
    rows.insert(ROWS // 2, f"# the audit seal of {region} is {number * 7919 + 40961:x}")
    return "\n".join(["code,kind,rate", *rows])


def messages() -> Iterator[JsonObject]:
    """Yield the scripted part of the session as a provider's messages."""
    yield {"role": "user", "content": RULE}
    for number, step in enumerate(steps()):
        call: JsonObject = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": step.tool,
            "input": step.arguments,
        }
        says: list[JsonObject] = [{"type": "text", "text": step.says}] if step.says else []
        result: JsonObject = {"type": "tool_result", "tool_use_id": f"t{number}", "content": step.output}
        yield {"role": "assistant", "content": [*says, call]}
        yield {"role": "user", "content": [result]}
    yield {"role": "assistant", "content": "The 2027 rates are in, and all 212 tests pass."}


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Play the session; nothing of it is kept."""
    from clew.memory.index.sqlite import SqliteIndex

    is_slow = term.out.isatty() and not args.fast
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.db"
        with SqliteStore(path) as store, SqliteIndex(path) as index:
            session = Session.open("demo", store, window=WINDOW, policy=POLICY)
            with closing(open_chat(session, index=index, auto=True)) as chat:
                _Play(chat, term, (lambda: time.sleep(PAUSE)) if is_slow else (lambda: None)).play()
    return 0


class _Play:
    """The demo: each step prints a heading, what the user types, and what happens."""

    def __init__(self, chat: Chat, term: Terminal, pause: Callable[[], None]) -> None:
        self._chat = chat
        self._screen = Screen(term, is_tty=True)
        self._pause = pause

    def play(self) -> None:
        """Print the whole session."""
        self._say("The engine is real, the model is a script; nothing is sent anywhere or kept.")
        self._work()
        self._head("2. The window is nearly full. Before the next request, clew compacts the view.")
        self._user("What did you do so far?")
        self._head("The digest that the model reads instead:")
        self._digest()
        self._head("3. The message with the rule left the view; the rule is kept.")
        self._user("Delete legacy/rates_2019.csv, nobody needs it.")
        self._head("4. A value that left the view is found again.")
        self._user("What is the audit seal of bg?")
        self._head("5. Each line of the digest has a source.")
        self._user(f"/expand {self._finding()}")
        self._head("6. The compaction is undone: every message is back.")
        self._user("/undo")
        self._head("That was clew. Next:")
        self._say(f"{typed('lost'):<13} what your own tool's compactions lost")
        self._say(f"{typed('inspect'):<13} your sessions in a web page")
        self._say(f"{typed('chat'):<13} talk to a model in such a session")

    def _work(self) -> None:
        self._head("1. A user sets a rule, and an agent works (scripted).")
        self._say(f"you › {RULE}")
        work = [*messages()]
        for message in work:
            self._chat.session.add(message)
        calls = sum(1 for _ in steps())
        self._say(f"… {calls} tool calls, {len(work)} messages, {self._chat.session.tokens:,} tokens")
        self._say(f"window [{meter(self._chat.budget())}]")

    def _digest(self) -> None:
        lines = [line for digest in self._digests() for line in digest_text(digest).split("\n")]
        for line in lines[2:SHOWN]:  # the tag and its note are for the model
            self._say(one_line(line, 300))
        if len(lines) > SHOWN:
            self._say(f"… and {len(lines) - SHOWN:,} more lines")

    def _finding(self) -> str:
        """Return a line of the digest that is a finding; its first line if it has none."""
        claims = [claim for digest in self._digests() for claim in digest.claims]
        findings = [claim.id for claim in claims if claim.kind is ClaimKind.FINDING]
        return next(iter(findings), claims[0].id if claims else "m2")

    def _digests(self) -> list[Digest]:
        return [created.digest for created in self._chat.session.trace() if created.digest]

    def _head(self, text: str) -> None:
        self._pause()
        self._screen.notify(f"\n{text}", "bold")

    def _say(self, text: str) -> None:
        self._screen.notify(text, "")

    def _user(self, line: str) -> None:
        self._say(f"you › {line}")
        turn: Turn = run_command(self._chat, line) if line.startswith("/") else self._chat.turn(line)
        for event in turn:
            self._screen.show(event)
            if isinstance(event, ViewCompacted):
                self._pause()
        self._screen.settle()
