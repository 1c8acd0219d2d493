"""What stays open although the model reported on something else, and what no report can close."""

from __future__ import annotations

import pytest

from clew.ledger import LoopKind
from clew.ledger.answers import answers
from clew.rules.speech import utterances
from tests.ledger.sessions import assistant, did, items, ledger_of, user

NEXT = user("Rename the parser.")


def left_open(*messages, without=(NEXT.text,)):
    return [loop.text for loop in ledger_of(*messages).loops.open if loop.text not in without]


@pytest.mark.parametrize(
    ("asked", "report", "left"),
    [
        (
            "Hi! The calendar feed is truncated after 30 days, two clinics complained.\n\nAnd separately: Mia"
            " asked about a Slack bot. Please estimate the work, don't start it.",
            "The feed has all days again: the page size was fixed.",
            "Slack bot",
        ),
        (
            "The calendar feed is truncated. Please repair it.\n\nBy the way, Mia wants a Slack bot. Please"
            " estimate the work.",
            "The calendar feed has all days again.",
            "Slack bot",
        ),
        (
            "The search page hangs for umlauts. Can you estimate what a bigger index would cost?",
            "The search page answers again: umlauts are folded.",
            "bigger index",
        ),
        (
            "Translate the invoice mails.\n\nOne more thing: the unsubscribe link is broken.",
            "The invoice mails are translated.",
            "unsubscribe link",
        ),
        (
            "Once you're through with the gateway, remind me to rotate the mail key.",
            "The gateway is finished: 31 tests pass.",
            "rotate the mail key",
        ),
        ("Drop the old columns once the backfill is merged.", "The backfill is merged.", "old columns"),
        (
            "Speed up the gateway. Afterwards hand the runbook to Kim.",
            "The gateway is twice as fast.",
            "the runbook",
        ),
        (
            "Publish the package and purge the mirror",
            "The package is published. Purging the mirror failed: the token has no permission.",
            "purge the mirror",
        ),
        (
            "Publish the package and purge the mirror",
            "The package is published, but I couldn't purge the mirror because the token expired.",
            "purge the mirror",
        ),
        *(
            ("Agreed, refund 46.90 EUR and notify her by e-mail at c@example.es.", report, "notify her")
            for report in (
                "Refund REF-20931 is done. I have not sent the e-mail yet.",
                "Refund REF-20931 is done. The mail could not be sent: SMTP timeout",
                "The refund is done, but sending the e-mail did not work.",
                "Refunded. No e-mail has been sent so far.",
                "Refunded. She was not notified.",
            )
        ),
        (
            "Deploy the service and update the wiki.",
            "The service is deployed. The wiki was not updated because I lack permission.",
            "update the wiki",
        ),
        ("Send her the e-mail.", "I have not sent the e-mail yet.", "Send her the e-mail"),
        ("Send her the e-mail.", "The mail could not be sent: SMTP timeout", "Send her the e-mail"),
        ("Purge the mirror.", "Purging failed, no permission, so I left it.", "Purge the mirror"),
        ("Restart the staging worker.", "That was denied: my role is read-only.", "staging worker"),
        ("Delete the tmp bucket.", "I wasn't able to delete the bucket.", "tmp bucket"),
    ],
)
def test_what_a_report_does_not_speak_of_or_calls_failed_stays_open(asked, report, left):
    found = left_open(user(asked), assistant(report), NEXT)
    assert len(found) == 1
    assert left in found[0]
    later = left_open(user(asked), assistant(report), NEXT, assistant("The parser has its new name."))
    assert later == found


@pytest.mark.parametrize(
    ("asked", "report"),
    [
        ("The login fails with a 500. Please find the cause.", "The clock was nine minutes late."),
        ("The build is red. Fix it.", "The build failed on the missing header; it passes now."),
        (
            "Find out why the upload fails and renew the token.",
            "The upload failed as the token was old; renewed.",
        ),
        (
            "Fix the login and update the docs.",
            "The token was not renewed, so people were logged out; fixed. The docs are updated.",
        ),
        ("Refund the order and notify her by e-mail.", "Done. Shall I send an e-mail to her manager, too?"),
        ("Fix the upload.", "The file could not be opened as its path was wrong; it is fixed now."),
        ("Add a flag.", "The flag is added. Uploads failed before, too."),
        ("Fix the crash when a user logs out.", "Logging out works again."),
        ("Run the tests.", "Two tests failed: test_a and test_b."),
        (
            "I looked at the importer yesterday. It reads two feeds.\n\nPlease document the retry.",
            "The importer's retries are documented.",
        ),
    ],
)
def test_a_report_on_what_was_asked_leaves_nothing_open(asked, report):
    assert left_open(user(asked), assistant(report), NEXT) == []


@pytest.mark.parametrize(
    ("asked", "reply", "answer"),
    [
        (
            "I need to cancel my flights under reservation SI5UKW.",
            "I can help you with that. Could you please provide your user ID?",
            "My user ID is amelia_rossi_1297.",
        ),
        (
            "Draft an apology to Ms Okafor.",
            "I looked at the order history. Which tone do you prefer: formal or warm?",
            "Formal.",
        ),
        (
            "Cancel order 4711 and send the customer an e-mail.",
            "Order 4711 has two items. Should I cancel the whole order?",
            "Yes.",
        ),
        ("Book me a flight to Oslo.", "To get started, I'll need your user ID.", "It is lea_2."),
        ("Move the job to another host.", "There are two hosts. ¿Cuál prefieres?", "The second one."),
    ],
)
def test_a_reply_that_only_asks_the_user_for_something_leaves_the_request_open(asked, reply, answer):
    said = (user(asked), assistant(reply), user(answer))
    assert asked in left_open(*said, without=(answer,))
    assert left_open(*said, assistant("That is done now. Anything else?"), NEXT) == []


def test_an_offer_of_help_closes_nothing():
    said = (user("Change my address."), assistant("Happy to assist you. Please provide the new address."))
    assert left_open(*said, user("Elm Street 4."), without=("Elm Street 4.",)) == ["Change my address."]


@pytest.mark.parametrize(
    "reply",
    [
        "I've updated the address. Anything else?",
        "The address has been changed. Which order do you want to look at next?",
        "Fixed. Does it work for you, or do you see the old address?",
        "Address saved. Do you want me to commit it, or wait?",
        "The form takes the new address now. Which browser do you use?",
    ],
)
def test_a_reply_that_reports_and_asks_closes_the_request(reply):
    assert "Change the address." not in left_open(user("Change the address."), assistant(reply), NEXT)


def test_a_question_after_a_changed_file_leaves_nothing_open():
    edited = did("Edit", {"file_path": "form.py", "old_string": "a", "new_string": "b"}, "ok")
    asked = (user("Change the address."), edited, assistant("A small diff. Which branch should it go to?"))
    assert "Change the address." not in left_open(*asked, NEXT)


@pytest.mark.parametrize(
    "praise",
    [
        "perfect, shipped",
        "thx. the summary reads well",
        "Looks great!",
        "nice, merged",
        "it works now",
        "Cool. The new header looks much better, thanks",
    ],
)
def test_praise_asks_for_nothing(praise):
    assert left_open(user("Add a flag."), assistant("The flag is added."), user(praise)) == []


@pytest.mark.parametrize(
    "words",
    [
        "looks good, but the footer is off",
        "the header does not look good",
        "is it good?",
        "make sure it looks nice",
    ],
)
def test_praise_with_a_wish_asks_for_it(words):
    talk = (user("Add a flag."), assistant("The flag is added."), user(words))
    assert left_open(*talk) == [words]


ZONE = "should the nightly job run in UTC or in local time?"


def is_answered(question, reply):
    ((utterance,),) = [utterances(item) for item in items(user(reply))]
    return answers(question, utterance, frozenset(("night", "job")))


@pytest.mark.parametrize(
    "reply",
    [
        "let me check with the ops team, I'll get back to you",
        "I have to ask Dana first. meanwhile clean up the log messages",
        "not sure yet",
        "don't know yet, I'll find out",
        "we need to discuss that with legal",
        "da muss ich erst nachfragen",
    ],
)
def test_an_answer_that_is_put_off_answers_nothing(reply):
    assert not is_answered(ZONE, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I'll ask ops too, but use UTC for now",
        "let me check with Ana, keep it in UTC until then",
        "I think local time",
        "we should check both, UTC first",
    ],
)
def test_an_answer_beside_such_words_counts(reply):
    assert is_answered(ZONE, reply)


TWO = "The notes are ready. Two questions: 1. Which date should they carry? 2. Should I mention the outage?"


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("the 3rd of May", ["Should I mention the outage?"]),
        ("May 3rd", ["Should I mention the outage?"]),
        ("yes", ["Which date should they carry?"]),
        ("May 3rd, yes", []),
        ("up to you", []),
        ("the date is May 3rd. for the outage let me check with security", ["Should I mention the outage?"]),
        ("let me check with security", ["Which date should they carry?", "Should I mention the outage?"]),
    ],
)
def test_of_two_questions_a_few_words_answer_the_one_that_they_fit(reply, left):
    ledger = ledger_of(user("Write release notes."), assistant(TWO), user(reply))
    asked = [loop.text for loop in ledger.loops.open if loop.kind is LoopKind.ASKED]
    assert [text.removeprefix("1. ").removeprefix("2. ") for text in asked] == left


@pytest.mark.parametrize(
    ("asked", "report", "left"),
    [
        (
            "Ändere die Adresse, storniere die Bestellung 4711 und schicke dem Kunden eine Bestätigung.",
            "Die Adresse ist geändert.",
            ["storniere die Bestellung 4711", "schicke dem Kunden eine Bestätigung."],
        ),
        (
            "Cambia la dirección, cancela el pedido 4711 y envía un correo al cliente.",
            "El pedido 4711 está cancelado.",
            ["Cambia la dirección", "envía un correo al cliente."],
        ),
        ("Annule la commande 4711 et envoie un courriel au client.", "Tout est fait.", []),
        ("Schreibe einen kurzen, klaren Text über die Messe.", "Der Text ist da.", []),
        ("Storniere die Bestellung, damit der Kunde sein Geld bekommt.", "Sie ist storniert.", []),
    ],
)
def test_of_a_request_in_another_language_the_steps_that_a_report_does_not_name_stay_open(
    asked, report, left
):
    assert left_open(user(asked), assistant(report), NEXT) == left


def test_calls_may_have_done_the_steps_of_a_request_in_another_language():
    asked = user("Ändere die Adresse und schicke dem Kunden eine Bestätigung.")
    mailed = did("send_mail", {"to": "a@example.org", "text": "Confirmed"}, "ok")
    assert left_open(asked, mailed, assistant("Die Adresse ist geändert."), NEXT) == []
