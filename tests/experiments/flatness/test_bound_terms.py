import numpy as np
import pytest

from ntpcompanion.dyck.bracket_transformer import squared_loss
from ntpcompanion.experiments.flatness import bound_terms
from ntpcompanion.experiments.flatness.bound_terms import choice_rows, choices
from tests.experiments.cases import small_run

RIGHT = {"length": 6, "width": 256, "drawn": 8, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(bound_terms, RIGHT)


def test_each_solution_loses_what_its_condition_costs(found):
    assert (found.table.diff(axis=1).iloc[:, 1:] < 1e-12).all(axis=None)
    T, first = 6, found.table.iloc[:, 0]
    assert found.table.loc["counting"].tolist() == pytest.approx([1] * 5)
    assert first["not balanced"] == pytest.approx((T + 1 / T**2) * T**0.5 / 2)
    roots = [1 + sign / T + (T - 1) / T / 4 for sign in (1, -1)]
    assert first["two values"] == pytest.approx((1 + np.sqrt(roots).mean()) / 2)
    assert found.table.loc["mask as a bias"].tolist() == pytest.approx([2, 2, 2, 1, 1])
    factor = np.sqrt(T * (0.25 + 0.25 / (T - 1)))  # half of the attention on the first
    assert found.terms["half on the first"][2:] == pytest.approx((factor, factor, 1))
    assert first["nonzero keys"] > found.terms["nonzero keys"][1] + 0.1
    assert list(found.traces.values()) == pytest.approx([2] * 4)
    assert found.lowest > 1


def test_a_reader_is_offered_solutions_with_their_terms():
    rows = {(one["length"], one["mask"], one["name"]): one for one in choice_rows(0)}
    assert len(rows) == 2 * 2 * 11
    for (T, sign, name), row in rows.items():
        choice = choices(T, sign, 0)[name]
        assert row["loss"] == squared_loss(choice.theta, choice.masked, choice.targets)
        if name == "counting":
            assert (row["values"], row["head"]) == pytest.approx((T**-0.5, T**-0.5))
            assert (row["best"], row["kinks"], row["attention"]) == pytest.approx((0, 0, 0))
    assert rows[4, "random", "split_by_bracket"]["kinks"] == pytest.approx(0.25)
    assert rows[6, "random", "mask_as_bias"]["best"] == pytest.approx(0.5)
