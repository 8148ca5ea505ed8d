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
    """A step s, the change y of the gradient along it, and 1 / sᵀy, of k problems.

    The last is 0 for a problem that has not moved, or whose sᵀy is not positive beyond rounding:
    such a pair has no effect on a direction. `scale` is sᵀy / yᵀy, or 0 likewise.
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
    """−H g for every problem, with H the inverse Hessian that BFGS builds of the pairs, oldest
    first, from the multiple sᵀy / yᵀy of the identity that the last usable pair gives.

    Without pairs it is −g. O(pairs · size) per problem, by the two-loop recursion.
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
