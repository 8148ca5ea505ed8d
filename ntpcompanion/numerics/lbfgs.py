"""Limited-memory BFGS directions for a stack of independent problems of equal size."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

PAIRS = 10
# a pair whose curvature sᵀy / ‖s‖‖y‖ is below this many units of rounding is noise
MIN_CURVATURE = 10


@dataclass(frozen=True)
class Pair:
    """A step s, the change y of the gradient along it, 1 / sᵀy and the `scale` sᵀy / yᵀy of k
    problems. Both quotients are 0 where sᵀy is not positive beyond rounding: the pair then has no
    effect.
    """

    step: Float[Tensor, "k size"]
    change: Float[Tensor, "k size"]
    inverse: Float[Tensor, "k 1"]
    scale: Float[Tensor, "k 1"]

    @classmethod
    def of(cls, step: Float[Tensor, "k size"], change: Float[Tensor, "k size"]) -> "Pair":
        """The pair of a step and the change of the gradient along it."""
        curvature, squares = _dot(step, change), _dot(change, change)
        threshold = MIN_CURVATURE * torch.finfo(step.dtype).eps
        usable = curvature > threshold * _dot(step, step).sqrt() * squares.sqrt()
        safe = torch.where(usable, curvature, 1.0)
        return cls(
            step,
            change,
            torch.where(usable, 1 / safe, 0.0),
            torch.where(usable, safe / torch.where(usable, squares, 1.0), 0.0),
        )

    def only(self, selected: Bool[Tensor, "k"]) -> "Pair":
        """The pair of some of the problems."""
        return Pair(
            *(part[selected] for part in (self.step, self.change, self.inverse, self.scale))
        )


def lbfgs_direction(
    gradient: Float[Tensor, "k size"], pairs: Sequence[Pair]
) -> Float[Tensor, "k size"]:
    """−H g with the inverse Hessian H that BFGS builds from the pairs, oldest first, beginning with
    the last positive scale times the identity; −g without pairs. O(pairs · size) for each problem.

    Source: Nocedal and Wright, Numerical Optimization, algorithm 7.4.
    """
    direction, coefficients = -gradient, []
    for pair in reversed(pairs):
        coefficients.append(pair.inverse * _dot(pair.step, direction))
        direction = direction - coefficients[-1] * pair.change
    scale = torch.zeros_like(gradient[:, :1])
    for pair in pairs:
        scale = torch.where(pair.scale > 0, pair.scale, scale)
    direction = torch.where(scale > 0, scale, 1.0) * direction
    for pair, coefficient in zip(pairs, reversed(coefficients), strict=True):
        direction = direction + pair.step * (
            coefficient - pair.inverse * _dot(pair.change, direction)
        )
    return direction


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(1, keepdim=True)
