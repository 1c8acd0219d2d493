"""The turns of a session and what the agent found out, kept by their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ledger import Ledger, agent_findings, turns
from clew.ledger.agent_findings import LONGEST_FINDING, SHORTEST_FINDING, finding_spans
from clew.ledger.turns import is_acknowledgement, is_working_note
from clew.message import Item, Message, Role, Text, Trust
from tests.ledger.sessions import assistant, did, items, ledger_of, ran, user


def story(ledger: Ledger, *messages: Message | list[Message]) -> list[tuple[str, bool, str]]:
    texts = {item.id: item.message for item in items(*messages)}

    def quoted(cite):
        return texts[cite.message].parts[cite.part].text[cite.start : cite.end]

    return [
        (quoted(turn.ask), turn.asks, quoted(turn.report) if turn.report else "") for turn in ledger.turns.all
    ]


TALK = (
    user("Fix the parser, it drops the last line."),
    assistant("I will look at parser.py first."),
    ran("cat parser.py", "def parse(): ..."),
    assistant("Fixed: the loop ended one line early."),
    user("yes, go on"),
    assistant("Committed as 1a2b3c4."),
    user("Now write the docs."),
)


def test_the_report_of_a_turn_is_what_the_agent_said_last():
    assert story(ledger_of(*TALK), *TALK) == [
        ("Fix the parser, it drops the last line.", True, "Fixed: the loop ended one line early."),
        ("yes, go on", False, "Committed as 1a2b3c4."),
        ("Now write the docs.", True, ""),
    ]


@pytest.mark.parametrize("text", ["yes", "OK!", "go on", "thanks, great", "  ", "continue"])
def test_an_acknowledgement_asks_for_nothing(text: str):
    assert is_acknowledgement(text)


@pytest.mark.parametrize(
    "text", ["yes, but keep the tests", "continue with auth.py", "no", "1", "go on " * 20]
)
def test_words_that_say_more_are_a_request(text: str):
    assert not is_acknowledgement(text)


def test_of_several_texts_in_one_message_the_first_that_asks_is_the_request():
    parts = tuple(Text(text, trust=Trust.USER) for text in ("ok", "Add a flag to the CLI.", "And a test."))
    talk = (Message(Role.USER, parts), assistant("Done."))
    assert story(ledger_of(*talk), *talk) == [("Add a flag to the CLI.", True, "Done.")]


def test_a_note_of_a_harness_in_place_of_a_text_is_no_report():
    talk = (
        user("Add a flag to the CLI."),
        assistant("The flag is added."),
        assistant("[History evicted to storage]"),
    )
    assert story(ledger_of(*talk), *talk) == [("Add a flag to the CLI.", True, "The flag is added.")]


def test_what_the_agent_says_before_anybody_asked_is_no_report():
    assert ledger_of(assistant("Hello, I found that the cache is stale on start.")).turns.all == []


def test_a_very_long_session_forgets_the_oldest_turns_but_the_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "MOST_TURNS", 20)
    monkeypatch.setattr(agent_findings, "MOST_FINDINGS", 10)
    talk = [
        message
        for n in range(100)
        for message in (
            user(f"Look at part {n}."),
            assistant(f"The root cause in part_{n}.py is a stale cache."),
        )
    ]
    kept = ledger_of(*talk).turns
    assert len(kept.all) <= 25
    assert (kept.all[0].ask.message, kept.all[-1].ask.message) == ("m0", "m198")
    assert len(kept.findings) <= 12
    assert kept.findings[-1].source.message == "m199"


def test_weak_findings_make_room_for_strong_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(agent_findings, "MOST_FINDINGS", 8)
    talk = [user("Go."), assistant("The root cause is a stale cache in loader.py.")]
    talk += [
        assistant(f"The loader reads part_{n}.py first because it holds the settings.") for n in range(60)
    ]
    kept = ledger_of(*talk).turns.findings
    assert (kept[0].rank, kept[0].source.message) == (0, "m1")
    assert {one.rank for one in kept[1:]} == {1}


@given(st.integers(0, len(TALK)))
def test_turns_survive_json_and_a_copy_goes_its_own_way(place: int):
    flat = items(*TALK)
    whole, half = Ledger(), Ledger()
    whole.extend(flat)
    half.extend(flat[:place])
    again, copy = Ledger.from_json(half.to_json()), half.copy()
    before = list(half.turns.all)
    for one in (again, copy):
        one.extend(flat[place:])
        assert one.turns == whole.turns
    assert half.turns.all == before


# Findings ---------------------------------------------------------------------------------------------


def found(text: str) -> list[tuple[str, int]]:
    return [(text[start:end], rank) for start, end, rank in finding_spans(text)]


def test_verdicts_reasons_and_constraints_are_found_as_whole_sentences():
    text = (
        "Let me think. The root cause is that `load()` runs twice on start. The start is slow because "
        "nothing in `loader` is cached!\n- I opened `src/app.py` and read the loader.\nThis says nothing."
    )
    needs = "`migrate` requires an app config, so the script cannot run alone."
    assert found(f"THOUGHT: {needs}") == [(needs, 1)]
    assert found(text) == [
        ("The root cause is that `load()` runs twice on start.", 0),
        ("The start is slow because nothing in `loader` is cached!", 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The settings live in `src/app.py`, in the table that the loader reads first.",
        "Need to add `strings` and remove `plumbing` from imports, because it is gone.",
        "`repo` is unused now in `discardSession`, because the caller has it.",
        "manual_commit_git.go - `deleteShadowBranch()`**",
        "The issue is about `choices` of the field.",
        "The issue is specifically about `runserver` because `runserver` uses `autoreload`.",
        "The panel now renders names because `loader.py` has them.",
        "If `mod.py` depends on relative imports, it will never load.",
        "The fix is straightforward, so nothing more must be done for it.",
        "I have fixed `parse.py`, which failed because of a typo.",
        "We should keep `a.py` because it is used by `b.py`.",
    ],
)
def test_remarks_of_the_step_at_hand_plans_and_what_others_asked_are_no_findings(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "What is the root cause of the failure in loader.py?",
        "The issue is in these files of the `src` folder:",
        "```\nthe root cause is a stale cache in loader.py\n```",
        "The bug is old.",
        "It is not, because nothing was cached at all.",
        "Tool use: **exec_command** `cat src/app.py`, because it was missing",
        '"timestamp": "2026-02-18T12:20:02.119Z", because of the clock',
        "The root cause is " + "that it was never tested and " * 20,
    ],
)
def test_questions_headings_code_scraps_and_paragraphs_are_no_findings(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The issue is likely in how `restify` reads the base class.",
        "I suspect the root cause is the cache in `loader.py`.",
        "Or maybe because it's an aggregate of the query.",
        "Yes, because it has the expression object already.",
        "Because `sqlite3` is a C extension and checks types.",
        "If I strip it from `annotations`, it won't be in the SELECT clause.",
        "If `self.qualname` is not available (e.g. in a mock) it fails.",
        "A[Agent hooks because of x] --> B[capture provider parser]",
        '{ "start_line": 42, "reason": "because it was missing" }',
        "const x = [1]; if (y) { return x; } because = missing;",
        "Or because `ismock` returns true?).",
        "But if the issue is that `load()` fails, it is not enough to fix it.",
        "Now I need to check the HTML to see if the issue is reproduced.",
        "Line 3273 is inside the `Poly` class (I assume, based on its place).",
        "We are done here. The indentation is 4 tabs for `return {`, 5 tabs for the properties.",
        "We are done here. The function `dmp_raise` begins at line 1196 of the file.",
    ],
)
def test_guesses_fragments_diagrams_and_code_are_no_findings(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I verified that it fails, and the log probably shows why because of `x.py`.",
        "The problem is that `sqlite3` (and possibly others) checks types in C.",
        "The root cause is that `a[0] = {}` and `b => c` run twice; so it fails.",
        "This means that `prepared` is a lazy object.",
    ],
)
def test_what_was_checked_and_what_names_code_in_quotes_is_a_finding(text: str):
    assert [one for one, _ in found(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Причина в кэше: файл `store.py` уже загружен и не найден в индексе.",
        "원인: `store.py`의 캐시가 이미 만료되어 로그인에 실패한다 (12건).",
        "A causa é o cache de `store.py`, porque já expirou antes da leitura.",
        "Die Ursache ist der Cache in `store.py`, weil er bereits abgelaufen ist.",
        "Causa confirmada: el caché de `store.py` no funciona con la versión 12.",
    ],
)
def test_a_verdict_in_another_language_is_a_finding(text: str):
    assert [one for one, _ in found(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "이제 LICENSE와 `.nojekyll` 파일을 추가하고 git 저장소를 생성해서 푸시하겠습니다.",
        "GitHub에 이미 관련 이슈가 있는지, 그리고 이 작업의 범위를 먼저 확정하자 (#12).",
        "Теперь проверю файл `store.py`, потому что он загружается первым.",
        "Agora vou verificar o arquivo `store.py`, porque ele é lido primeiro.",
        "Jetzt werde ich `store.py` lesen, weil die Datei zuerst geladen wird.",
        "## PHASE 4 (Final Gap Closure and Observability of the 12 services)",
        "The Visa research is now in `ROADMAP.md` under the third heading.",
        "**File 2: Client.tsx** - Remove unused `Edit` and `AlertCircle` imports there.",
        "The issue is with the path calculation.",
    ],
)
def test_what_the_agent_will_do_or_did_is_no_finding_in_any_language(text: str):
    assert found(text) == []


CLAIM = assistant("Careful: `main_hash` is never called by `store.py`, only by the tests.")


def edit(old: str, new: str):
    return did("Edit", {"file_path": "src/a.go", "old_string": old, "new_string": new}, "updated")


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([edit("x", "y = other(repo)")], 1),
        ([edit("main_hash(repo)", "")], 0),
        ([edit("x", "x = main_hash(repo)")], 0),
        ([did("Write", {"file_path": "/r/store.py", "content": "x"}, "created")], 0),
        (
            [
                did(
                    "apply_patch",
                    {"patch": "*** Begin Patch\n*** Update File: store.py\n+x\n*** End Patch"},
                    "ok",
                )
            ],
            0,
        ),
        ([ran("sed -i 's/x/y/' lib/store.py", "")], 0),
        ([ran("cat lib/store.py", "x")], 1),
        ([user("What does `main_hash` do?")], 1),
        ([user("No, `main_hash` should move to lib.py.")], 0),
    ],
)
def test_a_finding_ends_with_a_change_of_what_it_is_about(messages, left: int):
    assert len(ledger_of(user("Go."), CLAIM, *messages).turns.findings) == left


def test_a_cause_stays_true_when_it_is_repaired():
    cause = assistant("The root cause is that `main_hash` is called twice.")
    assert len(ledger_of(user("Go."), cause, edit("main_hash()", "")).turns.findings) == 1


def test_findings_end_in_a_ledger_that_was_stored():
    ledger = Ledger.from_json(ledger_of(user("Go."), CLAIM).to_json())
    ledger.extend([Item("m9", edit("x", "x = main_hash(repo)")[0])])
    assert ledger.turns.findings == []


def test_a_name_with_a_dot_does_not_end_a_sentence():
    assert found("It turns out that a.b.c reads config.toml twice.") == [
        ("It turns out that a.b.c reads config.toml twice.", 0)
    ]


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            ["The issue is ", "`a_b.py` ", "because ", ". ", "! ", "\n", "```\n", "İ", "- ", "x" * 40]
        ),
        max_size=30,
    ).map("".join)
)
def test_findings_are_spans_of_the_text_in_order(text: str):
    last = 0
    for start, end, rank in finding_spans(text):
        assert last <= start < end <= len(text)
        assert SHORTEST_FINDING <= end - start <= LONGEST_FINDING
        assert "\n" not in text[start:end]
        assert rank in (0, 1)
        last = end


def test_comments_in_a_block_of_code_make_no_working_note():
    lines = [f"# step {n}\nvalue = compute(value, {n})" for n in range(20)]
    code = "\n".join(lines)
    assert is_working_note(code)
    assert not is_working_note(f"It is not used.\n\n```python\n{code}\n```\nThat is all.")
    assert not is_working_note(f"It is not used.\n\n```python\n{code}")
