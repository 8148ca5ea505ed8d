import numpy as np
import pytest

from ntpcompanion.experiments.generalization import xor_steps
from ntpcompanion.generalization.xor import all_inputs, draw_network
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"dims": [16, 64, 80], "population_dims": [8, 12], "width": 20, "replicates": 2}
RIGHT |= {"studied_dim": 16, "studied_runs": 3, "tested": 2000, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(xor_steps, RIGHT)


def test_the_expected_step_needs_as_many_steps_as_all_inputs_say(found):
    """Its weights by the proposition, its accuracy by enumeration of the 2^d inputs."""
    for one in (one for one in found.runs if one.training == "expected step"):
        start = draw_network(stream(0, f"start {one.run}"), width=20, dim=80)
        w, inputs, exact = start.weights[:, : one.d].copy(), all_inputs(one.d), []
        right = (w[:, 0] + start.signs * w[:, 1]) / 2
        for t in range(20):
            if t:  # doubled in each step, and the wrong direction is gone
                w[:, 0], w[:, 1] = 2**t * right, start.signs * 2**t * right
            outputs = (inputs @ w.T) ** 2 @ start.signs
            exact.append(np.mean(outputs * inputs[:, 0] * inputs[:, 1] > 0))
        before, after = exact[int(np.ceil(one.steps)) - 1], exact[int(np.ceil(one.steps))]
        assert before < 0.995
        assert after > 0.985


def test_runs_of_many_bits_succeed(found):
    assert (found.enough.succeeded, found.enough.replicates) == (4, 4)
    assert found.steps("batches", 64).shape == (2, 2)
    sizes = found.path_table  # of a run at 64 bits
    assert sizes.right[3] == pytest.approx(8 * sizes.right[0], rel=0.3)
    assert sizes.wrong[1] < sizes.wrong[0] / 2


def test_settings_are_compared_run_by_run(found):
    table = found.settings_table
    assert list(table) == list(xor_steps.settings(16))
    assert found.change("η = m", "η = m/20").mean == pytest.approx(
        (table["η = m"] - table["η = m/20"]).mean()
    )
    failed = (table["m = 4"] <= 0.99).sum()
    assert found.excess_failures.mean >= (failed + 0.5) / 4 - np.exp(-4 / 16) - 1e-12
