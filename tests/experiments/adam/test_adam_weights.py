import numpy as np
import pytest

from ntpcompanion.experiments.adam import adam_weights
from tests.experiments.cases import small_run

RIGHT = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2, "steps": 3000, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(adam_weights, RIGHT)


def test_solutions_in_the_plane_are_those_written_in_the_chapter(found):
    gd, adam = found.plane
    np.testing.assert_allclose(9 * np.array(gd.solution), [[4, -5], [1, 1], [-5, 4]], atol=1e-6)
    np.testing.assert_allclose(3 * np.array(adam.solution), [[1, -2], [0, 0], [-2, 1]], atol=1e-3)
    rows = found.growths.set_index(["optimizer", "word"])
    for run in found.plane:
        assert rows.loc[run.optimizer].to_numpy() == pytest.approx(np.array(run.growth))
        growth, solution = np.array(run.growth), np.array(run.solution)
        cosine = (growth * solution).sum() / np.linalg.norm(growth) / np.linalg.norm(solution)
        assert cosine > 0.98


def test_weights_are_nearly_those_predicted(found):
    measured, predicted = np.log(found.measured), np.log(found.predicted)
    assert np.corrcoef(measured, predicted)[0, 1] > 0.8
    assert found.ratios == pytest.approx([1] * 6, abs=0.3)


def test_embeddings_are_independent():
    with pytest.raises(ValueError, match="`dim` must be at least `num_contexts` = 4, got 3"):
        adam_weights.Plan.from_json(RIGHT | {"dim": 3})
