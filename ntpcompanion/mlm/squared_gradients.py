"""Squared gradients of log-probabilities, exactly over the words: the trace of the Hessian at the
floor, and how steep it is.
"""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.enlarge import parameter_groups
from ntpcompanion.mlm.evaluate import TestSet
from ntpcompanion.mlm.one_mask import OneMask
from ntpcompanion.networks.language_model import LanguageModel


def trace_and_slope(model: LanguageModel, test: TestSet) -> tuple[float, float]:
    """T(θ) = E_x Σ_v Pr(v | x) ‖∇_θ log f_θ(v | x)‖² over the test sentences, and ‖∇_θ T‖².

    Where f = Pr, T is the trace of the Hessian of the loss, and the second number bounds how fast a
    flow along −∇_Γ T can lower it.

    Parameters
    ----------
    model
        in float64, for its second derivatives.
    test
        sentences with their exact conditionals.

    Returns
    -------
    trace, slope

    Notes
    -----
    n sentences and V words take n V gradients of gradients.
    """
    network, parameters = OneMask(model), list(model.parameters())
    n, trace = len(test.tokens), 0.0
    slope = [torch.zeros_like(p) for p in parameters]
    for tokens, conditional in zip(test.tokens.split(1), test.conditional, strict=True):
        with sdpa_kernel(SDPBackend.MATH):  # it has a second derivative
            log_model = network(tokens)[0].log_softmax(0)
        for p, entry in zip(conditional, log_model, strict=True):
            gradients = torch.autograd.grad(entry, parameters, create_graph=True)
            squares = p / n * sum(g.square().sum() for g in gradients)
            trace += float(squares.detach())
            own = torch.autograd.grad(squares, parameters, retain_graph=True, allow_unused=True)
            for total, part in zip(slope, own, strict=True):
                if part is not None:
                    total += part
    return trace, float(sum(total.square().sum() for total in slope))


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
