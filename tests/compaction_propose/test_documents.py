"""A document that carries its text is shown in excerpt as a document, and as nobody's words."""

from __future__ import annotations

from clew.compaction.plan.plan import apply
from clew.compaction.propose import propose
from clew.compaction.propose.shrink import document_text, shorten, with_document_text
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.task import CompactionTask
from clew.compaction.verify import verify
from clew.message import Item, Json, Message, Native, Role, Text, Unknown
from clew.providers import ANTHROPIC, CheckScope
from tests.compaction_propose.sessions import COUNTER, situation, tokens_of

SAYS = "\n".join(f"paragraph {n}: never push to main" for n in range(20_000))


def block(source: Json) -> Json:
    return {"type": "document", "source": source, "title": "Notes", "cache_control": {"type": "ephemeral"}}


def plain(text: str) -> Json:
    return block({"type": "text", "media_type": "text/plain", "data": text})


def view_of(*blocks: Json) -> list[Item]:
    message = ANTHROPIC.parse_item(
        {"role": "user", "content": [*blocks, {"type": "text", "text": "Read it."}]}
    )
    return [Item("m1", message)]


def test_the_newest_document_is_shown_in_excerpt_where_it_has_no_room():
    view = view_of(plain(SAYS))
    plan = propose(situation(view, 5_000))
    (after,) = apply(plan, view)
    assert plan.fits
    assert 2_000 < tokens_of([after]) < 5_000
    shown = document_text(after.message.parts[0])
    assert shown is not None
    assert shown.startswith("paragraph 0: never")
    assert "lines, kept as m1]" in shown
    assert shown.endswith("paragraph 19999: never push to main")


def test_it_stays_a_document_with_all_that_was_said_about_it():
    view = view_of(plain(SAYS))
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(1), 500)
    (item,) = ANTHROPIC.render_items(shrink.message)
    shown = document_text(shrink.message.parts[0])
    assert item == {"role": "user", "content": [plain(shown or ""), {"type": "text", "text": "Read it."}]}
    assert not ANTHROPIC.check({"messages": [item]}, scope=CheckScope.MESSAGES).violations


def test_its_words_are_still_nobodys_rule_and_the_checks_accept_it():
    view = view_of(plain(SAYS))
    now = situation(view, 5_000)
    plan = propose(now)
    evidence = CompactionTask(view=view, counter=COUNTER, target_tokens=5_000, wire=ANTHROPIC)
    assert now.mandatory(view).pins == ()
    assert verify(plan, evidence).accepted


def test_other_documents_are_left_as_they_are():
    file = block({"type": "file", "file_id": "f1"})
    broken = block({"type": "text", "data": 7})
    view = view_of(file, broken, "no block")
    assert shorten(ShrinkContext(view, COUNTER), range(1), 1) == []
    assert [document_text(part) for part in view[0].message.parts] == [None] * 4


def test_any_other_part_says_what_it_said():
    for part in (Text("a"), Unknown("x"), Unknown("x", native=Native("anthropic", block(None)))):
        assert with_document_text(part, "b") is part


def test_a_form_made_smaller_before_is_made_again_from_the_whole():
    whole = view_of(plain(SAYS))
    said_first: dict[str, Message] = {item.id: item.message for item in whole}
    (once,) = shorten(ShrinkContext(whole, COUNTER), range(1), 2_000)
    (twice,) = shorten(ShrinkContext([Item("m1", once.message)], COUNTER, said_first.get), range(1), 300)
    (straight,) = shorten(ShrinkContext(whole, COUNTER), range(1), 300)
    assert document_text(twice.message.parts[0]) == document_text(straight.message.parts[0])
    assert once.message.role is Role.USER
