"""Make ``src/clew/memory/static.npz``, the table of the embedder that clew brings along.

Run once, in an environment with numpy and scipy, over embeddings that a sentence encoder gave for many
sentences (here: all-MiniLM-L6-v2 over the definitions and examples of WordNet 3.0) and for each of its
word pieces:

    python bench/retrieval_table.py VOCAB.txt PIECES.npy SENTENCES.json EMBEDDINGS.npy OUT.npz
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from clew.memory.embedders import word_pieces
from clew.memory.terms import surface

NUMBERS = 256
STRENGTH = 0.02  # how strongly a piece is held to its own embedding where few sentences speak of it
ROUNDS = 40


def bags(sentences, places):
    """Return which pieces each sentence has, as a matrix whose rows sum to one."""
    rows, columns, values = [], [], []
    for row, sentence in enumerate(sentences):
        found = [p for word in surface(sentence) for p in word_pieces(word, places)]
        rows += [row] * len(found)
        columns += found
        values += [1 / len(found)] * len(found)
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(sentences), len(places)), dtype="f4")


def fitted(counts, start, target):
    """Return start, corrected by conjugate gradients until the rows' means come near the target."""
    change = np.zeros_like(start)
    residue = counts.T @ (target - counts @ start)
    step, size = residue.copy(), (residue**2).sum(axis=0)
    for _ in range(ROUNDS):
        moved = counts.T @ (counts @ step) + STRENGTH * step
        by = size / ((step * moved).sum(axis=0) + 1e-12)
        change += by * step
        residue -= by * moved
        size, before = (residue**2).sum(axis=0), size
        step = residue + size / (before + 1e-12) * step
    return start + change


def main(vocab, pieces, sentences, embeddings, out):
    known = Path(vocab).read_text(encoding="utf-8").splitlines()
    keep = [n for n, piece in enumerate(known) if re.fullmatch(r"(?:##)?[a-z0-9]+", piece)]
    places = {known[n]: place for place, n in enumerate(keep)}
    own = np.load(pieces)[keep]
    target = np.load(embeddings)
    target -= target.mean(axis=0)
    counts = bags(json.loads(Path(sentences).read_text(encoding="utf-8")), places)
    # Frequent pieces come first in the vocabulary and say little: they start small.
    start = (own - own.mean(axis=0)) * (np.log1p(keep) / np.log1p(len(known)))[:, None]
    means = counts @ start
    start *= (means * target).sum() / (means**2).sum()
    vectors = fitted(counts, start.astype("f4"), target)
    directions, _, _ = np.linalg.svd(vectors.T @ vectors)
    vectors = vectors @ directions[:, :NUMBERS]
    scales = np.abs(vectors).max(axis=1) / 127 + 1e-9
    np.savez_compressed(
        out,
        pieces=np.frombuffer("\n".join(places).encode(), dtype="u1"),
        vectors=np.round(vectors / scales[:, None]).astype("i1"),
        scales=scales.astype("f4"),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
