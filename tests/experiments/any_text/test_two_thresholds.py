import pytest

from ntpcompanion.experiments.any_text import two_thresholds
from ntpcompanion.experiments.any_text.two_thresholds import Plan, run
from ntpcompanion.linear import ContextTable, implied_table
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_result, check_wrong_fields

RIGHT = {
    "vocab_size": 4,
    "support_sizes": [1, 3],
    "num_contexts": [5, 8],
    "draws": 4,
    "seed": 0,
}
WRONG = {
    "support_sizes": ([4], r"must lie in 1 … 3 \(`vocab_size` − 1\), got \[4\]"),
    "num_contexts": ([8, 5], r"must increase, got \[8, 5\]"),
}


@pytest.fixture(scope="module")
def found():
    return run(Plan.from_json(RIGHT))


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


def test_a_result_is_plain_numbers_that_depend_on_the_seed(found):
    check_result(two_thresholds, RIGHT, found)


def test_thresholds_are_those_of_every_dimension_in_turn(found):
    """Without bisection: the implied table at each dimension."""
    for number, thresholds in enumerate(found.tables):
        size, m = thresholds.support_size, thresholds.contexts
        whole = ContextTable.random(
            m, 4, size, m, stream(0, f"table {size} {m} {number % RIGHT['draws']}")
        )
        cases = []
        for d in range(1, m + 1):
            table = ContextTable(whole.embeddings[:, :d], whole.next_token, whole.weight)
            implied = implied_table(table)
            cases.append(
                (implied.case.name == "MINIMIZER", abs(implied.entropy - table.entropy) < 1e-9)
            )
        assert cases == sorted(cases, reverse=True, key=lambda case: (case[0], not case[1]))
        assert thresholds.minimizer_to == sum(minimizer for minimizer, _ in cases)
        assert thresholds.entropy_from == m + 1 - sum(reached for _, reached in cases)


def test_phases_and_windows_count_tables(found):
    phases, table = found.phases, found.table
    last = phases[phases["d/m"] == 1]
    assert (last["to the entropy"] == 1).all()
    assert (phases.minimizer + phases["to the entropy"] <= 1).all()
    wide = table[(table.support_size == 3) & (table.contexts == 8)]
    assert found.window(3, 8).mean == pytest.approx(wide.window.mean())
    narrow = table[(table.support_size == 3) & (table.contexts == 5)]
    assert found.change(3).mean == pytest.approx(wide.window.mean() - narrow.window.mean())


def test_a_size_that_comes_twice_is_refused():
    with pytest.raises(ValueError, match=r"`support_sizes` must differ, got .2, 2"):
        two_thresholds.Plan.from_json(RIGHT | {"support_sizes": [2, 2]})
