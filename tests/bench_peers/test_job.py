from peers.peerkit.job import Budget, Job, Spent
from peers.peerkit.serve import done


def said(role, text):
    return {"role": role, "content": text}


TALK = [said("user", "a" * 400), said("assistant", "b" * 400), said("user", "c" * 400)]


def test_a_budget_is_scaled_to_the_peers_own_counting():
    assert Job(TALK, target_tokens=60, tokens=600).budget(300) == Budget(300, 30, 15, 15)


def test_without_the_callers_count_the_peers_own_is_taken_at_its_word():
    assert Job(TALK, target_tokens=60).budget(300) == Budget(300, 60, 30, 30)


def test_as_many_of_the_newest_are_kept_as_fit():
    job = Job(TALK, target_tokens=300, tokens=300)
    assert [job.newest([100, 100, 100], int, room) for room in (50, 100, 299, 300)] == [1, 1, 2, 3]


def test_a_number_of_messages_that_is_asked_for_goes_first():
    assert Job(TALK, target_tokens=1, keep_last=2).newest([100, 100, 100], int) == 2


def test_what_the_model_was_shown_is_remembered():
    job = Job([said("user", "the first message here"), said("user", "the second message here")], 10)
    job.summarise("<user>the second message here</user>")
    assert (job.calls, job.shown) == (1, {1})


def test_the_time_of_the_scripted_model_is_not_the_peers(monkeypatch):
    wall, processor = iter([0.0, 10.0, 17.0, 20.0]), iter([0.0, 1.0, 2.0, 5.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(wall))
    monkeypatch.setattr("time.process_time", lambda: next(processor))
    job = Job(TALK, 100)
    with job.timing():
        job.summarise("")
    assert job.spent == Spent(13.0, 4.0)


def test_the_system_prompt_is_set_aside_and_put_back():
    seen = []

    def compact(job):
        seen.append((job.messages, list(job.pins)))
        return job.messages[-1:]

    line = {"id": "x", "messages": [said("system", "s"), *TALK], "target_tokens": 5, "pins": [1]}
    after = done(compact, line)
    assert seen == [(TALK, [0])]
    assert after["messages"] == [said("system", "s"), TALK[-1]]
    assert after["error"] is None


def test_what_a_peer_raises_is_its_result():
    after = done(lambda _: 1 // 0, {"id": "x", "messages": TALK, "target_tokens": 5})
    assert (after["messages"], after["error"]) == (
        None,
        "ZeroDivisionError: integer division or modulo by zero",
    )
