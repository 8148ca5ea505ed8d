"""Small languages and plans that the tests of this package share."""

import torch

from ntpcompanion.mlm.data.language_plans import HMMPlan, PCFGPlan
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import ModelPlan

SMALL = HMMPlan(2, 6, 4, 2)
MIXED = PCFGPlan(6, 8, 3)  # sentences of 1 to 4 words
TRANSFORMER = ModelPlan("transformer", 8, 2, 2, 16, words=6, positions=4)
LSTM = ModelPlan("lstm", 8, 2, words=6, positions=4)
SHORT = TrainingPlan(steps=6, batch_size=8, learning_rate=1e-2)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def same(first, second):
    """Whether two state dicts hold the same numbers, bit for bit."""
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )
