import numpy as np
import pytest

from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.planar_examples import ROUGH, planar_tables, widest_margin
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.oracles import largest_margin


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_tables_of_the_figure_are_compatible_and_separable(rng):
    tables = planar_tables(30, rng)
    assert 0 < len(tables) < 30
    for table in tables:
        assert table.embeddings.shape == (3, 2)
        np.testing.assert_allclose(np.linalg.norm(table.embeddings, axis=1), 1)
        words = [(np.flatnonzero(row) + 1).tolist() for row in table.next_token]
        assert words == [[2, 3, 4], [1, 2, 5], [1, 4, 5]]
        assert largest_margin(table.embeddings, table.support.toarray()) > 1e-7


def test_the_widest_margin_is_that_of_the_solution_of_least_norm(rng):
    tables = planar_tables(30, rng)
    best, solution = widest_margin(tables)
    _, rough = widest_margin([best], tol=1e-6)
    assert np.linalg.norm(solution.weights) <= np.linalg.norm(rough.weights) * (1 + 1e-12)
    for table in tables:
        assert np.linalg.norm(widest_margin([table])[1].weights) >= np.linalg.norm(solution.weights)


def test_the_order_of_rough_solutions_does_not_decide(rng):
    tables = planar_tables(30, rng)
    exact, rough = (
        np.array([np.linalg.norm(solve_ntp_svm(table, tol=tol).weights) for table in tables])
        for tol in (1e-12, ROUGH)
    )
    excess = rough / exact
    first, second = excess.argmax(), excess.argmin()
    # longer embeddings make a solution shorter: here it is longer by half of what a rough one hides
    half = np.sqrt(excess[first] / excess[second])
    other = tables[second]
    longer = exact[second] / (half * exact[first]) * other.embeddings
    near = [tables[first], ContextTable(longer, other.next_token, other.weight)]
    roughly = [np.linalg.norm(solve_ntp_svm(table, tol=ROUGH).weights) for table in near]
    assert roughly[1] < 0.999 * roughly[0]
    assert widest_margin(near)[0] is near[0]


def test_what_cannot_be_drawn_or_solved_is_named(rng):
    with pytest.raises(ValueError, match=r"`draws` must be at least 1, got 0\."):
        planar_tables(0, rng)
    clash = ContextTable(np.ones((2, 1)), np.eye(2), np.full(2, 0.5))
    for tables in ([], [clash]):
        with pytest.raises(ValueError, match=rf"`tables` must hold separable .* got {len(tables)}"):
            widest_margin(tables)
