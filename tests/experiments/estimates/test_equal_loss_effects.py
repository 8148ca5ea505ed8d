import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.estimates.equal_loss_effects import EqualLossEffects
from ntpcompanion.experiments.same_loss.equal_loss import (
    DisturbedNetwork,
    FeaturePair,
    Plan,
    Result,
    SilentUnit,
)
from tests.experiments.same_loss.test_equal_loss import RIGHT

PLAN = Plan.from_json({**RIGHT, "noise": [0.01, 0.1, 1.0], "sentences": 100})


def network(seed, weight, trace):
    """Noise raises the loss by twice what the trace predicts, and rounding by its square."""
    return DisturbedNetwork(
        seed=seed,
        weight=weight,
        excess=0.008,
        excess_stderr=0.0005 + 0.001 * (weight > 0),
        plain=trace,
        function=trace / 2,
        noise=tuple(scale**2 * trace for scale in PLAN.noise),
        rounding=(0.5, trace**2),
        rounding_predicted=(0.1, trace),
        forgotten=3 * trace**0.5,
        learned=0.5,
        moved=0.5,
    )


def pair(kind, weights, masked):
    fields = dict.fromkeys(("predicted", "unmasked", "masked_variance", "log_probabilities"), 0.75)
    fields |= {"truth": 0.5, "unmasked_variance": 0.25, "masked": masked}
    return FeaturePair(kind=kind, seeds=(0, 1), weights=weights, **fields)


def silent(seed):
    changes = {"logit_change": 0.0, "trace_change": 0.0, "words": 0.5}
    accuracies = {"before": 0.9, "after": 0.5, "majority": 0.5}
    return SilentUnit(seed=seed, activated=3 * seed, **changes, **accuracies)


NETWORKS = [(seed, w, t) for seed in (0, 1) for w, t in ((0.0, 4.0), (0.03, 1.0))]
FOUND = EqualLossEffects(
    PLAN,
    Result(
        networks=tuple(network(*one) for one in NETWORKS),
        pairs=(
            pair("seeds", (0.0, 0.0), 0.5),
            pair("seeds", (0.0, 0.0), 0.75),
            pair("seeds", (0.03, 0.03), 0.1),
            pair("weights", (0.0, 0.03), 0.2),
        ),
        silent=(silent(0), silent(1)),
    ),
)


def test_pairs_without_a_penalty_decide():
    assert FOUND.masked_features.mean == 0.625
    assert FOUND.shared_errors.mean == 0.25
    assert FOUND.lead_of_masks.mean == 0.5
    assert FOUND.pairs("weights", (0.0, 0.03)).masked.tolist() == [0.2]


def test_the_middle_disturbance_is_compared_with_the_trace():
    assert (FOUND.sigma, FOUND.bits) == (0.1, 12)
    assert FOUND.noise_ratio.mean == pytest.approx(2.0)
    assert FOUND.rounding_ratio.mean == pytest.approx(2.5)  # of 4 and 1
    assert FOUND.rounding_slope.mean == pytest.approx(2.0)
    table = FOUND.noise_table
    assert len(table) == 6
    assert table["measured / predicted"].tolist() == pytest.approx([2.0] * 6)


def test_what_is_forgotten_grows_as_a_root_of_the_trace():
    """Predicted ½ · 0.5 · 4 = 1 and 0.25, measured 6 and 3."""
    assert FOUND.forgetting.mean == pytest.approx(0.5)
    # with equal learning: a fourth of the trace forgets half
    assert FOUND.forgotten_per_nat[0.0].tolist() == pytest.approx([12.0, 12.0])
    assert FOUND.flatter_forgetting.mean == pytest.approx(-np.log(2))
    assert FOUND.forgotten_times.to_dict() == pytest.approx({0.0: 6.0, 0.03: 12.0})
    assert FOUND.means.loc[0.0, "forgotten (nats)"] == pytest.approx(6.0)
    assert FOUND.mean_table.network.tolist() == ["no penalty", "flatter"]


def test_a_network_is_saturated_with_two_standard_errors():
    """0.008 with errors 0.0005 and 0.0015, below 0.01."""
    assert FOUND.networks.saturated.tolist() == [True, False] * 2
    assert FOUND.plain.weight.tolist() == [0.0, 0.0]


def test_a_forced_excess_is_a_ratio_with_its_error():
    forced = FOUND.forced(pd.Series({"fresh": 0.016, "fresh_stderr": 0.004}), 500)
    assert (forced.mean, forced.stderr, forced.replicates) == (2.0, 0.5, 500)


def test_activations_are_counted_over_all_masks():
    """3 of 200, with half a success and half a failure of the prior."""
    assert FOUND.activations.mean == pytest.approx(3.5 / 201)
