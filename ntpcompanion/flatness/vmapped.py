"""Squared norms of the gradients of single examples, for a model of any kind: each gradient is
formed.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import one_hot

from ntpcompanion.flatness.layers import Weigh

Logits = Callable[[Tensor, Tensor], Tensor]


def norms_by_vmap(
    logits: Logits, theta: Float[Tensor, " d"], inputs: Tensor, weigh: Weigh
) -> Float[Tensor, " n"]:
    """What `squared_norms` computes, for any function `logits` that `torch.func.vmap` can take; all
    gradients are formed. Raises ValueError unless `logits` returns a row for each input.
    """
    with torch.no_grad():
        scores = logits(theta, inputs)
    if len(scores) != len(inputs):
        raise ValueError(
            f"`logits` must return a row for each of the {len(inputs)} inputs, got {len(scores)}."
        )
    labels, shares = weigh(scores.log_softmax(-1))

    def norms(example: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
        log_probabilities, pull = vjp(lambda t: logits(t, example[None])[0].log_softmax(0), theta)
        chosen = one_hot(labels, len(log_probabilities)).to(log_probabilities)
        return shares @ vmap(lambda row: pull(row)[0].square().sum())(chosen)

    with sdpa_kernel(SDPBackend.MATH):  # fused attention takes one example at a time under vmap
        return vmap(norms)(inputs, labels, shares)
