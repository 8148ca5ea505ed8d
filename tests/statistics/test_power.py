import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ntpcompanion.statistics.effects import paired_effect
from ntpcompanion.statistics.power import (
    power,
    seeds_needed,
    verdict_on,
    verdict_probabilities,
)
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judge
from tests.toy import CLAIM

numbers = st.floats(-1e3, 1e3)


@pytest.mark.parametrize(
    ("low", "high", "delta", "verdict"),
    [
        (0.5, 1.5, 1, "inconclusive"),
        (1.0, 1.5, 1, "supported"),
        (2.0, 3.0, 1, "supported"),
        (0.5, 0.9, 1, "refuted"),
        (-3.0, -2.0, 1, "refuted"),
        (-0.5, 1.5, 1, "inconclusive"),
        (0.0, 1.0, 1, "inconclusive"),
        (-1.5, -0.5, -1, "inconclusive"),
        (-1.5, -1.0, -1, "supported"),
        (-0.9, 2.0, -1, "refuted"),
        (-1.5, 0.5, -1, "inconclusive"),
    ],
)
def test_the_verdict_of_an_interval(low, high, delta, verdict):
    assert verdict_on(low, high, delta) == verdict


@given(numbers, st.floats(0.01, 100), st.integers(2, 30), numbers.filter(lambda d: abs(d) > 0.1))
def test_it_is_the_verdict_of_a_claim(mean, stderr, seeds, delta):
    item = Measurement.of("a.b", mean, stderr=stderr, replicates=seeds)
    fields = {**CLAIM, "notebook": "coin", "expect": {"book": {"effect": delta}}}
    claim = Claim.model_validate({"id": "a.b", **fields})
    half = stats.t.ppf(0.975, seeds - 1) * stderr
    assert verdict_on(mean - half, mean + half, delta) == judge(claim, "book", item).verdict


@pytest.mark.parametrize("effect", [-1.0, 0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize(("sd", "seeds"), [(0.4, 8), (1.5, 5)])
def test_a_refutation_is_a_noncentral_t(sd, seeds, effect):
    error, quantile = sd / seeds**0.5, stats.t.ppf(0.975, seeds - 1)
    found = verdict_probabilities(sd, seeds, effect, 1.0)
    theirs = stats.nct.cdf(-quantile, seeds - 1, (effect - 1.0) / error)
    assert found.refuted == pytest.approx(theirs, rel=1e-6, abs=1e-10)
    assert found.supported + found.refuted + found.inconclusive == pytest.approx(1, abs=1e-9)


def test_without_a_size_power_is_that_of_students_one_sided_test():
    """A smallest effect of 1e-12 is met wherever the sign is."""
    quantile = stats.t.ppf(0.975, 7)
    theirs = stats.nct.sf(quantile, 7, 0.3 / (0.4 / 8**0.5))
    assert power(0.4, 8, 0.3, 1e-12) == pytest.approx(theirs, rel=1e-6)
    assert power(0.4, 8, 0.0, 1e-12) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(("sd", "seeds", "effect"), [(0.4, 8, 0.6), (1.0, 4, 1.0), (1.0, 20, 0.4)])
def test_probabilities_are_those_of_simulated_studies(sd, seeds, effect, rng):
    """20,000 studies: a share lies within four standard errors (.014 at most) of its mean."""
    before = rng.normal(80, 5, (20_000, seeds))
    after = before + rng.normal(effect, sd, before.shape)
    one = paired_effect(after[0], before[0])
    means, errors = (after - before).mean(1), stats.sem(after - before, axis=1)
    assert (one.mean, one.stderr) == pytest.approx((means[0], errors[0]))
    halves = stats.t.ppf(0.975, seeds - 1) * errors
    found = verdict_probabilities(sd, seeds, effect, 1.0)
    supported = means - halves >= 1
    assert np.mean(supported) == pytest.approx(found.supported, abs=0.0142)
    assert np.mean(means + halves < 1) == pytest.approx(found.refuted, abs=0.0142)


def test_the_other_direction_is_the_mirror_image():
    assert verdict_probabilities(0.9, 6, -0.7, -1.2) == verdict_probabilities(0.9, 6, 0.7, 1.2)


@pytest.mark.parametrize("sd", [0.2, 0.8, 1.5])
def test_the_number_of_seeds_is_the_smallest_that_decides_both_ways(sd):
    def decided(seeds):
        refuted = verdict_probabilities(sd, seeds, 0.0, 1.0).refuted
        return min(power(sd, seeds, 2.0, 1.0), refuted)

    needed = seeds_needed(sd, 1.0)
    assert decided(needed) >= 0.8
    assert decided(needed - 1) < 0.8
    assert seeds_needed(10 * sd, -10.0) == needed


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verdict_on(1.0, 0.0, 1.0), "`low` must not lie above `high` = 0, got 1"),
        (lambda: verdict_on(0.0, 1.0, 0.0), "`delta` must not be 0"),
        (lambda: power(1.0, 1, 1.0, 1.0), "`seeds` must be at least 2, got 1"),
        (lambda: seeds_needed(9.0, 1.0, maximum=5), "`maximum` must be larger: 5 seeds with sd 9"),
    ],
)
def test_what_cannot_be_decided_is_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
