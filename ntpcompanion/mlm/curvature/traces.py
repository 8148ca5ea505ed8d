"""The trace of the Fisher information of several models at once, with the same random numbers for
all: plain, balanced, by groups of parameters, and how steep it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad_and_value, vmap

from ntpcompanion.checks import Range, Size, checked, need
from ntpcompanion.mlm.curvature.balanced_trace import balanced_trace, trace_infimum, unit_gain
from ntpcompanion.mlm.curvature.example_gradients import (
    Architecture,
    MaskedTokens,
    MaskPositions,
    Uniforms,
    sampled_squared_gradients,
)
from ntpcompanion.mlm.curvature.rescaling import layers_of, weights_at
from ntpcompanion.networks.language_model import LanguageModel

CHUNK = 128  # examples: with more, a CPU's caches do not hold what one model needs
PARTS = 8  # of the examples, for an unbiased square


@dataclass(frozen=True, eq=False)
class Traces:
    """Traces of the Fisher information of a stack of models, in float64.

    Fields
    ------
    plain, plain_stderr
        (models,) the trace, and its standard error over inputs.
    balanced, balanced_stderr
        (models,) the trace at its minimum over rescalings with `unit_gain`, see `balanced_trace`;
        the standard error is that of the rescaled trace (to first order the choice of the scales
        adds nothing).
    infimum
        (models,) the infimum over rescalings of the residual stream, too; see `trace_infimum`.
    scales
        (models, scales) where the minimum is met.
    by_group
        (models,) of each group of parameters; their sum is `plain`.
    """

    plain: Float[Tensor, " models"]
    plain_stderr: Float[Tensor, " models"]
    balanced: Float[Tensor, " models"]
    balanced_stderr: Float[Tensor, " models"]
    infimum: Float[Tensor, " models"]
    scales: Float[Tensor, "models scales"]
    by_group: dict[str, Float[Tensor, " models"]]


@dataclass(frozen=True, eq=False)
class Slope:
    """How steep the trace of each model of a stack is, in float64.

    Fields
    ------
    trace
        (models,) T, the trace of the Fisher information.
    square, square_stderr
        (models,) ‖∇_θ T‖², without bias (it can be negative where it is small beside its noise),
        and its standard error by the jackknife over parts of the examples.
    """

    trace: Float[Tensor, " models"]
    square: Float[Tensor, " models"]
    square_stderr: Float[Tensor, " models"]


@checked(need("tokens", "len(tokens) > 1", "hold at least 2 sentences for a standard error"))
def measured_traces(
    network: Architecture,
    parameters: Mapping[str, Tensor],
    tokens: MaskedTokens,
    positions: MaskPositions,
    uniforms: Uniforms,
    *,
    chunk: Size = CHUNK,
) -> Traces:
    """E_x E_{v∼f_θ(x)} ‖∇_θ log f_θ(v | x)‖² of several models, plain and balanced.

    Parameters
    ----------
    network
        a `Transformer`; only its shapes are used.
    parameters
        by name, each with a leading axis of models.
    tokens, positions
        at least 2 sentences, and the position that is asked of each.
    uniforms
        (inputs, labels) numbers in [0, 1), from which every model draws its labels: models that
        hardly differ draw nearly the same.
    chunk
        so many examples (an input with one label) of every model are in memory at once, up to the
        labels of one input.

    Returns
    -------
    Traces
        plain and balanced, with their standard errors over inputs.

    Raises
    ------
    ValueError
        fewer than 2 inputs, a chunk below 1, another network, a trace that is not finite or has no
        minimum over rescalings.

    Notes
    -----
    Cost: a forward and a backward pass per model, input and label. The balanced trace of a sample
    is a minimum over noisy numbers, hence below the true one by about the square of its relative
    standard error.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import HMMPlan, draw_test_set, measured_traces
    >>> from ntpcompanion.networks import TransformerSize, initial_stack
    >>> shape = TransformerSize(8, layers=1, heads=1).for_sentences(words=6, positions=4)
    >>> stack = initial_stack(shape, seeds=[0, 1])
    >>> test = draw_test_set(HMMPlan(2, 6, 4).build(), 50, positions=4, seed=0)
    >>> uniforms = torch.rand(50, 1, generator=torch.Generator().manual_seed(0))
    >>> sentences = test.tokens, test.positions
    >>> found = measured_traces(stack.network, stack.parameters, *sentences, uniforms)
    >>> (found.balanced < found.plain).tolist()  # no rescaling makes it smaller
    [True, True]
    """
    layers_of(parameters, "parameters")
    labels = uniforms.shape[1]

    def per_input(p: Mapping[str, Tensor], x: Tensor, t: Tensor, u: Tensor) -> dict[str, Tensor]:
        squares = sampled_squared_gradients(network, p, *_each_label(x, t, u))
        return {name: s.unflatten(0, (-1, labels)).mean(1) for name, s in squares.items()}

    parts = [
        vmap(per_input, (0, None, None, None))(dict(parameters), *part)
        for part in _chunks(tokens, positions, uniforms, chunk)
    ]
    squares = {name: torch.cat([part[name] for part in parts], 1) for name in parts[0]}
    return _summary(squares, unit_gain(parameters).detach())


def _summary(
    squares: dict[str, Float[Tensor, "models inputs"]], residual: Float[Tensor, " models"]
) -> Traces:
    squares = {name: s.detach().double() for name, s in squares.items()}
    by_group = {name: s.mean(1) for name, s in squares.items()}
    balanced = balanced_trace(by_group, residual)
    weights = weights_at(balanced.scales)
    plain = torch.stack(list(squares.values())).sum(0)
    rescaled = torch.stack([weights[name][:, None] * s for name, s in squares.items()]).sum(0)
    root = plain.shape[1] ** 0.5
    return Traces(
        plain.mean(1),
        plain.std(1) / root,
        balanced.value,
        rescaled.std(1) / root,
        trace_infimum(by_group),
        balanced.scales,
        by_group,
    )


@checked(need("tokens", "len(tokens) >= parts", "hold at least {parts} sentences, one a part"))
def trace_slope(
    network: Architecture,
    parameters: Mapping[str, Tensor],
    tokens: MaskedTokens,
    positions: MaskPositions,
    uniforms: Uniforms,
    *,
    parts: Annotated[int, Range(3, reason="for a standard error")] = PARTS,
    chunk: Size = CHUNK,
) -> Slope:
    """‖∇_θ T‖² of the trace T(θ) = E_x E_v ‖∇_θ log f_θ(v | x)‖², without bias: the mean product of
    gradients from disjoint `parts` of the inputs. Drawn labels are constants for the gradient,
    which is exact along the set of minima. Raises ValueError for parts, inputs or a chunk that are
    too few, another network.
    """
    layers_of(parameters, "parameters")
    cut = zip(*(x.tensor_split(parts) for x in (tokens, positions, uniforms)), strict=True)
    estimates = [_gradient_of_trace(network, parameters, part, chunk) for part in cut]
    gradients = torch.stack([gradient for gradient, _ in estimates], 1)
    sizes = torch.tensor([len(x) for x in tokens.tensor_split(parts)]).to(gradients)
    trace = torch.stack([value for _, value in estimates], 1) @ sizes / sizes.sum()
    square, stderr = _unbiased_square(gradients)
    return Slope(trace, square, stderr)


def _gradient_of_trace(
    network: LanguageModel,
    parameters: Mapping[str, Tensor],
    inputs: tuple[Tensor, Tensor, Tensor],
    chunk: int,
) -> tuple[Float[Tensor, "models d"], Float[Tensor, " models"]]:
    def total(p: Mapping[str, Tensor], x: Tensor, t: Tensor, u: Tensor) -> Tensor:
        squares = sampled_squared_gradients(network, p, *_each_label(x, t, u))
        return torch.stack(list(squares.values())).sum()

    gradient, value = torch.zeros(()), torch.zeros(())
    for part in _chunks(*inputs, chunk):
        parts, trace = vmap(grad_and_value(total), (0, None, None, None))(dict(parameters), *part)
        rows = torch.cat([g.flatten(1) for g in parts.values()], 1).detach().double()
        gradient, value = gradient.to(rows) + rows, value.to(rows) + trace.detach().to(rows)
    return gradient / inputs[2].numel(), value / inputs[2].numel()


def _unbiased_square(
    gradients: Float[Tensor, "models parts d"],
) -> tuple[Float[Tensor, " models"], Float[Tensor, " models"]]:
    """The mean of g_a·g_b over pairs of different parts, and its standard error: what is left when
    a part is left out, compared.
    """
    k = gradients.shape[1]
    products = gradients @ gradients.mT
    rows = products.sum(-1) - products.diagonal(dim1=1, dim2=2)
    total = rows.sum(1, keepdim=True)
    without = (total - 2 * rows) / ((k - 1) * (k - 2))
    stderr = ((k - 1) ** 2 / k * without.var(1)).sqrt()
    return total[:, 0] / (k * (k - 1)), stderr


def _chunks(
    tokens: Tensor, positions: Tensor, uniforms: Tensor, chunk: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    size = max(1, chunk // uniforms.shape[1])
    yield from zip(*(x.split(size) for x in (tokens, positions, uniforms)), strict=True)


def _each_label(
    tokens: Tensor, positions: Tensor, uniforms: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Each input once for each of its labels."""
    labels = uniforms.shape[1]
    return (
        tokens.repeat_interleave(labels, 0),
        positions.repeat_interleave(labels, 0),
        uniforms.flatten(),
    )
