"""The benchmark of retrieval: local copies of public sets, the baselines, and the figures."""

import json

import pytest

from clew.memory.index.sqlite import SqliteIndex
from clew_evals.retrieval.benchmark import Result, ask_all, ask_baselines, below, fill, summary
from clew_evals.retrieval.datasets import BenchmarkQuestion, datasets


@pytest.fixture
def folder(tmp_path):
    """Make a chat of REALTALK and one of BEAM, as their repositories lay them out."""
    turns = [
        {"clean_text": text, "speaker": name, "date_time": f"0{n}.01.2024, 18:13:08", "dia_id": f"D1:{n}"}
        for n, (name, text) in enumerate(
            [
                ("Emi", "I went skiing in Colorado."),
                ("Elise", "Miami was warm."),
                ("Emi", "My cat is Pixel."),
            ],
            1,
        )
    ]
    turns[2]["blip_caption"] = "a cat on a table"
    asked = {"question": "Where did Emi ski?", "evidence": ["D1:1"], "category": 4}
    chats = tmp_path / "REALTALK" / "data"
    (chats / "locomo").mkdir(parents=True)
    for path in (chats / "Chat_9_Emi_Elise.json", chats / "locomo" / "Chat_1_A_B.json"):
        later = {"session_1": turns[:2], "session_2": turns[2:]}  # one day in two sessions
        other = {"question": "Who is Pixel?", "evidence": ["D1:3", "D9:9"], "category": 1}
        path.write_text(json.dumps({"name": {}, **later, "qa": [asked, {**asked, "category": 5}, other]}))
    said = [
        [
            {
                "role": "user",
                "id": 0,
                "time_anchor": "March-15-2024",
                "content": "My sprint ends on March 29. ->-> 1,1",
            }
        ],
        [{"role": "assistant", "id": 1, "content": "Flask it is."}],
    ]
    question = {"question": "When does my sprint end?", "source_chat_ids": {"first": [0], "second": "7"}}
    beam = tmp_path / "BEAM" / "chats" / "100K" / "1"
    (beam / "probing_questions").mkdir(parents=True)
    (beam / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": said}]))
    (beam / "probing_questions" / "probing_questions.json").write_text(
        json.dumps({"information_extraction": [question, {"question": "What else?"}]})
    )
    return tmp_path


def test_local_copies_are_read_as_pools(folder):
    found = datasets(folder)
    (realtalk,), (beam,) = found["realtalk"], found["beam-100K"]
    assert [entry.ref for entry in realtalk.entries] == ["D1:1", "D1:2", "D1:3"]
    assert realtalk.entries[0].time == "2024-01-01T18:13:08Z"
    assert [(q.text, q.evidence) for q in realtalk.questions] == [
        ("Where did Emi ski?", frozenset({("session_1", "D1:1")})),
        ("Who is Pixel?", frozenset({("session_2", "D1:3")})),
    ]
    assert realtalk.entries[2].text == "My cat is Pixel. [image: a cat on a table]"
    assert [(entry.ref, entry.time[:10], entry.text) for entry in beam.entries] == [
        ("m0", "2024-03-15", "My sprint ends on March 29."),
        ("m1", "2024-03-15", "Flask it is."),
    ]
    assert [q.evidence for q in beam.questions] == [frozenset({("1.0", "m0")})]


def test_figures_stand_beside_those_of_the_baselines(folder, tmp_path):
    (pool,) = datasets(folder)["realtalk"]
    with SqliteIndex(tmp_path / "i.db", model="") as index:
        fill(index, pool)
        results = {"clew": list(ask_all(index, pool))}
    for name, result in ask_baselines(pool):
        results.setdefault(name, []).append(result)
    figures = {name: summary(some) for name, some in results.items()}
    assert figures["clew"]["turn_any5"] == figures["clew"]["turn_all5"] == 100.0
    assert figures["clew"]["turn_r10_interval"] == [100.0, 100.0]
    assert figures["full context"]["turn_r10"] == 100.0
    assert figures["full context"]["tokens"] == round(sum(len(entry.text) for entry in pool.entries) / 4)
    assert set(figures) == {"clew", "bm25", "bm25 of stems", "grep", "full context"}


def test_kinds_below_a_baseline_are_listed_with_a_paired_interval():
    def results(*found):
        kinds = ("a", "a", "b", "c")
        questions = [
            BenchmarkQuestion(str(n), "?", "", frozenset(), kind, kind == "c") for n, kind in enumerate(kinds)
        ]
        return [Result(q, {"turn_r10": share}) for q, share in zip(questions, found, strict=True)]

    found = below(results(0.0, 1.0, 1.0, 0.0), results(1.0, 1.0, 0.5, 1.0))
    assert found == {"a": {"questions": 2, "difference": -50.0, "interval": [-100.0, 0.0]}}
