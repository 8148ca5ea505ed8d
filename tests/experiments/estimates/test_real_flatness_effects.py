from types import SimpleNamespace

import numpy as np
import pytest

from ntpcompanion.experiments.estimates.real_flatness_effects import RealFlatnessEffects
from ntpcompanion.experiments.real_model.real_flatness import Traces


def model(arm, gains, embedding, fraction, hessian):
    return Traces(
        arm=arm,
        loss=2.0,
        length=1.0,
        relative_size=0.1,
        fisher={"gains": gains, "embedding": embedding},
        balanced=fraction * (gains + embedding),
        fitted=0.9 * fraction * (gains + embedding),
        gradient=0.0,
        balanced_kinds={"gains": fraction * gains, "embedding": fraction * embedding},
        hessian=tuple({"gains": h, "embedding": 1.0} for h in hessian),
    )


@pytest.fixture
def effects():
    """Two parts of a text; the second one has twice the traces."""
    runs = []
    for part, scale in ((2, 1.0), (3, 2.0)):
        models = (
            model("start", 30 * scale, 10 * scale, 0.5, (18 * scale, 20 * scale)),
            model("SGD", 20 * scale, 10 * scale, 0.4, (1.0, 1.0)),
            model("AdamW", 20 * scale, 10 * scale, 0.4 * np.e**0.1, (1.0, 1.0)),
        )
        plan, result = SimpleNamespace(segment=part), SimpleNamespace(models=models)
        runs.append(SimpleNamespace(plan=plan, result=result))
    return RealFlatnessEffects(runs)


def test_ratios_are_means_of_logarithms_over_parts(effects):
    ratio = effects.log_ratio("balanced", "AdamW", "SGD")
    assert (ratio.mean, ratio.replicates) == (pytest.approx(0.1), 2)
    assert effects.log_ratio("plain", "SGD").mean == pytest.approx(np.log(30 / 40))
    assert effects.fraction("balanced").mean == pytest.approx(0.5)
    assert effects.fraction("of_hessian").mean == pytest.approx((20 / 40 + 39 / 80) / 2)


def test_kinds_are_means_over_parts_and_rows(effects):
    gains = effects.by_kind.loc["gains"]
    assert gains["Fisher"] == 45
    assert gains["Fisher, rescaled"] == 22.5
    assert gains["Hessian"] == (19 + 38) / 2
    assert gains["error"] == pytest.approx(19 / 2)


def test_a_table_has_a_row_for_each_arm(effects):
    table = effects.arm_table.set_index("model")
    assert list(table.index) == ["start", "SGD", "AdamW"]
    assert table.loc["SGD", "Fisher"] == 45
