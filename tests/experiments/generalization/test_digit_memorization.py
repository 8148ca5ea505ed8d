import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from ntpcompanion.experiments.generalization import digit_memorization
from tests.experiments.cases import small_run

RIGHT = {"digits": 150, "draws": 3, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(digit_memorization, RIGHT)


def test_left_out_digits_are_judged_by_their_nearest_neighbour(found):
    pixels, labels = load_digits(return_X_y=True)
    pixels, labels = pixels[:150], labels[:150]
    distances = cdist(pixels, pixels)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    assert found.neighbours == tuple(nearest.tolist())
    assert found.left_out == pytest.approx((labels[nearest] != labels).astype(float))
