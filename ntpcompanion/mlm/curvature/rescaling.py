"""Rescalings of a transformer's parameters that leave its function as it is.

A layer's query can grow as its key shrinks; a LayerNorm's gain as the weights behind it shrink;
everything that is written to the residual stream can grow, since a LayerNorm reads it. Gradients
shrink as parameters grow, so that each of these moves the trace of the Fisher information at will
(Dinh et al. 2017), and no property of the function with it.
"""

from collections.abc import Mapping
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Finite, checked

STREAM = "residual stream"


def scale_names(layers: int) -> list[str]:
    """The names of the free scales of a transformer with so many layers, in the order in which
    `rescale` and `balanced_trace` take them; see the notes of `rescale`.
    """
    block_scales = ("query", "value", "attention_norm", "mlp_norm")
    return [f"blocks.{layer}.{name}" for layer in range(layers) for name in block_scales] + [
        STREAM,
        "last_norm",
    ]


def exponents(layers: int) -> dict[str, dict[str, int]]:
    """How the groups of parameters follow the scales: group → {scale: a} means that a parameter of
    this group is multiplied by e^{a s}. Groups are named as by `squared_gradients`.
    """
    by_group: dict[str, dict[str, int]] = {
        "words.weight": {"last_norm": -1},
        "places.weight": {"last_norm": -1},
        "bias": {},
    }
    for name in ("weight", "bias"):
        by_group[f"first_norm.{name}"] = {STREAM: 1}
        by_group[f"last_norm.{name}"] = {"last_norm": 1}
    for layer in range(layers):
        by_group |= _exponents_of_block(f"blocks.{layer}.")
    return by_group


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
        f"{block}out.weight": {value: -1, STREAM: 1},
        f"{block}out.bias": {STREAM: 1},
        f"{attention_norm}.weight": {attention_norm: 1},
        f"{attention_norm}.bias": {attention_norm: 1},
        f"{mlp_norm}.weight": {mlp_norm: 1},
        f"{mlp_norm}.bias": {mlp_norm: 1},
        f"{block}up.weight": {mlp_norm: -1},
        f"{block}up.bias": {},
        f"{block}down.weight": {STREAM: 1},
        f"{block}down.bias": {STREAM: 1},
    }


@checked
def rescale(
    parameters: Mapping[str, Tensor], scales: Annotated[Float[Tensor, "*models scales"], Finite]
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

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import rescale
    >>> from ntpcompanion.networks import Stack, TransformerSize, initial_stack
    >>> shape = TransformerSize(8, layers=1, heads=1).for_sentences(words=6, positions=4)
    >>> stack = initial_stack(shape, seeds=[0])
    >>> scales = torch.tensor([[1.0, -1.0, 0.5, 0.0, 0.0, 0.0]])  # those of `scale_names(1)`
    >>> moved = Stack(shape, rescale(stack.parameters, scales))
    >>> tokens, positions = torch.tensor([[3, -2, 1, 0]]), torch.tensor([[1]])
    >>> torch.allclose(moved.logits(tokens, positions), stack.logits(tokens, positions), atol=1e-4)
    True
    """
    factors = _powers(layers_of(parameters, "parameters"), scales, 1.0)
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
    matrix = exponent_matrix(layers, scales)
    if scales.shape[-1:] != matrix.shape[1:]:
        raise ValueError(
            f"`scales` must have {matrix.shape[1]} entries for a transformer of {layers} layers, "
            f"got shape {tuple(scales.shape)}. Pass one for each of `scale_names`."
        )
    factors = (power * scales @ matrix.T).exp().unbind(-1)
    return dict(zip(exponents(layers), factors, strict=True))


def exponent_matrix(layers: int, reference: Tensor) -> Float[Tensor, "groups scales"]:
    """Rows: groups in the order of `exponents`; columns: scales in the order of `scale_names`."""
    names = scale_names(layers)
    rows = [[row.get(name, 0) for name in names] for row in exponents(layers).values()]
    return torch.tensor(rows, dtype=reference.dtype, device=reference.device)


def layers_of(named: Mapping[str, Tensor], argument: str) -> int:
    """How many layers the transformer of these names has. Raises ValueError for other names, with
    the name of the argument that they are from.
    """
    layers = sum(name.endswith("attention_norm.weight") for name in named)
    split = set(exponents(layers))
    joined = {name.replace(".key.", ".key_value.") for name in split if ".value." not in name}
    expected = joined if any("key_value" in name for name in named) else split
    if set(named) != expected:
        odd = sorted(set(named) ^ expected)[:3]
        raise ValueError(
            f"`{argument}` must have the names of a `Transformer`, got a {type(named).__name__} of "
            f"{len(named)} in which {odd} are missing or unknown. Pass all parameters, or all that "
            "`squared_gradients` returns."
        )
    return layers
