"""Questions are made from the old history, and answered by a plain reader or by a model."""

from __future__ import annotations

from clew.errors import ModelTimeout
from clew.providers.scripted import ScriptedModel
from clew_evals.answerers import ModelReader, read_plainly, reader_named
from clew_evals.policies import EvalPolicy
from clew_evals.policies.fit import as_summary
from clew_evals.questions import MOST_QUESTIONS, ReaderQuestion, questions_of
from clew_evals.score import score_of, score_policy
from tests.evals.sessions import agent, cut, needs, result, user

SAID = "We found that the retry limit of the upload worker is called upload_retry_cap there."
GIVEN = cut([user("Mend the upload."), agent(SAID), result(1, "noise in noise_value_one")], [agent("Done.")])
ASKED = ReaderQuestion(
    "identifier",
    "We found that the retry limit of the upload worker is called ____ there.",
    "upload_retry_cap",
    1,
)


def test_a_sentence_with_one_value_is_a_question_with_a_gap():
    assert needs(GIVEN).questions == (ASKED,)


def test_what_two_values_stand_in_gives_one_away_and_is_not_asked():
    both = agent("We found the limit upload_retry_cap in the worker next to upload_retry_pause today.")
    assert needs(cut([both], [agent("Done.")])).questions == ()


def test_common_values_are_not_asked_for():
    assert questions_of(GIVEN.readable, lambda key: key == "upload_retry_cap") == []


def test_there_are_few_questions_and_the_same_each_time():
    many = [
        agent(f"We found that the number of the stage after that was named stage_name_{n}.")
        for n in range(40)
    ]
    readable = cut(many, [agent("Done.")]).readable
    first = questions_of(readable, lambda _: False)
    assert len(first) == MOST_QUESTIONS
    assert first == questions_of(readable, lambda _: False)


def test_the_plain_reader_answers_from_the_words_around_a_value():
    text = (
        "The retry limit of the worker: upload_retry_cap.\n\n" + "x " * 80 + "\nThe colour is paint_it_blue."
    )
    assert read_plainly(text, [ASKED]) == ["upload_retry_cap"]
    assert read_plainly("nothing here", [ASKED]) == [""]


def test_a_model_fills_the_gaps_by_number():
    model = ScriptedModel("1: `upload_retry_cap`\n2: -")
    assert ModelReader(model)("notes", [ASKED, ASKED]) == ["upload_retry_cap", "-"]
    assert "1. We found that" in model.asked[0].instruction


def test_a_model_that_fails_has_not_answered_wrong():
    failing = ModelReader(ScriptedModel(ModelTimeout(), ModelTimeout()))
    assert failing("notes", [ASKED]) is None
    assert score_of(GIVEN, as_summary("Nothing of use."), 0.0, None, failing).roundtrip is None


def test_the_reader_decides_the_round_trip():
    view = as_summary("Nothing of use.")
    assert score_of(GIVEN, view, 0.0).roundtrip == 0
    model = ModelReader(ScriptedModel("1: upload_retry_cap"))
    assert score_of(GIVEN, view, 0.0, None, model).roundtrip == 1
    assert score_policy(GIVEN, EvalPolicy("whole", lambda given: given.items)).roundtrip == 1


def test_no_name_is_no_model():
    assert reader_named("") is None
