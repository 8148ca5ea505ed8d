import itertools
import math

import numpy as np
import pytest
import torch

from ntpcompanion.languages.language import (
    PADDING,
    cumulative,
    draw,
    estimate_entropy_floor,
    exact_entropy_floor,
)
from ntpcompanion.languages.random_hmms import random_block_hmm


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def tiny():
    return random_block_hmm(np.random.default_rng(3), states=4, vocab=4, blocks=2, length=3)


def floor_by_hand(language, lengths):
    """Σ over all strings of Pr(x) times the mean and the sum over t of −log Pr(x_t | x₋ₜ), from
    probabilities of strings alone.
    """
    strings = [s for n in lengths for s in itertools.product(range(language.vocab_size), repeat=n)]
    probability = {s: math.exp(float(language.log_prob(torch.tensor([s]))[0])) for s in strings}
    mass = sum(probability.values())
    mean = total = words = 0.0
    for s in (s for s in strings if probability[s] > 0):
        rest = [
            math.fsum(probability[(*s[:t], v, *s[t + 1 :])] for v in range(language.vocab_size))
            for t in range(len(s))
        ]
        surprise = math.fsum(math.log(r / probability[s]) for r in rest)
        mean, total, words = (
            mean + probability[s] * surprise / len(s),
            total + probability[s] * surprise,
            words + probability[s] * len(s),
        )
    return mean / mass, total / words


def test_the_exact_floor_is_the_expected_surprise():
    mean, token_mean = floor_by_hand(tiny(), [3])
    floor = exact_entropy_floor(tiny(), [3])
    assert (floor.per_sentence, floor.per_token) == pytest.approx((mean, token_mean), abs=1e-12)
    assert (floor.per_sentence_stderr, floor.per_token_stderr, floor.sentences) == (0, 0, 16)
    assert floor.per_sentence > 0.1


def test_the_estimate_is_within_five_standard_errors_of_the_exact_floor():
    exact, floor = (
        exact_entropy_floor(tiny(), [3]),
        estimate_entropy_floor(tiny(), 3000, generator(), batch=700),
    )
    assert abs(floor.per_sentence - exact.per_sentence) < 5 * floor.per_sentence_stderr
    assert 0 < floor.per_sentence_stderr < 0.02
    assert (floor.per_token, floor.per_token_stderr) == pytest.approx(
        (floor.per_sentence, floor.per_sentence_stderr), rel=1e-9
    )
    assert floor.sentences == 3000


class Mixed:
    """Independent fair bits, in sentences of one or three of them, with equal probability."""

    vocab_size = 2

    def sample(self, n, generator, device="cpu"):
        tokens = torch.randint(2, (n, 3), generator=generator)
        return tokens.masked_fill(
            (torch.rand(n, generator=generator) < 0.5)[:, None] & (torch.arange(3) > 0), PADDING
        )

    def log_prob(self, tokens):
        return math.log(0.5) - (tokens != PADDING).sum(1).double() * math.log(2)

    def masked_conditional(self, tokens):
        """The second word of three is known, the others are fair."""
        law = torch.full((*tokens.shape, 2), 0.5, dtype=torch.float64)
        if tokens.shape[1] > 1:
            law[:, 1] = torch.tensor([1.0, 0.0])
        return law * (tokens != PADDING)[..., None]

    def latent_posterior(self, tokens):
        raise NotImplementedError


def test_lengths_weigh_as_stated():
    exact = exact_entropy_floor(Mixed(), [1, 3])
    assert exact.per_sentence == pytest.approx(math.log(2) * (1 + 2 / 3) / 2)
    assert exact.per_token == pytest.approx(math.log(2) * (1 + 2) / 4)
    floor = estimate_entropy_floor(Mixed(), 4000, generator())
    assert abs(floor.per_sentence - exact.per_sentence) < 5 * floor.per_sentence_stderr
    assert abs(floor.per_token - exact.per_token) < 5 * floor.per_token_stderr
    assert 0 < floor.per_token_stderr < 0.01
    assert exact_entropy_floor(Mixed(), [3]).per_sentence == pytest.approx(math.log(2) * 2 / 3)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: estimate_entropy_floor(tiny(), 1, generator()),
            "`sentences` must be at least 2 .* got 1",
        ),
        (
            lambda: exact_entropy_floor(tiny(), [30]),
            r"`lengths` = \[30\] means 1152921504606846976 strings.*estimate_entropy_floor",
        ),
    ],
)
def test_what_has_no_floor_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_draws_never_take_an_impossible_choice():
    law = torch.tensor([[0.0, 1.0, 0.0], [0.3, 0.0, 0.7], [0.0, 0.0, 1.0]], dtype=torch.float64)
    rows = torch.arange(3).repeat(20000)
    choices = draw(cumulative(law), rows, 3, generator())
    assert (law[rows, choices] > 0).all()
    share = float((choices[rows == 1] == 0).double().mean())
    assert abs(share - 0.3) < 5 * (0.21 / 20000) ** 0.5
