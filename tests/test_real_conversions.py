"""Every real session, written in every provider's format, is something that provider's API would take."""

from __future__ import annotations

import pytest

from clew.errors import UnknownFormat
from clew.providers import WIRES, CheckScope, convert
from clew.transcripts import Transcript, load, open_source
from tests.conftest import DATA, real_data, sampled, tries

SETS = sorted(p.name for p in (DATA / "transcripts").glob("*") if p.is_dir() and not p.name.startswith("_"))
MOST_FILES = 6
"""Of each set, in every run; the long run reads all."""
MOST_SESSIONS = tries(10, 40)
"""A file of a thousand chats is sampled; sets of long sessions are read whole."""


def sessions_of(name: str) -> list[Transcript]:
    found: list[Transcript] = []
    for path in sampled(sorted(real_data("transcripts").joinpath(name).iterdir()), MOST_FILES):
        try:
            found += load(open_source(path))[:MOST_SESSIONS]
        except UnknownFormat:
            continue  # licences, and recordings of single calls
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS or ["transcripts"])
def test_a_real_session_can_be_sent_to_any_provider(name: str):
    refused = []
    for session in sessions_of(name):
        for view, messages in (("full", session.full()), ("current", session.current())):
            for wire in WIRES.values():
                converted = convert(messages, wire)
                report = wire.check(converted.body, scope=CheckScope.MESSAGES) if messages else None
                if report and report.refused:
                    refused.append((session.id, view, wire.name, str(report.violations[0])))
    assert refused == []
