"""The laws of sessions hold on PostgreSQL: the same tests, with fewer examples."""

import itertools

import pytest
from hypothesis import settings

from clew.session import Session
from tests.session import test_laws

# Those with examples; the chain of a hundred compactions takes minutes with a server.
LAWS = [
    law for name, law in vars(test_laws).items() if name.startswith("test_") and hasattr(law, "hypothesis")
]
EXAMPLES = 5


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_law_of_sessions_holds_on_postgresql(law, open_store, monkeypatch):
    store, numbers, last = open_store(), itertools.count(), ""

    class Opened:
        @staticmethod
        def open(name, given, **options):
            """Open a session on the server: a new one in place of one in memory, else the one meant."""
            nonlocal last
            if given is not store:
                last = f"{name}-{next(numbers)}"
            return Session.open(last, store, **options)

    monkeypatch.setattr(test_laws, "Session", Opened)
    fewer = settings(law._hypothesis_internal_use_settings, max_examples=EXAMPLES, deadline=None)
    monkeypatch.setattr(law, "_hypothesis_internal_use_settings", fewer)
    law()
    assert next(numbers) > 0
