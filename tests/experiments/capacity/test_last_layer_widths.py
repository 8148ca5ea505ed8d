import numpy as np
import pytest

from ntpcompanion.experiments.capacity import last_layer_widths
from ntpcompanion.experiments.capacity.last_layer_widths import CRITERIA
from tests.experiments.cases import small_run

RIGHT = {"contexts": 6, "documents": 24, "seeds": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(last_layer_widths, RIGHT, long=True)


def test_full_support_needs_as_many_features_as_contexts(found):
    fits = found.fits_table
    assert fits.threshold.tolist() == [0, 0]
    assert fits[["proof", "exact"]].abs().max().max() < 1e-6
    assert found.half.mean == fits.half.mean() > 0.01
    assert found.filled(CRITERIA[-1]).mean <= 1


def test_estimates_are_those_of_the_rows(found):
    by = {(row.targets, row.seed, row.n, row.criterion): row for row in found.widths}
    assert len(by) == len(found.widths) == 2 * 3 * 3
    growth, below, slopes = [], [], []
    for seed in (0, 1):
        small, large = (
            [by["text", seed, n, criterion] for criterion in CRITERIA] for n in (12, 24)
        )
        growth.append(np.mean([np.log(rows[2].width / rows[0].width) for rows in (small, large)]))
        below.append(np.log(large[2].N / large[2].width))
        ends = [
            (rows[2].N * (rows[2].V - 1), rows[2].width * (rows[2].V - 1))
            for rows in (small, large)
        ]
        rise = np.log(ends[1]) - np.log(ends[0])
        slopes.append(rise[1] / rise[0])
    assert found.growth.mean == pytest.approx(np.mean(growth))
    assert found.below.mean == pytest.approx(np.mean(below))
    assert found.exponent(CRITERIA[2]).mean == pytest.approx(np.mean(slopes))
    random = [by["random", seed, 6, CRITERIA[0]] for seed in (0, 1)]
    assert found.filled(CRITERIA[0]).mean == pytest.approx(
        np.mean([row.width / row.N for row in random])
    )
    assert len(found.text_table) == 12
    # a width that is enough for a tighter criterion is enough for a looser one
    assert (found.factors("text", 24).diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)
