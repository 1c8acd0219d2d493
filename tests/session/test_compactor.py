"""clew.Compactor: nothing to remember between calls."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import clew
from tests.session.test_continued import RULE, loop, marked


def conversation(name, turns):
    return [{"role": "user", "content": f"This is task {name}. {RULE}"}, *loop(turns)[1:]]


def heads(compactor, name, turns, *key):
    return [compactor.fit(*key, marked(conversation(name, n))).digest for n in range(1, turns, 2)]


def test_a_loop_needs_no_previous():
    compactor = clew.Compactor(6_000)
    digests = heads(compactor, "one", 40)
    assert 2 <= len({digest.id for digest in digests if digest}) <= 5
    assert len(compactor) == 1


def test_conversations_without_a_key_are_known_by_their_beginning():
    compactor = clew.Compactor(6_000)
    last = {}
    for n in range(25, 29):
        for name in ("one", "two"):
            digest = compactor.fit(marked(conversation(name, n))).digest
            assert last.setdefault(name, digest) is digest
    assert len(compactor) == 2


def test_the_oldest_conversation_is_dropped_first():
    compactor = clew.Compactor(6_000, conversations=2)
    for name in ("one", "two", "one", "three"):
        compactor.fit(name, conversation(name, 2))
    assert len(compactor) == 2
    assert compactor.state("two") is None
    assert compactor.state("one") is not None
    compactor.forget("one")
    assert len(compactor) == 1


def test_threads_may_share_one():
    compactor = clew.Compactor(6_000)

    def work(name):
        return [compactor.fit(name, marked(conversation(name, n))) for n in (20, 28, 30)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, "abab"))
    assert all(
        f"task {name}." in str(results[-1].digest) for name, results in zip("abab", found, strict=True)
    )
    assert all([pin.quote for pin in results[-1].pins] == [RULE] for results in found)
    assert len(compactor) == 2


def test_another_process_goes_on_from_a_state():
    first, second = clew.Compactor(6_000), clew.Compactor(6_000)
    here = first.fit("k", loop(30))
    second.restore(json.loads(json.dumps(first.state("k"))), "k")
    assert second.fit("k", marked(loop(31))).messages[:-2] == first.fit("k", loop(31)).messages[:-2]
    assert here.changed
    unkeyed = clew.Compactor(6_000)
    unkeyed.restore(first.state("k"))
    assert unkeyed.fit(loop(31)).messages == first.fit("k", loop(31)).messages


def test_what_is_given_wrongly_is_an_input_error():
    with pytest.raises(clew.ClewError, match="fit takes"):
        clew.Compactor(9_000).fit(1, 2, 3)
    with pytest.raises(clew.ClewError, match="use 1 or more"):
        clew.Compactor(9_000, conversations=0)


def test_it_can_be_awaited():
    compactor = clew.Compactor(6_000)

    async def main():
        return await asyncio.gather(*(compactor.fit_async(name, conversation(name, 30)) for name in "abc"))

    assert all(result.changed for result in asyncio.run(main()))
