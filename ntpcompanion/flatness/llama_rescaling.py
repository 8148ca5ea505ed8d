"""Rescalings of a language model of Llama's architecture that leave its function as it is, and the
trace of the Fisher information at its minimum over them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, einsum, nn

from ntpcompanion.checks import checked, need

SWEEPS = 2000
TOLERANCE = 1e-6  # of the gradient of the trace in the logarithms of the scales, over the trace
_ATTENTION, _MLP = "self_attn", "mlp"
_BLOCK = {
    "gain": "input_layernorm",
    "query": f"{_ATTENTION}.q_proj",
    "key": f"{_ATTENTION}.k_proj",
    "value": f"{_ATTENTION}.v_proj",
    "out": f"{_ATTENTION}.o_proj",
    "mlp_gain": "post_attention_layernorm",
    "gate": f"{_MLP}.gate_proj",
    "up": f"{_MLP}.up_proj",
    "down": f"{_MLP}.down_proj",
}
_EMBEDDING, _LAST = "model.embed_tokens.weight", "model.norm.weight"
_INPUTS = ("query", "key", "value")  # matrices that read the first norm of a layer
KINDS = {  # what a figure shows together, by a part of a parameter's name
    "embed_tokens": "embedding",
    "norm": "gains",
    "q_proj": "queries, keys",
    "k_proj": "queries, keys",
    "v_proj": "values, outputs",
    "o_proj": "values, outputs",
    "gate_proj": "gates",
    "up_proj": "up, down",
    "down_proj": "up, down",
}

Parameters = Mapping[str, Tensor]


def kind_of(name: str) -> str:
    """To which of `KINDS` a parameter belongs."""
    return next(kind for part, kind in KINDS.items() if part in name)


@dataclass(frozen=True, eq=False)
class Rescaling:
    """Squares of the factors by which some parameters grow while others shrink.

    Fields
    ------
    attention, mlp
        (layers, d) gains of the two norms of a layer; columns of the matrices behind them shrink.
    keys
        (layers, heads of keys, half of their width) rows of keys, a pair for each frequency of the
        rotary positions; those of the queries of these heads shrink.
    values
        (layers, heads of keys, width) rows of values; columns of the output matrix shrink.
    units
        (layers, hidden) rows of `up_proj`; columns of `down_proj` shrink.
    stream
        () embeddings and all that is written to the residual stream; the last gain shrinks. This
        one is exact up to the ε of the norms.
    """

    attention: Float[Tensor, "layers d"]
    mlp: Float[Tensor, "layers d"]
    keys: Float[Tensor, "layers groups half"]
    values: Float[Tensor, "layers groups width"]
    units: Float[Tensor, "layers hidden"]
    stream: Float[Tensor, ""]

    def squared_factors(self, heads: int) -> dict[str, Tensor]:
        """The squared factor of every parameter of a model with so many heads, by name, in a shape
        that broadcasts to that of the parameter.
        """
        layers, groups = self.keys.shape[:2]
        squares = {
            _EMBEDDING: self.stream,
            _LAST: 1 / self.stream,
        }
        for layer in range(layers):
            attention, mlp = self.attention[layer], self.mlp[layer]
            keys = self.keys[layer].repeat(1, 2)  # a pair is one of the first half, one of the rest
            per_head = [x.repeat_interleave(heads // groups, 0) for x in (keys, self.values[layer])]
            rows = {
                "gain": attention,
                "query": 1 / per_head[0].flatten()[:, None] / attention,
                "key": keys.flatten()[:, None] / attention,
                "value": self.values[layer].flatten()[:, None] / attention,
                "out": self.stream / per_head[1].flatten(),
                "mlp_gain": mlp,
                "gate": 1 / mlp,
                "up": self.units[layer][:, None] / mlp,
                "down": self.stream / self.units[layer],
            }
            squares |= {_name(layer, part): square for part, square in rows.items()}
        return squares

    def apply(self, model: nn.Module) -> None:
        """Rescale the parameters of a model in place."""
        squares = self.squared_factors(model.config.num_attention_heads)
        with torch.no_grad():
            for name, parameter in checked_parameters(model).items():
                parameter.mul_(squares[name].sqrt().to(parameter))

    def trace(self, squares: Parameters, heads: int) -> float:
        """The sum of squared gradients after this rescaling, of those before it."""
        factors = self.squared_factors(heads)
        return sum(float((each.double() / factors[name]).sum()) for name, each in squares.items())


@dataclass(frozen=True, eq=False)
class BalancedLlama:
    """The trace at its minimum over rescalings; `gradient` is the length of its gradient in the
    logarithms of the squared factors over `value`, a certificate, as the trace is convex in them.
    """

    value: float
    gradient: float
    rescaling: Rescaling


@checked(
    need(
        "squares",
        "all(bool((0 <= each).all() and each.isfinite().all()) for each in squares.values())",
        "be finite and not negative",
    )
)
def balanced_llama(squares: Parameters, heads: int, groups: int) -> BalancedLlama:
    """The minimum over all `Rescaling` of Σ g² / f², where g² are squared gradients by parameter
    and f is its factor: each factor in turn takes its best value, at which the terms that fall as
    it grows are as large as those that rise.

    Parameters
    ----------
    squares
        squared gradients, or their means, in the shapes of the parameters of the model, by name.
    heads, groups
        heads of queries, and of keys and values, of that model: shapes do not tell them.

    Returns
    -------
    BalancedLlama
        the minimum.

    Raises
    ------
    ValueError
        parameters of another architecture, squares that are negative or not finite, a part of the
        model without gradients.
    """
    sums = _summed(squares, heads, groups)
    scales = Rescaling(*(torch.ones_like(sums[part]) for part in _SHAPES))
    for _ in range(SWEEPS):
        scales = _updated(sums, scales)
        value, gradient = _slope(sums, scales)
        if gradient <= TOLERANCE:
            return BalancedLlama(value, gradient, scales)
    raise ValueError(
        f"`squares` have no minimum over rescalings that {SWEEPS} sweeps reach: the gradients of a "
        "part of the model are zero, or many orders below the others. Use more rows of text."
    )


_SHAPES = ("gain", "mlp_gain", "key_rows", "out", "down", "last")  # as the fields of a rescaling


def _summed(squares: Parameters, heads: int, groups: int) -> dict[str, Tensor]:
    """Sums over the parameters that share their factors: i is a layer, g a head of keys, h a pair
    of its rows, w a row of its values, u a hidden unit, d a coordinate of the residual stream.
    """
    layers = sum(_BLOCK["gain"] in name for name in squares)
    _check_names(squares, layers)

    def stacked(part: str) -> Tensor:
        return torch.stack([squares[_name(i, part)].double() for i in range(layers)])

    query, key, value = stacked("query"), stacked("key"), stacked("value")
    pairs = (2, key.shape[1] // groups // 2)
    keys = key.unflatten(1, (groups, *pairs)).sum(2)
    return {
        "gain": stacked("gain"),
        "query": query.unflatten(1, (groups, heads // groups, *pairs)).sum((2, 3)),
        "key": keys,
        "key_rows": keys.sum(-1),
        "value": value.unflatten(1, (groups, -1)),
        "out": stacked("out").sum(1).unflatten(1, (groups, heads // groups, -1)).sum(2),
        "mlp_gain": stacked("mlp_gain"),
        "gate": stacked("gate").sum(1),
        "up": stacked("up"),
        "down": stacked("down").sum(1),
        "embedding": squares[_EMBEDDING].double().sum(),
        "last": squares[_LAST].double().sum(),
    }


def _updated(sums: Mapping[str, Tensor], s: Rescaling) -> Rescaling:
    by_row = {part: einsum("ighd,id->igh", sums[part], s.attention) for part in _INPUTS}
    keys = (by_row["key"] / by_row["query"]).sqrt()
    values = (s.stream * by_row["value"] / sums["out"]).sqrt()
    units = (s.stream * einsum("iud,id->iu", sums["up"], s.mlp) / sums["down"]).sqrt()
    scales = Rescaling(s.attention, s.mlp, keys, values, units, s.stream)
    attention = (sums["gain"] / _behind_attention(sums, scales)).sqrt()
    mlp = (sums["mlp_gain"] / _behind_mlp(sums, scales)).sqrt()
    stream = (_written(sums, scales) / sums["last"]).sqrt()
    return Rescaling(attention, mlp, keys, values, units, stream)


def _behind_attention(sums: Mapping[str, Tensor], s: Rescaling) -> Float[Tensor, "layers d"]:
    factors = zip(_INPUTS, (s.keys, 1 / s.keys, 1 / s.values), strict=True)
    return sum(einsum("ighd,igh->id", sums[part], factor) for part, factor in factors)


def _behind_mlp(sums: Mapping[str, Tensor], s: Rescaling) -> Float[Tensor, "layers d"]:
    return sums["gate"] + einsum("iud,iu->id", sums["up"], 1 / s.units)


def _written(sums: Mapping[str, Tensor], s: Rescaling) -> Float[Tensor, ""]:
    blocks = (s.values * sums["out"]).sum() + (s.units * sums["down"]).sum()
    return sums["embedding"] + blocks


def _slope(sums: Mapping[str, Tensor], scales: Rescaling) -> tuple[float, float]:
    """The trace after a rescaling, and the length of its gradient in the logarithms of the squared
    factors over it.
    """
    logs = [part.log().requires_grad_() for part in vars(scales).values()]
    s = Rescaling(*(part.exp() for part in logs))
    inside = s.attention * _behind_attention(sums, s) + sums["gain"] / s.attention
    inside = inside + s.mlp * _behind_mlp(sums, s) + sums["mlp_gain"] / s.mlp
    total = inside.sum() + _written(sums, s) / s.stream + sums["last"] * s.stream
    slope = torch.autograd.grad(total, logs)
    value = float(total.detach())
    return value, float(torch.cat([part.flatten() for part in slope]).norm()) / value


def checked_parameters(model: nn.Module) -> dict[str, Tensor]:
    """The parameters of a Llama by name; an output matrix that is tied to the embedding counts
    once. Raises ValueError for another architecture.
    """
    parameters = dict(model.named_parameters())
    _check_names(parameters, sum(_BLOCK["gain"] in name for name in parameters))
    return parameters


def _check_names(parameters: Parameters, layers: int) -> None:
    expected = {_EMBEDDING, _LAST, *(_name(i, part) for i in range(layers) for part in _BLOCK)}
    if odd := sorted(expected ^ set(parameters)):
        raise ValueError(
            "The model must have the parameters of a Llama without biases whose output matrix is "
            f"its embedding; {odd[:3]} are missing or unknown, {len(odd)} in all."
        )


def _name(layer: int, part: str) -> str:
    return f"model.layers.{layer}.{_BLOCK[part]}.weight"
