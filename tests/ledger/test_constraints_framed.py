"""Words that sound like leave and are none end no rule."""

from __future__ import annotations

import pytest

from clew.ledger.constraints import Constraint, find, retire
from clew.message import Role, said

MAIN = "Never push to main."
LEGACY = "Never touch anything under legacy/."


def ended(rule: str, text: str) -> int:
    rules = [Constraint(found.quote, found) for found in find(said(Role.USER, rule))]
    assert rules
    return len(retire(rules, said(Role.USER, text)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (MAIN, "Du darfst nicht auf main pushen."),
        (MAIN, "You can no longer push to main."),
        (MAIN, "I never said you can push to main."),
        (MAIN, "Who said you may push to main?"),
        (MAIN, "I'm not sure you may push to main."),
        (MAIN, "You can forget about pushing to main."),
        (MAIN, "You may push to main unless CI is red."),
        (MAIN, "Don't forget that."),
        ("Niemals auf main pushen.", "Vergiss das nicht."),
        (LEGACY, "You may read legacy/old.py."),
        (LEGACY, "You can see the bug in legacy/old.py."),
        (LEGACY, "The tests in legacy/ are fine."),
        (LEGACY, "Anna said you may edit legacy/."),
        (LEGACY, "Imagine you may edit legacy/ - how would you fix it?"),
        (LEGACY, "Можно ли трогать legacy/?"),
        (LEGACY, "Я не говорил, что можно трогать legacy/."),
        (LEGACY, "¿Puedes tocar legacy/?"),
        (LEGACY, "Nunca dije que puedes tocar legacy/."),
        (LEGACY, "Si je dis oui, tu peux toucher à legacy/."),
        (LEGACY, "Tu peux lire legacy/old.py."),
        (LEGACY, "你可以看 legacy/old.py。"),
    ],
)
def test_what_is_denied_asked_reported_supposed_or_less_is_no_leave(rule: str, text: str):
    assert ended(rule, text) == 0


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Never commit secrets.", "You can commit now."),
        ("Never force push.", "You can push now."),
        ("Never merge without review.", "go ahead and merge"),
        ("Never deploy to production without running the tests.", "You can deploy to production now."),
        ("Niemals Passwörter committen.", "Du kannst jetzt committen."),
    ],
)
def test_leave_for_the_usual_does_not_end_a_rule_about_the_special(rule: str, text: str):
    assert ended(rule, text) == 0


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (MAIN, "You may push to main now."),
        (MAIN, "As I said, you may push to main."),
        ("Don't push.", "You can push now."),
        ("Don't commit yet.", "ok, you can commit now"),
        (LEGACY, "You may edit legacy/ now."),
        ("Nunca hagas push a main.", "Ahora puedes hacer push a main."),
    ],
)
def test_leave_for_what_a_rule_is_about_ends_it(rule: str, text: str):
    assert ended(rule, text) == 1
