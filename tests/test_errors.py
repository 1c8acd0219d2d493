"""Errors say what happened and what to do next, in whatever process they are read."""

from __future__ import annotations

import pickle

import pytest

from clew import errors
from clew.errors import ClewError, PinsDoNotFit

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ClewError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_in_another_process(kind: type[ClewError]):
    try:
        error = kind("it broke")
    except TypeError:
        pytest.skip(f"{kind.__name__} is made in its own way")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


def test_advice_of_ones_own_is_said_once():
    error = pickle.loads(pickle.dumps(PinsDoNotFit("too much", "ask for more")))
    assert str(error) == "too much: ask for more"
    assert error.detail == "too much"
