"""Real sessions go into the store and come out as they were."""

import dataclasses
import json

import pytest

from clew.log import fold, load_messages, message_event
from clew.log.protocol import Ctx
from clew.log.store.audit import audit
from clew.providers import WIRES
from clew.transcripts import load as load_transcripts
from clew.transcripts import open_source
from tests.conftest import real_data
from tests.providers.recorded import exchanges

CTX = Ctx(workspace="north", session="main")


def through(store, messages, ctx=CTX):
    """Append messages and return what the view of their session holds."""
    store.append(ctx, [message_event(message) for message in messages], None)
    return [visible.message for visible in load_messages(store, ctx, fold(store.read(ctx)).entries)]


@pytest.mark.parametrize("name", WIRES)
def test_every_recorded_request_renders_byte_identical_from_the_store(name, path, open_sqlite):
    wire = WIRES[name]
    items = [item for one in exchanges() if one.wire == name for item in one.body.get(wire.list_key) or []]
    back = through(open_sqlite(), wire.parse(items))
    assert json.dumps(wire.render(back)) == json.dumps(items)
    assert audit(path).flaws == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    [
        "claude-code-context-evaluator",
        "codex-session-bridge",
        "gemini-cli-entire",
        "opencode-gatomia",
        "swe-agent",
    ],
)
def test_real_sessions_come_back_with_all_they_carried(folder, path, open_sqlite):
    files = sorted(file for file in real_data("transcripts").glob(f"{folder}/**/*") if file.is_file())
    sessions = [
        one for file in files if file.name != "SOURCE.txt" for one in load_transcripts(open_source(file))
    ][:12]
    store = open_sqlite()
    for number, session in enumerate(sessions):
        messages = [entry.message for entry in session.entries]
        back = through(store, messages, Ctx(workspace=folder, session=f"{number} {session.id}"))
        assert repr([dataclasses.asdict(message) for message in back]) == repr(
            [dataclasses.asdict(message) for message in messages]
        )
    assert sessions
    assert audit(path).flaws == ()
