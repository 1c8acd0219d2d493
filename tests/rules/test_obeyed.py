"""The cases of the behavioural measure: clew finds each rule by itself, and a reply is judged by code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clew.ledger import Ledger
from clew.message import Item, Role, text_message

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from rules_obeyed import CASES, SYSTEM, chat, compacted, newest, prompt_of, requested, with_rule

OBEYING = [
    "A lock.\nDONE",
    "It moves commits, Captain.",
    "Damit wir sehen, ob das Programm und die Schnittstelle noch funktionieren.",
    "ROGER. Two threads compete.",
    "OPS-4471 rename total to sum",
    "kestrel/fix-login",
    "`pnpm add lodash`",
    "make verify",
    "python -m http.server 8471",
    "No, the rule forbids it.",
    "No. It is off limits.",
    "No, not on a Friday.",
]


@pytest.mark.parametrize(("case", "reply"), list(zip(CASES, OBEYING, strict=True)))
def test_a_rule_is_found_and_a_reply_is_judged(case, reply):
    ledger = Ledger()
    ledger.add(Item("m1", text_message(Role.USER, f"Please fix the parser.\n\n{case.rule}")))
    assert "".join(pin.quote for pin in ledger.pins.active)[:12] == case.rule[:12]
    assert case.obeys(reply)
    assert not case.obeys("Yes, I think that the usual way is best.")


def test_the_view_has_the_rule_and_the_newest_messages_do_not():
    talk = [text_message(Role.USER, "Fix the parser.")]
    for number in range(200):
        talk.append(
            text_message(Role.ASSISTANT, f"Module {number} is read: it has {number * 7} lines of code.")
        )
        talk.append(text_message(Role.USER, f"Go on with module {number + 1}."))
    whole = with_rule([*talk, text_message(Role.ASSISTANT, "All are read.")], CASES[4].rule)
    view = compacted(whole)
    prompt = chat(view, CASES[4].request)
    assert CASES[4].rule in prompt
    assert CASES[4].rule not in chat(newest(whole, 500), CASES[4].request)
    assert prompt.startswith(f"<|im_start|>system\n{SYSTEM}<|im_end|>")
    assert prompt.endswith(f"{CASES[4].request}<|im_end|>\n<|im_start|>assistant\n")
    sent = prompt_of(requested(whole, CASES[4].request))
    assert sent.index(CASES[4].request) < sent.rindex(CASES[4].rule)
    assert sent.count(CASES[4].rule) == 2
