import numpy as np
import pytest

from ntpcompanion.experiments.flatness import enlarged_traces
from ntpcompanion.experiments.flatness.enlarged_traces import misfits
from tests.experiments.cases import small_run

RIGHT = {"factor": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(enlarged_traces, RIGHT, long=True)


def test_perceptrons_keep_their_traces_with_balanced_factors_only(found):
    for scaling, powers in {"balanced": (0, 0, 0), "naive": (-1, 0, 1)}.items():
        rows = found.table[found.table.scaling == scaling]
        for part, power in zip(("first", "middle", "last"), powers, strict=True):
            assert rows[part].to_numpy() == pytest.approx(rows.k.to_numpy(float) ** power)


def test_added_layers_add_the_derived_part(found):
    assert [(one.k, one.draw) for one in found.embedded[:4]] == [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert found.gap < 1e-6
    assert found.change(1).mean == pytest.approx(
        np.mean([one.added for one in found.embedded if one.k == 1])
    )


def test_parameters_are_counted_by_hand(found):
    d, layers, words, positions = 128, 4, 30_522, 32
    embeddings = (words + 1 + positions) * d  # and the mask
    weights = layers * 12 * d**2
    assert found.width_free.released[d] == pytest.approx(weights / (embeddings + weights), rel=0.05)
    assert found.width_free.balanced.min() > 0.9
    assert found.size_error < 0.1
    assert found.size_table.columns.tolist() == [
        "printed (millions)",
        "200 words",
        "30,522 words",
    ]
    assert misfits() == 6  # all but the widest
