"""What a card says of its claim; the whole of one is a golden page of `test_templating`."""

from dataclasses import replace

import pytest

from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judge
from ntpcompanion.workflow.pages.cards import Banner, Card
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.records.record import Record
from tests.workflow.pages.views import claim_that, run_that

RECORD = Record("runs", [], {"width": 64, "seed": [0, 1]}, "Runs.", "yesterday on a chip", [])


def card(value, made_by=(), claim=None, **options):
    item = Measurement.of("toy.half", value, **options)
    judged = judge(claim or claim_that(), "book", item)
    return Card(judged, item, run_that("A chip"), made_by)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exact: nothing random enters"),
        ({"seed": 7}, "exact for what seed 7 drew"),
        ({"replicates": 5, "seed": 7}, "equal in all 5 replicates, seed 7"),
        ({"records": ["runs"]}, "no standard error"),
        (
            {"stderr": 0.1, "replicates": 5},
            "5 independent replicates, 95 % interval of Student's t",
        ),
    ],
)
def test_a_card_says_whether_chance_enters(options, words):
    assert card(3.0, **options).randomness == words


def test_what_is_not_judged_says_why():
    later = claim_that(expect={"paper": {"at_most": 2}})
    assert card(3.0, claim=later).expected == "not judged: nothing is expected at profile book"
    once = claim_that(expect={}, exploratory="one seed")
    assert card(3.0, claim=once).expected == "not judged: one seed"
    assert card(3.0, claim=claim_that(expect={"book": {"at_most": 1e-5}})).expected == "≤ 10⁻⁵"


def test_a_number_of_a_record_shows_where_that_was_made():
    of_record, of_run = card(1.0, [RECORD]), card(1.0)
    assert of_record.parameters == "runs: width = 64, seed = [0, 1]"
    assert of_record.made == "record runs, yesterday on a chip"
    assert of_run.parameters == "n = 'A chip', seed = 0"
    assert of_run.made == "A chip, 2 cores"


def test_a_banner_says_what_has_changed():
    assert Banner(RECORD).changed == ""
    many = Banner(replace(RECORD, outdated=list("abcde")))
    assert many.changed == "a, b, c and 2 more changed since"
    assert "matches the present code.</details>" in fill("record.html", Banner(RECORD))
