"""Words that sound like leave and are none end no rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.message import Role, text_message
from clew.rules import find_candidates, retire

MAIN = "Never push to main."
LEGACY = "Never touch anything under legacy/."


def ended(rule: str, text: str) -> int:
    rules = [replace(found, id=found.quote) for found in find_candidates(text_message(Role.USER, rule))]
    assert rules
    return len(retire(rules, text_message(Role.USER, text)))


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


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (LEGACY, "You can ignore legacy/."),
        ("Don't push.", "The script no longer needs to push."),
        ("Always push after a commit.", "The script no longer needs to push."),
        ("Never deploy on Fridays.", "The old policy was: always deploy on Fridays."),
        ("Max 80 columns.", "The table has 100 columns at most."),
        (MAIN, "It is not ok to push to main."),
        (MAIN, "Is it ok to push to main?"),
        (LEGACY, "The freeze on legacy/ is not over."),
        (LEGACY, "Once the freeze on legacy/ is over, we clean up."),
        (LEGACY, "Is the freeze on legacy/ over?"),
    ],
)
def test_what_only_tells_of_a_rule_or_its_matter_ends_nothing(rule: str, text: str):
    assert ended(rule, text) == 0


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (MAIN, "ok to push to main"),
        (MAIN, "You're clear to push to main."),
        (LEGACY, "The freeze on legacy/ is over."),
        (LEGACY, "legacy/ is no longer frozen."),
        ("Commits must be signed.", "Commits no longer have to be signed."),
    ],
)
def test_a_rule_ends_where_words_say_that_it_is_over(rule: str, text: str):
    assert ended(rule, text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Before you commit, run the tests in legacy/.",
        "Always keep legacy/README.md in mind.",
        "You must ask me before opening legacy/.",
    ],
)
def test_a_duty_on_a_place_does_not_end_the_ban_on_touching_it(text: str):
    assert ended(LEGACY, text) == 0
