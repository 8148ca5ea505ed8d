import numpy as np
import pytest

from ntpcompanion.experiments.generalization import width_memorization
from ntpcompanion.generalization import random_subsets
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"n": 40, "dim": 4, "size": 28, "subsets": 60, "data_seeds": 3, "widths": [4, 28, 150]}
RIGHT |= {"fresh": 50, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(width_memorization, RIGHT)


def test_scores_are_those_of_the_definition(found):
    """One fit by a general solver for each subset, counted example by example."""
    rng = stream(0, "data 0")
    points = rng.standard_normal((90, 4))
    labels = np.sign(points[:, 0])
    labels[:4] *= -1
    labels[40:45] *= -1
    features = np.maximum(points @ rng.standard_normal((4, 150)), 0)[:, :4]
    member = random_subsets(rng, 60, 40, 28)
    right = []
    for chosen in member:
        weights = np.linalg.lstsq(features[:40][chosen], labels[:40][chosen], rcond=None)[0]
        right.append(np.sign(features @ weights) == labels)
    right = np.array(right)
    scores = [right[member[:, i], i].mean() - right[~member[:, i], i].mean() for i in range(40)]
    first = found.data_sets[0]
    assert first.mixed[0] == pytest.approx(np.mean(scores))
    assert first.flipped[0] == pytest.approx(np.mean(scores[:4]))
    assert first.clean[0] == pytest.approx(np.mean(scores[4:]))
    assert first.test_error[0] == pytest.approx(1 - right[:, 40:].mean())


@pytest.mark.parametrize(
    ("widths", "words"),
    [
        ([150, 28, 4], "`widths` must rise"),
        ([28, 150], "lie below and above 28"),
        ([4, 28], "lie b"),
    ],
)
def test_effects_need_widths_that_rise_across_the_size_of_a_subset(widths, words):
    with pytest.raises(ValueError, match=words):
        width_memorization.Plan.from_json({**RIGHT, "widths": widths})
