"""Every recorded request, and what the model answered, goes through clew unchanged."""

import json

import pytest

from clew.providers import WIRES, Body, convert, detect
from tests.conftest import real_data
from tests.providers.recorded import exchanges
from tests.providers.test_convert_laws import pairs, refusals

wires = pytest.mark.parametrize("name", WIRES)


def recorded(name):
    """Return the recorded requests of one wire format, or skip."""
    return [one for one in exchanges() if one.wire == name]


def answered(name, answer):
    """Return the entries of an answer that a client would send back with the next request."""
    match name, answer:
        case "anthropic", {"role": "assistant"}:
            return [answer]
        case "openai", {"choices": list(choices)}:
            return [choice["message"] for choice in choices]
        case "responses", {"output": list(output)}:
            return output
        case "gemini", {"candidates": list(candidates)}:
            return [candidate["content"] for candidate in candidates if "content" in candidate]
    return []


@wires
def test_every_recorded_request_renders_the_same_object(name):
    found = recorded(name)
    assert found
    for one in found:
        assert Body.parse(one.body, WIRES[name]).render() is one.body


@wires
@pytest.mark.parametrize(
    "style", [{}, {"indent": 1}, {"separators": (",", ":"), "ensure_ascii": False}], ids=str
)
def test_every_recorded_request_renders_the_same_bytes(name, style):
    for one in recorded(name):
        sent = json.dumps(one.body, **style).encode()
        assert Body.parse(sent, WIRES[name]).render_bytes() == sent


def test_requests_recorded_as_text_render_the_same_text():
    paths = sorted(real_data("provider-exchanges").glob("opencode/*.json"))
    sent = [one["request"]["body"] for path in paths for one in json.loads(path.read_text())["interactions"]]
    ours = [text for text in sent if "toolConfig" not in json.loads(text) and "inferenceConfig" not in text]
    assert len(ours) > 35
    assert [Body.parse(text).render_text() for text in ours] == ours


@wires
def test_every_recorded_answer_renders_as_itself(name):
    entries = [entry for one in recorded(name) for entry in answered(name, _json(one.error))]
    assert entries
    for entry in entries:
        [rendered] = WIRES[name].render_items(WIRES[name].parse_item(entry))
        assert rendered is entry


@wires
def test_every_recorded_request_is_recognised(name):
    for one in recorded(name):
        assert detect(one.body).wire == name or detect(one.body).note


@pairs
def test_every_accepted_request_is_acceptable_in_the_other_formats(home, abroad):
    for one in recorded(home):
        if one.accepted:
            body = Body.parse(one.body, WIRES[home])
            assert refusals(convert([*body.system, *body.messages], WIRES[abroad])) == [], one.file


def _json(text):
    return json.loads(text) if text.startswith("{") else None
