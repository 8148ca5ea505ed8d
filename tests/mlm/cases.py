"""Small languages and plans that the tests of this room share."""

import torch

from ntpcompanion.mlm.plan import LanguagePlan, ModelPlan, TrainingPlan

SMALL = LanguagePlan("hmm", 2, 6, 4, 2)
MIXED = LanguagePlan("pcfg", 6, 8, 4, 3)  # sentences of 1 to 4 words
TRANSFORMER = ModelPlan("transformer", 8, 2, 2, 16, words=6, positions=4)
LSTM = ModelPlan("lstm", 8, 2, words=6, positions=4)
SHORT = TrainingPlan(steps=6, batch=8, rate=1e-2)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def same(first, second):
    """Whether two state dicts hold the same numbers, bit for bit."""
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )
