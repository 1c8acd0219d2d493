import pytest

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.names import Name, is_names, listed, shown_name
from clew.ledger import Ledger
from clew.ledger.values import Value
from clew.message import Cite, Item, Role, Trust, said


def value(line: str, text: str) -> Value:
    ledger = Ledger()
    ledger.add(Item("m1", said(Role.USER, line)))
    found = ledger.values.get(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "text", "shown"),
    [
        ("see load_config here", "load_config", "load_config"),
        ("open /home/me/app/src/a.py", "/home/me/app/src/a.py", "src/a.py"),
        ("open /home/me/app/a.py", "/home/me/app/a.py", "app/a.py"),
        ("mv /one/app/a.py /two/app/a.py", "/one/app/a.py", "/one/app/a.py"),
        ("sed ./sessions./gg", "./sessions./gg", "./sessions./gg"),
        ("write ${file}-temp.gif", "temp.gif", ""),
        ("took 11.100 seconds", "11.100", "11.100"),
        ("encoder: Lavc62.11.100 gif", "11.100", ""),
        ("libavcodec 62. 11.100", "11.100", ""),
    ],
)
def test_a_path_is_shown_by_its_end_and_a_name_only_where_it_stands_by_itself(
    line: str, text: str, shown: str
):
    known = value(f"{line} and temp.gif or 11.100", text)
    assert shown_name(known, line) == shown


def test_a_shortened_path_that_could_mean_two_files_is_shown_whole():
    line = "diff /home/me/app/src/a.py /tmp/old/src/a.py"
    assert shown_name(value(line, "/home/me/app/src/a.py"), line) == "/home/me/app/src/a.py"


def test_names_of_one_turn_are_listed_together_in_their_order():
    second = Name("b", "b_name", Cite("m1", 0, 9, 20), Trust.UNTRUSTED, (0, 0, 9))
    first = Name("a", "a_name", Cite("m1", 0, 0, 8), Trust.UNTRUSTED, (0, 0, 0))
    other = Name("c", "c_name", Cite("m2"), Trust.UNTRUSTED, (1, 0, 0))
    claims = [claim for _, claim in listed([other, second, first])]
    assert claims == [
        Claim("", ClaimKind.FACT, "also: a_name, b_name", (first.cite, second.cite), Trust.UNTRUSTED),
        Claim("", ClaimKind.FACT, "also: c_name", (other.cite,), Trust.UNTRUSTED),
    ]
    assert all(map(is_names, claims))
