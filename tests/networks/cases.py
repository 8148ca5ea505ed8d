"""Inputs and models that the tests of the networks share."""

import torch

from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import generator

# words, masks (−2) and padding (−1)
TOKENS = torch.tensor([[0, -2, 5, 1], [3, 3, -2, -1], [-2, 2, -2, 4]])
AT = torch.tensor([[1], [2], [0]])
EVERYWHERE = torch.arange(4).expand(3, 4)


def double(plan, seed=0, *, causal=False):
    """A model in float64 with larger parameters than a new one has, gains and biases too."""
    model = build_model(plan, seed, causal=causal).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(
                0.3 * torch.randn(parameter.shape, generator=generator(seed), dtype=torch.float64)
            )
    return model


def rows(model, tokens):
    """What is looked up for each token: masks, padding, words, in this order."""
    return model.words(tokens + 2)


def logits(model, hidden):
    words = model.words.weight[2 : 2 + model.plan.words]
    return model.last_norm(hidden) @ words.T + model.bias
