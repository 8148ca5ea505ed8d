"""Estimates from runs whose numbers are written down here."""

import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import pruned_finetuning
from ntpcompanion.experiments.adaptation.dropped_effects import METHODS, DroppedEffects
from ntpcompanion.recorded import Run

KEPT = {"unbiased": 0.8, "global": 0.9, "local": 0.4, "magnitude": 0.3}  # at p = .9, small change


def run(segment, learning_rate, pull):
    """A large change loses a tenth more, a pull gives half of it back, and parts differ a little;
    at p = .99 a tenth more is lost.
    """
    plan = pruned_finetuning.Plan(
        segments=8,
        segment=segment,
        length=8,
        batch_size=1,
        steps=1,
        held_out=1,
        calibration=1,
        tuning=pruned_finetuning.Tuning(learning_rate=learning_rate, pull=pull),
        dropped=(0.9, 0.99),
        masks=2,
        seed=0,
    )
    lost = 0.1 * (learning_rate > 1e-4) - 0.05 * (pull > 0)
    pruned = [
        pruned_finetuning.Pruned(
            method=method,
            p=p,
            mask=mask,
            loss=3.0 - 0.5 * (kept - lost - 0.1 * (p > 0.9) + 0.01 * segment * mask),
            divergence=2 * p / (1 - p) * 0.001,
        )
        for p in plan.dropped
        for method, kept in KEPT.items()
        for mask in range(1 if method in {"local", "magnitude"} else 2)
    ]
    result = pruned_finetuning.Result(
        loss_before=3.0,
        loss_after=2.5,
        divergence_before=0.4,
        training_loss=2.5,
        relative_size=0.01,
        mean_over_deviation=0.0,
        shift=0.5,
        noise=0.001,
        ratios=(0.1, 0.2, 0.9),
        pruned=tuple(pruned),
        text_sha256="",
    )
    return Run(plan, result)


@pytest.fixture(scope="module")
def effects():
    tunings = [(1e-4, 0.0), (3e-4, 0.0), (3e-4, 0.1)]
    return DroppedEffects([run(part, *tuning) for part in (2, 3, 4) for tuning in tunings])


def test_fractions_are_means_over_masks(effects):
    parts = np.array([2, 3, 4])
    assert effects.fractions("small", "unbiased", 0.9) == pytest.approx(0.8 + 0.005 * parts)
    assert effects.fractions("large", "magnitude", 0.99) == pytest.approx(np.full(3, 0.1))


def test_leads_are_paired_by_part(effects):
    lead = effects.lead(("small", "global", 0.9), ("large", "unbiased", 0.99))
    assert (lead.mean, lead.replicates) == (pytest.approx(0.3), 3)
    assert lead.stderr == pytest.approx(0, abs=1e-9)
    pulled = effects.lead(("pulled", "unbiased", 0.99), ("large", "unbiased", 0.99))
    assert pulled.mean == pytest.approx(0.05)
    assert effects.lead_of_one_mask("large", 0.99).mean == pytest.approx(-0.4)
    assert effects.shrinking_lead(0.99).mean == pytest.approx(0, abs=1e-9)


def test_effects_of_a_pull(effects):
    assert effects.pull_effect(0.99).mean == pytest.approx(-0.5 * 0.05)
    assert effects.pull_effect().mean == 0


def test_ratios_and_predictions(effects):
    assert effects.ratio_of_ratios("small").mean == pytest.approx(0.2 / 0.002)
    assert effects.linearity("small", 0.9).mean == pytest.approx(2.0)


def test_table(effects):
    table = effects.kept_table(["small", "large"])
    assert list(table) == ["change", "p", *METHODS.values()]
    assert table["largest entries"].tolist() == pytest.approx([0.3, 0.2, 0.2, 0.1])
    losses = effects.loss_table().set_index("change")
    assert losses.loc["small", ["start", "fine-tuned"]].tolist() == [3.0, 2.5]
    assert losses.loc["small", "largest entries"] == pytest.approx(3.0 - 0.5 * 0.2)
