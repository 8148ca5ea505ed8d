"""Symmetries of a small transformer at random, for the tests of what they must not change."""

import torch

from ntpcompanion.mlm.curvature.symmetries import random_symmetry
from tests.mlm.cases import TRANSFORMER, generator

HEADS = TRANSFORMER.heads


def planted(parameters, seed, size=0.3):
    return random_symmetry(parameters, HEADS, size, generator(seed))


def examples(plan, count, seed=0):
    """Sentences with one mask each, its position, and a word as label."""
    draws = generator(seed)
    tokens = torch.randint(-1, plan.words, (count, plan.positions), generator=draws)
    at = torch.randint(0, plan.positions, (count, 1), generator=draws)
    labels = torch.randint(0, plan.words, (count,), generator=draws)
    return tokens.scatter(1, at, -2), at, labels
