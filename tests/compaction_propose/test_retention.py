"""The learnt ranking, and the hand-written one beside it."""

import math
from dataclasses import replace

import pytest

from clew.compaction.propose import propose
from clew.compaction.propose.company import Company
from clew.compaction.propose.retention import EDGES, VOICES, Table, features, form_of, ranking, table_of
from clew.compaction.propose.subjects import subjects
from clew.compaction.propose.worth import worth
from clew.ledger import Ledger
from clew.ledger.kinds import ValueKind
from clew.message import Item, Role, said
from tests.compaction_propose.test_climb import situation, turns


def table() -> Table:
    found = ranking()
    assert isinstance(found, Table)
    return found


def test_the_table_gives_the_sum_of_its_points_as_log_odds():
    ledger = Ledger()
    ledger.extend(turns(6))
    known, company = table(), Company(ledger.values)
    lists = {f"named_by.{voice.name.lower()}": row for voice, row in zip(VOICES, known.named_by, strict=True)}
    points = {**known.steps, **lists, "form": known.form, "in_error": (0.0, known.in_error)}
    for subject in subjects(ledger.values).values():
        total = known.start + sum(points[name][place] for name, place in features(subject, company))  # type: ignore[index]
        assert known(subject, company) == pytest.approx(1 / (1 + math.exp(-total)))


def test_every_list_of_the_table_has_a_place_for_every_step():
    known = table()
    assert all(len(row) == len(EDGES["count"]) + 1 for row in known.named_by)
    assert {name: len(row) for name, row in known.steps.items()} == {
        name: len(edges) + 1 for name, edges in EDGES.items() if name != "count"
    }


def test_what_was_named_lately_and_by_the_model_is_worth_more_than_what_a_tool_printed_long_ago():
    ledger = Ledger()
    ledger.extend(
        [
            Item("m1", said(Role.TOOL, "old_printed_name")),
            *(Item(f"m{n}", said(Role.USER, "Go on.")) for n in range(2, 60)),
            Item("m60", said(Role.ASSISTANT, "I now call fresh_spoken_name.")),
        ]
    )
    old, fresh = (subjects(ledger.values)[name] for name in ("old_printed_name", "fresh_spoken_name"))
    company = Company(ledger.values)
    for rank in (table(), worth):
        assert rank(fresh, company) > rank(old, company)


@pytest.mark.parametrize(
    ("kind", "text", "form"),
    [
        (ValueKind.PATH, "app/main.py", "path of a file"),
        (ValueKind.PATH, "src/app", "path of a folder"),
        (ValueKind.PATH, "/users", "path of one component"),
        (ValueKind.IDENTIFIER, "--no-cache", "flag"),
        (ValueKind.IDENTIFIER, "me@example.org", "address"),
        (ValueKind.IDENTIFIER, "self.load", "dotted name"),
        (ValueKind.IDENTIFIER, "load_config", "snake_case name"),
        (ValueKind.IDENTIFIER, "loadConfig", "camelCase name"),
        (ValueKind.IDENTIFIER, "LoadConfig", "PascalCase name"),
        (ValueKind.NUMBER, "1234", "whole number"),
        (ValueKind.NUMBER, "12.5", "decimal number"),
        (ValueKind.NUMBER, "12ms", "amount"),
        (ValueKind.ENV, "MAX_SIZE", "env"),
    ],
)
def test_a_subject_has_a_form(kind: ValueKind, text: str, form: str):
    assert form_of(kind, text) == form
    assert form in table().form


def test_a_table_of_points_by_hand_can_be_read():
    written = {
        "start": -1.0,
        "in_error": 0.5,
        "form": {"env": 1.0},
        "named_by": {voice.name.lower(): [0.0] * 5 for voice in VOICES},
        **{name: [0.0] * (len(edges) + 1) for name, edges in EDGES.items() if name != "count"},
    }
    ledger = Ledger()
    ledger.add(Item("m1", said(Role.USER, "Set MAX_SIZE.")))
    (subject,) = subjects(ledger.values).values()
    assert table_of(written)(subject, Company(ledger.values)) == 0.5


def test_a_digest_can_be_ranked_by_hand_instead():
    now = situation(turns(120), 8_000)
    by_hand = propose(replace(now, ranking=worth))
    assert by_hand.fits
    assert by_hand.digests != propose(now).digests
