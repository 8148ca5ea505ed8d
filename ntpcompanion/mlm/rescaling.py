"""Rescalings of a transformer's parameters that leave its function as it is, and the trace at its
minimum over them: a flatness that they cannot change.

A layer's query can grow as its key shrinks; a LayerNorm's gain as the weights behind it shrink;
everything that is written to the residual stream can grow, since a LayerNorm reads it. Gradients
shrink as parameters grow, so that each of these moves the trace of the Fisher information at will
(Dinh et al. 2017), and no property of the function with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

NEWTON_STEPS = 200
HALVINGS = 40
TOLERANCE = 1e-9  # of |∇F| / F at the minimum


@dataclass(frozen=True, eq=False)
class BalancedTrace:
    """The trace at its minimum over rescalings, for each model of a stack.

    Fields
    ------
    value
        (…), the minimum.
    scales
        (…, scales) where it is met, in the order of `scale_names`; logarithms.
    gradient
        (…), the length of the gradient in the scales at this point relative to `value`: the
        certificate of the minimum, as the function is convex.
    """

    value: Float[Tensor, "*models"]
    scales: Float[Tensor, "*models scales"]
    gradient: Float[Tensor, "*models"]


def scale_names(layers: int) -> list[str]:
    """The names of the free scales of a transformer with so many layers, in the order in which
    `rescale` and `balanced_trace` take them; see the notes of `rescale`.
    """
    own = ("query", "value", "attention_norm", "mlp_norm")
    return [f"blocks.{layer}.{name}" for layer in range(layers) for name in own] + [
        "residual stream",
        "last_norm",
    ]


def exponents(layers: int) -> dict[str, dict[str, int]]:
    """How the groups of parameters follow the scales: group → {scale: a} means that a parameter of
    this group is multiplied by e^{a s}. Groups are named as by `squared_gradients`.
    """
    found: dict[str, dict[str, int]] = {
        "words.weight": {"last_norm": -1},
        "places.weight": {"last_norm": -1},
        "bias": {},
    }
    for name in ("weight", "bias"):
        found[f"first_norm.{name}"] = {"residual stream": 1}
        found[f"last_norm.{name}"] = {"last_norm": 1}
    for layer in range(layers):
        found |= _exponents_of_block(f"blocks.{layer}.")
    return found


def _exponents_of_block(block: str) -> dict[str, dict[str, int]]:
    query, value, attention_norm, mlp_norm = (
        block + name for name in ("query", "value", "attention_norm", "mlp_norm")
    )
    return {
        f"{query}.weight": {query: 1, attention_norm: -1},
        f"{query}.bias": {query: 1},
        f"{block}key.weight": {query: -1, attention_norm: -1},
        f"{block}key.bias": {query: -1},
        f"{value}.weight": {value: 1, attention_norm: -1},
        f"{value}.bias": {value: 1},
        f"{block}out.weight": {value: -1, "residual stream": 1},
        f"{block}out.bias": {"residual stream": 1},
        f"{attention_norm}.weight": {attention_norm: 1},
        f"{attention_norm}.bias": {attention_norm: 1},
        f"{mlp_norm}.weight": {mlp_norm: 1},
        f"{mlp_norm}.bias": {mlp_norm: 1},
        f"{block}up.weight": {mlp_norm: -1},
        f"{block}up.bias": {},
        f"{block}down.weight": {"residual stream": 1},
        f"{block}down.bias": {"residual stream": 1},
    }


def rescale(
    parameters: Mapping[str, Tensor], scales: Float[Tensor, "*models scales"]
) -> dict[str, Tensor]:
    """The parameters of a transformer after a rescaling that leaves its logits as they are.

    Parameters
    ----------
    parameters
        of a `Transformer` by name, all with the leading axes of `scales`.
    scales
        (…, scales), logarithms, in the order of `scale_names`; zeros change nothing.

    Returns
    -------
    dict
        new parameters under the same names.

    Raises
    ------
    ValueError
        parameters of another network, scales of another number.

    Notes
    -----
    Per layer: "query" grows as "key" shrinks; "value" as `out.weight` shrinks; gain and bias of
    `attention_norm` as the three weights behind it shrink; those of `mlp_norm` as `up.weight`
    shrinks. Of the whole: the "residual stream", which `first_norm` and all `out` and `down` write
    to, grows; gain and bias of `last_norm` grow as the embeddings of words and positions, which are
    also the decoder, shrink. `up` and `down` cannot be traded for each other, as gelu is not
    homogeneous. The last two kinds are exact up to the ε that a LayerNorm adds to a variance.
    """
    factors = _powers(_layers_of(parameters), scales, 1.0)
    return {
        name: _scaled(name, value, factors, scales.ndim - 1) for name, value in parameters.items()
    }


def _scaled(name: str, value: Tensor, factors: dict[str, Tensor], leading: int) -> Tensor:
    """A parameter times its factor; the rows of `key_value` are first those of the key."""
    if "key_value" in name:
        halves = zip(value.chunk(2, leading), ("key", "value"), strict=True)
        return torch.cat(
            [
                _scaled(name.replace("key_value", half), part, factors, leading)
                for part, half in halves
            ],
            leading,
        )
    factor = factors[name].to(value)
    return value * factor.reshape(factor.shape + (1,) * (value.ndim - leading))


def weights_at(scales: Float[Tensor, "*models scales"]) -> dict[str, Float[Tensor, "*models"]]:
    """e^{−2 a_g·s} for every group g: by what its squared gradients are multiplied when the model
    is rescaled by s. Raises ValueError for a number of scales that no transformer has.
    """
    of_all, of_first = len(scale_names(0)), len(scale_names(1))
    layers = (scales.shape[-1] - of_all) // (of_first - of_all)
    return _powers(layers, scales, -2.0)


def _powers(layers: int, scales: Tensor, power: float) -> dict[str, Tensor]:
    """e^{power · a_g·s} of every group."""
    matrix = _exponent_matrix(layers, scales)
    if scales.shape[-1] != matrix.shape[1]:
        raise ValueError(
            f"`scales` must have {matrix.shape[1]} entries for a transformer of {layers} layers, "
            f"got {scales.shape[-1]}. Pass one for each of `scale_names`."
        )
    factors = (power * scales @ matrix.T).exp().unbind(-1)
    return dict(zip(exponents(layers), factors, strict=True))


def balanced_trace(traces: Mapping[str, Float[Tensor, "*models"]]) -> BalancedTrace:
    """The trace at its minimum over the rescalings of `rescale`, from the parts of the trace that
    belong to the groups of parameters.

    A parameter that is e^{a·s} times as large has gradients e^{−a·s} times as large, so that after
    a rescaling by s the trace is F(s) = Σ_g T_g e^{−2 a_g·s}: convex, and minimised by Newton's
    method. No rescaling of the model changes the minimum.

    Parameters
    ----------
    traces
        T_g ≥ 0 of every group, named as by `squared_gradients`; each (…) with the same leading
        axes.

    Returns
    -------
    BalancedTrace
        in float64.

    Raises
    ------
    ValueError
        groups of another network; traces that are negative or not finite; a trace without a
        minimum: one that falls for ever along some rescaling, as where a layer's output weights are
        zero.
    """
    layers = _layers_of(traces)
    values = torch.stack([traces[name] for name in exponents(layers)], -1).double()
    if not (values.isfinite().all() and (values >= 0).all()):
        raise ValueError(
            "`traces` must be finite and not negative. Measure them where the logits are finite."
        )
    directions = -2 * _exponent_matrix(layers, values)
    start = values.new_zeros(*values.shape[:-1], directions.shape[1])
    return _newton(values, directions, start)


def _newton(values: Tensor, directions: Tensor, scales: Tensor) -> BalancedTrace:
    """Minimise Σ_g T_g e^{d_g·s}, by damped steps."""
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


def _exponent_matrix(layers: int, like: Tensor) -> Float[Tensor, "groups scales"]:
    """Rows: groups in the order of `exponents`; columns: scales in the order of `scale_names`."""
    names = scale_names(layers)
    rows = [[row.get(name, 0) for name in names] for row in exponents(layers).values()]
    return torch.tensor(rows, dtype=like.dtype, device=like.device)


def _layers_of(named: Mapping[str, Tensor]) -> int:
    """How many layers the transformer of these names has. Raises ValueError for other names."""
    layers = sum(name.endswith("attention_norm.weight") for name in named)
    split = set(exponents(layers))
    joined = {name.replace(".key.", ".key_value.") for name in split if ".value." not in name}
    expected = joined if any("key_value" in name for name in named) else split
    if set(named) != expected:
        odd = sorted(set(named) ^ expected)[:3]
        raise ValueError(
            f"the names must be those of a `Transformer`, but {odd} are missing or unknown. Pass "
            "all parameters, or all that `squared_gradients` returns."
        )
    return layers
