from math import comb

import numpy as np
import pytest

from ntpcompanion.experiments.flatness import flattest_neurons
from tests.experiments.cases import small_run

LENGTHS = np.array([4, 6, 8])
found, test_a_result_repeats_and_is_plain = small_run(flattest_neurons, {"max_length": 8})


def test_neurons_with_one_positive_value_are_those_of_the_proposition(found):
    assert found.length_table.index.tolist() == LENGTHS.tolist()
    assert found.overlooked.tolist() == (4 * LENGTHS).tolist()
    assert (found.length_table.smooth == 1).all()
    assert found.length_table.obeyed.all()
    assert (found.length_table.rank_missing == 0).all()


def test_traces_are_those_of_the_closed_forms(found):
    assert [one.loss for one in found.solutions] == [0] * 5 * len(LENGTHS)
    roots = [1 + sign / LENGTHS + (LENGTHS - 1) / LENGTHS / 4 for sign in (1, -1)]
    spread = (1 + np.sqrt(roots).mean(0)) / 2
    for name, trace in {"counting": 1, "B′": 1, "B": 1, "mask as a bias": 2}.items():
        assert (found.of(name).trace == trace).all(), name
    assert found.of("two values").trace.to_numpy() == pytest.approx(spread, rel=1e-12)
    assert found.farthest_from_bound == 0
    assert found.memory == 1
    table = found.table
    assert list(table.index) == ["counting", "two values", "mask as a bias", "B′"]
    assert table["inputs on a kink"].tolist() == [0, 0, 0, 1]
    assert table.iloc[:, -1].tolist() == found.of("B′").head_error[:0].tolist() + [
        found.of(name).head_error[4] for name in table.index
    ]


def test_the_loss_has_the_second_derivative_of_each_side(found):
    for kink in found.kinks:
        steps, losses = np.array(kink.steps), np.array(kink.losses)
        for side, derivative in ((1, kink.forward), (-1, kink.backward)):
            on = steps * side > 0
            fitted = np.polyfit(steps[on], losses[on] / steps[on] ** 2, 3)[-1]
            assert 2 * fitted == pytest.approx(derivative, rel=1e-6)
    assert found.kink(6).T == 6
    assert found.bend == min(one.forward / one.backward for one in found.kinks)


def test_only_balanced_words_have_the_symmetries(found):
    table = found.language_table
    assert table.sentences.tolist() == [comb(8, 4), comb(8, 4) // 5]
    assert table["random sign"].tolist() == (16 * table.sentences).tolist()
    assert (table.flips.tolist(), table.swaps.tolist()) == ([True, False], [True, False])
