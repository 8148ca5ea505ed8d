"""The trace of the Fisher information at its minimum over the symmetries of a transformer: a
flatness that belongs to the function, and that no choice of parameters for it can change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.checks import Range, checked
from ntpcompanion.mlm.curvature.example_gradients import Architecture, MaskedTokens, MaskPositions
from ntpcompanion.mlm.curvature.symmetries import NORMS, Symmetry, identity
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.validation import (
    argument_check,
    as_positive,
)

ROUNDS = 10_000
TOLERANCE = 1e-9  # of the gradient at the minimum, relative to the value
EXAMPLES = 256  # gradients of one network in memory at once

Squares = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class InvariantTrace:
    """The trace at its minimum over symmetries; `gradient` is the certificate: the length of the
    gradient in the logarithms of gains and maps and in the shifts (in units of the output),
    relative to `value`.
    """

    value: Float[Tensor, "*models"]
    symmetry: Symmetry
    gradient: Float[Tensor, "*models"]


@checked
def gradient_moments(
    network: Architecture,
    parameters: Mapping[str, Tensor],
    tokens: MaskedTokens,
    positions: MaskPositions,
    labels: Annotated[Int[Tensor, "*models inputs"], Range(0, "network.plan.words - 1")],
) -> Squares:
    """Second moments of the gradients of log f(label | x), all that the trace after any symmetry
    depends on: means over examples of products of entries of a head, a column or a bias. `EXAMPLES`
    gradients are in memory at once. Raises ValueError for another network or other shapes.
    """
    heads = network.plan.heads

    def log_likelihood(p: dict[str, Tensor], x: Tensor, t: Tensor, label: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            logits = functional_call(network, p, (x[None], t[None]))[0, 0]
        return logits.log_softmax(-1).take_along_dim(label[None], 0)[0]

    def of_network(p: dict[str, Tensor], x: Tensor, t: Tensor, label: Tensor) -> Squares:
        gradients = vmap(grad(log_likelihood), (None, 0, 0, 0))(p, x, t, label)
        return _moments({name: g.detach() for name, g in gradients.items()}, heads)

    stacked = parameters["bias"].ndim > 1
    mapped = vmap(of_network, (0, None, None, 0)) if stacked else of_network
    sums: Squares = {}
    for rows in torch.arange(len(tokens), device=tokens.device).split(EXAMPLES):
        part = mapped(dict(parameters), tokens[rows], positions[rows], labels[..., rows])
        weight = len(rows) / len(tokens)
        sums = {name: sums.get(name, 0.0) + weight * value for name, value in part.items()}
    return sums


def _moments(g: Squares, heads: int) -> Squares:
    """Means over examples (the first axis) of what `invariant_trace` needs."""
    layers = sum(name.endswith("attention_norm.weight") for name in g)
    blocks = [_moments_of_block(g, f"blocks.{layer}.", heads) for layer in range(layers)]
    moments = {name: torch.stack([block[name] for block in blocks]) for name in blocks[0]}
    bias, words = g["bias"], g["words.weight"]
    decoder = words[:, FIRST_WORD : FIRST_WORD + bias.shape[1]]
    return moments | {
        "embedding": _mean(words) + _mean(g["places.weight"]),
        "decoder": torch.einsum("nvd,nv->d", decoder, bias) / len(bias),
        "bias": _mean(bias),
        "last_norm": _mean(g["last_norm.weight"]) + _mean(g["last_norm.bias"]),
        "first_norm": _mean(g["first_norm.weight"]) + _mean(g["first_norm.bias"]),
    }


def _moments_of_block(g: Squares, block: str, heads: int) -> Squares:
    n = len(g["bias"])
    rows = torch.cat([g[f"{block}query.weight"], g[f"{block}key_value.weight"]], 1)
    offsets = torch.cat([g[f"{block}query.bias"], g[f"{block}key_value.bias"]], 1)
    rows = rows.unflatten(1, (3, heads, -1))  # query, key, value
    offsets = offsets.unflatten(1, (3, heads, -1))
    out, of_out = g[f"{block}out.weight"].unflatten(2, (heads, -1)), g[f"{block}out.bias"]
    up, of_up = g[f"{block}up.weight"], g[f"{block}up.bias"]
    norms = [
        sum(g[f"{block}{norm}.{part}"].square().mean(0) for part in ("weight", "bias"))
        for norm in NORMS
    ]
    return {
        "rows": torch.einsum("nrhij,nrhkj->rhikj", rows, rows) / n,
        "rows_offsets": torch.einsum("nrhij,nrhk->rhikj", rows, offsets) / n,
        "offsets": torch.einsum("nrhi,nrhk->rhik", offsets, offsets) / n,
        "out": torch.einsum("nohi,nohk->hik", out, out) / n,
        "out_offsets": torch.einsum("nohi,no->hi", out, of_out) / n,
        "out_bias": _mean(of_out),
        "up": up.square().sum(1).mean(0),
        "up_offsets": torch.einsum("noj,no->j", up, of_up) / n,
        "up_bias": _mean(of_up),
        "norms": torch.stack(norms),
        "down": _mean(g[f"{block}down.weight"]) + _mean(g[f"{block}down.bias"]),
    }


def _mean(gradient: Tensor) -> Tensor:
    return gradient.square().flatten(1).sum(1).mean()


def invariant_trace(
    moments: Mapping[str, Tensor], parameters: Mapping[str, Tensor], *, tolerance: float = TOLERANCE
) -> InvariantTrace:
    """The trace at its minimum over the symmetries of a transformer, `moments` in float64 of
    networks in `normal_form` (which fixes the scale of the residual stream, with which the trace
    falls for ever). Gains, scales and maps are minimized in turn, each exactly; the certificate
    shows a point that no block improves. Raises ValueError for moments that are infinite or have no
    minimum.
    """
    as_positive("tolerance", tolerance)
    m = {name: value.double() for name, value in moments.items()}
    if not all(value.isfinite().all() for value in m.values()):
        raise ValueError("`moments` must be finite. Measure them where the logits are finite.")
    _check_used("moments", m)
    trivial = identity(parameters, m["rows"].shape[-4])
    attention = _Attention.minimum(m, tolerance)
    shift = -m["decoder"] / m["bias"][..., None]
    embedding = m["embedding"] - m["bias"] * shift.square().sum(-1)
    up_shift = -m["up_offsets"] / m["up_bias"][..., None]
    up = m["up"] - m["up_bias"][..., None] * up_shift.square()
    behind = torch.stack([attention.columns(m), up], -2)
    value = (
        attention.value
        + 2 * (up * m["norms"][..., 1, :]).sqrt().sum((-2, -1))
        + (m["up_bias"] + m["down"]).sum(-1)
        + m["first_norm"]
        + m["bias"]
        + 2 * (embedding * m["last_norm"]).sqrt()
    )
    symmetry = replace(
        trivial,
        embedding=(m["last_norm"] / embedding).log() / 4,
        last_shift=shift,
        gains=(m["norms"] / behind) ** 0.25,
        shifts=torch.stack([attention.shift, up_shift], -2),
        value_shift=-(m["out_offsets"] / m["out_bias"][..., None, None]).flatten(-2),
        query_map=_root(attention.queries),
        value_map=_root(attention.values),
    )
    return InvariantTrace(value, symmetry, attention.gradient / value)


@argument_check
def _check_used(name: str, moments: Mapping[str, Tensor]) -> None:
    of_rows, of_out = moments["rows"].abs().sum((-3, -2, -1)), moments["out"].abs().sum((-2, -1))
    if of_rows.min() == 0 or of_out.min() == 0:
        raise ValueError(
            f"`{name}` have no minimum over symmetries: they are zero for an attention head, which "
            "nothing uses. Measure a trained model."
        )


@dataclass(frozen=True, eq=False)
class _Attention:
    """The part of the trace that the symmetries of attention move, at its minimum.

    `queries` and `values` (…, layers, heads, k, k) are Pᵀ P of both maps, `shift` is (…, layers,
    d), and `value` and `gradient` (…) are sums over layers.
    """

    queries: Tensor
    values: Tensor
    shift: Tensor
    value: Tensor
    gradient: Tensor

    def columns(self, m: Mapping[str, Tensor]) -> Tensor:
        """(…, layers, d): what the gains of the LayerNorm multiply."""
        plain, offset, square = _columns(m, _weights(self.queries, self.values))
        return plain - offset.square() / square[..., None]

    @classmethod
    def minimum(cls, m: Mapping[str, Tensor], tolerance: float) -> "_Attention":
        """By turns: gains and shift for given maps, maps for given gains and shift."""
        offset = m["out_offsets"]
        out = (
            m["out"]
            - offset[..., None] * offset[..., None, :] / m["out_bias"][..., None, None, None]
        )
        norms = m["norms"][..., 0, :]
        queries = values = torch.eye(out.shape[-1]).to(out).expand_as(out)
        for _ in range(ROUNDS):
            plain, mixed, square = _columns(m, _weights(queries, values))
            shift = -mixed / square[..., None]
            factor = (norms / (plain - mixed.square() / square[..., None])).sqrt()
            mapped = _mapped(m, factor, shift)
            queries = _balance(mapped[..., 0, :, :, :], mapped[..., 1, :, :, :])
            values = _balance(mapped[..., 2, :, :, :], out)
            weights = _weights(queries, values)
            value = (weights * mapped).sum((-5, -4, -3, -2, -1)) + (values * out).sum(
                (-4, -3, -2, -1)
            )
            value = value + m["out_bias"].sum(-1) + (norms / factor).sum((-2, -1))
            plain, mixed, square = _columns(m, weights)
            s = square[..., None]
            by_gain = (
                2 * factor * (plain + 2 * shift * mixed + shift.square() * s) - 2 * norms / factor
            )
            by_shift = 2 * factor * (mixed + shift * s) * (plain / s).sqrt()
            gradient = (by_gain.square() + by_shift.square()).sum((-2, -1)).sqrt()
            if (gradient <= tolerance * value).all():
                return cls(queries, values, shift, value, gradient)
            if not gradient.isfinite().all():
                break
        raise ValueError(
            "`moments` have no minimum over symmetries that is found: a head or a LayerNorm is "
            "hardly used. Measure a trained model, on more examples than a head has columns."
        )


def _weights(queries: Tensor, values: Tensor) -> Tensor:
    """(…, layers, 3, heads, k, k): by what the squares of rows of queries, keys and values are
    weighted.
    """
    return torch.stack([torch.linalg.inv(queries), queries, torch.linalg.inv(values)], -4)


def _columns(m: Mapping[str, Tensor], weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over rows: of each column (…, layers, d), of its product with the bias, of the bias."""
    return (
        torch.einsum("...rhik,...rhikj->...j", weights, m["rows"]),
        torch.einsum("...rhik,...rhikj->...j", weights, m["rows_offsets"]),
        torch.einsum("...rhik,...rhik->...", weights, m["offsets"]),
    )


def _mapped(m: Mapping[str, Tensor], factor: Tensor, shift: Tensor) -> Tensor:
    """(…, layers, 3, heads, k, k): second moments of rows after squared gains and a shift."""
    mixed = torch.einsum("...rhikj,...j->...rhik", m["rows_offsets"], factor * shift)
    bias = 1 + (factor * shift.square()).sum(-1)
    return (
        torch.einsum("...rhikj,...j->...rhik", m["rows"], factor)
        + mixed
        + mixed.mT
        + bias[..., None, None, None, None] * m["offsets"]
    )


def _balance(falls: Tensor, grows: Tensor) -> Tensor:
    """The positive definite Q that minimizes tr(Q⁻¹ A) + tr(Q B): the geometric mean of A and B⁻¹,
    with Q B Q = A.
    """
    root = _root(grows)
    inverse = torch.linalg.inv(root)
    return inverse @ _root(root @ falls @ root) @ inverse


def _root(matrix: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh((matrix + matrix.mT) / 2)
    return (vectors * values.clamp_min(0).sqrt()[..., None, :]) @ vectors.mT
