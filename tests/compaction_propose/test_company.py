"""What a subject is named among."""

from clew.compaction.propose.company import Company
from clew.compaction.propose.subjects import subjects
from clew.ledger import Ledger
from clew.message import Item, Role, said


def told(*lines: tuple[Role, str]) -> Ledger:
    ledger = Ledger()
    ledger.extend(Item(f"m{n}", said(role, text)) for n, (role, text) in enumerate(lines, start=1))
    return ledger


def test_a_subject_knows_how_many_others_were_named_with_it_first_and_last():
    ledger = told(
        (Role.USER, "see load_config"), (Role.ASSISTANT, "load_config, save_config and drop_config")
    )
    company, known = Company(ledger.values), subjects(ledger.values)
    assert company.of(known["load_config"])[5:7] == (1, 3)
    assert company.of(known["save_config"])[5:7] == (2, 3)


def test_a_subject_is_close_to_what_was_spoken_of_by_the_words_in_its_name():
    ledger = told((Role.TOOL, "parse_config parse_header"), (Role.ASSISTANT, "I call load_config."))
    company, known = Company(ledger.values), subjects(ledger.values)
    assert company.of(known["parse_header"])[7:] == (0.0, 0.0)
    assert company.of(known["parse_config"])[7:] == (0.25, 0.25)  # "config": half of what is called so, now
