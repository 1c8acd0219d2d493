"""A value, unit, date, name or verdict that a summary changed is caught, in whatever words it is told."""

from __future__ import annotations

import pytest

from clew.compaction.plan import ClaimKind
from tests.compaction_verify.test_hostile_words import is_caught

CHANGED = [
    # addresses of any scheme
    ("The WAL files are now in s3://wal-fra-02.", "The WAL files are now in s3://wal-dub-02."),
    ("Backups go to gs://bucket-one/db.", "gs://bucket-two/db is where backups go."),
    ("Connect to postgres://db-one:5432/app.", "Connect to postgres://db-two:5432/app."),
    # dates and times
    ("The replacement leaves on 14 March from warehouse W3.", "From W3 the replacement leaves on 14 April."),
    ("The hearing is on March 14.", "the hearing: 14 April"),
    ("La audiencia es el 17 de mayo.", "La audiencia es el 17 de junio."),
    ("Die Lieferung ist am 3. Mai angekommen.", "Die Lieferung ist am 3. Juni angekommen."),
    ("会议在三月十二日。", "会议在五月十二日。"),
    ("The hearing is at 9:30 am.", "The hearing is at 9:30 pm."),
    # units, sizes, rates, signs
    ("The dose is 5 mg twice a day.", "The dose is 5 g twice a day."),
    ("The dose is 5 mg twice a day.", "5 µg is the dose, twice a day."),
    ("The dose is 5 mg twice a day.", "The dose is 5 mg three times a day."),
    ("Profit was 3 million EUR.", "Profit was 3 billion EUR."),
    ("Der Gewinn war 3 Mio. EUR.", "Der Gewinn war 3 Mrd. EUR."),
    ("The rate is 7.31%.", "The rate is 7.31 percentage points."),
    ("The total is 412.80 EUR.", "The total is four hundred EUR."),
    ("The total is 412.80 EUR.", "The total is nine thousand EUR."),
    ("The total is 412.80 EUR.", "The total is -412.80 EUR."),
    ("It takes three days.", "It takes seven days."),
    ("Das dauert drei Tage.", "Das dauert sieben Tage."),
    # names in the same sentence
    ("branch feature/alpha is merged", "branch feature/beta is merged"),
    ("the user is jmeier", "the user is kmeier"),
    # opposites
    ("Parcel 1Z-88 was lost by the carrier.", "Parcel 1Z-88 was found by the carrier."),
    ("The motion was granted by the court.", "The motion was denied by the court."),
    ("The rate fell to 7.31%.", "The rate rose to 7.31%."),
    ("Die Miete steigt um 5 %.", "Die Miete sinkt um 5 %."),
    ("La solicitud de Velox fue aprobada ayer.", "La solicitud de Velox fue rechazada ayer."),
    ("La demande de Velox a été acceptée hier.", "La demande de Velox a été refusée hier."),
    ("导入任务 job-8841 失败。", "导入任务 job-8841 成功。"),
    ("数据没有缺失。", "数据缺失。"),
    ("Der Antrag von Velox ist nicht vollständig.", "Der Antrag von Velox ist vollständig."),
]
SAME = [
    ("The replacement leaves on 2026-03-14 from W3.", "The replacement leaves W3 on 14 March."),
    ("The hearing is on 3/14 at noon.", "The hearing is on 14 March."),
    ("Step 3 may fail, step 14 too.", "Step 14 may fail."),
    ("From 3 to 14 March the office is closed, in April it opens.", "The office is closed up to 14 March."),
    ("The hearing is at 9:30 am, lunch at 12:30 pm.", "Lunch is at 12:30 pm, the hearing at 9:30 am."),
    ("The dose is 5 mg twice a day.", "The dose is 5 mg two times a day."),
    ("Profit was 3 million EUR.", "The profit: 3 Mio. EUR"),
    ("The total is 400 EUR.", "The total is four hundred EUR."),
    ("The total is 9,000 EUR.", "The total is nine thousand EUR."),
    ("The account is at -412.80 EUR.", "The balance is -412.80 EUR."),
    ("A loss of 412.80 EUR was booked.", "The result is -412.80 EUR."),
    ("It takes 7 days after three days of waiting.", "It takes seven days."),
    ("branch feature/alpha is merged, feature/beta is open", "branch feature/beta is open"),
    ("We analyse the parcels of Velox.", "We analyze the parcels of Velox."),
    ("Parcel 1Z-88 was lost and then recovered by the carrier.", "The carrier recovered parcel 1Z-88."),
    ("Der Antrag von Velox ist nicht vollständig.", "Der Antrag von Velox ist nicht vollständig."),
]


@pytest.mark.parametrize(("source", "claim"), CHANGED)
def test_a_value_that_was_changed_is_caught(source: str, claim: str):
    assert is_caught(ClaimKind.FACT, claim, source)


@pytest.mark.parametrize(("source", "claim"), SAME)
def test_the_same_value_in_other_words_stays(source: str, claim: str):
    assert not is_caught(ClaimKind.FACT, claim, source)
