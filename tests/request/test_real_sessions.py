"""Requests made of real sessions are taken by every provider that takes the session itself."""

import pytest

from clew.message import Role
from clew.providers.conversion import convert
from clew.providers.formats import WIRES as FORMATS
from clew.request import Marks, Parts, assemble
from tests.compaction_verify.test_real_sessions import SETS, longest_session
from tests.conftest import real_data
from tests.request.scene import COUNTER, FENCE, RESTS, TOOLS, WIRES, passing, standing

MOST = 400


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_real_session_with_everything_added_is_as_valid_as_without(name):
    view = longest_session(real_data("transcripts") / name)[:MOST]
    while view and view[-1].message.role is Role.ASSISTANT:
        view = view[:-1]
    parts = Parts(view=view, pieces=[*standing(), *passing(1)], tools=TOOLS, fence=FENCE, fence_results=True)
    assembled = assemble(parts, COUNTER)
    for wire in WIRES:
        plain = {**RESTS[wire], **convert([item.message for item in view], wire).body}
        body = assembled.body(wire, RESTS[wire], Marks())
        rules = {one.rule for one in FORMATS[wire].check(body).violations}
        assert rules <= {one.rule for one in FORMATS[wire].check(plain).violations}
