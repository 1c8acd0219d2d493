"""The reader answers from what stands around a value, never from the value alone."""

from __future__ import annotations

import os
import subprocess
import sys

from clew_evals.answerers import ProbeReader
from clew_evals.needs import Probe
from tests.evals.sessions import FILLER, agent, cut, needs, user

TOLD = "uploads stop after upload_retry_cap attempts; downloads wait for download_pause_ms between chunks"


def probe(use: str) -> Probe:
    return needs(cut([user(TOLD), agent(FILLER)], [agent(use)])).probes[0]


def test_the_value_among_the_words_of_the_question_is_the_answer():
    asked = probe("The uploads stop after too many attempts: upload_retry_cap it is.")
    assert ProbeReader(TOLD).answers(asked) is True
    assert ProbeReader(TOLD.replace("upload_retry_cap", "other_retry_cap")).answers(asked) is False


def test_a_bare_list_answers_nothing():
    asked = probe("The uploads stop after too many attempts: upload_retry_cap it is.")
    assert ProbeReader("upload_retry_cap download_pause_ms").answers(asked) is False


def test_a_question_without_words_asks_for_nothing():
    assert ProbeReader(TOLD).answers(probe("upload_retry_cap")) is None


ANSWERS = """
import random
from clew_evals.answerers import ProbeReader
source = random.Random(0)
words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400)]
contexts = [source.sample(words, 9) for _ in range(30)]
lines = []
for n in range(300):
    near = [*source.choice(contexts), *source.sample(words, source.randrange(1, 16))]
    source.shuffle(near)
    half = len(near) // 2
    lines.append(f"{' '.join(near[:half])} value_number_{n} {' '.join(near[half:])} {'.' * 70}")
reader = ProbeReader("\\n".join(lines))
others = ["zzz" + chr(97 + n) for n in range(7)]
print([reader.answer("identifier", " ".join([*context, *others])) for context in contexts])
"""


def test_an_answer_does_not_depend_on_the_order_of_words_in_memory():
    done = [
        subprocess.run(
            [sys.executable, "-c", ANSWERS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert done[0] == done[1] == done[2]
