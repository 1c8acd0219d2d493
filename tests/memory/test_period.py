"""A period is the same however it is written."""

import pytest

from clew.errors import InputError
from clew.memory.dates import in_utc
from clew.memory.index import Filters

SAID = ("2023-05-08T10:00:00Z", "2023-05-08T10:00:00.000Z")


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize(
    ("after", "before", "is_in"),
    [
        ("2023-05-08T10:00:00Z", "2023-05-08T10:00:01Z", True),
        ("2023-05-08T12:00:00+02:00", "2023-05-08T12:30:00+02:00", True),
        ("2023-05-08T05:00-08:00", "", False),
        ("20230508", "20230509", True),
        ("2023-W19-1", "2023-W19-2", True),
        ("2023-05-08t09:00", "2023-05-08t11:00", True),
        ("2023-05-08", "2023-05-08", False),
        ("", "2023-05-08T10:00:00Z", False),
    ],
)
def test_a_time_is_in_a_period_or_not_whatever_the_offset_and_the_form(said, after, before, is_in):
    period = in_utc(Filters(after=after, before=before))
    assert (said >= period.after and (not period.before or said < period.before)) == is_in


def test_what_is_no_time_is_said_to_be_none():
    for text in ("garbage", "0001-01-01T00:00:00+05:00"):
        with pytest.raises(InputError, match=r"is not a valid time"):
            in_utc(Filters(after=text))


def test_without_a_period_nothing_is_made_anew():
    anything = Filters()
    assert in_utc(anything) is anything
