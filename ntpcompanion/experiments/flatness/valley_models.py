"""Small models at a minimizer, whose Hessian is exact: in which valleys the drift is measured."""

import numpy as np

from ntpcompanion.flatness import toy_models
from ntpcompanion.flatness.manifold import tangent_basis
from ntpcompanion.flatness.toy_models import ToyModel
from ntpcompanion.languages.enumeration import sentence_table
from ntpcompanion.languages.random_hmms import random_hmm
from ntpcompanion.randomness import stream

PROBABILITY, START = 0.8, 2.0  # p of the Bernoulli variable, and a at its start
SOFTMAX = ((0.1, 0.2, 0.3, 0.4), (2.0, 1.0, -1.5, 0.5))  # distribution, and a at the start
LINEAR = 20  # random linear models, of which one is taken


def coin() -> ToyModel:
    """One Bernoulli variable with the logit ab."""
    return toy_models.bernoulli(PROBABILITY, START)


def network(seed: int, name: str, hidden: int, words: int = 2) -> ToyModel:
    """A network with so many hidden units that gives the masked conditionals of a random hidden
    Markov model with as many words as positions; each name has a model and a network of its own.
    """
    rng = stream(seed, name)
    markov = random_hmm(rng, states=2, vocab=words, length=words)
    return toy_models.masked_network(rng, sentence_table(markov, words), width=hidden)


def linear(seed: int) -> ToyModel:
    """Of twenty random next-token models, that with the largest smallest eigenvalue: learning rates
    must be small compared with it.
    """
    drawn = [toy_models.linear_product(stream(seed, f"linear {k}")) for k in range(LINEAR)]
    spaces = [tangent_basis(toy.model, toy.start) for toy in drawn]
    return drawn[int(np.argmax([float(space.eigenvalues[-1]) for space in spaces]))]


def valley_models(seed: int, hidden: int) -> dict[str, ToyModel]:
    """Four models, by name."""
    return {
        "Bernoulli": coin(),
        "softmax": toy_models.softmax_product(*SOFTMAX),
        "network": network(seed, "network", hidden),
        "linear": linear(seed),
    }
