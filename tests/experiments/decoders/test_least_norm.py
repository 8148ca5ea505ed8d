import numpy as np
import pytest
from sklearn.svm import SVC

from ntpcompanion.experiments.decoders import least_norm
from ntpcompanion.linear import ContextTable, solve_ntp_svm
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"num_contexts": 6, "dim": 8, "vocab_size": 4, "support_size": 2, "draws": 3, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(least_norm, RIGHT)


def test_half_the_svm_of_two_classes_is_that_of_a_library():
    rng = stream(0, "one-hot 1")
    table = ContextTable.random(6, 2, 1, 8, rng)
    labels = 1 - 2 * table.next_token[:, 1]
    # through the origin: each point and its mirror image, of the other class
    points = np.concatenate([table.embeddings, -table.embeddings])
    svm = SVC(kernel="linear", C=1e9, tol=1e-9).fit(points, np.concatenate([labels, -labels]))
    half = svm.coef_[0] / 2
    expected = solve_ntp_svm(table, tol=1e-10).weights
    assert np.stack([half, -half]) == pytest.approx(expected, abs=1e-5)


def test_margins_are_those_of_the_tables(found):
    assert found.table.S.tolist() == [size for size in (1, 2, 3) for _ in range(3)]
    table = ContextTable.random(6, 4, 2, 8, stream(0, "margin 2 1"))
    norm = np.linalg.norm(solve_ntp_svm(table).weights)
    assert found.table.margin[4] == pytest.approx(1 / norm)
    row = found.by_size.set_index("S").loc[2]
    own = found.table.margin[3:6]
    assert (row["mean"], row["sem"]) == pytest.approx((own.mean(), own.std() / 3**0.5))


def test_a_table_that_is_not_separable_is_named():
    with pytest.raises(ValueError, match="A random table is not separable"):
        least_norm.run(least_norm.Plan.from_json(RIGHT | {"num_contexts": 30, "dim": 2}))
