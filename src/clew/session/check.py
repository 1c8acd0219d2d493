"""Find changes made by hand that no longer apply, for ``clew audit``."""

from __future__ import annotations

from clew.errors import ClewError
from clew.log import LogProblem
from clew.log.events import Ctx
from clew.log.protocol import Store
from clew.session.replay import Replay
from clew.tokens import UNKNOWN, counter_for


def act_problems(store: Store, ctx: Ctx) -> tuple[LogProblem, ...]:
    """Return the events that opening a session skips; empty if the session cannot be read at all."""
    replay = Replay(store, ctx, counter_for(UNKNOWN))
    try:
        replay.catch_up()
    except ClewError:
        return ()
    return tuple(replay.problems)
