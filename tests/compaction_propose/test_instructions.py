"""System and developer messages behind the prompt stay readable, each in its latest text."""

from __future__ import annotations

from dataclasses import replace

import pytest

import clew
from clew.compaction.plan import Claim, ClaimKind, Condense
from clew.compaction.verify import verify
from clew.compaction.verify.report import LossKind
from clew.log.store import MemoryStore
from clew.message import Cite, Trust
from clew.session import Session

ESCALATE = "Escalate every fraud case to unit 7."
PROMPT = "\n".join(f"Line {n} of the handbook of claims." for n in range(40))


def talk(
    turns: int, added: dict[int, tuple[str, str]] | None = None, prompt: str = "You sort claims."
) -> list:
    """Return a conversation with system or developer messages added behind some turns."""
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "Sort the claims."}]
    for n in range(turns):
        messages.append({"role": "assistant", "content": f"Done {n}. " + "row 4711 ok\n" * 150})
        messages.append({"role": "user", "content": f"next {n}"})
        if added and n in added:
            role, text = added[n]
            messages.append({"role": role, "content": text})
    return messages


def shown(result) -> str:
    return "\n".join(str(message["content"]) for message in result.messages)


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("target", [6_000, 2_000, 700])
def test_what_a_host_says_later_stays_word_for_word(role: str, target: int):
    result = clew.compact(talk(40, {5: (role, ESCALATE)}), window=60_000, target_tokens=target)
    (claim,) = [one for one in result.digest.claims if one.kind is ClaimKind.INSTRUCTION]
    assert (claim.text, claim.sources[0].message) == (ESCALATE, "m15")
    assert claim.trust is {"system": Trust.SYSTEM, "developer": Trust.DEVELOPER}[role]
    assert ESCALATE in shown(result)
    assert result.checked.accepted


def test_it_stays_through_later_compactions_of_the_list_alone_and_of_the_session():
    messages = talk(40, {5: ("system", ESCALATE)})
    session = Session.open("s", MemoryStore(), window=60_000)
    session.add(*messages)
    for _ in range(3):
        messages = [*clew.compact(messages, window=60_000, target_tokens=2_000).messages, *talk(20)[2:]]
        session.compact(target_tokens=2_000)
        session.add(*talk(20)[2:])
        assert sum(str(message["content"]).count(ESCALATE) for message in messages) == 1
        assert sum(item.message.text.count(ESCALATE) for item in session.view()) == 1


def test_of_a_prompt_that_is_sent_again_only_the_latest_changes_are_quoted():
    changed = [PROMPT.replace("Line 7 of", f"Line 7, version {n}, of") for n in range(3)]
    added = {5 + n: ("system", text) for n, text in enumerate(changed)}
    result = clew.compact(talk(40, added, PROMPT), window=60_000, target_tokens=2_000)
    quoted = [one.text for one in result.digest.claims if one.kind is ClaimKind.INSTRUCTION]
    assert quoted == ["Line 7, version 2, of the handbook of claims."]


def test_short_notes_with_a_line_in_common_are_all_kept():
    notes = {
        n: ("developer", f"Approved command prefix saved:\n- [{name}]")
        for n, name in ((3, "pnpm"), (6, "uv"))
    }
    result = clew.compact(talk(40, notes), window=60_000, target_tokens=2_000)
    assert shown(result).count("Approved command prefix saved:") == 1
    assert "[pnpm]" in shown(result)
    assert "[uv]" in shown(result)


def test_what_does_not_fit_is_named_as_lost():
    long = "\n".join(f"Case type {n} goes to desk {n * 37}." for n in range(400))
    result = clew.compact(talk(40, {5: ("system", long)}), window=60_000, target_tokens=2_000)
    (loss,) = [one for one in result.checked.lost if one.matter is LossKind.INSTRUCTION]
    first, last = "Case type 0 goes to desk 0.", "Case type 399 goes to desk 14763."
    assert first in shown(result)
    assert last not in shown(result)
    assert loss.source == "m15"
    assert result.checked.accepted


@pytest.mark.parametrize(("text", "message"), [("Close all cases.", "m15"), ("Done 3. row 4711 ok", "m9")])
def test_nobody_else_gives_an_instruction_of_the_host(text: str, message: str):
    result = clew.compact(talk(40, {5: ("system", ESCALATE)}), window=60_000, target_tokens=2_000)
    (condense,) = [one for one in result.plan.operations if isinstance(one, Condense)]
    wrong = Claim("d1.999", ClaimKind.INSTRUCTION, text, (Cite(message),), Trust.ASSISTANT)
    digest = replace(condense.digest, claims=(*condense.digest.claims, wrong))
    operations = (replace(one, digest=digest) if one is condense else one for one in result.plan.operations)
    plan = replace(result.plan, operations=tuple(operations))
    assert any(finding.subject == "d1.999" for finding in verify(plan, result.task).findings)
