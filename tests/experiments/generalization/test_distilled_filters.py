import numpy as np
import pytest

from ntpcompanion.experiments.generalization import distilled_filters
from ntpcompanion.experiments.generalization.distilled_filters import TIMES, TOP
from tests.experiments.cases import small_run

RIGHT = {"eigenvectors": 20, "power": 1.5, "noise": 0.3, "draws": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(distilled_filters, RIGHT)


def test_the_best_student_is_that_of_a_search_over_all_pairs_of_times(found):
    rates = np.arange(1.0, 21) ** -1.5

    def risk(a):
        return ((1 - a[:TOP]) ** 2 * 4).sum() + (a**2).sum() * 0.09

    kept = [-np.expm1(-rates * t) for t in TIMES]
    alone = min(risk(a) for a in kept)
    pairs = [(risk(a * b), a * b) for a in kept for b in kept]
    least, best = min(pairs, key=lambda pair: pair[0])
    assert found.student == pytest.approx(best)
    assert found.best == pytest.approx(100 * (least / alone - 1))
    assert found.one_time == pytest.approx(100 * (min(risk(a * a) for a in kept) / alone - 1))
    assert found.teacher[TOP - 1] == pytest.approx(found.student[TOP - 1])
