"""The continuous symmetries of a transformer: maps of its parameters that change no prediction.

Any of them can make the trace of the Fisher information as large as one likes (Dinh et al. 2017),
so that a flatness which they move says nothing about the function. `invariant_trace` minimizes over
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Positive, checked
from ntpcompanion.mlm.curvature.balanced_trace import unit_gain
from ntpcompanion.mlm.curvature.rescaling import layers_of
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.validation import as_integer

NORMS = ("attention_norm", "mlp_norm")


@dataclass(frozen=True, eq=False)
class Symmetry:
    """One map of parameters that leaves a transformer's predictions as they are, for one network or
    for each of a stack (…).

    Fields
    ------
    stream
        (…), logarithm of the factor of all that is written to the residual stream.
    embedding
        (…), logarithm of the factor of gain and bias of the last LayerNorm; embeddings shrink.
    start
        (…), logarithm of a further factor of the embeddings of CLS and of its position: a LayerNorm
        reads their sum, and nothing else.
    last_shift
        (…, d), added to the bias of the last LayerNorm; the decoder bias takes it up.
    gains
        (…, layers, 2, d), positive factors of the outputs of `attention_norm` and `mlp_norm`; the
        columns of the matrices behind them shrink.
    shifts
        (…, layers, 2, d), added to these outputs before the gains; the biases behind take them up.
    value_shift
        (…, layers, d), added to the values of all heads; the bias of `out` takes it up.
    query_map, value_map
        (…, layers, heads, k, k), invertible: queries q ↦ P q and keys k ↦ P⁻ᵀ k; values v ↦ P v and
        `out` ↦ `out` P⁻¹.
    """

    stream: Float[Tensor, "*models"]
    embedding: Float[Tensor, "*models"]
    start: Float[Tensor, "*models"]
    last_shift: Float[Tensor, "*models d"]
    gains: Float[Tensor, "*models layers 2 d"]
    shifts: Float[Tensor, "*models layers 2 d"]
    value_shift: Float[Tensor, "*models layers d"]
    query_map: Float[Tensor, "*models layers heads k k"]
    value_map: Float[Tensor, "*models layers heads k k"]


@checked
def identity(parameters: Mapping[str, Tensor], heads: int) -> Symmetry:
    """The symmetry that changes nothing, for networks with these parameters and so many heads.
    Raises ValueError for parameters of another network, or heads that do not divide the width.
    """
    layers = layers_of(parameters, "parameters")
    bias = parameters["last_norm.bias"]
    *models, width = bias.shape
    if width % as_integer("heads", heads, 1):
        raise ValueError(f"`heads` must divide the width {width}, got {heads}.")
    size = width // heads
    no_scale = bias.new_zeros(models)
    matrices = torch.eye(size).to(bias).expand(*models, layers, heads, size, size)
    return Symmetry(
        no_scale,
        no_scale,
        no_scale,
        bias.new_zeros(*models, width),
        bias.new_ones(*models, layers, 2, width),
        bias.new_zeros(*models, layers, 2, width),
        bias.new_zeros(*models, layers, width),
        matrices,
        matrices,
    )


@checked
def random_symmetry(
    parameters: Mapping[str, Tensor], heads: int, size: Positive, generator: torch.Generator
) -> Symmetry:
    """A symmetry of which every part moves: shifts with deviation `size`, and gains, scales and
    maps whose logarithms have it. Raises ValueError as `identity`.
    """
    trivial = identity(parameters, heads)
    drawn = {}
    for name, value in vars(trivial).items():
        noise = torch.randn(
            value.shape, generator=generator, dtype=value.dtype, device=generator.device
        )
        drawn[name] = size * noise.to(value.device)
    drawn["gains"] = drawn["gains"].exp()
    for name in ("query_map", "value_map"):
        drawn[name] = torch.linalg.matrix_exp(drawn[name])
    return Symmetry(**drawn)


@checked
def transform(parameters: Mapping[str, Tensor], symmetry: Symmetry) -> dict[str, Tensor]:
    """The parameters of a transformer after a symmetry; its logits are the same, exactly but for
    `stream`, `embedding` and `start`, as the ε of a LayerNorm does not grow with the variance.
    Raises ValueError for parameters of another network.
    """
    layers = layers_of(parameters, "parameters")
    p = dict(parameters)
    _shift_last_norm(p, symmetry.last_shift)
    _scale_start(p, symmetry.start)
    for layer in range(layers):
        _transform_attention(p, f"blocks.{layer}.", symmetry, layer)
        _transform_mlp(p, f"blocks.{layer}.", symmetry, layer)
    written = [f"blocks.{layer}.{name}." for layer in range(layers) for name in ("out", "down")]
    for names, factor in (
        (["first_norm.", *written], symmetry.stream.exp()),
        (["last_norm."], symmetry.embedding.exp()),
        (["words.", "places."], (-symmetry.embedding).exp()),
    ):
        for name in p:
            if name.startswith(tuple(names)):
                p[name] = p[name] * _broadcast(factor, p[name])
    return p


def normal_form(parameters: Mapping[str, Tensor], heads: int) -> dict[str, Tensor]:
    """The same function with parameters in float64 of which symmetries have chosen less: LayerNorms
    inside the layers have gain 1 and bias 0, the gains of the first one mean square 1 (see
    `unit_gain`), what enters it at CLS is as long as at words, and what reads a LayerNorm does not
    contain the part that it never sees.

    What a LayerNorm returns before gain and bias has mean zero, so that a vector with equal entries
    can be added to each row of a matrix behind it. This part is removed. Raises ValueError for
    parameters of another network, or a gain of 0.
    """
    p = {name: value.detach().double() for name, value in parameters.items()}
    trivial = identity(p, heads)
    names = [[f"blocks.{n}.{norm}" for norm in NORMS] for n in range(trivial.gains.shape[-3])]
    gains, biases = (
        torch.stack([torch.stack([p[f"{name}.{part}"] for name in row], -2) for row in names], -3)
        for part in ("weight", "bias")
    )
    if not gains.all():
        raise ValueError("`parameters` have a LayerNorm with a gain of 0: no scale undoes that.")
    units = {"stream": unit_gain(p), "start": _unit_start(p)}
    p = transform(p, replace(trivial, gains=1 / gains, shifts=-biases, **units))
    for attention, mlp in names:
        block = attention.removesuffix(NORMS[0])
        for name in (f"{block}query", f"{block}key_value", f"{mlp.removesuffix(NORMS[1])}up"):
            weight = p[f"{name}.weight"]
            p[f"{name}.weight"] = weight - weight.mean(-1, keepdim=True)
    return p


def _shift_last_norm(p: dict[str, Tensor], shift: Tensor) -> None:
    words = p["words.weight"][..., FIRST_WORD : FIRST_WORD + p["bias"].shape[-1], :]
    p["last_norm.bias"] = p["last_norm.bias"] + shift
    p["bias"] = p["bias"] - _times(words, shift)


def _scale_start(p: dict[str, Tensor], start: Tensor) -> None:
    factor = start.exp()[..., None, None]
    words, positions = p["words.weight"], p["places.weight"]
    p["words.weight"] = torch.cat([words[..., :-1, :], factor * words[..., -1:, :]], -2)
    p["places.weight"] = torch.cat([factor * positions[..., :1, :], positions[..., 1:, :]], -2)


def _unit_start(p: Mapping[str, Tensor]) -> Tensor:
    """The `start` after which the sum of both embeddings of CLS deviates from its mean as those of
    words do, in the root mean square over words and positions.
    """
    words = p["words.weight"][..., FIRST_WORD : FIRST_WORD + p["bias"].shape[-1], None, :]
    sums = words + p["places.weight"][..., None, 1:, :]
    start = p["words.weight"][..., -1, :] + p["places.weight"][..., 0, :]
    return (sums.var(-1, correction=0).mean((-2, -1)) / start.var(-1, correction=0)).log() / 2


def _transform_norm(p: dict[str, Tensor], name: str, gain: Tensor, shift: Tensor) -> None:
    p[f"{name}.weight"] = gain * p[f"{name}.weight"]
    p[f"{name}.bias"] = gain * (p[f"{name}.bias"] + shift)


def _transform_attention(p: dict[str, Tensor], block: str, symmetry: Symmetry, layer: int) -> None:
    gain, shift = symmetry.gains[..., layer, 0, :], symmetry.shifts[..., layer, 0, :]
    maps = (symmetry.query_map, symmetry.value_map)
    of_queries, of_values = (matrices[..., layer, :, :, :] for matrices in maps)
    offset = symmetry.value_shift[..., layer, :]
    _transform_norm(p, block + "attention_norm", gain, shift)
    query, joint, out = (p[f"{block}{name}.weight"] for name in ("query", "key_value", "out"))
    key, value = joint.chunk(2, -2)
    of_key, of_value = p[f"{block}key_value.bias"].chunk(2, -1)
    new = []
    for weight, bias, matrix, added in (
        (query, p[f"{block}query.bias"], of_queries, 0.0),
        (key, of_key, torch.linalg.inv(of_queries).mT, 0.0),
        (value, of_value, of_values, offset),
    ):
        bias = bias - _times(weight, shift) + added
        new.append(
            (
                _by_head(matrix, weight) / gain[..., None, :],
                _by_head(matrix, bias[..., None])[..., 0],
            )
        )
    p[f"{block}query.weight"], p[f"{block}query.bias"] = new[0]
    p[f"{block}key_value.weight"] = torch.cat([new[1][0], new[2][0]], -2)
    p[f"{block}key_value.bias"] = torch.cat([new[1][1], new[2][1]], -1)
    p[f"{block}out.bias"] = p[f"{block}out.bias"] - _times(out, offset)
    p[f"{block}out.weight"] = _by_head(torch.linalg.inv(of_values).mT, out.mT).mT


def _transform_mlp(p: dict[str, Tensor], block: str, symmetry: Symmetry, layer: int) -> None:
    gain, shift = symmetry.gains[..., layer, 1, :], symmetry.shifts[..., layer, 1, :]
    _transform_norm(p, block + "mlp_norm", gain, shift)
    weight = p[f"{block}up.weight"]
    p[f"{block}up.bias"] = p[f"{block}up.bias"] - _times(weight, shift)
    p[f"{block}up.weight"] = weight / gain[..., None, :]


def _by_head(matrices: Tensor, rows: Tensor) -> Tensor:
    """(…, heads, k, k) times the rows (…, heads · k, n), head by head."""
    heads, size = matrices.shape[-3:-1]
    return (matrices @ rows.unflatten(-2, (heads, size))).flatten(-3, -2)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector[..., None])[..., 0]


def _broadcast(factor: Tensor, reference: Tensor) -> Tensor:
    return factor.to(reference).reshape(factor.shape + (1,) * (reference.ndim - factor.ndim))
