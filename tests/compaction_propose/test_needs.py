"""Which results and answers the next steps need: by what names them, not by where they stand."""

from __future__ import annotations

from clew.compaction.propose.needs import MEANT_WEIGHT, REPORT_WEIGHT, of_running_work, told
from clew.compaction.propose.steps import steps_of
from clew.compaction.propose.topics import Topics
from clew.message import Item, Place, Role, text_message
from tests.compaction_propose.sessions import LONG, items, step

REVIEW = "\n".join(f"- ({number}) Line {number} of the parser says what it does." for number in range(1, 21))


def weights(view: list[Item], asked: str, failed: str = "") -> dict[str, float]:
    """Return the weights of the files read in a view."""
    steps = steps_of(view)
    found = of_running_work(steps[::-1], Topics(view, [asked], failed), len(view))
    return {one.files[0]: found.get(one.result, 0.0) for one in steps}


def read(name: str, path: str) -> list:
    return step(name, "Read", {"file_path": path}, LONG)


def test_a_file_that_the_request_names_comes_before_one_read_later():
    others = [message for i in range(8) for message in read(f"o{i}", f"shop/other{i}.py")]
    view = items([*read("a", "shop/rates.py"), *read("b", "shop/tax.py"), *others])
    found = weights(view, "Rename the function in rates.py")
    assert found["shop/rates.py"] > 2 * found["shop/tax.py"] > 0


def test_a_file_that_failed_last_comes_before_others_and_tests_come_last():
    others = [message for i in range(8) for message in read(f"o{i}", f"shop/other{i}.py")]
    first = [*read("a", "shop/rates.py"), *read("b", "shop/tax.py"), *read("c", "tests/test_tax.py")]
    found = weights(items([*first, *others]), "Make it pass", failed="shop/tax.py:12: error: no such name")
    assert found["shop/tax.py"] > found["shop/rates.py"] > found["tests/test_tax.py"]
    assert weights(items([*first, *others]), "Add tests")["tests/test_tax.py"] == found["shop/rates.py"]


def test_a_file_that_was_changed_since_it_was_read_needs_no_room():
    edit = step("e", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "ok")
    assert weights(items([*read("a", "a.py"), *edit]), "Fix a.py")["a.py"] == 0


def test_the_report_of_another_agent_and_a_list_that_the_user_refers_to_by_number_come_first():
    report = step("t", "Task", {"description": "Find callers", "prompt": "Find them"}, LONG)
    answer = text_message(Role.ASSISTANT, REVIEW)
    view = items([*report, answer, text_message(Role.USER, "address 7 and 12")])
    found = told(view, steps_of(view)[::-1], 3)
    assert found[Place(1, 0)] == REPORT_WEIGHT
    assert found[Place(2, 0)] == MEANT_WEIGHT
    later = items([*report, answer, text_message(Role.USER, "thanks, commit it")])
    assert told(later, steps_of(later)[::-1], 3)[Place(2, 0)] < REPORT_WEIGHT


def test_an_earlier_result_that_shares_rare_words_with_the_newest_request_gets_room():
    first = step("a", "Bash", {"command": "ls"}, "the migration of the warehouse is in db/warehouse.sql")
    second = step("b", "Bash", {"command": "date"}, "nothing about it")
    view = items([*first, *second, text_message(Role.USER, "Where does the warehouse migration live?")])
    found = told(view, steps_of(view)[::-1], 4)
    assert found[Place(1, 0)] > 0
    assert Place(3, 0) not in found
