"""Leave ends the rule it is about and is no rule itself; what is taken back at once states nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.message import Role, text_message
from clew.rules import How, Kind, find_candidates, retire


def quotes(text: str) -> list[str]:
    return [found.quote for found in find_candidates(text_message(Role.USER, text))]


def ends(rule: str, text: str) -> list[How]:
    found = find_candidates(text_message(Role.USER, rule))
    assert found, rule
    return [
        end.how
        for end in retire([replace(one, id=one.quote) for one in found], text_message(Role.USER, text))
    ]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("No hagas push.", "Ya puedes hacer push."),
        ("No hagas commits todavía, quiero revisar antes.", "Ya puedes hacer commits."),
        ("No hagas rebase.", "Puedes hacer rebase otra vez."),
        ("Mach bitte keine Commits.", "Du kannst jetzt wieder Commits machen."),
        ("Ne fais pas de commits.", "Tu peux faire des commits maintenant."),
        ("Non fare deploy.", "Adesso puoi fare deploy."),
        ("Não faça deploy.", "Já pode fazer deploy."),
        ("Doe geen releases.", "Je mag nu weer releases doen."),
        ("Nie rób commitów.", "Możesz już robić commity."),
        ("Не делай коммиты.", "Теперь можно делать коммиты."),
        ("Don't do any refactoring.", "You can do refactorings again."),
    ],
)
def test_a_light_verb_is_not_what_a_rule_is_about(rule: str, text: str):
    assert (ends(rule, text), quotes(text)) == ([How.LIFTED], [])


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("No hagas commits.", "Ya puedes hacer push."),
        ("No hagas push.", "Puedes hacer un resumen."),
        ("Mach keine Commits.", "Du kannst jetzt Tests machen."),
        ("Ne fais pas de push.", "Tu peux faire une pause maintenant."),
    ],
)
def test_a_light_verb_in_common_makes_no_common_matter(rule: str, text: str):
    assert ends(rule, text) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("No hagas commits todavía.", "Ya revisé, puedes hacer commits."),
        ("Bis Freitag bitte nichts deployen.", "Freitag ist durch, deploy ruhig."),
        ("Bis Dienstag nichts mergen.", "Dienstag ist vorbei, merge ruhig."),
        ("Don't merge until Monday.", "Monday has passed, go ahead and merge."),
        ("Don't deploy until Friday.", "Friday is over, deploy away."),
        ("Don't push yet, I need to check something.", "Checked, you can push."),
        ("Ne déploie rien, je veux vérifier d'abord.", "J'ai vérifié, tu peux déployer."),
        ("Non fare deploy, voglio controllare prima.", "Ho controllato, puoi fare deploy."),
    ],
)
def test_the_reason_for_leave_does_not_make_an_exception_of_it(rule: str, text: str):
    assert (ends(rule, text), quotes(text)) == ([How.LIFTED], [])


@pytest.mark.parametrize(
    "text",
    [
        "On staging, you can push.",
        "If the tests are green, you can push.",
        "The hotfix is ready, you can push it.",
        "The review is done, you can push to staging.",
        "Could it be that you can push?",
    ],
)
def test_leave_for_a_place_a_case_or_a_thing_named_before_is_an_exception(text: str):
    assert ends("Don't push.", text) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("And answers in Spanish from here on, por favor.", "You can answer in English again."),
        ("Antworte ab jetzt auf Französisch.", "Du kannst wieder auf Deutsch antworten."),
        ("Réponds en anglais désormais.", "Tu peux de nouveau répondre en français."),
        ("Responde en inglés a partir de ahora.", "Puedes volver a responder en español."),
        ("Use tabs for indentation.", "You can use spaces for indentation again."),
    ],
)
def test_leave_to_go_back_to_another_choice_lifts_a_duty(rule: str, text: str):
    assert (ends(rule, text), quotes(text)) == ([How.LIFTED], [])


@pytest.mark.parametrize(
    "text",
    [
        "You can push to the staging branch whenever you want.",
        "From now on you may merge without asking.",
        "Feel free to add dev dependencies.",
        "Puedes usar la base de pruebas.",
        "You can edit legacy/ again, but not legacy/core/.",
        "Du darfst wieder pushen, aber nicht auf main.",
    ],
)
def test_leave_that_lasts_or_goes_only_so_far_is_kept(text: str):
    assert quotes(text) == [text]


def test_a_rule_beside_leave_for_now_is_kept():
    text = "You can edit the parser now, but never touch the lexer."
    assert "never touch the lexer." in " ".join(quotes(text))


@pytest.mark.parametrize(
    "text",
    [
        "You can now touch legacy/ but not legacy/core/",
        "You may edit legacy/ again, except legacy/core/.",
        "You can edit legacy/, just not legacy/core/.",
    ],
)
def test_leave_that_holds_something_back_ends_the_rule_and_makes_one_of_the_rest(text: str):
    rule = find_candidates(text_message(Role.USER, "Never touch anything under legacy/."))[0]
    assert [end.quote in text for end in retire([replace(rule, id="c1")], text_message(Role.USER, text))] == [
        True
    ]
    kept = find_candidates(text_message(Role.USER, text))
    assert [(one.quote, one.kind, one.scope.paths) for one in kept] == [
        (text, Kind.PROHIBITION, ("legacy/core/",))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "You can see it in the log but not in the UI.",
        "You can reproduce it on Firefox but not on Chrome.",
        "You can, but not...",
    ],
)
def test_what_can_be_seen_or_done_anyway_is_no_leave_and_holds_nothing_back(text: str):
    assert quotes(text) == []


@pytest.mark.parametrize(
    ("rule", "rest"),
    [
        ("And answers in Spanish from here on, por favor;", "código y commits en inglés."),
        ("Réponds en français ;", "le code en anglais."),
        ("Antworte auf Deutsch;", "Code und Commits auf Englisch."),
        ("Rispondi in italiano;", "codice e commit in inglese."),
        ("Reply in German;", "docs and comments in English."),
        ("Always use tabs for Python;", "spaces for YAML."),
    ],
)
def test_what_borrows_the_verb_of_a_rule_is_a_rule_of_its_own(rule: str, rest: str):
    assert quotes(f"{rule} {rest}") == [rule, rest]


@pytest.mark.parametrize(
    "text", ["Thanks for the help; pnpm for CI.", "Never push; pnpm for CI.", "Use tabs; why spaces?"]
)
def test_nothing_is_borrowed_from_what_is_no_rule_on_the_same_choice(text: str):
    assert text.partition("; ")[2] not in quotes(text)


def test_the_half_that_borrows_its_verb_stays_when_the_other_ends():
    text = "Reply in German from now on; docs and comments in English."
    active = [replace(one, id=one.quote) for one in find_candidates(text_message(Role.USER, text))]
    ended = retire(active, text_message(Role.USER, "You can reply in French again."))
    assert [end.rule for end in ended] == ["Reply in German from now on;"]


@pytest.mark.parametrize(
    "text",
    [
        "Ignore what I said about the branch, wait no, keep that.",
        "Forget my rule about tests, actually no, leave it.",
        "Never push to main, no wait, scratch that.",
        "Don't touch the parser. Wait, no.",
        "Vergiss die Regel mit den Tests, nein warte, lass das so.",
        "Oublie ce que j'ai dit sur les tests, non attends, garde ça.",
        "Olvida lo que dije de los tests, no espera, déjalo así.",
        "Dimentica quello che ho detto sui test, anzi no, lascia così.",
    ],
)
def test_what_is_taken_back_at_once_states_and_ends_nothing(text: str):
    assert (quotes(text), ends("Always run the tests.", text)) == ([], [])


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Use tabs, no wait, use spaces.", ["use spaces."]),
        ("Don't push, never mind why.", ["Don't push, never mind why."]),
        ("No, wait, don't push.", ["No, wait, don't push."]),
        ("Don't push yet. No wait, don't commit.", ["Don't push yet.", "No wait, don't commit."]),
    ],
)
def test_what_follows_words_that_take_back_is_said(text: str, stays: list[str]):
    assert quotes(text) == stays


@pytest.mark.parametrize(
    ("rule", "text", "certain"),
    [
        ("Always run the formatter before you commit.", "You may skip the formatter from now on.", [True]),
        ("Always run the formatter before you commit.", "You can skip the formatter.", [False]),
        ("Never merge without running the tests.", "You may skip the tests from now on.", [False]),
        ("Always run the formatter before you commit.", "You may skip the tests from now on.", []),
        ("Never modify files under legacy/.", "You may skip legacy/ from now on.", []),
        ("Always run the formatter before you commit.", "You may not skip the formatter.", []),
    ],
)
def test_permission_to_skip_ends_a_duty_and_no_ban(rule, text, certain):
    active = [replace(one, id=one.quote) for one in find_candidates(text_message(Role.USER, rule))]
    assert [end.certain for end in retire(active, text_message(Role.USER, text))] == certain


@pytest.mark.parametrize(
    ("rule", "text", "ended"),
    [
        ("Don't write any code yet.", "go ahead", True),
        ("Work on the backend exclusively for now.", "Please start implementing.", False),
        ("I don't want you to write any code for me.", "Good. Let's start with the parser.", False),
        ("don't revert anything, find out why", "go", False),
        ("Don't write code.", "for this one test, could you write the code", False),
    ],
)
def test_a_go_ahead_ends_what_waits_for_it_and_nothing_else(rule, text, ended):
    assert bool(ends(rule, text)) is ended
