"""Every integration, with the real package: the same loop, sync, async and several conversations at once."""

import asyncio
import gc
import importlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from frameworks.drivers import ASKS, DRIVERS, RULE, Run

import clew
from clew.providers import WIRES, CheckScope, ConversionOptions, convert
from clew.tokens import counter_for
from tests.conftest import tries

PACKAGES = {
    "anthropic": "anthropic",
    "openai": "openai",
    "langchain": "langchain.agents",
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "adk": "google.adk",
    "strands": "strands",
    "hermes": "agent.context_engine",
    "claude_agent_sdk": "claude_agent_sdk",
}
GROUPS = {"hermes": "hermes"}
"""The dependency group that has a package, if it is not ``frameworks``."""
pytestmark = pytest.mark.filterwarnings("ignore")


def required(name):
    """Skip a test if a framework is not installed."""
    try:
        importlib.import_module(PACKAGES[name])
    except ImportError:
        group = GROUPS.get(name, "frameworks")
        pytest.skip(f"{name} is not installed: uv run --no-default-groups --group {group} pytest")


@pytest.fixture(params=DRIVERS)
def driver(request):
    required(request.param)
    return DRIVERS[request.param]()


def refused(driver, messages):
    """Return what the provider would refuse in a request."""
    wire = WIRES[driver.wire or "anthropic"]
    body = convert(messages, wire, ConversionOptions(repair=False)).body
    return [
        str(one)
        for one in wire.check(body, scope=CheckScope.MESSAGES).violations
        if "REFUSE" in one.level.name
    ]


def holds(run, driver, kept):
    """Check what must hold of a conversation that clew compacted."""
    counter = counter_for("claude-sonnet-4-5")
    sizes = [sum(map(counter.count, messages)) for messages in run.sent]
    assert len(run.sent) == (run.reads + 1) * len(run.asks)
    assert max(sizes) <= run.window
    compacted = r"kept as m\d|<clew-digest" if driver.own_list else "<clew-reminder"
    assert re.search(compacted, str(run.sent[-1])), "it was never compacted"
    assert all(RULE in str(messages) for messages in run.sent[run.reads + 1 :])
    assert not [problem for messages in run.sent for problem in refused(driver, messages)]
    raw = str(run.raw or kept)
    assert all(f"rate_{n}_149 = " in raw for n in range(1, run.calls) if n % (run.reads + 1))


def small(name="conversation"):
    return Run(name=name, reads=8, window=16_000)


def long(name="conversation"):
    """Return a conversation in which shortened tool results are not enough: it needs a digest."""
    return Run(name=name, reads=28, window=16_000)


def test_a_loop_of_sixty_turns(driver):
    run = Run()
    holds(run, driver, driver.run(run, "clew"))


def test_the_same_awaited(driver):
    run = small()
    holds(run, driver, asyncio.run(driver.arun(run, "clew")))


COUNT = tries(4, 8)
"""Conversations at once."""


def several(*, alike):
    """Return several conversations; ``alike`` ones begin with the same turn."""
    asks = [[f"This is task {n}. {ask}" for ask in ASKS] for n in range(COUNT)]
    return [Run(f"c{n}", [ASKS[0], *own[1:]] if alike else own, 8, 16_000) for n, own in enumerate(asks)]


def holds_for_each(runs, driver, kept):
    for n, (run, own) in enumerate(zip(runs, kept, strict=True)):
        holds(run, driver, own)
        assert f"task {n}." in str(run.sent[-1])
        assert not [other for other in range(COUNT) if other != n and f"task {other}." in str(run.sent)]


@pytest.mark.parametrize("alike", [False, True])
def test_several_conversations_at_once_on_one_object(driver, alike):
    runs = several(alike=alike)
    driver.share(is_async=True, window=16_000)

    async def main():
        return await asyncio.gather(*(driver.arun(run, "clew") for run in runs))

    holds_for_each(runs, driver, asyncio.run(main()))


def test_several_threads_on_one_object(driver):
    runs = several(alike=False)
    driver.share(is_async=False, window=16_000)

    def work(run):
        with closing(asyncio.new_event_loop()) as loop:  # some sync calls of frameworks need one
            asyncio.set_event_loop(loop)
            return driver.run(run, "clew")

    with ThreadPoolExecutor(COUNT) as threads:
        holds_for_each(runs, driver, list(threads.map(work, runs)))


def test_without_clew_the_driver_shows_the_whole_history(driver):
    run = small()
    driver.run(run, "none")
    assert len(run.sent[-1]) > 2 * 3 * run.reads


def test_an_error_of_clews_never_reaches_the_framework(driver, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("clew is broken")

    monkeypatch.setattr(driver.broken, broken)
    run = small()
    driver.run(run, "clew")
    assert len(run.sent) == 3 * (run.reads + 1)
    assert not driver.own_list or len(run.sent[-1]) > 2 * 3 * run.reads
    assert caplog.text.count("clew is broken") == 1


# State, through what the framework keeps itself ------------------------------------------------------


def test_langchain_state_goes_through_its_checkpointer():
    pytest.importorskip("langgraph.checkpoint.memory")
    from langgraph.checkpoint.memory import InMemorySaver

    driver, saver, run = DRIVERS["langchain"](), InMemorySaver(), long("t")
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}
    for ask in ASKS:
        driver.agent(run, "clew", saver).invoke(
            {"messages": [("user", ask)]}, config
        )  # a new middleware each
    heads = [re.search(r'<clew-digest id="d(\d+)"', str(messages)) for messages in run.sent]
    numbers = [int(head[1]) for head in heads if head]
    state = driver.agent(run, "clew", saver).get_state(config).values
    assert state["clew"]["state"]["digest"]["id"] == f"d{numbers[-1]}"
    assert numbers == sorted(numbers)
    assert numbers[-1] > 1
    assert len(state["messages"]) == 2 * len(run.sent)


def test_strands_state_goes_through_the_agents_state():
    pytest.importorskip("strands")
    import json

    driver, run = DRIVERS["strands"](), long()
    driver.share(is_async=True, window=16_000)
    agent = driver.agent(run, "clew")
    asyncio.run(agent.invoke_async(ASKS[0]))
    asyncio.run(agent.invoke_async(ASKS[1]))
    state, messages = json.loads(json.dumps([agent.state.get(), agent.messages]))
    assert len(agent.conversation_manager.originals(agent)) >= 30
    other = driver.agent(run, "clew", messages=messages, state=state)
    asyncio.run(other.invoke_async(ASKS[2]))
    assert RULE in str(run.sent[-1])
    assert run.sent[-1][0].text.startswith("<clew-digest")


def test_strands_agents_that_come_and_go_share_no_key():
    """CPython gives a new agent the address of one that is gone."""
    pytest.importorskip("strands")
    from clew.integrations.strands import _key as key_of

    driver, run, keys = DRIVERS["strands"](), small(), []
    driver.share(is_async=True, window=16_000)
    for _ in range(40):
        keys.append(key_of(driver.agent(run, "clew")))
        gc.collect()
    assert len(set(keys)) == len(keys)
    agent = driver.agent(run, "clew")
    assert key_of(agent) == key_of(agent)


def uninterrupted(driver):
    """Return what one process sends; several that hand on the state must send the same."""
    run = small()
    driver.run(run, "clew")
    return run.sent


def test_pydantic_ai_state_goes_through_its_serialised_history():
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import UsageLimits
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    driver, run, history = DRIVERS["pydantic_ai"](), small(), None
    for ask in ASKS:  # a new agent and capability each time, as in a new process
        limits = UsageLimits(request_limit=500)
        given = ModelMessagesTypeAdapter.validate_json(history) if history else None
        done = asyncio.run(driver.agent(run, "clew").run(ask, message_history=given, usage_limits=limits))
        history = done.all_messages_json()
    assert "kept as m" in str(run.sent[run.reads])
    assert run.sent == uninterrupted(driver)
    assert len(given) + 2 * (run.reads + 1) == len(done.all_messages())
    assert sum("clew" in (one.metadata or {}) for one in done.all_messages()) == 1


def test_adk_state_goes_through_its_session_service(tmp_path):
    pytest.importorskip("google.adk")
    from google.adk.runners import Runner
    from google.adk.sessions.sqlite_session_service import SqliteSessionService
    from google.genai.types import Content, Part

    driver, run = DRIVERS["adk"](), small()

    async def turn(ask, *, is_first):
        service = SqliteSessionService(str(tmp_path / "s.db"))
        if is_first:
            await service.create_session(app_name="loop", user_id="u", session_id="s")
        runner = Runner(app=driver.app(run, "clew"), session_service=service)
        message = Content(role="user", parts=[Part(text=ask)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass

    for n, ask in enumerate(ASKS):  # a new plugin and service each time, as in a new process
        asyncio.run(turn(ask, is_first=n == 0))
    assert "kept as m" in str(run.sent[run.reads])
    assert run.sent == uninterrupted(driver)


def test_an_agents_session_stays_whole_and_hands_out_what_fits(tmp_path):
    agents = pytest.importorskip("agents")
    from clew.integrations.openai_agents import ClewSession

    driver, run = DRIVERS["openai_agents"](), small()
    for ask in ASKS:  # a new session object each time, as in a new process
        session = ClewSession("s1", tmp_path / "s.db", window=16_000)
        work = agents.Runner.run(
            driver.agent(run), ask, session=session, run_config=driver.config(run, "clew"), max_turns=99
        )
        asyncio.run(work)
    assert len(asyncio.run(session.inner.get_items())) == 2 * len(run.sent)
    assert RULE in str(run.sent[-1])


def test_adk_events_can_be_summarised_without_a_model():
    pytest.importorskip("google.adk")
    from google.adk.events.event import Event
    from google.genai.types import Content, Part

    from clew.integrations.adk import ClewSummarizer

    said = [RULE, *(f"line {n} of the plan\n" * 40 for n in range(20))]
    events = [Event(author="user", content=Content(role="user", parts=[Part(text=one)])) for one in said]
    made = asyncio.run(ClewSummarizer().maybe_summarize_events(events=events))
    assert RULE in made.actions.compaction.compacted_content.parts[0].text


def test_raw_messages_go_to_a_session_of_clews_log(tmp_path):
    pytest.importorskip("anthropic")
    with clew.Session.open("raw", clew.SqliteStore(tmp_path / "s.db")) as session:
        run = small()
        run.options = {"session": session}
        DRIVERS["anthropic"]().run(run, "clew")
        said = [item.message for item in session.originals([f"m{n}" for n in range(1, 70)])]
    assert sum(len(list(message.results)) for message in said) == 3 * run.reads


def test_claude_agent_sdk_hooks_answer_like_the_command(tmp_path, monkeypatch):
    pytest.importorskip("claude_agent_sdk")
    from clew.integrations.claude_agent_sdk import clew_hooks

    hooks = clew_hooks()
    assert set(hooks) == {"PreCompact", "SessionStart"}
    event = {
        "hook_event_name": "PreCompact",
        "session_id": "s",
        "transcript_path": str(tmp_path / "none.jsonl"),
    }
    monkeypatch.setenv("HOME", str(tmp_path))
    assert isinstance(asyncio.run(hooks["PreCompact"][0].hooks[0](event, None, {})), dict)


def test_claude_agent_sdk_records_every_message_in_a_session(tmp_path):
    pytest.importorskip("claude_agent_sdk")
    store, run = clew.SqliteStore(tmp_path / "s.db"), small()
    sessions = {}

    def session_of(key):
        return sessions.setdefault(key, clew.Session.open(key, store))

    run.options = {"session": session_of}
    DRIVERS["claude_agent_sdk"](str(tmp_path)).run(run, "clew")
    ((_, session),) = sessions.items()
    with store, session:
        recorded = [item.message for item in session.originals([f"m{n}" for n in range(1, len(run.raw) + 1)])]
    assert sum(len(list(message.results)) for message in recorded) == 3 * run.reads
    assert [one.text for one in recorded] == [one.text for one in run.raw]


def test_claude_agent_sdk_options_are_added_to_those_of_the_program():
    sdk = pytest.importorskip("claude_agent_sdk")
    from clew.budget import Limit, Policy
    from clew.errors import InputError
    from clew.integrations.claude_agent_sdk import compaction_env, with_clew

    async def own(*_):
        return {}

    mine = sdk.ClaudeAgentOptions(
        hooks={"PreCompact": [sdk.HookMatcher(hooks=[own])]}, env={"HOME": "/h"}, mcp_servers={"mine": {}}
    )
    both = with_clew(mine, window=200_000, recall=True)
    assert both.hooks["PreCompact"][0].hooks == [own]
    assert len(both.hooks["PreCompact"]) == 2
    assert set(both.mcp_servers) == {"mine", "clew"}
    assert both.env == {"HOME": "/h", **compaction_env(200_000)}
    assert list(mine.mcp_servers) == ["mine"]
    assert len(mine.hooks["PreCompact"]) == 1
    with pytest.raises(InputError, match="clew_servers"):
        with_clew(sdk.ClaudeAgentOptions(mcp_servers="servers.json"), recall=True)
    assert with_clew().env == {}
    half = compaction_env(policy=Policy(compact_at=Limit(share=0.5)))
    windows = [compaction_env(window) for window in (16_000, 100_000, 2_000_000)] + [half]
    limits = [int(one["CLAUDE_CODE_AUTO_COMPACT_WINDOW"]) for one in windows]
    shares = [int(one["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"]) for one in windows]
    assert limits == [100_000, 100_000, 1_000_000, 200_000]
    assert shares[2] == 100
    for window, limit, share in zip((16_000, 100_000), limits, shares, strict=False):
        assert 0.6 * window < share / 100 * (limit - 20_000) < 0.9 * window
    assert 80_000 < shares[3] / 100 * (200_000 - 20_000) <= 100_000
