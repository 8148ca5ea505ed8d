"""What the loss does when parameters are disturbed: by noise, by rounding, or by other training."""

from collections.abc import Sequence
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Count, Positive, Range, Size, checked, need
from ntpcompanion.mlm.curvature.traces import Traces
from ntpcompanion.networks.stack import Stack
from ntpcompanion.randomness import torch_stream

Bits = Annotated[int, Range(2, 16)]


@checked(need("seeds", "len(seeds) == len(stack)", "hold one for each network"))
def noisy_pairs(stack: Stack, scale: Positive, pairs: Size, seeds: Sequence[Count]) -> list[Stack]:
    """Copies of a stack with Gaussian noise in every parameter, in pairs θ + σξ, θ − σξ.

    The mean loss of a pair has no odd order in σ: L + ½ σ² ξᵀHξ + O(σ⁴), with the mean
    L + ½ σ² tr H + O(σ⁴) over ξ.

    Parameters
    ----------
    stack
        it is not changed.
    scale
        σ.
    pairs
        how many ξ.
    seeds
        of the noise of each network, which does not depend on the others or on σ.

    Returns
    -------
    list of Stack
        2 · pairs copies.
    """
    copies = []
    for number in range(pairs):
        generators = [torch_stream(seed, f"weight noise {number}", stack.device) for seed in seeds]
        noise = {
            name: torch.stack(
                [torch.randn(p.shape[1:], generator=g, device=stack.device) for g in generators]
            )
            for name, p in stack.parameters.items()
        }
        copies += [
            Stack(stack.plan, {n: p + sign * scale * noise[n] for n, p in stack.parameters.items()})
            for sign in (1, -1)
        ]
    return copies


@checked
def rounded(stack: Stack, bits: Bits) -> Stack:
    """A stack with every matrix rounded to 2^bits equidistant values between its least and largest
    entry (embeddings included; gains and biases are left).

    Parameters
    ----------
    stack
        it is not changed.
    bits
        of each entry.

    Returns
    -------
    Stack
        of the same networks.
    """
    parameters = {}
    for name, p in stack.parameters.items():
        step, low = _grid(p, bits)
        parameters[name] = p if p.ndim < 3 else low + ((p - low) / step).round() * step
    return Stack(stack.plan, parameters)


def predicted_by_rounding(stack: Stack, traces: Traces, bits: int) -> Float[Tensor, " models"]:
    """½ Σ s² / 12 · tr H over the matrices, with s the steps of their grids: the rise of the loss
    if rounding errors were independent, of mean 0 and uniform over a step.

    Parameters
    ----------
    stack, bits
        as for `rounded`.
    traces
        of these networks, by group of parameters: the two halves of `key_value` share a grid.

    Returns
    -------
    Tensor
        nats, for each network.
    """
    rise = torch.zeros(len(stack), dtype=torch.float64, device=stack.device)
    for name, p in stack.parameters.items():
        if p.ndim < 3:
            continue
        step = _grid(p, bits)[0].flatten().double()
        names = [name.replace("key_value", half) for half in ("key", "value")]
        of_matrix = sum(traces.by_group[group] for group in dict.fromkeys(names))
        rise += step.square() / 24 * of_matrix
    return rise


def _grid(p: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Step and least value of the grid of each network."""
    rows = p.flatten(1)
    low, high = (x.reshape(-1, *[1] * (p.ndim - 1)) for x in (rows.amin(1), rows.amax(1)))
    return (high - low) / (2**bits - 1), low
