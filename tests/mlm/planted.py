"""Symmetries of a small transformer at random, for the tests of what they must not change."""

from dataclasses import replace

import torch

from ntpcompanion.mlm.curvature.symmetries import identity
from tests.mlm.cases import TRANSFORMER, generator

HEADS = TRANSFORMER.heads


def random_symmetry(parameters, seed, size=0.3, heads=HEADS):
    """Every field moved, gains positive and maps invertible."""
    trivial, draws = identity(parameters, heads), generator(seed)
    moved = {
        name: size * torch.randn(value.shape, generator=draws, dtype=value.dtype)
        for name, value in vars(trivial).items()
    }
    moved["gains"] = moved["gains"].exp()
    for name in ("query_map", "value_map"):
        moved[name] = torch.linalg.matrix_exp(moved[name])
    return replace(trivial, **moved)


def examples(plan, count, seed=0):
    """Sentences with one mask each, its position, and a word as label."""
    draws = generator(seed)
    tokens = torch.randint(-1, plan.words, (count, plan.positions), generator=draws)
    at = torch.randint(0, plan.positions, (count, 1), generator=draws)
    labels = torch.randint(0, plan.words, (count,), generator=draws)
    return tokens.scatter(1, at, -2), at, labels
