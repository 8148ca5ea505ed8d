import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import margin_attributes
from tests.experiments.cases import small_run

CLASSES = [[[8, 8], [0.8, 1.25]], [[8, 8], [1.25, 0.8]], [[4, 16], [0.7, 1.4]]]
RIGHT = {"classes": CLASSES, "separation": 4.0, "dim": 400, "draws": 4, "seed": 1}
found, test_a_result_repeats_and_is_plain = small_run(margin_attributes, RIGHT)


def test_the_best_margin_is_the_best(found):
    table = found.table
    for other in ("plain", "by_size", "by_attributes"):
        assert (table[other] >= table.error - 1e-12).all()
    assert found.excess("plain", 0).mean == pytest.approx(
        (table.plain - table.error)[table.pair == 0].mean()
    )


def test_mirrored_classes_have_reciprocal_margins(found):
    assert found.predicted[0] * found.predicted[1] == pytest.approx(1)
    best = found.of("best")
    assert found.factor(1, against=0).mean == pytest.approx(np.log(best[1] / best[0]).mean())
    assert abs(found.over_prediction(0).mean) < 0.1
    assert list(found.means.limit) == pytest.approx([0.8**4, 1.25**4, 1.0])
