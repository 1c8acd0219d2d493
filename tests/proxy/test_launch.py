"""``clew proxy run -- PROGRAM``: the program uses the proxy, and nothing else changes."""

from __future__ import annotations

import os
import sys

import pytest

from clew.cli import main
from clew.cli.agents import arguments
from clew.errors import InputError
from clew.proxy.relay import Upstream
from clew.testing import ScriptedServer
from tests.proxy.test_pass_through import home  # noqa: F401  # a fixture

PROGRAM = """
import json, os, urllib.request
body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
with urllib.request.urlopen(urllib.request.Request(url, body, {"x-api-key": "k"})) as reply:
    assert json.load(reply)["content"][0]["text"] == "hello", "another answer"
assert os.environ["OPENAI_BASE_URL"] == os.environ["ANTHROPIC_BASE_URL"] + "/v1"
raise SystemExit(7)
"""


def test_a_program_is_run_behind_the_proxy(monkeypatch):
    before = dict(os.environ)
    with ScriptedServer("hello") as server:
        status = main(["proxy", "--anthropic", server.url, "run", "--", sys.executable, "-c", PROGRAM])
    assert status == 7
    assert len(server.requests) == 1
    assert {key: os.environ.get(key) for key in before} == before
    assert "ANTHROPIC_BASE_URL" not in os.environ


def test_an_address_that_is_already_set_is_the_upstream(monkeypatch):
    with ScriptedServer("hello") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/v1/")
        assert main(["proxy", "run", "--", sys.executable, "-c", PROGRAM]) == 7
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "words",
    [["run"], ["start"], ["run", "--", "/no/such/program"], ["--route", "x=y"], ["--openai", "ftp://x"]],
)
def test_mistakes_are_errors_that_say_what_to_do(words, capsys):
    assert main(["proxy", *words]) == 2
    assert "clew: " in capsys.readouterr().err


def test_codex_is_given_the_address_as_an_argument():
    made = arguments("http://127.0.0.1:1", ["/usr/bin/codex", "exec", "hi"])
    assert made == ["/usr/bin/codex", "-c", 'openai_base_url="http://127.0.0.1:1/v1"', "exec", "hi"]
    assert arguments("http://127.0.0.1:1", ["claude"]) == ["claude"]


@pytest.mark.parametrize("url", ["", "host", "http://", "http://h:x", "https://h/?q", "file:///etc"])
def test_an_upstream_is_a_url(url):
    with pytest.raises(InputError):
        Upstream.of(url)
