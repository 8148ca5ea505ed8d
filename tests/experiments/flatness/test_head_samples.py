from itertools import product

import numpy as np
import pytest

from ntpcompanion.dyck.wide_features import limiting_error
from ntpcompanion.experiments.flatness import head_samples
from ntpcompanion.experiments.flatness.head_samples import RATIOS, SIZES
from tests.experiments.cases import small_run

RIGHT = {"length": 4, "width": 256, "draws": 80, "feature_draws": 2, "long_lengths": [10, 20]}
RIGHT |= {"long_draws": 6, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(head_samples, RIGHT)


def test_heads_on_counting_neurons_do_what_all_pairs_of_strings_say(found):
    sums = [sum(signs) for signs in product((1, -1), repeat=4)]
    both = np.mean([np.sign(a) * np.sign(b) < 0 for a, b in product(sums, repeat=2)])
    missing = [(max(a, b) <= 0) + (min(a, b) >= 0) for a, b in product(sums, repeat=2)]
    assert found.expected.exact[2] == both
    assert found.expected.error[2] == np.mean(missing) / 2
    assert found.gaps[1] == both - 0.75
    row = found.table.query("solution == 'transferable' and sizes == 4").iloc[0]
    assert abs(row.exact - found.expected.exact[4]) < 5 * row.exact_stderr
    error = found.error("transferable", 2)
    assert abs(error.mean - np.mean(missing) / 2) < 5 * error.stderr
    assert (error.replicates, found.error("random features", 2).replicates) == (80, 2)


def test_tables_have_a_row_for_each_network_and_size(found):
    assert list(found.curves) == ["transferable", "memoriser", "three neurons", "random features"]
    assert found.table.sizes.tolist() == 4 * list(SIZES)
    for name, curve in found.curves.items():
        rows = found.table[found.table.solution == name]
        assert rows.error.tolist() == curve.error.tolist()
        assert curve.sizes.tolist() == list(SIZES)
    assert found.long_table.sizes.tolist() == [
        32,
        5,
        10,
        15,
        20,
        30,
        40,
        32,
        10,
        20,
        30,
        40,
        60,
        80,
    ]


def test_errors_of_long_strings_approach_their_limit(found):
    assert found.errors(20).index.tolist() == list(RATIOS)
    assert found.worst_at_four.mean == max(found.errors(T).error[4] for T in (10, 20))
    assert found.few_strings.mean == found.long[7].error
    assert found.over_limit.mean == found.errors(20).error[2] / limiting_error(2.0)
    assert limiting_error(found.limit_needed) == pytest.approx(0.1, rel=1e-3)
    assert found.long_strings(20) / 20 == pytest.approx(found.limit_needed, rel=0.3)
    assert found.strings_needed.mean == np.mean(found.needed)
    assert found.strings.features[20] == found.limit_needed * 20
    p = 3 / 8  # balanced strings
    assert ((1 + p) / 2) ** found.strings.counting[4] == pytest.approx(0.1)
