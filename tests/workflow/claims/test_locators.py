import pytest

from ntpcompanion.workflow.claims.claims import paper_result, result_order


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
