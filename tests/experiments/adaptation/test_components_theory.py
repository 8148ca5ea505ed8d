"""What the chapter on federated prompts proves, against sums over examples and drawn noise."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from ntpcompanion.experiments.adaptation.group_components import fit_components
from ntpcompanion.randomness import stream


def component_risk(joint, heads):
    """Mean heads of keys and excess risk, as the theorem of the chapter states them."""
    means = (joint.T @ heads) / joint.sum(0)[:, None]
    return means, (joint * ((heads[:, None] - means) ** 2).sum(2)).sum()


def adjusted_rand(joint):
    """The index of two partitions of a population with these joint probabilities."""
    first, second = (joint.sum(1) ** 2).sum(), (joint.sum(0) ** 2).sum()
    return ((joint**2).sum() - first * second) / ((first + second) / 2 - first * second)


def counts(seed, groups=3, keys=4):
    """Examples by group and key, each at least one."""
    return stream(seed, "counts").integers(1, 9, (groups, keys))


@pytest.mark.parametrize("seed", range(3))
def test_the_index_of_a_population_is_that_of_many_copies(seed):
    table = counts(seed)
    groups, keys = np.indices(table.shape)
    pairs = [np.repeat(index.ravel(), 3000 * table.ravel()) for index in (groups, keys)]
    assert adjusted_rand(table / table.sum()) == pytest.approx(
        adjusted_rand_score(*pairs), abs=1e-4
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_risk_is_that_of_least_squares_on_all_examples(seed):
    """On features ±e_j, whose second moment is the same in each group and key."""
    table, p = counts(seed), 3
    heads = stream(seed, "heads").standard_normal((3, p))
    unit = np.sqrt(p) * np.vstack([np.eye(p), -np.eye(p)])
    groups, keys = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    features = np.tile(unit, (len(groups), 1))
    groups, keys = np.repeat(groups, 2 * p), np.repeat(keys, 2 * p)
    signal = (features * heads[groups]).sum(1)
    for cells, joint in ((keys, table), (0 * keys, table.sum(1, keepdims=True))):
        means, risk = component_risk(joint / table.sum(), heads)
        fitted = fit_components(features, signal, cells, joint.shape[1])
        assert np.allclose(fitted, means)
        left = signal - (features * fitted[cells]).sum(1)
        assert (left**2).mean() == pytest.approx(risk)


def test_the_fraction_of_the_gain_is_the_index():
    """Equal groups and keys, heads at equal distances, any doubly stochastic confusion."""
    rng, size = stream(0, "confusion"), 5
    weights = rng.dirichlet(np.ones(6))
    joint = sum(w * np.eye(size)[rng.permutation(size)] for w in weights) / size
    heads = 3 * np.eye(size) + rng.standard_normal(size)
    shared = component_risk(np.full((size, 1), 1 / size), heads)[1]
    gain = shared - component_risk(joint, heads)[1]
    assert gain / shared == pytest.approx(adjusted_rand(joint))
    assert 0.05 < gain / shared < 0.95


def test_random_heads_have_the_index_on_average():
    joint, rng = np.array([[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]]), stream(1, "heads")
    single = joint.sum(1, keepdims=True)
    gains = [
        component_risk(single, h)[1] - component_risk(joint, h)[1]
        for h in rng.standard_normal((4000, 2, 1))
    ]
    shares = (joint / joint.sum(0)) ** 2 @ joint.sum(0)
    assert np.mean(gains) == pytest.approx(shares.sum() - (joint.sum(1) ** 2).sum(), rel=0.1)


def test_the_expected_error_of_a_fixed_design():
    """Bias plus s² p K / n, by averages over drawn noise."""
    rng, n, p, keys = stream(2, "design"), 60, 2, 3
    features, cells = rng.standard_normal((n, p)), np.arange(n) % keys
    signal = (features * rng.standard_normal((5, p))[rng.integers(5, size=n)]).sum(1)

    def error(targets):
        heads = fit_components(features, targets, cells, keys)
        return (((features * heads[cells]).sum(1) - signal) ** 2).mean()

    errors = [error(signal + 0.5 * rng.standard_normal(n)) for _ in range(3000)]
    expected = error(signal) + 0.25 * p * keys / n
    assert np.mean(errors) == pytest.approx(expected, rel=0.02)


def test_a_cell_without_examples_has_the_shared_head():
    rng = stream(3, "rows")
    features, targets = rng.standard_normal((8, 2)), rng.standard_normal(8)
    heads = fit_components(features, targets, np.zeros(8, dtype=int), 2)
    assert np.allclose(heads[0], heads[1])
