"""Squared gradients of single examples of a transformer, group by group, as a function of its
parameters that can be differentiated once more: the trace of the Fisher information as a penalty.

The gradient of one example in the weight of a linear layer is Σ_t g_t a_tᵀ over positions t, with
a_t what enters the layer and g_t the gradient with respect to its output. The squared norm is
Σ_{s,t} (g_s·g_t)(a_s·a_t): two small Gram matrices, and no gradient of a weight is formed
(Goodfellow 2015, Li et al. 2022).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, grad
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.checks import Range, Shapes
from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.networks.language_model import FIRST_WORD, LanguageModel
from ntpcompanion.networks.transformer import Transformer

Labels = Callable[[Tensor], Tensor]  # from logits (n, words) to labels (n,)
Architecture = Annotated[Transformer, Shapes]
MaskedTokens = Annotated[
    Int[Tensor, "inputs {network.plan.positions}"], Range(MASK, "network.plan.words - 1")
]
MaskPositions = Annotated[Int[Tensor, "inputs 1"], Range(0, "network.plan.positions - 1")]
Uniforms = Annotated[Float[Tensor, "inputs labels"], Range(0, 1)]


def squared_gradients(
    network: LanguageModel,
    parameters: Mapping[str, Tensor],
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    labels: Int[Tensor, " n"],
) -> dict[str, Float[Tensor, " n"]]:
    """‖∇_p log f(label_i | x_i)‖² for every named parameter p, `key_value` in its two halves, and
    example i, by one backward pass. Differentiable, and runs under `torch.func.vmap`; only shapes
    of `network` are used. Embeddings are also the decoder, hence a cross term. Raises ValueError
    for what is not a `Transformer`.
    """
    return _squares(network, parameters, tokens, positions, lambda _: labels)


def sampled_squared_gradients(
    network: LanguageModel,
    parameters: Mapping[str, Tensor],
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    uniforms: Float[Tensor, " n"],
) -> dict[str, Float[Tensor, " n"]]:
    """`squared_gradients` at labels that the model draws itself, by `sampled_labels`, in the same
    forward pass. Raises ValueError for a network that is not a `Transformer`.
    """
    return _squares(
        network, parameters, tokens, positions, partial(sampled_labels, uniforms=uniforms)
    )


def log_trace(
    network: LanguageModel,
    parameters: Mapping[str, Tensor],
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    uniforms: Float[Tensor, " n"],
) -> Float[Tensor, ""]:
    """Log of the mean over examples of ‖∇_θ log f(v_i | x_i)‖² at labels v_i that the model draws
    by `uniforms`, constants for the gradient: an estimate of the trace of the Fisher information.
    Raises ValueError for what is not a `Transformer`.
    """
    squares = sampled_squared_gradients(network, parameters, tokens, positions, uniforms)
    return torch.stack(list(squares.values())).sum(0).mean().log()


def sampled_labels(
    logits: Float[Tensor, "*n words"], uniforms: Float[Tensor, "*n"]
) -> Int[Tensor, "*n"]:
    """Labels with the distribution softmax(logits): the inverse of the cumulative distribution at
    `uniforms` in [0, 1), so that models that are compared share their randomness.
    """
    cumulative = logits.detach().softmax(-1).cumsum(-1)
    passed = cumulative[..., :-1] <= (uniforms * cumulative[..., -1])[..., None]
    return passed.sum(-1)


def _squares(
    network: LanguageModel,
    parameters: Mapping[str, Tensor],
    tokens: Tensor,
    positions: Tensor,
    label: Labels,
) -> dict[str, Tensor]:
    if not isinstance(network, Transformer):
        raise ValueError(
            f"`network` must be a Transformer, got a {type(network).__name__}. Build one from a "
            'plan of the kind "transformer".'
        )
    outputs = {
        name: parameters[f"{name}.weight"].new_zeros(shape)
        for name, shape in _output_shapes(network, len(tokens)).items()
    }

    def log_likelihood(added: dict[str, Tensor]) -> tuple[Tensor, tuple[Any, ...]]:
        with _recorded(network, added) as entered, sdpa_kernel(SDPBackend.MATH):
            # fused attention has no second derivative
            logits = functional_call(network, dict(parameters), (tokens, positions))[:, 0]
        labels = label(logits)
        log_model = logits.log_softmax(-1)
        words = torch.arange(logits.shape[-1], device=logits.device)
        chosen = (labels[:, None] == words).to(logits)  # vmap has no rule for F.one_hot
        return (chosen * log_model).sum(), (dict(entered), chosen - log_model.exp())

    signals, (entered, error) = grad(log_likelihood, has_aux=True)(outputs)
    groups = _of_embeddings(entered, signals, error)
    for name, signal in signals.items():
        layer = network.get_submodule(name)
        if isinstance(layer, nn.LayerNorm):
            groups |= _of_layer_norm(name, layer, entered[name], signal)
        elif name.endswith("key_value"):
            for half, part in zip(("key", "value"), signal.chunk(2, -1), strict=True):
                groups |= _of_linear(name.replace("key_value", half), entered[name], part)
        elif name != "words":
            groups |= _of_linear(name, entered[name], signal)
    return groups


def _output_shapes(network: Transformer, n: int) -> dict[str, tuple[int, int, int]]:
    """Shapes of what `words`, linear layers and LayerNorms return: in the last layer all but the
    source of keys and values work at the asked position only.
    """
    shapes = {}
    last = f"blocks.{len(network.blocks) - 1}."
    everywhere = {"first_norm", f"{last}attention_norm", f"{last}key_value"}
    for name, layer in network.named_modules():
        at_one = (name.startswith(last) or name == "last_norm") and name not in everywhere
        rows = 1 if at_one else network.plan.positions + 1
        if isinstance(layer, nn.Linear):
            shapes[name] = (n, rows, layer.out_features)
        elif name == "words":
            shapes[name] = (n, rows, layer.embedding_dim)
        elif isinstance(layer, nn.LayerNorm):
            shapes[name] = (n, rows, *layer.normalized_shape)
    return shapes


@contextmanager
def _recorded(network: nn.Module, added: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """While inside, what enters the named layers is kept, and `added` is added to what they return;
    the gradient with respect to it is that with respect to the output.
    """
    entered: dict[str, Tensor] = {}

    def hook(name: str, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        output = output + added[name]
        entered[name] = inputs[0]
        if name == "last_norm":
            entered["decoder"] = output
        return output

    handles = [
        network.get_submodule(name).register_forward_hook(partial(hook, name)) for name in added
    ]
    try:
        yield entered
    finally:
        for handle in handles:
            handle.remove()


def _of_embeddings(
    entered: dict[str, Tensor], signals: dict[str, Tensor], error: Float[Tensor, "n words"]
) -> dict[str, Tensor]:
    """Of embeddings and decoder bias; `error` is the gradient with respect to the logits."""
    rows, signal = entered["words"], signals["words"]
    hidden = entered["decoder"][:, 0]
    same = (rows[:, :, None] == rows[:, None, :]).to(signal)
    sparse = (same * (signal @ signal.mT)).sum((1, 2))
    of_rows = F.pad(error, (FIRST_WORD, 1)).gather(1, rows)  # mask, padding and CLS: no logits
    cross = (of_rows * (signal @ hidden[:, :, None])[..., 0]).sum(1)
    of_bias = error.square().sum(1)
    return {
        "words.weight": sparse + 2 * cross + of_bias * hidden.square().sum(1),
        "places.weight": signal.square().sum((1, 2)),
        "bias": of_bias,
    }


def _of_linear(name: str, entered: Tensor, signal: Tensor) -> dict[str, Tensor]:
    positions, inputs, outputs = entered.shape[1], entered.shape[2], signal.shape[2]
    if positions == 1:
        weight = entered.square().sum((1, 2)) * signal.square().sum((1, 2))
    elif positions * (inputs + outputs) < inputs * outputs:
        weight = ((entered @ entered.mT) * (signal @ signal.mT)).sum((1, 2))
    else:
        weight = (signal.mT @ entered).square().sum((1, 2))
    return {f"{name}.weight": weight, f"{name}.bias": signal.sum(1).square().sum(1)}


def _of_layer_norm(
    name: str, layer: nn.LayerNorm, entered: Tensor, signal: Tensor
) -> dict[str, Tensor]:
    normalized = F.layer_norm(entered, layer.normalized_shape, eps=layer.eps)
    return {
        f"{name}.weight": (signal * normalized).sum(1).square().sum(1),
        f"{name}.bias": signal.sum(1).square().sum(1),
    }
