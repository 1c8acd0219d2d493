"""A local sentence encoder: vectors of its own kind beside the word vectors that ship with clew."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from clew import Session, SqliteStore
from clew.chat import open_chat
from clew.cli import main
from clew.errors import InputError, NotFound
from clew.hosts.search import ProjectSearch
from clew.hosts.session_notes import CurrentSession
from clew.memory import Memory, SentenceEmbedder, StaticEmbedder, embedders
from clew.memory.embedders import ENCODER_SHARE, embed_new
from clew.memory.index import encoder_name
from clew.memory.index.sqlite import SqliteIndex
from clew.settings import load_settings

SUBJECTS = ({"ski", "sport", "hobby"}, {"soup", "food", "meal"})


class Tokenizer:
    """One id per word, padded to the longest text: 1 for sport, 2 for food, 3 for the rest, 0 for padding."""

    def encode_batch(self, texts):
        rows = [[self._id(word) for word in text.lower().split()] for text in texts]
        longest = max(map(len, rows))
        return [
            SimpleNamespace(
                ids=row + [0] * (longest - len(row)),
                attention_mask=[1] * len(row) + [0] * (longest - len(row)),
            )
            for row in rows
        ]

    def _id(self, word):
        return next((n for n, words in enumerate(SUBJECTS, start=1) if word.strip("?.") in words), 3)


class Encoder:
    """Gives each token a fixed vector; that of padding is far off and must not count."""

    table = np.array([[9.0, 9.0, 9.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1]])

    def __init__(self, *inputs):
        self.inputs = inputs

    def get_inputs(self):
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, _, given):
        assert set(given) == set(self.inputs)
        return [self.table[given["input_ids"]]]


def embedder(folder, *inputs):
    return SentenceEmbedder(
        folder, session=Encoder(*(inputs or ("input_ids", "attention_mask"))), tokenizer=Tokenizer()
    )


def numbers(vector):
    return np.frombuffer(vector, dtype="i1") / 127


def test_a_vector_is_the_mean_without_padding_beside_the_word_vector(tmp_path):
    short, long = map(numbers, embedder(tmp_path).embed(["ski", "soup and ski and soup and more"]))
    assert np.allclose(short[:3], [np.sqrt(ENCODER_SHARE), 0, 0], atol=0.01)
    assert np.isclose(long[1] / long[0], 2, atol=0.1)
    words = numbers(StaticEmbedder().embed(["ski"])[0])
    assert np.allclose(short[3:], words * np.sqrt(1 - ENCODER_SHARE), atol=0.02)
    assert np.isclose(np.linalg.norm(long), 1, atol=0.02)


def test_only_the_inputs_of_the_model_are_given(tmp_path):
    names = ("input_ids", "attention_mask", "token_type_ids")
    assert embedder(tmp_path, *names).embed(["ski"]) == embedder(tmp_path).embed(["ski"])


def test_batches_keep_the_order(tmp_path):
    texts = ["ski" if n % 3 else "soup for all of us" for n in range(70)]
    one_by_one = [embedder(tmp_path).embed([text])[0] for text in texts]
    assert embedder(tmp_path).embed(texts) == one_by_one


def test_a_message_without_a_common_word_is_found(tmp_path):
    encoder = embedder(tmp_path)
    with SqliteStore(tmp_path / "clew.db") as store:
        session = Session.open("s", store, window=100_000)
        for text in ("We had soup again.", "The train was late.", "I love to ski"):
            session.add({"role": "user", "content": text})
        memory = Memory(store, session.ctx, embedder=encoder)
        assert memory.search("What sport or hobby?")[0].entry.text == "I love to ski"
        memory.close()


def test_a_folder_without_the_files_says_what_is_expected(tmp_path):
    with pytest.raises(NotFound, match=r"model\.onnx"):
        SentenceEmbedder(tmp_path)


# Switched on by a setting -----------------------------------------------------------------------------

QUESTION, ANSWER = "What sport or hobby?", "I love to ski"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that stands for an encoder, which is not loaded from it, and a home of its own."""
    path = tmp_path / "models" / "tiny"
    path.mkdir(parents=True)
    monkeypatch.setattr(embedders, "_loaded_encoder", embedder)
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "clew"))
    monkeypatch.setenv("CLEW_ENCODER", "")  # restored after the test: commands set it from the settings
    monkeypatch.delenv("CLEW_STORE", raising=False)
    return path


def filled(store, **options):
    session = Session.open("s", store, window=100_000, **options)
    for text in ("We had soup again.", "The train was late.", ANSWER):
        session.add({"role": "user", "content": text})
    return session


def answer(memory):
    memory.catch_up()
    return next((hit.entry.text for hit in memory.search(QUESTION)), None)


def test_the_variable_switches_it_on_for_sessions_and_chats(folder, tmp_path, monkeypatch):
    with SqliteStore(tmp_path / "clew.db") as store:
        with filled(store) as session:
            assert answer(session.memory) != ANSWER  # the shipped word vectors do not find it
        monkeypatch.setenv("CLEW_ENCODER", str(folder))
        with Session.open("s", store) as session, SqliteIndex(store.path) as index:
            assert session.memory.embedder.name == index.model == encoder_name(folder)
            assert answer(session.memory) == ANSWER
            assert answer(open_chat(session, index=index).memory) == ANSWER


def test_encoders_in_folders_of_one_name_are_told_apart(tmp_path):
    folders = [tmp_path / family / "onnx" for family in ("one", "other", "copy")]
    for folder, weights in zip(folders, (b"1", b"2", b"1"), strict=True):
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(b"graph" * 50_000 + weights)
    one, other, copy = map(encoder_name, folders)
    assert one == copy != other
    assert one.startswith("sentence/onnx-")


def test_a_session_takes_an_embedder(folder, tmp_path):
    with SqliteStore(tmp_path / "clew.db") as store, filled(store, embedder=embedder(folder)) as session:
        assert answer(session.memory) == ANSWER


def test_the_setting_switches_it_on_for_commands(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "clew"
    home.mkdir()
    (home / "clew.toml").write_text(f'encoder = "{folder}"\n')
    with SqliteStore(home / "clew.db") as store, filled(store):
        pass
    assert main(["recall", "--embed"]) == 0
    assert main(["recall", "--all", QUESTION]) == 0
    assert ANSWER in capsys.readouterr().out


def test_only_the_person_sets_it(folder, tmp_path):
    (tmp_path / "clew.toml").write_text(f'encoder = "{folder}"\n')
    with pytest.raises(InputError, match="encoder"):
        load_settings(start=tmp_path)


def test_the_tools_of_a_host_use_it(folder, tmp_path, monkeypatch):
    path, parent = tmp_path / "s1.jsonl", None
    with path.open("w") as file:
        for n, text in enumerate(("We had soup again.", "The train was late.", ANSWER)):
            place = {"parentUuid": parent, "uuid": f"u{n}", "sessionId": "s1", "cwd": "/project"}
            record = {**place, "type": "user", "message": {"role": "user", "content": text}}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            parent = f"u{n}"
    monkeypatch.setenv("CLEW_ENCODER", str(folder))
    search = ProjectSearch(CurrentSession("claude-code", "s1", path, "/project"))
    assert ANSWER in search.recall(QUESTION, 3, whole_project=False)
    search.close()


def test_a_slow_encoder_embeds_little_before_a_search(folder, tmp_path):
    with SqliteStore(tmp_path / "clew.db") as store:
        encoder = embedder(folder)
        with Session.open("s", store, embedder=encoder) as session:
            session.add(*({"role": "user", "content": f"line {n} of soup"} for n in range(300)))
            session.memory.catch_up()
            index = session.memory.index
            assert index.progress(encoder.name) == (encoder.at_once, 300)
            embed_new(index, encoder, 1_000)
            assert index.progress(encoder.name) == (300, 300)
