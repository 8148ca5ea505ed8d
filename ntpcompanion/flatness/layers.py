"""Squared norms of the gradients of single examples, from what enters a layer and what comes back
to it: no gradient is formed.

The gradient of one example in the weight of a linear layer is Σ_t g_t a_tᵀ over positions t, with
a_t what enters and g_t what comes back. Its squared norm is Σ_{s,t} (g_s·g_t)(a_s·a_t), which takes
two small Gram matrices (Goodfellow 2015, Li et al. 2022).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ntpcompanion.flatness.hessian import FlatModule

# From log-probabilities (n, classes): labels (n, j) to differentiate at, and their weights (n, j).
Weigh = Callable[[Tensor], tuple[Int[Tensor, "n j"], Float[Tensor, "n j"]]]


# From what comes back to a layer: what the layer adds to the squared norm, for every input.
Rule = Callable[[Tensor], Float[Tensor, " n"]]


@dataclass(frozen=True, eq=False)
class Passage:
    """One call of a layer: the layer, what entered, what came out, and how often what entered had
    been written to.
    """

    layer: nn.Module
    entered: Tensor
    left: Tensor
    version: int


def has_layer_rules(flat: FlatModule, theta: Float[Tensor, " d"], inputs: Tensor) -> bool:
    """Whether `squared_norms` holds for a module: by its layers, and by trial against a plain
    gradient on the first two inputs.

    Every parameter must belong to one `nn.Linear`, `nn.Embedding` or `nn.LayerNorm` that is called
    once, with the inputs along the first axis of what enters it. The trial finds what the layers do
    not show, such as a decoder that borrows the weight of an embedding.
    """
    owners = Counter(
        id(p)
        for layer in flat.module.modules()
        if type(layer) in RULES
        for p in layer.parameters(recurse=False)
    )
    parameters = list(flat.module.parameters())
    if any(owners[id(p)] != 1 for p in parameters) or len(parameters) > len(flat.shapes):
        return False  # a rule would count the gradient in frozen parameters, too
    pair = inputs[:2]
    with torch.no_grad(), recorded(flat.module) as passages:
        flat(theta, pair)
    calls = Counter(p.layer for p in passages)
    overwritten = any(p.entered._version != p.version or p.left._version for p in passages)
    if (
        max(calls.values(), default=0) != 1
        or overwritten
        or any(p.entered.shape[:1] != (2,) for p in passages)
    ):
        return False
    tried, expected = (
        squared_norms(flat, theta, pair, _least_likely)[0],
        _plain_norm(flat, theta, pair[:1]),
    )
    return torch.allclose(tried, expected, rtol=10 * torch.finfo(theta.dtype).eps ** 0.5)


def _least_likely(log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
    labels = log_probabilities.argmin(1, keepdim=True)  # of the likeliest, the gradient may be zero
    return labels, torch.ones(labels.shape, dtype=log_probabilities.dtype, device=labels.device)


def _plain_norm(flat: FlatModule, theta: Float[Tensor, " d"], example: Tensor) -> Float[Tensor, ""]:
    leaf = theta.detach().clone().requires_grad_()
    with torch.enable_grad():
        lowest = flat(leaf, example).log_softmax(-1).min()
    return torch.autograd.grad(lowest, leaf)[0].square().sum()


def squared_norms(
    flat: FlatModule, theta: Float[Tensor, " d"], inputs: Tensor, weigh: Weigh
) -> Float[Tensor, " n"]:
    """Σ_j share_ij ‖∇_θ log f_θ(label_ij | input i)‖² for every input i, with the labels and shares
    that `weigh` takes from log f_θ.

    Only for modules that `has_layer_rules`. Cost: one forward pass, and for each column of labels a
    backward pass without the gradients in the weights, and the Gram matrices.
    """
    with torch.enable_grad(), recorded(flat.module) as passages:
        log_probabilities = flat(theta.detach(), inputs).log_softmax(-1)
    labels, weights = weigh(log_probabilities)
    grams: dict[int, Tensor] = {}
    rules = [
        RULES[type(p.layer)](p.layer, p.entered.detach(), partial(_gram_once, grams, p.entered))
        for p in passages
    ]
    total = torch.zeros_like(log_probabilities[:, 0])
    for column, (label, weight) in enumerate(zip(labels.T, weights.T, strict=True), 1):
        chosen = log_probabilities.gather(1, label[:, None]).sum()
        total += weight * _backward(chosen, passages, rules, retain_graph=column < labels.shape[1])
    return total.detach()


def _backward(
    chosen: Float[Tensor, ""], passages: list[Passage], rules: list[Rule], *, retain_graph: bool
) -> Float[Tensor, " n"]:
    """The sum of what the rules make of the signals, each taken as it comes by, so that no two need
    be in memory.
    """
    parts: list[Tensor] = []
    handles = [
        p.left.register_hook(lambda signal, rule=rule: parts.append(rule(signal)))
        for p, rule in zip(passages, rules, strict=True)
    ]
    torch.autograd.grad(
        chosen,
        [p.left for p in passages if p.left.is_leaf],
        retain_graph=retain_graph,
        allow_unused=True,
    )
    for handle in handles:
        handle.remove()
    return torch.stack(parts).sum(0)


def _gram_once(grams: dict[int, Tensor], entered: Tensor) -> Float[Tensor, "n positions positions"]:
    """The products of positions in what entered: the same for all labels, and for layers that are
    fed the same (query, key, value).
    """
    if id(entered) not in grams:
        a = _positions(entered.detach())
        grams[id(entered)] = a @ a.mT
    return grams[id(entered)]


@contextmanager
def recorded(module: nn.Module) -> Iterator[list[Passage]]:
    """While inside, calls of layers that have a rule and parameters are recorded; what leaves the
    first of them requires a gradient.
    """
    passages: list[Passage] = []
    layers = [
        layer
        for layer in module.modules()
        if type(layer) in RULES and any(True for _ in layer.parameters())
    ]
    handles = [layer.register_forward_hook(partial(_record, passages)) for layer in layers]
    try:
        yield passages
    finally:
        for handle in handles:
            handle.remove()


def _record(
    passages: list[Passage], layer: nn.Module, entered: tuple[Tensor, ...], left: Tensor
) -> Tensor:
    if torch.is_grad_enabled() and not left.requires_grad:
        left = left.detach().requires_grad_()
    passages.append(Passage(layer, entered[0], left, entered[0]._version))
    return left


def _positions(x: Tensor, axes: int = 1) -> Float[Tensor, "n positions size"]:
    """The last axes as one, and all between the first and them as one."""
    return x.flatten(x.ndim - axes).reshape(len(x), -1, x.shape[x.ndim - axes :].numel())


def _linear(layer: nn.Linear, entered: Tensor, gram: Callable[[], Tensor]) -> Rule:
    a = _positions(entered)
    small = (
        a.shape[1] * (layer.in_features + layer.out_features)
        < layer.in_features * layer.out_features
    )
    return partial(_linear_norms, a, gram() if small else None, layer.bias is not None)


def _linear_norms(
    a: Tensor, gram: Tensor | None, has_bias: bool, signal: Tensor
) -> Float[Tensor, " n"]:
    g = _positions(signal)
    norms = (g.mT @ a).square().sum((1, 2)) if gram is None else (gram * (g @ g.mT)).sum((1, 2))
    return norms + g.sum(1).square().sum(1) if has_bias else norms


def _embedding(layer: nn.Embedding, entered: Tensor, gram: Callable[[], Tensor]) -> Rule:
    tokens = entered.reshape(len(entered), -1)
    same = tokens[:, :, None] == tokens[:, None, :]
    if layer.padding_idx is not None:
        same = same & (tokens != layer.padding_idx)[:, None, :]
    return partial(_linear_norms, tokens, same, False)


def _layer_norm(layer: nn.LayerNorm, entered: Tensor, gram: Callable[[], Tensor]) -> Rule:
    normalized = F.layer_norm(entered, layer.normalized_shape, eps=layer.eps)
    axes = len(layer.normalized_shape)
    return partial(_layer_norm_norms, _positions(normalized, axes), axes, layer.bias is not None)


def _layer_norm_norms(
    normalized: Tensor, axes: int, has_bias: bool, signal: Tensor
) -> Float[Tensor, " n"]:
    g = _positions(signal, axes)
    norms = (g * normalized).sum(1).square().sum(1)
    return norms + g.sum(1).square().sum(1) if has_bias else norms


RULES = {nn.Linear: _linear, nn.Embedding: _embedding, nn.LayerNorm: _layer_norm}
