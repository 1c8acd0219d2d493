"""Embedders: the one shipped with clew, a local sentence encoder, an OpenAI-compatible endpoint; vectors.

The shipped one has one fixed vector per word piece and averages them; no model runs. Its table
(``static.npz``) has vectors of word pieces, fitted so that their mean approximates the sentence encoder
all-MiniLM-L6-v2 (Apache-2.0) on the definitions and examples in WordNet 3.0 (WordNet licence), reduced by PCA
to one byte per dimension.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clew.errors import MissingExtra, ModelBusy, ModelError, ModelFailed, ModelRefused, ModelTimeout, NotFound
from clew.memory.index import SHIPPED_MODEL, Embedder, VectorIndex, encoder_name
from clew.memory.terms import surface
from clew.settings import encoder_folder

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


LONGEST_WORD = 40
"""Characters of a longer word, such as a hash, are not embedded."""
REMEMBERED = 65_536
"""Words whose pieces are kept in memory."""
MOST_WORDS = 2_000
"""Words of a text that are embedded."""


@cache
def shipped_embedder() -> StaticEmbedder | None:
    """Return the shipped embedder; None without numpy. Its table is loaded on first use."""
    return StaticEmbedder() if find_spec("numpy") else None


def default_embedder(model: str) -> Embedder | None:
    """Return the embedder of an index that was opened without naming one; None if there is none."""
    folder = encoder_folder()
    if folder and model == encoder_name(folder):
        return _loaded_encoder(folder.absolute())
    return shipped_embedder() if model == SHIPPED_MODEL else None


@cache
def _loaded_encoder(folder: Path) -> SentenceEmbedder:
    return SentenceEmbedder(folder)


class StaticEmbedder:
    """Embeds texts by table look-up: thousands of texts a second, offline."""

    name = SHIPPED_MODEL

    def __init__(self) -> None:
        try:
            import numpy
        except ImportError as cause:
            raise MissingExtra("clew[embeddings]") from cause
        self._numpy = numpy
        self._known: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _table(self) -> tuple[dict[str, int], NDArray[numpy.float32]]:
        """Return the index of each word piece, and the vectors."""
        with as_file(files("clew.memory").joinpath("static.npz")) as path, self._numpy.load(path) as table:
            pieces = bytes(table["pieces"]).decode().split("\n")
            numbers = table["vectors"] * table["scales"].astype("f4")[:, None]
        return {piece: place for place, piece in enumerate(pieces)}, numbers

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text: unit length, each number times 127 as a signed byte."""
        np = self._numpy
        return [np.clip(np.round(self.mean(text) * 127), -127, 127).astype("i1").tobytes() for text in texts]

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[word] = word_pieces(word, self._table[0])
        return known

    def mean(self, text: str) -> NDArray[numpy.float32]:
        """Return the mean of the vectors of a text's word pieces, unit length."""
        np = self._numpy
        words = list(surface(text))[:MOST_WORDS]
        places = [place for word in words for place in self._pieces(word)]
        total = self._table[1][places].sum(axis=0)
        length = float(np.sqrt(total @ total))
        unit: NDArray[numpy.float32] = total / length if length else total
        return unit


def word_pieces(word: str, places: dict[str, int]) -> tuple[int, ...]:
    """Split a word greedily into the longest known pieces; empty if a piece is unknown.

    ``tokenizer`` becomes the places of ``token`` and ``##izer``: a piece inside a word begins with ``##``.
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if len(plain) > LONGEST_WORD:
        return ()
    result: list[int] = []
    start = 0
    while start < len(plain):
        prefix = "##" if start else ""
        for end in range(len(plain), start, -1):
            place = places.get(prefix + plain[start:end])
            if place is not None:
                result.append(place)
                start = end
                break
        else:
            return ()
    return tuple(result)


MOST_TOKENS = 256
"""Word pieces of a text that a sentence encoder reads; all-MiniLM-L6-v2 was trained on no more."""
ENCODER_BATCH = 32
"""Texts that a sentence encoder reads at once, which bounds its memory; chosen by hand."""
ENCODER_SHARE = 0.6
"""Share of the encoder in a similarity; the rest is the shipped embedder's. Chosen on REALTALK's chats."""


class SentenceEmbedder:
    """Embeds texts with a sentence encoder exported to ONNX, next to the shipped embedder's word vectors.

    Better than word vectors alone if a question shares no word with its answer, and about a hundred times
    slower: some 10 ms of processor time for a message. Nothing is downloaded; the folder has ``model.onnx``
    and ``tokenizer.json``, the layout of common exports.
    """

    at_once = 128
    """Texts embedded before a search, about a second of work; the rest is done later."""

    def __init__(self, folder: Path, *, session: OnnxSession | None = None, tokenizer: Any = None) -> None:  # noqa: ANN401 - tokenizers.Tokenizer, an optional package
        self.name = encoder_name(folder)
        self._words = StaticEmbedder()
        self._session = session or _onnx_session(folder / "model.onnx")
        self._tokenizer = tokenizer or _tokenizer(folder / "tokenizer.json")
        self._inputs = {node.name for node in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text, both parts in one: unit length, as signed bytes."""
        import numpy as np

        encoded = np.vstack(
            [self._encode(texts[n : n + ENCODER_BATCH]) for n in range(0, len(texts), ENCODER_BATCH)]
        )
        words = np.stack([self._words.mean(text) for text in texts])
        both = np.hstack([encoded * math.sqrt(ENCODER_SHARE), words * math.sqrt(1 - ENCODER_SHARE)])
        lengths = np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)
        return [row.tobytes() for row in np.round(both / lengths * 127).astype("i1")]

    def _encode(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        """Return the mean of the token vectors of each text, unit length; padding does not count."""
        import numpy as np

        encodings = self._tokenizer.encode_batch(list(texts))
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: inputs[name] for name in self._inputs})[0]
        total = (hidden * mask[:, :, None]).sum(axis=1)
        unit: NDArray[numpy.float32] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-9)
        return unit


class OnnxSession(Protocol):
    """The part of ``onnxruntime.InferenceSession`` that an encoder needs."""

    def get_inputs(self) -> Sequence[Any]:
        """Return the inputs; each has a name."""

    def run(self, outputs: None, inputs: Mapping[str, Any], /) -> Sequence[Any]:
        """Return the outputs; the first has one vector per token."""


def _onnx_session(path: Path) -> OnnxSession:
    file = _existing(path)
    try:
        import onnxruntime
    except ImportError as cause:
        raise MissingExtra("clew[encoder]") from cause
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several threads wait for each other on a busy machine
    session: OnnxSession = onnxruntime.InferenceSession(file, options)
    return session


def _tokenizer(path: Path) -> Any:  # noqa: ANN401 - tokenizers.Tokenizer, an optional package
    file = _existing(path)
    try:
        from tokenizers import Tokenizer
    except ImportError as cause:
        raise MissingExtra("clew[encoder]") from cause
    tokenizer = Tokenizer.from_file(file)
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def _existing(path: Path) -> str:
    if not path.is_file():
        raise NotFound(f"no {path.name} in {path.parent}", "name a folder with model.onnx and tokenizer.json")
    return str(path)


BATCH = 256
"""Entries embedded and stored at a time, so that an interrupted run loses little; chosen by hand."""


def embed_lacking(index: VectorIndex, embedder: Embedder, batch: int = BATCH) -> Iterator[tuple[int, int]]:
    """Embed entries without a vector of this model; yield how many have one, and how many there are.

    Each batch is stored before the next begins, so an interrupted run can be resumed.
    """
    done, there = index.progress(embedder.name)
    yield done, there
    while made := _embed_some(index, embedder, batch):
        done += made
        yield done, max(there, done)


def embed_new(index: VectorIndex, embedder: Embedder, most: int) -> None:
    """Embed about ``most`` entries that have no vector of this model, oldest first."""
    made = 0
    while made < most and (some := _embed_some(index, embedder, min(BATCH, most))):
        made += some


def _embed_some(index: VectorIndex, embedder: Embedder, batch: int) -> int:
    missing = index.lacking(embedder.name, batch)
    if missing:
        vectors = embedder.embed([text for _, text in missing])
        index.put(embedder.name, dict(zip((key for key, _ in missing), vectors, strict=True)))
    return len(missing)


AT_ONCE = 96
"""Texts per request; accepted by all common servers."""


@dataclass(frozen=True, slots=True)
class EndpointEmbedder:
    """Embeds texts on a server. The only part of memory that sends texts off this computer."""

    base_url: str
    """``http://localhost:8080/v1``"""
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 60.0

    @property
    def name(self) -> str:
        """Return the name of the model: vectors of two names are never compared."""
        return f"endpoint/{self.model}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text, or raise a ``ModelError``."""
        vectors: list[bytes] = []
        for start in range(0, len(texts), AT_ONCE):
            vectors += self._ask(texts[start : start + AT_ONCE])
        return vectors

    def _ask(self, texts: Sequence[str]) -> list[bytes]:
        import urllib.error  # here, because few use a server and the modules take 15 ms to import
        import urllib.request
        from http.client import HTTPException

        body = json.dumps({"model": self.model, "input": list(texts)}).encode()
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(f"{self.base_url.rstrip('/')}/embeddings", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as reply:
                answer = json.load(reply)
        except urllib.error.HTTPError as cause:
            raise _refusal(cause.code)(f"{self.name}: HTTP {cause.code}") from cause
        except TimeoutError as cause:
            raise ModelTimeout(self.name) from cause
        except (urllib.error.URLError, HTTPException, ValueError, ConnectionError) as cause:
            raise ModelFailed(f"{self.name}: {cause}") from cause
        return _vectors(answer, len(texts))


def _refusal(status: int) -> type[ModelError]:
    if status == 429:
        return ModelBusy
    return ModelFailed if status >= 500 else ModelRefused


def _vectors(answer: Any, count: int) -> list[bytes]:  # noqa: ANN401 - JSON enters here
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = [_quantise([float(number) for number in row["embedding"]]) for row in rows]
    except (KeyError, TypeError, ValueError) as cause:
        raise ModelFailed("the server's response contains no embeddings") from cause
    if len(vectors) != count:
        raise ModelFailed(f"the server returned {len(vectors)} embeddings for {count} texts")
    return vectors


def _quantise(numbers: Sequence[float]) -> bytes:
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return bytes(round(number / length * 127) & 0xFF for number in numbers)
