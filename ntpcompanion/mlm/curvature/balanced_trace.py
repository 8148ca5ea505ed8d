"""The trace of the Fisher information at its minimum over rescalings that leave a transformer's
function as it is: a flatness that they cannot change.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.mlm.curvature.rescaling import (
    STREAM,
    exponent_matrix,
    exponents,
    layers_of,
    scale_names,
)

NEWTON_STEPS = 200
HALVINGS = 40
TOLERANCE = 1e-9  # of |∇F| / F at the minimum


@dataclass(frozen=True, eq=False)
class BalancedTrace:
    """The trace at its minimum over rescalings; `scales` are logarithms in the order of
    `scale_names`, `gradient` the length of the gradient in them relative to `value`, a certificate
    as the function is convex.
    """

    value: Float[Tensor, "*models"]
    scales: Float[Tensor, "*models scales"]
    gradient: Float[Tensor, "*models"]


def unit_gain(parameters: Mapping[str, Tensor]) -> Float[Tensor, "*models"]:
    """The scale of the residual stream at which the gains of `first_norm` have mean square 1, as
    they have at initialisation: −log of their root mean square now. A stack of models gives one
    each.
    """
    return -parameters["first_norm.weight"].double().square().mean(-1).log() / 2


def balanced_trace(
    traces: Mapping[str, Float[Tensor, "*models"]], residual: Float[Tensor, "*models"]
) -> BalancedTrace:
    """The minimum over the rescalings s of `rescale` of F(s) = Σ_g T_g e^{−2 a_g·s}, the trace
    after a rescaling, by Newton. The scale of the residual stream, with which F falls for ever, is
    fixed by `unit_gain` (`residual`). Raises ValueError for groups of another network, traces that
    are negative or infinite, or no minimum.
    """
    layers = layers_of(traces, "traces")
    values, directions = _checked(traces, list(exponents(layers)))
    column = scale_names(layers).index(STREAM)
    free = [c for c in range(directions.shape[1]) if c != column]
    held = values * (residual.to(values)[..., None] * directions[:, column]).exp()
    minimum = _newton(held, directions[:, free])
    scales = [*minimum.scales.unbind(-1)]
    scales.insert(column, residual.to(values))
    return BalancedTrace(minimum.value, torch.stack(scales, -1), minimum.gradient)


def trace_infimum(traces: Mapping[str, Float[Tensor, "*models"]]) -> Float[Tensor, "*models"]:
    """The infimum of the trace over all rescalings: as the residual stream grows, what
    `first_norm`, the values, `out` and `down` add vanishes, and the rest is balanced. Raises
    ValueError as `balanced_trace`.
    """
    layers = layers_of(traces, "traces")
    vanishing = ("first_norm.", "value.", "out.", "down.")
    names = [name for name in exponents(layers) if not any(part in name for part in vanishing)]
    values, directions = _checked(traces, names)
    return _newton(values, directions[:, directions.any(0)]).value


def _checked(traces: Mapping[str, Tensor], groups: list[str]) -> tuple[Tensor, Tensor]:
    """Traces (…, groups) and directions (groups, scales) of the groups."""
    layers = layers_of(traces, "traces")
    values = torch.stack([traces[name] for name in groups], -1).double()
    if not (values.isfinite().all() and (values >= 0).all()):
        raise ValueError(
            "`traces` must be finite and not negative. Measure them where the logits are finite."
        )
    rows = [name in groups for name in exponents(layers)]
    return values, -2 * exponent_matrix(layers, values)[rows]


def _newton(values: Tensor, directions: Tensor) -> BalancedTrace:
    """Minimise Σ_g T_g e^{d_g·s}, by damped steps."""
    scales = values.new_zeros(*values.shape[:-1], directions.shape[1])
    for _ in range(NEWTON_STEPS):
        terms = values * (scales @ directions.T).exp()
        value, slope = terms.sum(-1), terms @ directions
        relative = slope.norm(dim=-1) / value
        if (relative <= TOLERANCE).all():
            return BalancedTrace(value, scales, relative)
        hessian = directions.T @ (terms[..., None] * directions)
        step, failed = torch.linalg.solve_ex(hessian, -slope[..., None])
        if failed.any() or not step.isfinite().all():
            break
        scales = scales + _damped(values, directions, scales, step[..., 0], slope)
    raise ValueError(
        "`traces` have no minimum over rescalings that Newton's method finds: the trace of a group "
        "that holds a scale is zero, or many orders below the others. Measure a trained model."
    )


def _damped(
    values: Tensor, directions: Tensor, scales: Tensor, step: Tensor, slope: Tensor
) -> Tensor:
    """The step, halved for each model until the function falls by a part of what it promises; a
    step whose promise is below rounding is taken whole.
    """
    value = (values * (scales @ directions.T).exp()).sum(-1)
    promised = (step * slope).sum(-1)
    size = torch.ones_like(value)
    for _ in range(HALVINGS):
        reached = (values * ((scales + size[..., None] * step) @ directions.T).exp()).sum(-1)
        good = (reached <= value + 0.1 * size * promised) | (-promised <= 1e-12 * value)
        if good.all():
            break
        size = torch.where(good, size, size / 2)
    return size[..., None] * step
