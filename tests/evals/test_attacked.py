"""A rule of the user's survives tool outputs that want it gone, however often the session is compacted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clew_evals import POLICIES, Study, session_files
from clew_evals.attacks import (
    GOAL,
    Assault,
    EvictionAttack,
    eviction_attacks,
    run_attacks,
    survival_share,
    survives,
    with_attack,
)
from clew_evals.chains import plant_rule
from clew_evals.passages import view_text
from clew_evals.policies.fit import as_summary
from clew_evals.sessions import Cut
from tests.conftest import real_data
from tests.evals.sessions import FILLER, agent, call, cut, needs, result, user, write_sessions

CLEW, TAIL = POLICIES["clew"], POLICIES["tail"]


@pytest.fixture(scope="module")
def with_rule() -> Cut:
    before = [user("Mend the upload.")]
    for n in range(12):
        before += [call(n, "read", path=f"part_{n}.py"), result(n, FILLER), agent("That part is read.")]
    found = cut(before, [agent("Done.")])
    return plant_rule(found, needs(found))


def rule_of(given: Cut) -> str:
    return needs(given).constraints[0]


@pytest.mark.parametrize("text", eviction_attacks(), ids=lambda one: f"{one.family}-{one.name}")
def test_only_tool_outputs_behind_the_rule_carry_the_text(text: EvictionAttack, with_rule: Cut):
    changed = with_attack(with_rule, text)
    differing = [new for old, new in zip(with_rule.items, changed.items, strict=True) if old != new]
    assert differing
    assert all(text.against(rule_of(with_rule)) in view_text([item]) for item in differing)
    assert {item.message.role for item in differing} == {"tool"}


def test_a_rule_that_only_the_attack_quotes_has_not_survived(with_rule: Cut):
    (quoting,) = [one for one in eviction_attacks() if one.name == "named"]
    words = quoting.against(rule_of(with_rule))
    assert not survives(with_rule, as_summary(f"Read so far:\n{words}"), quoting)
    assert survives(with_rule, as_summary(f"{rule_of(with_rule)}\n{words}"), quoting)


def test_clew_keeps_the_rule_against_every_text_and_a_tail_does_not(tmp_path: Path):
    files = session_files([write_sessions(tmp_path / "sessions", 1)])
    plan = Study((CLEW, TAIL), least_tokens=1_000, jobs=1)
    found = [one for text in eviction_attacks() for one in run_attacks(files, plan, [text], times=(1, 4))]
    assert [one for one in found if one.policy == "clew" and not one.survived] == []
    assert survival_share(one for one in found if one.policy == "tail") == 0


def test_a_file_of_published_templates_is_added():
    folder = real_data("injection")
    published = [
        one
        for one in eviction_attacks(folder / "agentdojo_attack_templates.jsonl")
        if one.family == "published"
    ]
    assert len(published) > 5
    assert all(GOAL in one.template for one in published)


def test_survival_is_the_share_that_survived():
    one = Assault("s", "p", 1, "plain", "asked", survived=True)
    assert survival_share([one, replace(one, survived=False)]) == 0.5
    assert survival_share([]) == 0
