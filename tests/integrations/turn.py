"""Run some turns of the loop in a process of its own, with the framework's own persistence.

    python -m tests.integrations.turn FRAMEWORK FOLDER FIRST LAST

What was sent is written to ``sent-FIRST.json`` in the folder.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

from frameworks.drivers import DRIVERS, Run

from clew.message.codec import message_to_json
from clew.session.result import without_natives

READS, WINDOW = 8, 16_000


def sent_json(run):
    return [[message_to_json(without_natives(one)) for one in messages] for messages in run.sent]


def sdk(driver, run, asks, folder):
    """Keep the list and the state as JSON, as a program with a plain SDK does."""
    path, client = folder / "sdk.json", driver.client(run, "clew", False)
    messages, state = json.loads(path.read_text()) if path.exists() else ([], None)
    client.fitting.restore(state)
    for ask in asks:
        messages.append({"role": "user", "content": ask})
        while driver.went_on(messages, driver.create(client, run, messages)):
            pass
    path.write_text(json.dumps([messages, client.fitting.state()]))


anthropic = openai = sdk


def langchain(driver, run, asks, folder):
    from langgraph.checkpoint.sqlite import SqliteSaver

    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        agent = driver.agent(run, "clew", saver)
        for ask in asks:
            agent.invoke({"messages": [("user", ask)]}, config)


def pydantic_ai(driver, run, asks, folder):
    from pydantic_ai import UsageLimits
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    path, agent = folder / "history.json", driver.agent(run, "clew")
    history = ModelMessagesTypeAdapter.validate_json(path.read_bytes()) if path.exists() else None
    for ask in asks:
        limits = UsageLimits(request_limit=500)
        done = agent.run_sync(ask, message_history=history, usage_limits=limits)
        history = done.all_messages()
    path.write_bytes(done.all_messages_json())


def openai_agents(driver, run, asks, folder):
    from agents import RunConfig, Runner

    from clew.integrations.openai_agents import ClewSession

    session = ClewSession("s1", folder / "items.db", window=WINDOW)
    config = RunConfig(call_model_input_filter=session.filter, tracing_disabled=True)
    for ask in asks:
        Runner.run_sync(driver.agent(run), ask, session=session, run_config=config, max_turns=99)


def adk(driver, run, asks, folder):
    from google.adk.runners import Runner
    from google.adk.sessions.sqlite_session_service import SqliteSessionService
    from google.genai.types import Content, Part

    async def main():
        path = folder / "sessions.db"
        is_new, service = not path.exists(), SqliteSessionService(str(path))
        if is_new:
            await service.create_session(app_name="loop", user_id="u", session_id="s")
        runner = Runner(app=driver.app(run, "clew"), session_service=service)
        for ask in asks:
            message = Content(role="user", parts=[Part(text=ask)])
            async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
                pass

    asyncio.run(main())


def strands(driver, run, asks, folder):
    from strands.session.file_session_manager import FileSessionManager

    manager = FileSessionManager(session_id="s1", storage_dir=str(folder))
    agent = driver.agent(run, "clew", session_manager=manager, agent_id="a1")
    for ask in asks:
        agent(ask)


def hermes(driver, run, asks, folder):
    driver.__init__(str(folder))
    with driver.server(run) as server:
        agent = driver.agent(run, "clew", server.url)
        history = agent._session_db.get_messages_as_conversation(run.name)
        for ask in asks:
            history = agent.run_conversation(ask, conversation_history=history)["messages"]


def claude_agent_sdk(driver, run, asks, folder):
    driver.__init__(str(folder))
    path = folder / "session.txt"
    path.write_text(driver.turns(run, "clew", asks, path.read_text() if path.exists() else None))


def main():
    name, folder, first, last = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    run = Run(reads=READS, window=WINDOW, calls=first * (READS + 1))
    globals()[name](DRIVERS[name](), run, run.asks[first:last], folder)
    (folder / f"sent-{first}.json").write_text(json.dumps(sent_json(run)))


if __name__ == "__main__":
    main()
