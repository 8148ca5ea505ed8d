import itertools

import numpy as np
import pytest

from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.single_valued import single_valued_neurons


def families(T):
    """The four of them, as sets of (α; β) with all signs of β."""
    ones, eye, signs = np.ones(T, dtype=int), np.eye(T, dtype=int), (1, -1)
    found = {tuple(np.r_[2 * ones, 0 * ones])}
    found |= {tuple(np.r_[ones, beta]) for beta in itertools.product(signs, repeat=T)}
    found |= {tuple(np.r_[ones + s * e, b * e]) for e in eye for s in signs for b in signs}
    return {tuple(int(x) for x in w) for w in found}


def fits(values, mask, b):
    """Whether brackets that give `values` and b on the mask give 0 or 4 wherever this is the
    mask.
    """
    return all(
        value + sign * b in (0, 4)
        for value, sign in zip(values.tolist(), mask.tolist(), strict=True)
        if sign
    )


def expanded(found):
    neurons = set()
    for alpha, half in zip(found.alphas.tolist(), found.half.tolist(), strict=True):
        for beta in itertools.product(*[(1, -1) if h else (0,) for h in half]):
            neurons.add((*alpha, *beta))
    return neurons


@pytest.mark.parametrize("T", [4, 6, 8])
def test_there_are_four_families_and_no_other_neuron(T):
    found = single_valued_neurons(T)
    assert expanded(found) == families(T)
    assert found.count == 1 + 2**T + 4 * T


@pytest.mark.parametrize("T", [4, 6, 8, 10])
def test_one_neuron_alone_stays_off_the_kinks(T):
    """What is true of Lemma D.3: where the loss has a second derivative, a single value means κ(1;
    0).
    """
    found = single_valued_neurons(T)
    assert found.count == 1 + 2**T + 4 * T
    assert found.alphas[~found.at_kink].tolist() == [[2] * T]
    assert not found.half[~found.at_kink].any()


def test_the_families_are_single_valued_on_every_input():
    for T in (4, 6):
        inputs, targets = masked_support(T, "random")
        z, W = inputs.sum(1), np.array(sorted(families(T)))
        values = z @ W.T
        assert set(np.unique(values[targets == 1])) == {0, 2}
        assert values[targets == -1].max() == 0
        assert ((values == 0).any(0) == (np.abs(W[:, :T] - 2).any(1))).all()


def test_a_grid_of_halves_finds_nothing_else():
    """At T = 4, all w in {−1, −½, …, 3}^T × {−1, −½, …, 1}^T in integers of one half; β_t is
    decided mask by mask.
    """
    inputs, targets = masked_support(4, "random")
    z = inputs.sum(1)[targets == 1]
    found = set()
    for alpha in itertools.product(range(-2, 7), repeat=4):
        values = z[:, :4] @ np.array(alpha)
        choices = [[b for b in range(-2, 3) if fits(values, z[:, 4 + t], b)] for t in range(4)]
        found |= {(*alpha, *beta) for beta in itertools.product(*choices)}
    assert {tuple(x / 2 for x in w) for w in found if any(w)} == families(4)
