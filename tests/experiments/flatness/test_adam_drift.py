import numpy as np
import pytest

from ntpcompanion.experiments.flatness import adam_drift
from tests.experiments.cases import small_run

RIGHT = {"runs": 50, "rate": 0.02, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(adam_drift, RIGHT, long=True)


def test_displacements_hardly_depend_on_the_batch_size(found):
    assert found.table[["B", "rate"]].to_numpy().tolist() == [
        [batch, rate] for batch in (1, 16) for rate in (0.08, 0.04, 0.02)
    ]
    assert 0.5 < found.limit(16).mean < 1.1
    fraction = np.log(found.limit(16).mean / found.limit(1).mean) / np.log(16)
    assert found.batch_exponent.mean == pytest.approx(fraction)
    assert abs(fraction) < 0.2  # that of SGD is −1


def test_weight_decay_adds_its_rate(found):
    logit = np.log(4)
    derived = [1 / (2 * logit) + decay for decay in (0, 0.25, 1)]
    assert found.decay_table["derived rate"].tolist() == pytest.approx(derived)
    assert found.decay_ratio.mean * derived[-1] == pytest.approx(found.decays[-1].measured)
    assert np.diff(found.decay_table["measured rate"]) == pytest.approx([0.25, 0.75], rel=0.3)
