"""Estimates of the trace at its minimum over symmetries, for several networks at once, with errors
over inputs, and how much of it single inputs carry.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vmap

from ntpcompanion.checks import Is, checked
from ntpcompanion.mlm.curvature.example_gradients import (
    Architecture,
    MaskedTokens,
    MaskPositions,
    Uniforms,
    sampled_labels,
    squared_gradients,
)
from ntpcompanion.mlm.curvature.invariant_trace import gradient_moments, invariant_trace
from ntpcompanion.mlm.curvature.symmetries import normal_form, transform
from ntpcompanion.networks.stack import functional_logits


@dataclass(frozen=True, eq=False)
class FunctionTraces:
    """The trace of the Fisher information that is left when symmetries have done what they can, in
    float64.

    Fields
    ------
    value, stderr
        (models,) mean over inputs, each after the symmetry that is best for the other half of the
        inputs, and its standard error. In expectation not below the minimum.
    fitted
        (models,) the minimum on these inputs, by the symmetry that is best for themselves: in
        expectation not above it.
    median
        (models,) of the inputs.
    largest
        (models,) the fraction of the sum over inputs that the largest one has.
    """

    value: Float[Tensor, " models"]
    stderr: Float[Tensor, " models"]
    fitted: Float[Tensor, " models"]
    median: Float[Tensor, " models"]
    largest: Float[Tensor, " models"]


@checked
def function_traces(
    network: Architecture,
    parameters: Mapping[str, Tensor],
    tokens: Annotated[
        MaskedTokens,
        Is(
            lambda tokens: len(tokens) > 3,
            "hold at least 4 sentences, for two halves and a standard error",
        ),
    ],
    positions: MaskPositions,
    uniforms: Uniforms,
) -> FunctionTraces:
    """E_x E_{v∼f_θ(x)} ‖∇_θ log f_θ(v | x)‖² of several networks at its minimum over all maps of
    their parameters that change no prediction.

    Parameters
    ----------
    network
        only its shapes are used.
    parameters
        by name, each with a leading axis of models.
    tokens, positions
        at least 4 sentences in random order, and the position that is asked of each.
    uniforms
        (inputs, labels) numbers in [0, 1), from which every model draws its labels.

    Returns
    -------
    FunctionTraces
        of each network.

    Raises
    ------
    ValueError
        fewer than 4 inputs, another network, gradients that are not finite, or a trace without a
        minimum.

    Notes
    -----
    A symmetry has about 15 d + 2 d · (d / heads) numbers for each layer, and its best fit to a
    sample is too good: the two halves of the inputs exchange their symmetries. Cost: a few forward
    and backward passes per model, input and label, in float64.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import HMMPlan, draw_test_set, function_traces
    >>> from ntpcompanion.networks import TransformerSize, initial_stack
    >>> shape = TransformerSize(8, layers=1, heads=2).for_sentences(words=6, positions=4)
    >>> stack = initial_stack(shape, seeds=[0, 1])
    >>> test = draw_test_set(HMMPlan(2, 6, 4).build(), 60, positions=4, seed=0)
    >>> uniforms = torch.rand(60, 1, generator=torch.Generator().manual_seed(0))
    >>> sentences = test.tokens, test.positions
    >>> found = function_traces(stack.network, stack.parameters, *sentences, uniforms)
    >>> (found.fitted < found.value).tolist()  # a symmetry fits its own inputs best
    [True, True]
    """
    normal = normal_form(parameters, network.plan.heads)
    logits = vmap(functional_logits, (None, 0, None, None))(network, normal, tokens, positions)
    logits = logits.expand(-1, -1, uniforms.shape[1], -1)
    labels = sampled_labels(logits, uniforms.expand(logits.shape[:-1]))
    halves = [torch.arange(start, len(tokens), 2, device=tokens.device) for start in (0, 1)]

    def moments(rows: Tensor) -> dict[str, Tensor]:
        each = _each_label(tokens[rows], positions[rows], labels[:, rows])
        return gradient_moments(network, normal, *each)

    of_halves = [moments(rows) for rows in halves]
    sizes = [len(rows) / len(tokens) for rows in halves]
    together = {
        n: sum(s * m[n] for s, m in zip(sizes, of_halves, strict=True)) for n in of_halves[0]
    }
    squares = normal["bias"].new_zeros(len(normal["bias"]), len(tokens))
    for rows, other in zip(halves, reversed(of_halves), strict=True):
        moved = transform(normal, invariant_trace(other, normal).symmetry)
        each = _each_label(tokens[rows], positions[rows], labels[:, rows])
        by_group = vmap(squared_gradients, (None, 0, None, None, 0))(network, moved, *each)
        total = torch.stack(list(by_group.values())).sum(0)
        squares[:, rows] = total.unflatten(1, (len(rows), -1)).mean(2)
    return FunctionTraces(
        squares.mean(1),
        squares.std(1) / len(tokens) ** 0.5,
        invariant_trace(together, normal).value,
        squares.median(1).values,
        squares.amax(1) / squares.sum(1),
    )


def _each_label(tokens: Tensor, positions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each input once for each of its labels."""
    count = labels.shape[-1]
    rows = [x.repeat_interleave(count, 0) for x in (tokens, positions)]
    return rows[0], rows[1], labels.flatten(1)
