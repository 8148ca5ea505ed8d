import numpy as np
import pytest
import torch

from ntpcompanion.mlm.evaluation.evaluate import divergence
from ntpcompanion.mlm.evaluation.feature_agreement import (
    canonical_correlations,
    explained_variance,
    logit_agreement,
)


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def test_mean_square_is_what_least_squares_explains_of_whitened_features():
    x, noise = normal(200, 3), normal(200, 4, seed=1)
    y = 0.5 * noise + x @ normal(3, 4, seed=2) + 7
    for first, second in ((x, y), (y, x)):
        a, b = ((z - z.mean(0)).numpy() for z in (first, second))
        white = np.linalg.svd(a, full_matrices=False)[0]
        fitted = b @ np.linalg.lstsq(b, white, rcond=None)[0]
        pairs = canonical_correlations(first, second)
        assert len(pairs) == 3
        explained = float(pairs.square().sum()) / a.shape[1]
        assert explained == pytest.approx((fitted**2).sum() / a.shape[1], abs=1e-12)
        predicted = a @ np.linalg.lstsq(a, b, rcond=None)[0]
        assert explained_variance(first, second) == pytest.approx(
            (predicted**2).sum() / (b**2).sum()
        )


def test_two_decoders_of_the_same_distributions_have_one_feature_map_up_to_affine_maps():
    """Theorem: h′ = A h + a where both decoders have full column rank."""
    features, decoder, change = normal(300, 4), normal(9, 4, seed=1), normal(4, 4, seed=2)
    logits = features @ decoder.T + normal(9, seed=3)
    other_decoder = decoder @ change
    bias = normal(9, seed=4)
    scale = 2.0 * torch.ones(300, 1).double()  # a constant that the softmax does not see
    other_logits = logits + scale
    other = (torch.linalg.pinv(other_decoder) @ (other_logits - scale - bias).T).T
    assert torch.allclose(canonical_correlations(features, other), torch.ones(4).double())
    assert logit_agreement(logits.softmax(1), logits, other_logits).unexplained < 1e-12


def test_a_direction_that_is_constant_is_left_out():
    x = normal(50, 3)
    constant = torch.cat([x, torch.ones(50, 1).double()], 1)
    assert torch.allclose(canonical_correlations(constant, x), torch.ones(3).double())


def test_the_two_losses_bound_what_is_unexplained_and_only_with_the_weights_of_the_loss():
    logits = 3 * normal(500, 6)
    true = logits.softmax(1)
    models = [logits + 0.02 * normal(500, 6, seed=seed) for seed in (1, 2)]
    kls = [float(divergence(true, model).mean()) for model in models]
    agreement = logit_agreement(true, *models)
    assert agreement.explained >= agreement.at_least(*kls) - 1e-5
    # one model moved by its own disturbance twice: the bound is met up to third order
    against = logit_agreement(true, models[0], 2 * logits - models[0])
    assert against.explained == pytest.approx(against.at_least(kls[0], kls[0]), abs=1e-5)
    rare = torch.tensor([[9.0, 9.0, -12.0], [9.0, 8.0, -12.0]]).double()
    moved = rare + torch.tensor([0.0, 0.0, 5.0])
    assert float(divergence(rare.softmax(1), moved).max()) < 1e-6
    assert logit_agreement(rare.softmax(1), rare, moved).unexplained < 1e-6
    assert float((rare - moved).square().sum(1).min()) > 20


def test_too_few_rows_are_named():
    with pytest.raises(ValueError, match="`first` must have more rows than there are columns"):
        canonical_correlations(normal(20, 20), normal(20, 3))
    with pytest.raises(ValueError, match="`first` must have more rows than there are columns"):
        explained_variance(normal(5, 10), normal(5, 3))
    with pytest.raises(ValueError, match="`second` must not be the same in all rows"):
        explained_variance(normal(5, 2), torch.ones(5, 3))


def test_weights_that_are_no_probabilities_are_named():
    for true, words in ((7 * torch.ones(5, 3), "rows of sum one"), (torch.ones(1, 1), "two rows")):
        with pytest.raises(ValueError, match=f"`true` must have .*{words}"):
            logit_agreement(true, torch.zeros(true.shape), torch.zeros(true.shape))
