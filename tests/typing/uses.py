"""Correct and incorrect uses of the public API, for the type checker; ``tests/test_api.py`` runs mypy on it.

A line with ``type: ignore`` is a mistake that the type checker must find: mypy reports an ignore that is not
needed.
"""

from __future__ import annotations

from typing import assert_type

import clew


def write(prompt: str) -> str:
    return prompt[:100]


async def write_slowly(prompt: str) -> str:
    return prompt[:100]


def lists(messages: list[dict[str, object]]) -> None:
    fitted = clew.compact(messages, window=200_000, summariser=write, focus="the parser")
    assert_type(fitted, clew.CompactResult)
    assert_type(fitted.plan, clew.Plan | None)
    assert_type(fitted.rules, tuple[clew.Rule, ...])
    again = clew.compact(messages, 200_000, previous=fitted, summarizer="anthropic/claude-sonnet-4-5")
    print(again.tokens_after + fitted.tokens_before, clew.check(messages, "anthropic").refused)
    policy = clew.Policy(compact_at=clew.Limit(share=0.7))
    compactor = clew.Compactor(200_000, policy=policy, summariser=write)
    assert_type(compactor.fit(messages), clew.CompactResult)
    assert_type(compactor.fit("key", messages, target_tokens=2_000), clew.CompactResult)


async def awaited(messages: list[dict[str, object]]) -> None:
    assert_type(await clew.compact_async(messages, 9_000, summariser=write_slowly), clew.CompactResult)


def sessions(store: clew.Store) -> None:
    with clew.Session.open("s", store, model="claude-sonnet-4-5", summariser=write) as session:
        session.add(clew.text_message(clew.Role.USER, "hello"))
        assert_type(session.compact(target_tokens=2_000), clew.Compaction | None)


def mistakes(messages: list[dict[str, object]], session: clew.Session) -> None:
    clew.compact(messages, window="200k")  # type: ignore[arg-type]
    clew.compact(messages, windw=200_000)  # type: ignore[call-arg]
    clew.compact(messages, 9_000, previous=messages)  # type: ignore[arg-type]
    clew.compact(messages, 9_000, policy="early")  # type: ignore[arg-type]
    clew.compact(messages, 9_000, summariser=len)  # type: ignore[arg-type]
    clew.compact(messages, 9_000, summariser=write_slowly)  # type: ignore[arg-type]
    clew.Compactor(9_000).fit("key", messages, window=9_000)  # type: ignore[call-overload]
    session.compact(must=True)  # type: ignore[call-arg]
    session.add("hello")  # type: ignore[arg-type]
    clew.said  # type: ignore[attr-defined]  # noqa: B018
