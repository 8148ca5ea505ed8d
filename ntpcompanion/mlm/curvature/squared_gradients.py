"""A masked language model as a function of the sentence alone, and its squared gradients of
log-probabilities by parameter and by group of parameters.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.evaluation.evaluate import TestSet
from ntpcompanion.mlm.training.enlarge import parameter_groups
from ntpcompanion.networks.language_model import LanguageModel


class OneMask(nn.Module):
    """logits (batch, words) of the one word that is hidden in each sentence; parameters are those
    of the model, shared with it.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch words"]:
        """What the model says of the first MASK of each sentence."""
        position = (tokens == MASK).to(torch.int8).argmax(1, keepdim=True)
        return self.model(tokens, position)[:, 0]


def population_loss(logits: Float[Tensor, "n words"], test: TestSet) -> Float[Tensor, ""]:
    """L on a test set in nats, with the exact conditionals in place of drawn words: its Hessian has
    no noise of labels.
    """
    return -(test.conditional.to(logits) * logits.log_softmax(1)).sum(1).mean()


def squares_by_group(model: LanguageModel, tokens: Int[Tensor, "n positions"]) -> dict[str, float]:
    """Mean over sentences of ‖∇ log f(v | x)‖² at the likeliest word v, by group of parameters (see
    `parameter_groups`).
    """
    groups, network = parameter_groups(model), OneMask(model)
    total = dict.fromkeys(groups, 0.0)
    for sentence in tokens.split(1):
        likeliest = network(sentence)[0].log_softmax(0).max()
        for name, parameters in groups.items():
            parts = torch.autograd.grad(likeliest, parameters, retain_graph=True, allow_unused=True)
            squares = sum(p.square().sum() for p in parts if p is not None)
            total[name] += float(squares) / len(tokens)
    return total


def fisher_by_parameter(
    model: LanguageModel, tokens: Int[Tensor, "n positions"]
) -> dict[str, float]:
    """The trace of the Fisher information by parameter: the mean over sentences with one mask of
    Σ_v f(v | x) ‖∇ log f(v | x)‖², exactly. One backward pass for each sentence and word.
    """
    named, network = dict(model.named_parameters()), OneMask(model)
    total = dict.fromkeys(named, 0.0)
    for sentence in tokens.split(1):
        log_chances = network(sentence)[0].log_softmax(0)
        for log_chance in log_chances:
            parts = torch.autograd.grad(log_chance, list(named.values()), retain_graph=True)
            weight = float(log_chance.detach().exp()) / len(tokens)
            for name, part in zip(named, parts, strict=True):
                total[name] += weight * float(part.square().sum())
    return total
