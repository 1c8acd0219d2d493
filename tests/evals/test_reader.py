"""The reader answers from what stands around a value, never from the value alone."""

from __future__ import annotations

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
