import itertools

import numpy as np
import pytest
import torch

from ntpcompanion.flatness.toy_models import (
    bernoulli,
    imbalance,
    linear_product,
    masked_network,
    softmax_product,
    sparse_linear,
)
from tests.flatness.cases import TOY_MODELS, hmm_network


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("toy", TOY_MODELS.values(), ids=TOY_MODELS)
def test_models_start_on_the_manifold_and_take_replicas(toy):
    model, start = toy().model, toy().start
    assert float(model.residual(start)) < 1e-12
    assert float(model.excess(start)) < 1e-24
    moved = torch.stack([start, start + 0.1, start - 0.2])
    apart = torch.stack([model.logits(theta) for theta in moved])
    assert torch.allclose(model.logits(moved), apart, rtol=1e-12, atol=1e-14)
    assert torch.allclose(model.logits(moved[None]), apart[None], rtol=1e-12, atol=1e-14)


def test_the_first_two_models_are_their_formulas():
    one = bernoulli(0.8, 2.0)
    assert one.start.tolist() == pytest.approx([2, np.log(4) / 2])
    assert one.model.logits(torch.tensor([3.0, 5.0]).double()).tolist() == [[0, 15]]
    many = softmax_product([0.1, 0.9], [2.0, -1.0])
    assert many.start.tolist() == pytest.approx([2, -1, np.log(0.1) / 2, -np.log(0.9)])
    assert many.model.logits(torch.tensor([2.0, 3.0, 5.0, 7.0]).double()).tolist() == [[10, 21]]


@pytest.mark.parametrize(("states", "vocab", "length"), [(2, 3, 3), (1, 2, 1), (3, 2, 4)])
def test_the_distributions_of_the_network_are_those_of_a_hidden_markov_model(states, vocab, length):
    """By the definition: a sum over all paths of hidden states."""
    model = hmm_network(rng(), states=states, vocab=vocab, length=length).model
    draws = rng()
    initial, transition = draws.dirichlet(np.ones(states)), draws.dirichlet(np.ones(states), states)
    emission = draws.dirichlet(np.ones(vocab), states)

    def probability(sentence):
        total = 0
        for path in itertools.product(range(states), repeat=length):
            moves = np.prod([transition[s, t] for s, t in itertools.pairwise(path)])
            total += (
                initial[path[0]]
                * moves
                * np.prod([emission[s, x] for s, x in zip(path, sentence, strict=True)])
            )
        return total

    rows = []
    for place, rest in itertools.product(
        range(length), itertools.product(range(vocab), repeat=length - 1)
    ):
        rows.append([probability((*rest[:place], v, *rest[place:])) / length for v in range(vocab)])
    assert model.joint.numpy() == pytest.approx(np.array(rows), abs=1e-15)


def test_a_network_that_is_too_narrow_says_so():
    with pytest.raises(RuntimeError, match="no minimizer was reached"):
        hmm_network(rng(), width=1)


def test_the_linear_bed_depends_on_the_product_only():
    toy = linear_product(rng())
    left, right = toy.start[:12].view(4, 3), toy.start[12:].view(3, 3)
    turn = torch.linalg.qr(torch.tensor(rng(1).standard_normal((3, 3))))[0] * 2
    other = torch.cat([(left @ turn).flatten(), (right @ torch.linalg.inv(turn).T).flatten()])
    assert torch.allclose(toy.model.logits(other), toy.model.logits(toy.start), atol=1e-12)
    assert (toy.model.distributions > 0).all()


def test_the_sparse_bed_has_supports_of_its_size_and_no_minimizer():
    toy = sparse_linear(rng(), contexts=6, vocab=5, support_size=3)
    assert ((toy.model.distributions > 0).sum(1) == 3).all()
    assert toy.model.distributions.max() == pytest.approx(1 / 3)
    assert float(toy.model.residual(toy.start)) > 0.1


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: bernoulli(1.0, 2.0), r"`probability` must lie between 0 and 1, got 1\.0"),
        (lambda: bernoulli(0.5, 0.0), r"`a` must not be zero"),
        (
            lambda: softmax_product([0.5, 0.5, 0.0], [1.0] * 3),
            "`distribution`",
        ),
        (lambda: softmax_product([0.5, 0.6], [1.0] * 2), r"`distribution` sums to 1\.1"),
        (
            lambda: softmax_product([0.5, 0.5], [1.0, 0.0]),
            "`a`",
        ),
        (lambda: masked_network(rng(), torch.full((2, 2), 0.125)), r"`probability` sums to 0\.5"),
        (
            lambda: masked_network(rng(), torch.full((3, 2), 1 / 6)),
            "`probability` must have an axis",
        ),
        (
            lambda: sparse_linear(rng(), support_size=4),
            r"`support_size` must lie in 1 … 3 \(`vocab` − 1\), got 4",
        ),
    ],
)
def test_what_has_no_bed_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_the_imbalance_of_bernoulli_parameters():
    assert imbalance(torch.tensor([[[3.0, 2.0]], [[1.0, 1.0]]])).tolist() == [[5.0], [0.0]]
