from clew.compaction.propose.subjects import Joined, path_key, root_of, subjects, subjects_named
from clew.ledger import Ledger
from clew.ledger.values import Values
from clew.message import Item, Role, said


def values(*texts: str) -> Values:
    ledger = Ledger()
    ledger.extend(Item(f"m{n}", said(Role.USER, text)) for n, text in enumerate(texts, start=1))
    return ledger.values


def test_paths_with_the_same_end_are_one_subject_counted_together():
    found = subjects(values("Read /repo/src/app/main.py now.", "Then src/app/main.py again."))
    joined = found["app/main.py"]
    assert isinstance(joined, Joined)
    assert sorted(face.text for face in joined.faces) == ["/repo/src/app/main.py", "src/app/main.py"]
    assert (sum(joined.counts), joined.first_index, joined.last_index) == (2, 0, 1)


def test_other_values_stand_for_themselves():
    assert list(subjects(values("Call parse_header with MAX_SIZE."))) == ["parse_header", "MAX_SIZE"]


def test_a_dotted_name_is_about_the_names_of_code_in_it():
    found = subjects(values("Call self.load_config.", "So load_config it is.", "And os.path.join as well."))
    assert list(found) == ["load_config", "os.path.join"]
    joined = found["load_config"]
    assert isinstance(joined, Joined)
    assert [face.text for face in joined.faces] == ["self.load_config", "load_config"]
    assert (joined.first_message, joined.last_message) == ("m1", "m2")


def test_a_path_is_known_by_its_last_two_components():
    assert path_key("/a/b/c.py") == path_key("b/c.py") == "b/c.py"
    assert path_key("C:\\a\\b\\c.py") == "b/c.py"
    assert path_key("./c.py") == "./c.py"


def test_a_line_names_the_file_in_a_path_and_the_names_in_a_dotted_one():
    assert set(subjects_named("src/app/main.py calls self.load_config")) == {
        "app/main.py",
        "main.py",
        "self.load_config",
        "load_config",
    }


def test_the_root_is_the_folder_that_most_full_paths_lie_in():
    paths = ["/home/me/app/src/a.py", "/home/me/app/src/b.py", "/home/me/app/docs/c.md", "/etc/hosts"]
    assert root_of(paths) == "/home/me/app/"
    assert root_of(["/etc/hosts", "src/a.py"]) == ""
    assert root_of([]) == ""
