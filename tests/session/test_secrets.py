"""Secrets do not reach the log, a digest or a smaller form; what clew does not touch it does not mask."""

import json

import pytest

import clew
from clew.budget import FRESH
from clew.errors import ModelFailed
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.memory.notes.commands import MemoryFiles
from clew.memory.notes.note import Draft
from clew.message import Role, text_message
from clew.session import Session
from clew.session.history import refusal_event

KEY = "ghp_" + "a8Zk3LmQ0pXr5TyUv2WsBn7CdEfGhIjK1o9Q"


def reads(n, output):
    call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": f"cat file_{n}"}}
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def conversation():
    messages = [{"role": "user", "content": f"Deploy it. Never print the token {KEY} again."}]
    for n in range(30):
        messages += reads(
            n, f"GITHUB_TOKEN={KEY}\n" + "\n".join(f"line_{n}_{i} = {i * n}" for i in range(60))
        )
    return messages


def everything(store, session):
    return json.dumps([one.event.body for one in store.read(session.ctx)], ensure_ascii=False)


def test_a_secret_never_reaches_the_log():
    store = MemoryStore()
    session = Session.open("main", store, window=20_000)
    session.add(*conversation(), wire="anthropic")
    session.compact(target_tokens=3_000)
    assert KEY not in everything(store, session)
    assert "[secret:github-token:" in everything(store, session)


def test_masking_can_be_switched_off():
    store = MemoryStore()
    session = Session.open("main", store, mask_secrets=False)
    session.add(text_message(Role.USER, f"use {KEY}"))
    assert KEY in everything(store, session)


def test_a_message_without_secrets_goes_in_as_it_is():
    session = Session.open("main", MemoryStore())
    message = {"role": "user", "content": "hello"}
    session.add(message)
    assert session.context("anthropic").items == [message]


def test_what_clew_writes_into_a_plain_list_is_masked_and_what_it_leaves_is_the_very_same():
    messages = conversation()
    done = clew.compact(messages, target_tokens=700)
    digest, *rest = done.messages
    assert KEY not in json.dumps(digest)
    assert "Never print the token [secret:github-token:" in done.digest.pins[0].quote
    untouched = [one for one in rest if any(one is given for given in messages)]
    assert untouched
    assert all(KEY not in json.dumps(one) for one in rest if one not in messages)


def test_a_list_compacted_twice_is_still_masked():
    messages = conversation()
    first = clew.compact(messages, target_tokens=6_000)
    more = [*messages, *reads(31, "more\n" * 4000)]
    again = clew.compact(more, target_tokens=5_000, previous=first)
    written = [one for one in again.messages if not any(one is given for given in more)]
    assert written
    assert KEY not in json.dumps(written)


def test_secrets_stay_where_the_caller_wants_them():
    done = clew.compact(conversation(), target_tokens=5_000, mask_secrets=False)
    assert KEY in done.pins[0].quote


def test_notes_pins_and_memory_files_hold_no_secret():
    store = MemoryStore()
    session = Session.open("main", store)
    session.pin(f"Use the token {KEY} for staging.")
    session.memory.notebook.add(Draft(key="token", text=f"the token is {KEY}"))
    MemoryFiles(store, "local").create("/memories/keys.txt", f"token {KEY}")
    contexts = [Ctx(workspace="local", session=info.session) for info in store.sessions("local")]
    kept = [one.event.body for ctx in contexts for one in store.read(ctx)]
    assert len(kept) == 3
    assert KEY not in json.dumps(kept)


class Refusing:
    """A model whose server quotes the key that it was given."""

    name, window_tokens = "x/refusing", 100_000

    def ask(self, _ask):
        raise ModelFailed(f"401 Incorrect API key provided: {KEY}")


def test_what_people_and_servers_say_beside_messages_is_masked():
    store = MemoryStore()
    session = Session.open("main", store, window=20_000, summariser=Refusing())
    session.add(*conversation(), wire="anthropic")
    assert session.compact(target_tokens=600, focus=f"the key {KEY}") is not None
    pin = session.pin("Never touch legacy/.")
    session.unpin(pin.id, f"because {KEY}")
    session.record("approval", {"tool": "write_file", "what": f"write {KEY}", "answer": "no"})
    log = everything(store, session)
    assert KEY not in log
    assert "API key provided: [secret:" in log
    assert "the key [secret:" in log
    assert "because [secret:" in log
    assert "write [secret:" in log


def test_the_reason_of_a_refusal_is_masked():
    event = refusal_event(f"no: {KEY}", "manual", FRESH.failed(1, f"no: {KEY}"))
    assert KEY not in json.dumps(event.body)
    assert str(event.body["reason"]).startswith("no: [secret:")


SECRETS = {
    "password: Tr0ub4dor&3": "Tr0ub4dor",
    "the password is Tr0ub4dor&3": "Tr0ub4dor",
    "DB_PASSWORD=hunter2x!9": "hunter2x",
    f"token {KEY}": KEY,
}


@pytest.mark.parametrize(
    "form", ["{rule}. {secret}", "{secret}. {rule}.", "{rule}, {secret}", "{secret}, {rule}."]
)
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("rule", ["Never deploy on Fridays", "Do not touch vendor/"])
def test_a_secret_on_the_line_of_a_rule_is_masked_and_the_rule_is_kept(rule, secret, form):
    store = MemoryStore()
    session = Session.open("main", store, window=20_000)
    session.add({"role": "user", "content": form.format(rule=rule, secret=secret)})
    assert SECRETS[secret] not in everything(store, session)
    (pin,) = session.pins
    assert rule in pin.quote
