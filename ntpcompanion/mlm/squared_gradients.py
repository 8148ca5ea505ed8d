"""Squared gradients of log-probabilities by group of parameters."""

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.mlm.enlarge import parameter_groups
from ntpcompanion.mlm.one_mask import OneMask
from ntpcompanion.networks.language_model import LanguageModel


def squares_by_group(model: LanguageModel, tokens: Int[Tensor, "n positions"]) -> dict[str, float]:
    """Mean over sentences of ‖∇ log f(v | x)‖² at the likeliest word v, by group of parameters (see
    `parameter_groups`).
    """
    groups, network = parameter_groups(model), OneMask(model)
    total = dict.fromkeys(groups, 0.0)
    for sentence in tokens.split(1):
        likeliest = network(sentence)[0].log_softmax(0).max()
        for name, own in groups.items():
            parts = torch.autograd.grad(likeliest, own, retain_graph=True, allow_unused=True)
            squares = sum(p.square().sum() for p in parts if p is not None)
            total[name] += float(squares) / len(tokens)
    return total
