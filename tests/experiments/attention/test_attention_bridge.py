import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.experiments.attention import attention_bridge
from ntpcompanion.experiments.attention.attention_bridge import DISTORTIONS
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"tables": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(attention_bridge, RIGHT)


def test_differences_are_those_of_two_programs(found):
    rng = stream(0, "tables 0")
    contexts, teacher = rng.standard_normal((8, 4)), rng.standard_normal((6, 4))
    targets, noise = (contexts @ teacher.T).argmax(axis=1), rng.standard_normal((6, 9))

    def least(words):
        """The decoder words @ W of least norm of W with all margins at least 1."""
        W = cp.Variable((words.shape[1], 4))
        logits = contexts @ W.T @ words.T
        wanted = [
            logits[j, z] - logits[j, v] >= 1
            for j, z in enumerate(targets)
            for v in range(6)
            if v != z
        ]
        cp.Problem(cp.Minimize(cp.sum_squares(W)), wanted).solve(solver=cp.CLARABEL)
        decoder = words @ W.value
        return decoder - decoder.mean(axis=0)

    assert list(found.table.index) == list(DISTORTIONS)
    decoder = least(np.eye(6))
    for distortion in (0.1, 1.0):
        away = least(np.eye(6, 9) + distortion * noise / 3) - decoder
        expected = np.linalg.norm(away) / np.linalg.norm(decoder)
        assert found.table.loc[distortion, 0] == pytest.approx(expected, rel=1e-3)


def test_on_a_simplex_there_is_no_difference(found):
    assert found.table.loc[0.0].max() < 1e-5
    assert found.largest.mean == pytest.approx(found.table.loc[1.0].mean())
