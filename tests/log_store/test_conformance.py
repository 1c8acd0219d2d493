"""Our own stores pass the suite that any other must pass."""

import pytest

from clew.log.store import MemoryStore
from clew.log.store.conformance import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_sqlite_store_conforms(case, open_sqlite):
    case(open_sqlite)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_memory_store_conforms(case):
    store = MemoryStore()
    case(lambda: store)


class Forgetful(MemoryStore):
    """A store with one thing wrong: it does not look at the head."""

    def append(self, ctx, events, expect):
        return super().append(ctx, events, None)


def test_a_store_that_ignores_the_expected_head_does_not_pass():
    failed = set()
    for case in CASES:
        store = Forgetful()
        try:
            case(lambda store=store: store)
        except AssertionError:
            failed.add(case.__name__)
    assert failed == {
        "an_append_that_expects_another_head_writes_nothing",
        "of_two_writers_with_the_same_head_one_wins",
        "an_empty_append_checks_the_head_and_makes_nothing",
    }
