import numpy as np
import pytest
import torch

from ntpcompanion.experiments.generalization import digits_disagreement
from ntpcompanion.experiments.generalization.digits_disagreement import Plan, _others_right
from tests.experiments.cases import small_run

RIGHT = {"models": 4, "images": 25, "runs": 2, "epochs": 10, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(digits_disagreement, RIGHT)


def test_errors_and_disagreement_are_counted_by_hand(found):
    guesses, labels = digits_disagreement._guesses(Plan.from_json(RIGHT), 1, "start")
    assert guesses.shape == (4, 1797 - 100)
    pairs = [(guesses[a] != guesses[b]).double().mean() for a in range(4) for b in range(a)]
    one = found.ensembles[3]
    assert (one.run, one.differ_in) == (1, "start")
    assert one.error == pytest.approx((guesses != labels).double().mean().item())
    assert one.disagreement == pytest.approx(np.mean(pairs))


def test_what_the_others_say_of_an_error():
    right = torch.tensor([[True, False], [True, True], [False, True]])
    assert sorted(_others_right(right).tolist()) == [1.0, 1.0]
    assert _others_right(torch.tensor([[False], [False], [True]])).tolist() == [0.5, 0.5]
