"""Write a store of things done by hand, once a release: ``python -m tests.session.golden.make LABEL``.

``LABEL.db.zst`` is the store, ``LABEL.json`` what its sessions showed to the version that wrote it. In the
sessions named ``race …`` one process acts between the decision and the append of another. If that version
could not open the log again, ``LABEL.json`` has the error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import zstandard

from clew.errors import ClewError
from clew.log.store import SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from tests.session.talk import answer, call, talk

HERE = Path(__file__).parent
WINDOW = 20_000
TODOS = [
    {"content": "split invoice.py", "status": "in_progress", "activeForm": "splitting"},
    {"content": "write the migration", "status": "pending", "activeForm": "writing"},
    {"content": "update the docs", "status": "pending", "activeForm": "updating"},
]
FAILED = (
    "=== short test summary info ===\nFAILED tests/test_invoice.py::test_total - AssertionError: 3 != 4\n"
    "=== 1 failed, 3 passed in 0.12s ==="
)


def acts(store: SqliteStore) -> None:
    """Rules that are found, set, edited, revoked and lifted; work that is closed and reopened."""
    session = Session.open("acts", store, window=WINDOW)
    session.add(*talk(12))
    session.add(
        text_message(Role.USER, "Do not push to main. Always run the tests before you commit."),
        text_message(Role.ASSISTANT, "Understood."),
        text_message(Role.USER, "Never use the production database."),
        call(90, "TodoWrite", todos=TODOS),
        answer(90, "ok"),
        call(91, "bash", command="pytest"),
        answer(91, FAILED),
    )
    rules = {pin.quote: pin.id for pin in session.pins}
    session.pin("Answer in French.")
    session.unpin(rules["Do not push to main."], "main is ours again")
    session.edit_pin(rules["Never use the production database."], "Never write to the production database.")
    session.compact(target_tokens=3_000)
    work = {loop.text: loop.id for loop in session.ledger.loops.open}
    session.close_loop(work["write the migration"], "there is none to write")
    session.close_loop(work["update the docs"], "by mistake")
    session.reopen_loop(work["update the docs"])
    session.close_loop(work["tests/test_invoice.py::test_total"], "known")
    session.add(text_message(Role.USER, "Always keep the public API stable."))
    session.compact(target_tokens=2_000)
    session.undo()
    session.pin("Keep commits small.")
    session.unpin(session.pins[-1].id)
    session.pin("Name branches by ticket.")
    session.compact(target_tokens=2_000)


def acts_without_digest(store: SqliteStore) -> None:
    """Two rules, the first revoked; nothing but its number says which."""
    session = Session.open("acts without a digest", store, window=WINDOW)
    session.add(text_message(Role.USER, "Do not push to main. Always run the tests before you commit."))
    session.unpin("p1")
    session.edit_pin("p2", "Always run the linter before you commit.")


def race(
    name: str, store: SqliteStore, first: Callable[[Session], object], second: Callable[[Session], object]
) -> None:
    """Let ``second`` happen between the decision of ``first`` and its append."""
    with suppress(ClewError):
        Session.open(name, store, window=WINDOW).add(
            *talk(12), call(90, "TodoWrite", todos=TODOS), answer(90, "ok")
        )
        one = Session.open(name, store, window=WINDOW)
        one.compact(target_tokens=3_000)
        one.compact(target_tokens=2_000)
        other = Session.open(name, store, window=WINDOW)
        append = one._replay.append

        def late(make: Callable[[], object]) -> int:
            one._replay.append = append  # type: ignore[method-assign]
            with suppress(ClewError):
                second(other)
            return append(make)  # type: ignore[arg-type]

        one._replay.append = late  # type: ignore[method-assign,assignment]
        first(one)


def compact_again(session: Session) -> None:
    """Make the view smaller once more, behind two more turns."""
    session.undo(2)
    session.compact(target_tokens=2_500)


def finish(session: Session) -> None:
    """Report the task t2 as done."""
    done = [{**one, "status": "completed"} for one in TODOS]
    session.add(call(95, "TodoWrite", todos=done), answer(95, "ok"))


def close(session: Session) -> None:
    """Close the task t2 by hand."""
    session.close_loop("t2", "not needed")


def shown(session: Session) -> dict[str, object]:
    """Return what a person sees of a session: rules, open work, compactions, the view."""
    loops = session.ledger.loops
    return {
        "rules": [
            [
                pin.id,
                pin.quote,
                pin.status.value,
                pin.made_by.value,
                pin.source and pin.source.message,
                pin.why,
            ]
            for pin in session.ledger.pins.all
        ],
        "open": [[loop.id, loop.kind.value, loop.text] for loop in loops.open],
        "closed by hand": [[loop.id, loop.text, loop.why] for loop in loops.closed if loop.why],
        "in force": [one.name for one in session.trace()],
        "view": [item.id for item in session.view()],
    }


RACES: dict[str, tuple[Callable[[Session], object], Callable[[Session], object]]] = {
    "race undo undo": (Session.undo, Session.undo),
    "race undo both": (lambda one: one.undo(2), lambda one: one.undo(2)),
    "race undo compact": (Session.undo, compact_again),
    "race close close": (close, close),
    "race close done": (close, finish),
    "race reopen reopen": (
        lambda one: (close(one), one.reopen_loop("t2")),
        lambda one: one.reopen_loop("t2"),
    ),
}


def write(path: Path) -> dict[str, object]:
    """Write the store; return what each session shows when it is opened again."""
    seen: dict[str, object] = {}
    with SqliteStore(path) as store:
        acts(store)
        acts_without_digest(store)
        for name, (first, second) in RACES.items():
            race(name, store, first, second)
        for name in ("acts", "acts without a digest", *RACES):
            try:
                seen[name] = shown(Session.open(name, store, window=WINDOW))
            except ClewError as error:
                seen[name] = {"fails": f"{type(error).__name__}: {error.detail}"}
    return seen


def main() -> None:
    """Write a store and what it shows."""
    label = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        (HERE / f"{label}.json").write_text(json.dumps(write(path), ensure_ascii=False, indent=1) + "\n")
        (HERE / f"{label}.db.zst").write_bytes(zstandard.compress(path.read_bytes(), 19))


if __name__ == "__main__":
    main()
