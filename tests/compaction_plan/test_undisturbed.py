"""The collector waits for a function, and is as it was afterwards."""

from __future__ import annotations

import gc

import pytest

from clew.compaction.plan.plan import gc_paused


@gc_paused
def is_on(fails: bool = False) -> bool:
    if fails:
        raise LookupError
    return gc.isenabled()


@pytest.fixture(params=[True, False])
def collector(request):
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


def test_the_collector_waits_and_is_as_it_was(collector: bool):
    assert is_on() is False
    assert gc.isenabled() is collector


def test_a_failure_leaves_it_as_it_was_too(collector: bool):
    with pytest.raises(LookupError):
        is_on(fails=True)
    assert gc.isenabled() is collector
