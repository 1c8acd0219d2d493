"""A local sentence encoder: vectors of its own kind beside the word vectors that ship with clew."""

from types import SimpleNamespace

import numpy as np
import pytest

from clew import Session, SqliteStore
from clew.errors import NotFound
from clew.memory import SentenceEmbedder, StaticEmbedder, open_memory
from clew.memory.embedders import ENCODER_SHARE

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
        memory = open_memory(store, session.ctx, embedder=encoder)
        assert memory.search("What sport or hobby?")[0].entry.text == "I love to ski"
        memory.close()


def test_a_folder_without_the_files_says_what_is_expected(tmp_path):
    with pytest.raises(NotFound, match=r"model\.onnx"):
        SentenceEmbedder(tmp_path)
