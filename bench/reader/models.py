"""Readers: a causal model from a GGUF file on a GPU, and a tiny copy model in plain Python for tests."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Reading(NamedTuple):
    """What a reader makes of some tokens, each given all before it."""

    nats: list[float]
    """The negative log likelihood of each."""
    expected: list[bool]
    """Whether each is the most likely one."""


class Tokenizer(Protocol):
    """How a language model divides text into tokens."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        ...

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a text and the characters that each covers."""
        ...


class Reader(Tokenizer, Protocol):
    """A causal language model with its tokenizer."""

    longest: int
    """The most tokens that it reads at once."""

    def read(self, ids: Sequence[int], start: int) -> Reading:
        """Read tokens; return what it makes of those from ``start`` on."""
        ...


# A copy model: enough to separate views that hold what comes next from others ---------------------

_PIECE = re.compile(r"<\|\w+\|>| ?\w+|\s+?(?= \w)|\s+|[^\w\s]")
ORDER = 5
"""Tokens that a prediction looks at, the predicted one included."""
NEW = 0.5
"""Weight of each different token after a context for all those not seen there (Witten-Bell, halved)."""
UNSEEN = 1e-6


class CopyReader:
    """Predicts what followed when the same few tokens were read before. No training, no dependency.

    A quick look without a GPU: over the same tokens, its differences between two views of a cut correlated
    with those of the language model at .88 to .93.
    """

    longest = 400_000

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._texts: list[str] = []

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self.offsets(text)[0]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        return "".join(self._texts[one] for one in ids)

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a text and the characters that each covers."""
        found = list(_PIECE.finditer(text))
        return [self._id(match[0]) for match in found], [match.span() for match in found]

    def _id(self, piece: str) -> int:
        known = self._ids.get(piece)
        if known is None:
            known = self._ids[piece] = len(self._texts)
            self._texts.append(piece)
        return known

    def read(self, ids: Sequence[int], start: int) -> Reading:
        """Read tokens with an interpolated n-gram model of what was read before them."""
        counts: list[defaultdict[tuple[int, ...], Counter[int]]] = [
            defaultdict(Counter) for _ in range(ORDER)
        ]
        reading = Reading([], [])
        for i, token in enumerate(ids):
            tables = [table[tuple(ids[i - order : i])] for order, table in enumerate(counts) if order <= i]
            if i >= start:
                reading.expected.append(_guess(tables) == token)
                reading.nats.append(-math.log(_likelihood(tables, token)))
            for table in tables:
                table[token] += 1
        return reading


def _likelihood(tables: Sequence[Counter[int]], token: int) -> float:
    """Return the likelihood of a token by the longest context that was seen, mixed with the shorter ones."""
    likelihood = UNSEEN
    for order, table in enumerate(tables):
        if not table:
            break
        new = len(table) * (NEW if order else 1.0)
        likelihood = (table[token] + new * likelihood) / (table.total() + new)
    return likelihood


def _guess(tables: Sequence[Counter[int]]) -> int | None:
    """Return what followed the longest context that was seen most often."""
    table = next((one for one in reversed(tables) if one), None)
    return max(table, key=table.__getitem__) if table else None


# A causal model from a GGUF file --------------------------------------------------------------------------

_LAYER_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_TOP_NAMES = {
    "output.weight": "lm_head.weight",
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")


class GgufTokenizer:
    """The tokenizer of a Qwen2 model out of a GGUF file."""

    def __init__(self, weights: Path, gguf_path: Path | None = None) -> None:
        if gguf_path is not None:
            sys.path.insert(0, str(gguf_path))
        import gguf

        self._source = gguf.GGUFReader(str(weights))
        self._tokenizer = _tokenizer(self._source)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a text and the characters that each covers."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return list(found.ids), list(found.offsets)


class GgufReader(GgufTokenizer):
    """A Qwen2 model out of a GGUF file, dequantised to bfloat16, with PyTorch on CUDA."""

    longest = 32_000

    def __init__(self, weights: Path, gguf_path: Path | None = None, device: str = "cuda") -> None:
        super().__init__(weights, gguf_path)
        self._model = _model(self._source, device)
        self._device = device

    def read(self, ids: Sequence[int], start: int) -> Reading:
        """Read tokens in one pass; logits are made from ``start`` on only."""
        import torch

        with torch.no_grad():
            x = torch.tensor([list(ids)], device=self._device)
            hidden = self._model.model(x).last_hidden_state[0]
            logits = self._model.lm_head(hidden[start - 1 : -1]).float()
            wanted = x[0, start:]
            nats = -torch.log_softmax(logits, -1).gather(1, wanted[:, None])[:, 0]
            expected = logits.argmax(-1) == wanted
        return Reading(nats.tolist(), expected.tolist())

    def continued(self, prompts: Sequence[Sequence[int]], most: int) -> list[str]:
        """Return what the model says after each prompt: its likeliest next tokens, at most so many."""
        import torch

        end, width = self._tokenizer.token_to_id("<|im_end|>"), max(map(len, prompts))
        ids = [[end] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        with torch.no_grad():
            made = self._model.generate(
                torch.tensor(ids, device=self._device),
                attention_mask=torch.tensor(mask, device=self._device),
                max_new_tokens=most,
                do_sample=False,
                eos_token_id=end,
                pad_token_id=end,
            )
        replies = (row[width:].tolist() for row in made)
        return [self.decode(row[: row.index(end)] if end in row else row) for row in replies]


def _tokenizer(source: Any) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    texts = source.fields["tokenizer.ggml.tokens"].contents()
    merges = source.fields["tokenizer.ggml.merges"].contents()
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    made = Tokenizer(models.BPE(vocab={text: i for i, text in enumerate(texts)}, merges=pairs))
    split = pre_tokenizers.Split(Regex(_SPLIT), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(one, special=True) for one in _SPECIAL])
    return made


def _model(source: Any, device: str) -> Any:
    import gguf
    import numpy as np
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    def field(name: str) -> Any:
        return source.fields[f"qwen2.{name}"].contents()

    config = Qwen2Config(
        hidden_size=field("embedding_length"),
        intermediate_size=field("feed_forward_length"),
        num_hidden_layers=field("block_count"),
        num_attention_heads=field("attention.head_count"),
        num_key_value_heads=field("attention.head_count_kv"),
        vocab_size=len(source.fields["tokenizer.ggml.tokens"].contents()),
        max_position_embeddings=field("context_length"),
        rms_norm_eps=field("attention.layer_norm_rms_epsilon"),
        rope_theta=field("rope.freq_base"),
        tie_word_embeddings=not any(one.name == "output.weight" for one in source.tensors),
    )
    config.rope_parameters = {"rope_type": "default", "rope_theta": field("rope.freq_base")}

    def tensor(one: Any) -> tuple[str, Any]:
        values = np.ascontiguousarray(gguf.quants.dequantize(one.data, one.tensor_type))
        shape = [int(size) for size in reversed(one.shape.tolist())]
        return _weight_name(one.name), torch.from_numpy(values).to(torch.bfloat16).reshape(shape)

    with ThreadPoolExecutor(12) as pool:
        weights = dict(pool.map(tensor, source.tensors))
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    result = model.load_state_dict(weights, strict=False)
    missing = [name for name in result.missing_keys if name != "lm_head.weight"]
    if missing or result.unexpected_keys:
        raise SystemExit(
            f"weights do not fit: {missing[:3]} are missing, {result.unexpected_keys[:3]} unknown"
        )
    return model.to(device).eval()


def _weight_name(name: str) -> str:
    pieces = name.split(".")
    if pieces[0] == "blk":
        return f"model.layers.{pieces[1]}.{_LAYER_NAMES[pieces[2]]}.{pieces[3]}"
    return _TOP_NAMES[name]
