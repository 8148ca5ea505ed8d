import numpy as np
import pytest

from ntpcompanion.experiments.generalization import distilled_networks
from ntpcompanion.experiments.generalization.distilled_networks import Arm, Plan
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"steps": [10, 40], "seeds": 3, "points": 50, "hidden": 16, "classes": 3, "wrong": 0.4}
RIGHT |= {"seed": 0}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, {"steps": ([40, 10], r"must rise, got \[40, 10\]")})


found, test_a_result_repeats_and_is_plain = small_run(distilled_networks, RIGHT)


def test_each_arm_is_trained_once_and_has_a_pair_for_each_seed(found):
    assert len(found.plan.arms) == len(set(found.plan.arms)) == 8
    assert found.table.groupby(list(found.table)[:4]).size().tolist() == [3] * 8
    assert found.table["fifth 5"].tolist() == [one.fifths[4] for one in found.pairs]


def test_teachers_of_the_same_data_and_steps_are_the_same_networks(found):
    plan = found.plan
    teachers = [found.of(arm, "teacher") for arm in (plan.noisy(), plan.noisy(longer=3))]
    assert (teachers[0] == teachers[1]).all()
    assert (teachers[0] != found.of(plan.noisy(early=True), "teacher")).any()


def test_estimates_are_means_over_seeds(found):
    a, b = (found.plan.noisy(longer=longer) for longer in (1, 3))
    assert (a, b) == (Arm(0.4, 40, 1, 40), Arm(0.4, 40, 3, 40))
    gains = [found.of(arm, "student") - found.of(arm, "teacher") for arm in (a, b)]
    assert found.noisy_gain.mean == pytest.approx(gains[0].mean())
    assert found.shorter_gain.mean == pytest.approx((gains[0] - gains[1]).mean())
    slopes = np.mean([found.of(arm, "slope") for arm in found.plan.settings], axis=0)
    assert (found.slope.mean, found.slope.replicates) == (pytest.approx(slopes.mean()), 3)
    assert found.slope.mean < found.lasting_slope < 1.2
    difference = found.most_confident.mean + found.least_confident.mean
    last = [found.of(arm, "fifths")[:, 4].mean() for arm in found.plan.settings]
    assert difference == pytest.approx(np.mean(last))
