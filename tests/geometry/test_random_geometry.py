import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from ntpcompanion.geometry import random_distributions, random_supports


def test_supports_have_one_size_and_all_tokens_are_alike(rng):
    support = random_supports(4000, 6, 2, rng)
    assert (support.sum(axis=1) == 2).all()
    assert chisquare(support.sum(axis=0)).pvalue > 1e-6
    pairs = np.unique(support, axis=0, return_counts=True)[1]
    assert len(pairs) == 15
    assert chisquare(pairs).pvalue > 1e-6


def test_distributions_are_uniform_on_their_simplex(rng):
    support = np.tile([True, False, True, True], (4000, 1))
    drawn = random_distributions(support, rng)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert not drawn[:, 1].any()
    # one coordinate of a uniform point of the triangle has the distribution 1 − (1 − x)²
    assert kstest(drawn[:, 0], lambda x: 1 - (1 - x) ** 2).pvalue > 1e-6


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rng: random_supports(0, 5, 2, rng), "num_contexts"),
        (lambda rng: random_supports(3, 1, 1, rng), "vocab_size"),
        (lambda rng: random_supports(3, 5, 5, rng), "support_size"),
        (lambda rng: random_supports(3, 5, 2, 0), "rng"),
        (lambda rng: random_distributions([[1, 1]], rng), "support"),
        (lambda rng: random_distributions([[1, 0]], 7), "rng"),
    ],
)
def test_wrong_arguments_are_named(call, words, rng):
    with pytest.raises(ValueError, match=words):
        call(rng)
