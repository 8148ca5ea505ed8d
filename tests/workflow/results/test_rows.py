import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.results.rows import by_result, ledger_rows, paper_result, result_order
from tests.toy import write_claims
from tests.workflow.claims.test_baselines import result


def rows(toy, **values):
    made = result("coin", **values)
    return {r.id: r for r in ledger_rows(load_claims(toy.project), {"coin": made}, "book")}


@pytest.mark.parametrize(
    ("locator", "found"),
    [
        ("Theorem 2, direction", "Theorem 2"),
        ("about Fig. 3, the loss during SGD", "Figure 3"),
        ("Fig. 3: accuracy per e-fold", "Figure 3"),
        ("Figures 3 to 5, finite part", "Figure 3"),
        ("Equation (4) and Lemma 1, number of solutions", "Equation 4"),
        ("Equations 4 and 6", "Equation 4"),
        ("Section 3.3, lookup table (Table 1, task B)", "Section 3.3"),
        ("Lemma D.4, as printed", "Lemma D.4"),
        ("Section 4 and AdamW, batch size", "Section 4"),
    ],
)
def test_the_result_that_a_locator_begins_with(locator, found):
    assert paper_result(locator) == found


def test_results_are_ordered_by_sort_and_number():
    names = [
        "Section 2",
        "Lemma D.1",
        "Lemma 10",
        "Theorem 1",
        "Lemma 2",
        "Equation 4",
        "Elsewhere",
    ]
    assert sorted(names, key=result_order) == [
        "Equation 4", "Lemma 2", "Lemma 10", "Lemma D.1", "Theorem 1", "Section 2", "Elsewhere",
    ]  # fmt: skip


def test_a_row_repeats_claim_and_measurement(toy):
    row = rows(toy, toy_half=0.45)["toy.half"]
    assert (row.paper, row.result, row.kind, row.scope) == (
        "liu2023same", "Theorem 1", "stated", "same",
    )  # fmt: skip
    assert (row.values, row.stderrs, row.low, row.high) == ([0.45], [0.0], [0.45], [0.45])
    assert (row.verdict, row.expected, row.expected_verdict) == (
        "supported", "= 0.5 ± 0.1", "supported",
    )  # fmt: skip
    assert row.url == "chapters/coin.html#claim-toy_half"
    assert row.effect == pytest.approx(0.5), "half of the tolerance is left"
    assert row.short == row.statement, "where a claim has no short form"


def test_an_interval_is_that_of_students_t(toy):
    item = Measurement.of("toy.half", 0.5, stderr=0.1, replicates=2)
    row = rows(toy, toy_half=item)["toy.half"]
    assert row.verdict == "inconclusive"
    assert row.high[0] == pytest.approx(0.5 + 12.7062 * 0.1, abs=1e-4), "one degree of freedom"
    assert row.low[0] == pytest.approx(1.0 - row.high[0])


def test_what_was_not_measured_has_no_numbers(toy):
    row = rows(toy, toy_half=0.5)["toy.words"]
    assert (row.verdict, row.values, row.effect) == ("not measured", [], None)
    assert row.url == "chapters/words.html"


@pytest.mark.parametrize(
    ("expected", "value", "effect"),
    [
        ({"at_least": 2.0}, 3.0, 0.5),
        ({"at_most": 2.0}, 3.0, -0.5),
        ({"effect": 2.0}, 3.0, 0.5),
        ({"effect": -2.0}, 1.0, -1.5),
        ({"interval": [0.0, 2.0]}, 1.5, 0.25),
        ({"sign": "positive"}, 3.0, None),
    ],
)
def test_the_effect_is_the_distance_from_the_edge(toy, expected, value, effect):
    write_claims(toy.project, expect={"book": expected})
    assert rows(toy, toy_half=value)["toy.half"].effect == (
        None if effect is None else pytest.approx(effect)
    )


def test_groups_hold_every_row_once(toy):
    write_claims(toy.project, locator="Section 3, a wish")
    made = ledger_rows(load_claims(toy.project), {}, "book")
    groups = by_result(made)
    assert list(groups) == [("liu2023same", "Theorem 1"), ("liu2023same", "Section 3")]
    assert sorted(row.id for own in groups.values() for row in own) == [r.id for r in made]
