"""Traces of a causal language model at a text: squared gradients with tokens that the model draws
for itself, and random probes of the Hessian.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy

from ntpcompanion.checks import checked, need

TWO_TOKENS = need("rows", "rows.shape[0] > 0 and rows.shape[1] > 1", "have rows of two tokens")


@checked(TWO_TOKENS)
def fisher_squares(
    model: nn.Module, rows: Int[Tensor, "n t"], generator: torch.Generator
) -> dict[str, Tensor]:
    """Squared gradients by parameter, whose sum has the trace of the Fisher information for its
    mean: the average over beginnings x of the rows of E (∇ log f(v | x))², with v drawn from f.

    Scores of tokens that are drawn given the text are uncorrelated, so that the square of the
    gradient of their sum over a row has the right mean: one backward pass for each row. The model
    must be in evaluation mode, its parameters in float32 or longer, as squares are added in their
    type. Raises ValueError for no rows, and rows of one token.
    """
    named = dict(model.named_parameters())
    squares = {name: torch.zeros_like(parameter) for name, parameter in named.items()}
    for row in rows:
        log_p = model(input_ids=row[None], use_cache=False).logits[0, :-1].log_softmax(-1)
        drawn = torch.multinomial(log_p.detach().exp(), 1, generator=generator)
        gradients = torch.autograd.grad(log_p.gather(1, drawn).sum(), list(named.values()))
        for square, gradient in zip(squares.values(), gradients, strict=True):
            square.addcmul_(gradient, gradient, value=1 / (len(rows) * len(drawn)))
    return squares


@checked(TWO_TOKENS)
def hessian_forms(
    model: nn.Module, rows: Int[Tensor, "n t"], generator: torch.Generator
) -> list[dict[str, float]]:
    """For each row of text zᵀ H z by parameter, where H is the Hessian of the mean negative
    log-probability of the tokens that follow there, and z are random signs: its mean is the trace
    of that parameter's block. The model must be in evaluation mode and on a CPU. Raises ValueError
    for no rows, and rows of one token.
    """
    named = dict(model.named_parameters())
    forms = []
    for row in rows:
        with sdpa_kernel(SDPBackend.MATH):  # fused attention has no second derivative
            logits = model(input_ids=row[None], use_cache=False).logits[0, :-1]
            gradients = torch.autograd.grad(
                cross_entropy(logits, row[1:]), list(named.values()), create_graph=True
            )
            signs = [
                2.0 * torch.randint(2, parameter.shape, generator=generator) - 1
                for parameter in named.values()
            ]
            along = sum((g * z).sum() for g, z in zip(gradients, signs, strict=True))
            products = torch.autograd.grad(along, list(named.values()))
        pairs = zip(named, products, signs, strict=True)
        forms.append({name: float((product * z).sum()) for name, product, z in pairs})
    return forms
