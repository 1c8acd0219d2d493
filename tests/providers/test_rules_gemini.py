"""Each Gemini rule: a minimal body that it refuses, and a near twin that passes."""

from __future__ import annotations

import pytest

from clew.providers.gemini.rules import RULES
from tests.providers.examples import Example, Outcome, assert_fires_alone, judged, name_of

TEXT = {"text": "hi"}


def call(name="read", **fields):
    return {"functionCall": {"name": name, "args": {}}, **fields}


def signed(name="read"):
    return call(name, thoughtSignature="c2ln")


def response(name="read"):
    return {"functionResponse": {"name": name, "response": {}}}


def user(*parts):
    return {"role": "user", "parts": list(parts) or [TEXT]}


def model(*parts):
    return {"role": "model", "parts": list(parts) or [TEXT]}


def body(*contents, **fields):
    return {"model": "gemini-2.5-pro", "contents": list(contents), **fields}


def gemini_3(*contents):
    return body(*contents, model="models/gemini-3-pro-preview")


def declared(name):
    return [{"functionDeclarations": [{"name": name}]}]


EXAMPLES = [
    Example("G0", {"contents": "hi"}, {"contents": [user()]}),
    Example("G0b", body(), body(user())),
    Example("G0", body({"role": "assistant", "parts": [TEXT]}), body({"parts": [TEXT]})),
    Example("G0", body({"role": "user", "parts": []}), body(user())),
    Example("G0", body(user({})), body(user({"text": ""}))),
    Example(
        "G0",
        body(user(), model({"functionCall": {"args": {}}}), user(response())),
        body(user(), model({"functionCall": {"name": "read"}}), user(response())),
    ),
    Example(
        "G1",
        gemini_3(user(), model(call()), user(response())),
        gemini_3(user(), model(signed()), user(response())),
    ),
    Example(
        "G1",
        gemini_3(user(), model(signed()), model(call()), user(response(), response())),
        gemini_3(user(), model(signed(), call()), user(response(), response())),
    ),
    Example(
        "G1",
        gemini_3(user(), model(call()), user(response())),
        gemini_3(user(), model(call()), user(response()), model(), user()),
    ),
    Example(
        "G1", gemini_3(user(), model(call()), user(response())), body(user(), model(call()), user(response()))
    ),
    Example("G2", body(user(), user()), body(user(), model(), user())),
    Example("G2b", body(user(), model(call()), user()), body(user(), model(call()), user(response()))),
    Example("G2b", body(user(), model(), user(response())), body(user(), model(call()), user(response()))),
    Example(
        "G2b",
        body(user(), model(call(), call()), user(response())),
        body(user(), model(call(), call()), user(response()), user(response())),
    ),
    Example("G2c", body(user(), tools=declared("1st")), body(user(), tools=declared("_1st"))),
    Example("G2c", body(user(), tools=declared("a" * 129)), body(user(), tools=declared("a" * 128))),
    Example("G3", body(model(call()), user(response())), body(user(), model(call()), user(response()))),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_a_rule_fires_alone_and_its_near_twin_passes(example):
    assert_fires_alone(RULES, example)


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == {rule.id for rule in RULES}


def test_both_spellings_are_read():
    called = {"function_call": {"name": "read"}, "thought_signature": "c2ln"}
    answered = {"function_response": {"name": "read", "response": {}}}
    assert judged(RULES, gemini_3(user(), model(called), user(answered))) == Outcome(set(), set())
    assert judged(RULES, gemini_3(user(), model(called), user())).refusing == {"G2b"}


def test_without_a_model_no_signature_is_asked_for():
    history = {"contents": [user(), model(call()), user(response())]}
    assert judged(RULES, history).refusing == set()
