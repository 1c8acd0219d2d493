import pytest
from peers.catalogue import read_peers
from peers.run import Result
from side_by_side import EARLY, LATER, Row, case, parallel_case

from clew.providers import OPENAI, CheckScope

CLEW = read_peers()["clew"]


@pytest.mark.parametrize("given", [case(100, 0), case(300, 1), parallel_case()])
def test_a_list_is_valid_before_any_peer_sees_it(given):
    assert OPENAI.check({"messages": given.messages}, scope=CheckScope.MESSAGES).rule_ids == ()


def test_both_rules_are_planted():
    given = case(200, 0)
    assert EARLY in given.messages[1]["content"]
    assert LATER in given.messages[given.later]["content"]


def test_an_orphaned_result_is_counted_as_invalid():
    given, row = parallel_case(), Row(CLEW)
    orphaned = [one for one in given.messages if not one.get("tool_calls")]
    row.checked(Result("x", orphaned, 0.0, None))
    row.checked(Result("x", given.messages, 0.0, None))
    assert list(row.remarks()) == ["- clew, rules of the API broken: O1 in 1 of 2 lists"]


def test_what_is_kept_is_counted_without_the_system_prompt():
    given = case(200, 0)
    assert given.share(given.messages) == 1
    assert given.share(given.messages[:1]) == 0


def test_a_line_tells_time_size_and_what_survived():
    given, row = case(200, 0), Row(CLEW, {"python": "3", "clew": "9"})
    row.timed(200, given, Result("x", given.messages[:2], 0.5, None, 0.25, 1, (given.later,)))
    assert list(row.cells([200]))[2:] == ["0.2500", "0.5000", "0.00", "1/1", "0/1", "1/1", "0/1"]
