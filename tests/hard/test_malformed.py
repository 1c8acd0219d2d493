"""Whatever comes in: nothing raises, nothing hangs, and what is not known is carried as it was.

The short run makes some hundred changes to sound inputs of every kind; ``CLEW_HARD=1 uv run pytest
tests/hard`` makes many more. For fuzzing that is guided by what the code does, see ``fuzz.py``.
"""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from random import Random

import pytest
import zstandard

from clew.log import message_to_json
from clew.message import Unknown
from clew.providers import WIRES
from clew.transcripts import load, open_source
from tests.conftest import tries
from tests.hard import seeds
from tests.hard.hostile import READERS, TARGETS, read_as
from tests.hard.mutate import mutated

SOUND = seeds.of_readers() | seeds.of_parsers()
FOUND = sorted((Path(__file__).parent / "found").iterdir())
SLOW_SECONDS = 10

each_target = pytest.mark.parametrize("name", TARGETS)


def test_there_is_a_sound_input_of_every_kind():
    assert SOUND.keys() == TARGETS.keys()


@each_target
def test_changes_to_a_sound_input_break_nothing(name):
    chance = Random(name)
    for _ in range(tries(60, 5_000)):
        data = mutated(chance.choice(SOUND[name]), chance)
        started = time.process_time()
        TARGETS[name](data)
        assert time.process_time() - started < SLOW_SECONDS, data


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_fuzzing_found_stays_mended(path):
    TARGETS[path.name.rpartition(".")[0]](path.read_bytes())


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_packed_inputs_are_read_like_plain_ones_and_torn_ones_break_nothing(name, pack):
    plain = SOUND[name][0]
    packed = pack(plain)
    assert [one.full() for one in read_as(name, packed)] == [one.full() for one in read_as(name, plain)]
    for cut in range(0, len(packed), max(1, len(packed) // 20)):
        read_as(name, packed[:cut])


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_a_block_nobody_knows_is_carried_as_it_was(wire):
    novel = {"type": "hologram", "depth": 3, "inner": [{"x": None}, "é\n", 1e3], "text": ["no"]}
    content = {"parts": [novel]} if wire.name == "gemini" else {"content": [novel]}
    (session,) = load(open_source(json.dumps([{"role": "user", **content}]).encode()), wire.name)
    (message,) = session.full()
    assert any(isinstance(part, Unknown) for part in message.parts)
    assert json.dumps(novel) in json.dumps(wire.render([message]))
    assert json.dumps(novel) in json.dumps(message_to_json(message))


# Shapes of trouble, in the format that is met most often ---------------------------------------------


def claude(*records: dict) -> bytes:
    return seeds.lines(*({"sessionId": "s", **record} for record in records))


def turn(kind: str, uuid: str, parent: str | None, content: object) -> dict:
    message = {"role": kind, "content": content, "id": f"msg-{uuid}"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message}


CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "a"}


@pytest.mark.parametrize(
    ("records", "kept", "unpaired"),
    [
        ([turn("user", "u", None, [ANSWER])], 1, 1),
        ([turn("assistant", "a", None, [CALL]), turn("user", "u", "a", "go on")], 2, 1),
        ([turn("assistant", "a", None, [CALL, CALL]), turn("user", "u", "a", [ANSWER, ANSWER])], 2, 1),
        ([turn("user", "u", "v", "one"), turn("user", "v", "u", "two")], 2, 0),
        ([turn("user", "u", "u", "I am my own parent")], 1, 0),
        ([turn("user", "u", None, "one"), turn("user", "u", None, "two")], 1, 0),
        ([turn("user", "u", None, "half \ud800 a pair")], 1, 0),
    ],
    ids=["orphan", "dangling", "same id twice", "circle", "own parent", "same record twice", "surrogate"],
)
def test_odd_shapes_are_read_and_told(records, kept, unpaired):
    (session,) = read_as("claude-code", claude(*records))
    assert (session.stats().messages, session.stats().unpaired) == (kept, unpaired)


def test_a_circle_of_a_hundred_thousand_parents_is_read_once():
    size = tries(20_000, 100_000)
    records = [turn("user", f"u{n}", f"u{(n + 1) % size}", "hi") for n in range(size)]
    started = time.process_time()
    (session,) = load(open_source(claude(*records)), "claude-code")
    assert len(session.entries) == size
    assert time.process_time() - started < tries(10, 60)


@pytest.mark.slow
def test_a_line_of_fifty_megabytes_is_read():
    (session,) = load(open_source(claude(turn("user", "u", None, "x" * (50 << 20)))), "claude-code")
    assert len(session.full()[0].text) == 50 << 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-code", "openai", "aider", "opencode"])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_a_bomb_is_broken_off_and_told(name, pack, monkeypatch):
    monkeypatch.setattr("clew.transcripts.source.FREE_BYTES", 4 << 20)
    bomb = pack(SOUND[name][0] + b" " * (100 << 20))
    source = open_source(bomb, "bomb")
    list(READERS[name](bomb) or ())
    sum(map(len, source.chunks()))
    assert source.damage is not None
