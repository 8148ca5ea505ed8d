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
    """Copies θ + σξ and θ − σξ of a stack, σ = `scale`, for each of so many `pairs`: the Gaussian
    noise ξ of a network depends on its seed alone, not on σ or the other networks.

    The mean loss of a pair is L + ½ σ² ξᵀHξ + O(σ⁴), and its mean over ξ is L + ½ σ² tr H + O(σ⁴).
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
    entry, embeddings included; gains and biases are left as they are.
    """
    parameters = {}
    for name, p in stack.parameters.items():
        step, low = _grid(p, bits)
        parameters[name] = p if p.ndim < 3 else low + ((p - low) / step).round() * step
    return Stack(stack.plan, parameters)


def predicted_by_rounding(stack: Stack, traces: Traces, bits: int) -> Float[Tensor, " models"]:
    """½ Σ s²/12 · tr H over the matrices, in nats, with s the steps of their grids: the rise of the
    loss if rounding errors were independent, of mean 0 and uniform over a step. The two halves of
    `key_value`, which have a trace each, share a grid.
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
