"""Who decided what, and why."""

from __future__ import annotations

import pytest

from clew.ledger import DecidedBy, Decision, Ledger
from clew.message import Cite, Origin, Trust
from tests.ledger.sessions import assistant, did, ledger_of, plan, user


def quotes(*messages):
    return [decision.quote for decision in ledger_of(*messages).decisions]


def test_a_decision_keeps_words_place_and_reason():
    ledger = ledger_of(user("Two ways, I know. Let's use SQLite because it needs no server. Thanks."))
    assert ledger.decisions == (
        Decision(
            id="c1",
            by=DecidedBy.USER,
            quote="Let's use SQLite because it needs no server.",
            source=Cite("m0", 0, 18, 62),
            trust=Trust.USER,
            reason="because it needs no server.",
        ),
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "let's go with option 1.",
        "Go with the wrapper functions.",
        "yes, go with B please",
        "Option 2, then move on.",
        "I like option 3",
        "We'll stick with Postgres.",
        "I'd prefer to use tabs here",
        "use pnpm instead of npm",
        "Rather than five columns, let's do five tables.",
        "let's not touch the schema",
        "lets keep it simple for now",
        "We decided that sheet 7 uses code page 1007.",
        "We've decided to drop Python 3.9.",
        "I decided not to ship the beta.",
        "In yesterday's meeting we decided on blue.",
        "Note: we have already agreed that amounts are in cents.",
        "Decision: retries are capped at 5.",
        "**Decided:** one queue per tenant.",
        "We have chosen Kafka over RabbitMQ.",
        "We picked Vue rather than React.",
        "The load test is over, and we settled on four workers.",
        "It was agreed that exports are CSV.",
    ],
)
def test_users_decide_in_many_words(sentence):
    assert quotes(user(sentence)) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll use a lock file instead of polling.",
        "I decided to keep the old API.",
        "We chose JSON over YAML.",
        "I'm keeping this in the parser rather than in the view.",
        "**Decision:** store times in UTC.",
        "The simplest fix is to skip empty ids in the loader.",
        "Going with the second approach.",
    ],
)
def test_the_model_decides_where_it_says_so(sentence):
    assert quotes(assistant(f"I looked at it.\n{sentence}\nAnd so on.")) == [sentence]


@pytest.mark.parametrize(
    "message",
    [
        user("Should we use SQLite instead of files?"),
        user("If it fails, use curl instead of wget."),
        user("Have we decided that sheet 7 uses code page 1007?"),
        user("We have not decided on a name."),
        user("They decided that sheet 7 uses code page 1007."),
        user("The vendor wrote: we decided to end support."),
        user("She said, we decided to end support."),
        user('"We decided to end support," says the vendor.'),
        user("> We decided that sheet 7 uses code page 1007."),
        user("```\nDecision: retries are capped at 5.\n```"),
        user("Explain what we decided on and why."),
        user("Show me the format we settled on."),
        user("If we decided that it is slow, tell me."),
        user("I decided to look at the log, and it is empty."),
        user("The decision is open."),
        user("ok let's keep going"),
        user("let's do it"),
        user("The best UX lets users name a session."),
        user("> let's use SQLite"),
        user("```\nlet's use SQLite\n```"),
        assistant("I'll read the file."),
        assistant("Let me run the tests because they failed."),
        assistant("I can use SQLite, or if you prefer, go with files instead of that."),
    ],
)
def test_questions_conditions_quotes_and_actions_decide_nothing(message):
    assert quotes(message) == []


def test_machines_plans_and_tools_decide_nothing():
    words = "Let's use SQLite because it is small."
    assert (
        quotes(plan(words), user(words, origin=Origin.INJECTED), did("Read", {"file_path": "a"}, words)) == []
    )


def test_the_same_words_twice_are_one_decision():
    assert quotes(user("Let's use SQLite."), assistant("Sure."), user("let's use SQLITE.")) == [
        "Let's use SQLite."
    ]


@pytest.mark.parametrize(
    "correction",
    [
        "Correction: the retry limit is 7, not 5.",
        "The port is 9100, not 9000.",
        "I meant the staging cluster.",
        "Minio has moved to minio-9.lan:9100.",
        "Korrektur: das Limit ist 7.",
    ],
)
def test_what_a_person_corrects_is_decided(correction):
    assert quotes(user(correction)) == [correction]


def test_a_clause_that_goes_on_is_quoted_with_the_one_before_it():
    said = "For now:\n- Keep the setup simple and let's use SQLite instead of Postgres.\n- Ask me."
    assert quotes(user(said)) == ["Keep the setup simple and let's use SQLite instead of Postgres."]


@pytest.mark.parametrize(
    ("later", "is_valid"),
    [
        ("Thinking again: let's completely remove the start command.", False),
        ("On second thought, remove the start command.", False),
        ("ok actually, delete that start command with its tests", False),
        ("Actually, fix the tests first.", True),
        ("Never mind the warning.", True),
        ("Actually, let's make the start command hidden now.", True),
        ("Does the start command still work?", True),
    ],
)
def test_a_change_of_mind_about_the_same_thing_replaces_a_decision(later: str, is_valid: bool):
    first = "let's make the start command hidden"
    ledger = ledger_of(user(first), assistant("Done."), user(later))
    assert (first in [decision.quote for decision in ledger.decisions]) is is_valid


LISTED = "Two ways:\n1. a SQLite file\n2. a Postgres server\n\nWhich one do you want?"


@pytest.mark.parametrize(
    ("offer", "answer", "chosen"),
    [
        (LISTED, "ok, the second one then", "a Postgres server"),
        (LISTED, "1", "a SQLite file"),
        (LISTED, "Go with option 2.", "a Postgres server"),
        ("- **Option A:** keep it\n- **Option B:** drop it\n\nWhich do you prefer?", "B", "drop it"),
        ("Should I use SQLite or Postgres?", "Postgres please.", "Should I use SQLite or Postgres?"),
    ],
)
def test_an_answer_to_a_choice_is_a_decision_with_the_words_of_the_option(offer, answer, chosen):
    found = ledger_of(user("Store the data."), assistant(offer), user(answer))
    (decision,) = found.decisions
    assert (decision.quote, decision.chosen, decision.by) == (answer, chosen, DecidedBy.USER)
    assert decision.offered
    assert offer[decision.offered.start : decision.offered.end] == chosen
    assert Ledger.from_json(found.to_json()).decisions == found.decisions


CALLED = (
    "**Option 1: a file** ✅\n- Simple.\n\n**Option 2: a table**\n- Fast.\n\n"
    "**Recommendation:** a file fits best."
)
IN_TABLE = (
    "| Option | What |\n|---|---|\n| **A. On save** | Cheap. |\n| **B. On read** | Late. |\n\n"
    "Option A seems best because:\n- It is cheap.\n\n"
    + "It was measured with many files. " * 60
    + "\n\nWhich one do you want?"
)


@pytest.mark.parametrize(
    ("offer", "answer", "chosen"),
    [
        (CALLED, "yes do option 1", "a file** ✅"),
        (CALLED, "Option 2, then go on with the docs", "a table"),
        (IN_TABLE, "A.", "On save** | Cheap."),
        (IN_TABLE, "I think B, nested", "On read** | Late."),
        (
            "- **Option A — parity.** Small.\n- **Option B (best) — both.** More.\n\nYours?",
            "B",
            "both.** More.",
        ),
        ("### Approach 1: copy\n\nIt works.\n\n### Approach 2: link\n\nShort.", "approach 2", "link"),
    ],
)
def test_options_that_are_called_so_are_chosen_by_their_label(offer, answer, chosen):
    (decision,) = ledger_of(user("Store the data."), assistant(offer), user(answer)).decisions
    assert (decision.quote, decision.chosen) == (answer, chosen)


@pytest.mark.parametrize(
    "answer", ["First, use #3781DE as accent", "first. check the tests", "1. lint fails\n2. update it"]
)
def test_a_word_of_order_and_a_list_of_the_users_own_choose_nothing(answer):
    found = ledger_of(user("Store the data."), assistant(CALLED), user(answer)).decisions
    assert not any(one.chosen for one in found)


@pytest.mark.parametrize("answer", ["the first thing is to fix the tests", "Why is it slow?", "3", "Thanks."])
def test_other_words_after_an_offer_choose_nothing(answer):
    assert not ledger_of(user("Store the data."), assistant(LISTED), user(answer)).decisions


def test_an_offer_that_the_model_did_not_wait_for_is_not_chosen_from():
    messages = [user("Store it."), assistant(LISTED), *did("Read", {"file_path": "a"}, "x"), user("1")]
    assert not ledger_of(*messages).decisions


@pytest.mark.parametrize(
    "words",
    [
        "We'll store it in Postgres.",
        "we keep the old API",
        "We're using SQLite for the cache.",
        "The team agreed to drop IE11 support.",
        "Use blue for the header, not green.",
    ],
)
def test_a_plain_statement_of_what_is_chosen_is_a_decision(words):
    assert [one.quote for one in ledger_of(user("Build it."), assistant("Done."), user(words)).decisions] == [
        words
    ]


@pytest.mark.parametrize(
    "words", ["We use it if needed?", "How do we store it?", "They keep failing, we put up with it"]
)
def test_a_question_or_a_complaint_is_no_decision(words):
    assert not ledger_of(user("Build it."), assistant("Done."), user(words)).decisions


def test_a_line_of_dictated_text_decides_nothing():
    dictated = "it will manage the expenses so we'll go with split mode then we\nhave the bot which is"
    assert ledger_of(user(dictated)).decisions == ()
    assert len(ledger_of(user("Let's go with split mode\n\nthen we have the bot.")).decisions) == 1


def test_a_line_of_an_outline_is_no_decision():
    assert quotes(user("Final summary with:\n- files changed\n- any follow-ups for release 2.")) == []


@pytest.mark.parametrize(
    "words",
    [
        "yeah, GitHub only for now.",
        "No, it should be a worktree of its own",
        "yes, but it doesn't need its own file",
        "Instead of helpers.go name it stats.go",
        "I think we can drop this, and mark the others instead",
        "Log at DEBUG, not INFO",
        "I said we want ESC in the footer, not esc",
        "the config was supposed to be in ~/.tool/config.toml",
        "we're not concerned about old projects",
        "I don't think unit tests are the solution here.",
        "I don't want that test.",
        "the test can write to docs/plans for now",
        "We want to keep that variable since it's standard",
        "let's ship with the simple version",
        "4. Stored + fallback is good.",
        "Refund any difference to my gift card.",
    ],
)
def test_a_choice_made_in_passing_is_a_decision(words):
    said = f"{words}\nThanks for the work so far."
    (quote,) = [one.quote for one in ledger_of(user("Build it."), assistant("Built."), user(said)).decisions]
    assert quote in words


@pytest.mark.parametrize(
    "words",
    [
        "I don't know where it is, can you look?",
        "ok but it still fails",
        "no, the same error comes again",
        "Let's put together a plan",
        "let's stop here for today",
        "everything is fine",
        "I'm not sure what we should call it",
        "Please confirm once the refund is on my card.",
        f"Log at DEBUG, not INFO. {'The page shows a list of reports. ' * 40}",
    ],
)
def test_reports_and_specifications_are_no_choices_made_in_passing(words):
    assert not ledger_of(user("Build it."), assistant("Built."), user(words)).decisions


FORM = {"questions": [{"id": "db", "question": "Which database?"}, {"id": "lock", "question": "Add a lock?"}]}


@pytest.mark.parametrize(
    "result",
    [
        'User has answered your questions: "Which database?"="SQLite (Recommended)", "Add a lock?"="Yes".',
        '{"answers": {"db": {"answers": ["SQLite (Recommended)"]}, "lock": {"answers": ["Yes"]}}}',
        '{"answers": {"Which database?": "SQLite (Recommended)", "Add a lock?": "Yes"}}',
        '{"answers": {"0": "SQLite (Recommended)", "1": "Yes"}}',
    ],
)
def test_answers_in_a_form_are_decisions_with_their_questions(result):
    ledger = ledger_of(user("Store it."), *did("AskUserQuestion", FORM, result))
    assert [(one.quote, one.chosen) for one in ledger.decisions] == [
        ("SQLite (Recommended)", "Which database?"),
        ("Yes", "Add a lock?"),
    ]
    first = ledger.decisions[0]
    assert (first.by, first.trust) == (DecidedBy.USER, Trust.UNTRUSTED)
    assert result[first.source.start : first.source.end] == first.quote
    assert Ledger.from_json(ledger.to_json()).decisions == ledger.decisions


@pytest.mark.parametrize(
    "result",
    ["not json", "{", '{"answers": 3}', '{"answers": {"x": null}}', '"Which database?"="is it fast?"'],
)
def test_a_form_without_an_answer_decides_nothing(result):
    assert not ledger_of(user("Store it."), *did("AskUserQuestion", FORM, result)).decisions


@pytest.mark.parametrize(
    "words",
    [
        "Wir haben entschieden, Velox zu streichen und PostNord zu nutzen.",
        "Wir haben uns nach langer Diskussion für PostNord entschieden.",
        "Hemos decidido dejar Velox y usar PostNord.",
        "Nous avons décidé d'abandonner Velox et d'utiliser PostNord.",
        "Abbiamo deciso di usare PostNord.",
        "We hebben besloten PostNord te gebruiken.",
        "Мы решили использовать PostNord.",
        "我们决定放弃Velox，改用PostNord。",
        "PostNordを使うことにしました。",
        "PostNord를 사용하기로 했습니다.",
    ],
)
def test_a_decision_announced_in_another_language_is_kept(words):
    assert [made.quote for made in ledger_of(user(words)).decisions] == [words]


@pytest.mark.parametrize(
    "words",
    [
        "Wir haben noch nicht entschieden, welchen Anbieter wir nehmen.",
        "Haben wir entschieden, PostNord zu nutzen?",
        "Aún no hemos decidido nada.",
        "Nous n'avons pas encore décidé.",
        "我们还没有决定用哪个。",
    ],
)
def test_what_is_not_decided_in_another_language_is_no_decision(words):
    assert ledger_of(user(words)).decisions == ()


@pytest.mark.parametrize(
    ("offer", "answer", "chosen"),
    [
        (
            "We can (a) refund, or (b) send a replacement. Which one do you prefer?",
            "Option b, please.",
            "send a replacement",
        ),
        ("Should I a) refund or b) send a replacement?", "a", "refund"),
        ("Two ways: 1) refund the order; 2) replace it. Which one?", "the second one", "replace it"),
        (
            "Either (a) wait, (b) call, or (c) offer a voucher (10 EUR). Which?",
            "c",
            "offer a voucher (10 EUR)",
        ),
    ],
)
def test_an_option_within_a_sentence_is_quoted_with_the_answer(offer, answer, chosen):
    (made,) = ledger_of(user("Help her."), assistant(offer), user(answer)).decisions
    assert made.chosen == chosen


def test_a_label_alone_offers_nothing():
    said = (user("Help her."), assistant("See point 3) above. Shall I go on with B?"), user("B"))
    assert ledger_of(*said).decisions == ()
