"""What the log keeps of a compaction reads back as it was."""

import json

import pytest

from clew.compaction.plan import (
    Claim,
    ClaimKind,
    Condense,
    Digest,
    Drop,
    Freed,
    Plan,
    RuleQuote,
    Rung,
    Shrink,
    Topic,
)
from clew.compaction.plan.codec import (
    digest_from_json,
    digest_to_json,
    plan_from_json,
    plan_to_json,
    shown_messages,
)
from clew.compaction.plan.render import digest_message, digest_of_message
from clew.errors import StoreDamaged
from clew.message import Cite, Role, Trust, text_message

DIGEST = Digest(
    "d2",
    1,
    ("m1", "m2", "m3", "m9"),
    "sha256:00",
    (Claim("d2.1", ClaimKind.FACT, "x = 1", (Cite("m2", 1, 4, 9), Cite("m9")), Trust.UNTRUSTED, True),),
    (RuleQuote("p1", "never push", Cite("m1", 0, 3, 13), Trust.USER),),
    ("d1",),
    "a model",
    "3",
)
SMALLER = text_message(Role.TOOL, "[… 40 lines]")
PLAN = Plan(
    (
        Shrink("m10", SMALLER, "read again later by m41"),
        Condense(("d1", "m9"), DIGEST, Rung.FOLD),
        Drop(("m11",), "digested"),
    ),
    900,
    300,
    400,
    "manual",
    "asked for",
    (Freed(Rung.PRUNE, 1, 600),),
)


def test_a_digest_reads_back():
    assert digest_from_json(json.loads(json.dumps(digest_to_json(DIGEST)))) == DIGEST


def test_a_plan_reads_back_with_the_messages_it_shows():
    shown = shown_messages(PLAN)
    assert shown == [("m10", SMALLER), ("d2", digest_message(DIGEST))]
    written = json.loads(json.dumps(plan_to_json(PLAN)))
    assert plan_from_json(written, [message for _, message in shown]) == PLAN


@pytest.mark.parametrize("missing", ["operations", "reason", "freed"])
def test_what_is_no_plan_is_called_damaged(missing):
    written = plan_to_json(PLAN)
    del written[missing]
    with pytest.raises(StoreDamaged, match=missing):
        plan_from_json(written, [SMALLER])


@pytest.mark.parametrize(
    "wrong", [{"covers": "m1-m9999999999"}, {"claims": [{"id": "d1.1"}]}, {"pins": [{"trust": "king"}]}]
)
def test_what_is_no_digest_is_called_damaged(wrong):
    with pytest.raises(StoreDamaged, match="a digest cannot be read back"):
        digest_from_json({**digest_to_json(DIGEST), **wrong})


@pytest.mark.parametrize(
    ("kind", "text", "topic"),
    [
        (ClaimKind.ARTIFACT, "last test run: pytest: 3 passed, 1 failed", Topic.TEST_RUN),
        (ClaimKind.ARTIFACT, "last check: mypy: 2 errors", Topic.CHECK),
        (ClaimKind.ARTIFACT, "created in /repo/app/: src/a.py", Topic.FILES_CHANGED),
        (ClaimKind.ARTIFACT, "modified: src/a.py", Topic.FILES_CHANGED),
        (ClaimKind.ARTIFACT, "written: src/a.py", Topic.FILES_CHANGED),
        (ClaimKind.ARTIFACT, "read: src/a.py", Topic.FILES_READ),
        (ClaimKind.ARTIFACT, "ran: make all (exit 2)", Topic.COMMAND),
        (ClaimKind.ERROR, "refused: Bash: git push", Topic.REFUSAL),
        (ClaimKind.DECISION, "the user refused: Bash: git push", Topic.REFUSAL),
        (ClaimKind.ERROR, "make: no rule. Mended.", Topic.FAILURE),
        (ClaimKind.ERROR, "make: no rule. Not fixed.", Topic.FAILURE),
        (ClaimKind.DECISION, 'no longer holds: "Never push."', Topic.ENDED_RULE),
        (ClaimKind.FACT, "also: load_config, src/a.py", Topic.NAMES),
        (ClaimKind.FINDING, "read: it is slow", None),
        (ClaimKind.ERROR, "it failed because of the cache", None),
    ],
)
def test_claims_stored_without_a_topic_get_it_from_their_wording(kind: ClaimKind, text: str, topic: Topic):
    claim = Claim("d1.1", kind, text, (Cite("m1"),), Trust.UNTRUSTED, topic=topic)
    digest = Digest("d1", 0, ("m1",), "sha256:0", (claim,))
    stored = digest_to_json(digest)
    assert digest_from_json(stored) == digest
    for one in stored["claims"]:  # type: ignore[union-attr]
        one.pop("topic", None)  # type: ignore[union-attr]
    assert digest_from_json(stored) == digest
    read_back = digest_of_message(digest_message(digest))
    assert read_back is not None
    assert [one.topic for one in read_back.claims] == [topic]
