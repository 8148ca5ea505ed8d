import numpy as np
import pytest

from ntpcompanion.experiments.geometry import complete_supports
from tests.experiments.cases import small_run

found, test_a_result_repeats_and_is_plain = small_run(complete_supports, {"vocab_sizes": [4, 5]})


def test_the_closed_forms_hold(found):
    table = found.table
    assert table[["values", "away", "angles"]].max().max() < 1e-6
    np.testing.assert_allclose(table.meets, table.corrected)


def test_a_single_follower_has_its_direction_and_a_pair_is_the_middle_of_an_edge(found):
    table = found.table.set_index(["V", "k"])
    alone = table.loc[4, 1]
    assert (alone.meets, alone.longer, alone.printed) == pytest.approx((1, 1, 1))
    pair = table.loc[4, 2]  # words are corners of a tetrahedron, contexts middles of its edges
    assert pair.meets == pytest.approx(np.sqrt(1 / 3))
    assert pair.printed == pytest.approx(np.sqrt(3 / 4))
    assert (found.size(4, 2).meets, found.size(4, 2).longer) == (pair.meets, pair.longer)
