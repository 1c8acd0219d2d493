"""On sentences written afresh, round after round, the finder keeps what it reached."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from clew.message import Role, text_message
from clew.rules import find_candidates

FRESH = [json.loads(line) for line in Path(__file__).with_name("fresh.jsonl").read_text("utf-8").splitlines()]


def is_found(row: dict[str, str]) -> bool:
    """Tell whether the sentence of a row is found, in the message it stands in where it has one."""
    message = row.get("message", row["text"])
    start = message.index(row["text"])
    spans = [found.span for found in find_candidates(text_message(Role.USER, message))]
    return any(span.start < start + len(row["text"]) and span.end > start for span in spans)


@pytest.mark.parametrize(("split", "recall", "precision"), [("cold", 0.68, 0.88), ("learnt", 0.93, 0.95)])
def test_recall_and_precision_hold(split: str, recall: float, precision: float):
    counts = Counter((row["label"], is_found(row)) for row in FRESH if row["split"] == split)
    right = counts["standing", True]
    assert right / (right + counts["standing", False]) >= recall
    assert right / (right + counts["none", True]) >= precision


@pytest.mark.parametrize(
    "text",
    [
        "Leave the changelog to me.",
        "Any function over 40 lines gets split.",
        "Tabs, not spaces.",
        "All timestamps in UTC.",
        "Correctness beats speed in this project.",
        "I'd be grateful if you left the footnotes alone.",
        "The migration has to be reversible.",
        "Never: edit this file by hand.",
        "We're still on Python 3.8.",
        "The client hates exclamation marks.",
        "End every message with a one-line summary.",
        "The staging box is shared, so go easy on it.",
        "Same deal as before, no inline styles.",
        "Leave package-lock.json alone.",
        "El despliegue lo hago yo.",
        "La prod, on n'y touche pas.",
        "Höchstens zwei Seiten, bitte.",
    ],
)
def test_a_rule_that_is_told_rather_than_ordered_is_found(text: str):
    assert [found.quote for found in find_candidates(text_message(Role.USER, text))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "The docs say you must not call it twice.",
        "The service must be down.",
        "It should have been merged yesterday.",
        "It's a bug, not a feature.",
        "My laptop is on Node 18, the server is on 20.",
        "The table has 100 columns at most.",
        "The old policy was: always deploy on Fridays.",
        "t.produce @ identity.min.js:1",
        "El flujo funciona bien pero no se borra la palabra.",
        "Puedes identificar el commit donde se hizo el merge",
        "Every request takes about a second.",
        "No carga nada desde el escritorio.",
        "Сервер никогда не отвечает.",
        "Non ho capito.",
        "Não entendi.",
    ],
)
def test_what_is_reported_guessed_or_denied_is_no_rule(text: str):
    assert find_candidates(text_message(Role.USER, text)) == []


def test_in_a_long_system_prompt_plain_orders_bind_and_descriptions_do_not():
    prose = "The service reads events from the queue and writes them to the store. " * 9
    orders = "When closing issues:\n\n- Add the label of the package\n- Target python 3.10\n"
    prompt = f"# Service\n\n{prose}\n\n{orders}"
    assert [found.quote for found in find_candidates(text_message(Role.SYSTEM, prompt))] == [
        "Add the label of the package",
        "Target python 3.10",
    ]
    assert find_candidates(text_message(Role.USER, prompt)) == []
