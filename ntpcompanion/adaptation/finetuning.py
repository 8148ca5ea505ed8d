"""Fine-tuning of the matrices of a causal language model, and what is left of it when entries of
the change are dropped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

Matrices = dict[str, Float[Tensor, "out in"]]
Rescaling = float | Mapping[str, float]
ADAMW = partial(torch.optim.AdamW, weight_decay=0.0)


def linear_layers(model: nn.Module) -> dict[str, nn.Linear]:
    """All linear layers but the output matrix, by name."""
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    layers = model.named_modules()
    return {
        name: layer
        for name, layer in layers
        if isinstance(layer, nn.Linear) and layer is not output
    }


def next_token_log_p(model: nn.Module, rows: Int[Tensor, "n t"]) -> Float[Tensor, "n u tokens"]:
    """Log-probabilities of all tokens after each beginning of each row."""
    logits = model(input_ids=rows, use_cache=False).logits[:, :-1]
    return functional.log_softmax(logits, dim=-1)


def text_loss(log_p: Float[Tensor, "n u tokens"], rows: Int[Tensor, "n t"]) -> Float[Tensor, ""]:
    """Mean negative log-probability of the tokens that follow, in nats."""
    return -log_p.gather(2, rows[:, 1:, None]).mean()


def divergence(log_p: Float[Tensor, "n t tokens"], log_q: Float[Tensor, "n t tokens"]) -> float:
    """Mean Kullback-Leibler divergence of q from p, in nats."""
    return float((log_p.exp() * (log_p - log_q)).sum(-1).mean())


@dataclass(frozen=True, eq=False)
class Delta:
    """The weights of the linear layers before fine-tuning, and what it added to them.

    Fields
    ------
    start, change
        a matrix for each layer.
    """

    start: Matrices
    change: Matrices

    def put(self, model: nn.Module, changes: Mapping[str, Tensor]) -> None:
        """Give the model the weights `start` + `changes`."""
        with torch.no_grad():
            for name, layer in linear_layers(model).items():
                torch.add(self.start[name], changes[name], out=layer.weight)

    @property
    def relative_size(self) -> float:
        """Norm of the change over the norm of the start."""
        return _norm(self.change) / _norm(self.start)

    @property
    def mean_over_deviation(self) -> float:
        """Of all entries of the change."""
        entries = sum(change.numel() for change in self.change.values())
        mean = sum(float(change.double().sum()) for change in self.change.values()) / entries
        return mean / (_norm(self.change) ** 2 / entries - mean**2) ** 0.5

    def dropped(self, p: float, generator: torch.Generator, rescaling: Rescaling) -> Matrices:
        """Every entry of the change kept with probability 1 − p and multiplied by `rescaling`, one
        number or one for each matrix. The same generator drops more entries for a larger p.
        """
        dropped = {}
        for name, change in self.change.items():
            mask = torch.rand(change.shape, generator=generator) >= p
            factor = rescaling if isinstance(rescaling, float) else rescaling[name]
            dropped[name] = change * mask * factor
        return dropped

    def largest(self, p: float) -> Matrices:
        """The fraction 1 − p of entries with the largest magnitude of each matrix."""
        entries = {}
        for name, change in self.change.items():
            size = change.abs()
            smallest = size.flatten().kthvalue(max(1, round(p * size.numel()))).values
            entries[name] = change * (size > smallest)
        return entries


def finetune(
    model: nn.Module,
    rows: Sequence[Int[Tensor, "n t"]],
    *,
    learning_rate: float,
    pull: float = 0.0,
    optimizer: Callable[..., torch.optim.Optimizer] = ADAMW,
) -> tuple[Delta, list[float]]:
    """Train the linear layers of a causal model in place, a step for each batch of tokens; the rate
    rises over a tenth of the steps, then falls to 0. Returns the change and the losses, in nats.
    `pull`, with AdamW only, is λ of θ ← θ − η λ (θ − θ₀) / r, r the root mean square of that
    matrix's gradients by AdamW (DAREx-L2, as we read it; whether its mean is over one matrix we do
    not know).
    """
    layers = linear_layers(model)
    weights = {name: layer.weight for name, layer in layers.items()}
    model.requires_grad_(requires_grad=False)
    for weight in weights.values():
        weight.requires_grad_(requires_grad=True)
    start = {name: weight.detach().clone() for name, weight in weights.items()}
    steps = optimizer(weights.values(), lr=learning_rate)
    losses, rising = [], len(rows) // 10
    for step, batch in enumerate(rows):
        factor = min((step + 1) / (rising + 1), (len(rows) - step) / (len(rows) - rising))
        steps.param_groups[0]["lr"] = learning_rate * factor
        steps.zero_grad()
        loss = text_loss(next_token_log_p(model, batch), batch)
        loss.backward()
        steps.step()
        losses.append(float(loss.detach()))
        if pull:
            _pull(steps, weights, start, pull)
    model.requires_grad_(requires_grad=False)
    steps.zero_grad()
    change = {name: weight.detach() - start[name] for name, weight in weights.items()}
    return Delta(start, change), losses


def _pull(
    optimizer: torch.optim.Optimizer, weights: Matrices, start: Matrices, pull: float
) -> None:
    group = optimizer.param_groups[0]
    second, strength = group["betas"][1], group["lr"] * pull
    with torch.no_grad():
        for name, weight in weights.items():
            state: Any = optimizer.state[weight]
            mean = float(state["exp_avg_sq"].mean()) / (1 - second ** float(state["step"]))
            fraction = min(1.0, strength / mean**0.5) if mean > 0 else 0.0
            weight.lerp_(start[name], fraction)


def read_inputs(
    model: nn.Module, rows: Int[Tensor, "n t"], look: Callable[[str, Float[Tensor, "n in"]], None]
) -> None:
    """Have a causal model of transformers read rows of tokens once, and hand the name of each
    linear layer and its inputs, a row for each token, to `look`.
    """

    def hook(_: nn.Module, inputs: tuple[Tensor, ...], *, name: str) -> None:
        look(name, inputs[0].flatten(0, -2))

    hooks = [
        layer.register_forward_pre_hook(partial(hook, name=name))
        for name, layer in linear_layers(model).items()
    ]
    try:
        with torch.no_grad():
            model(input_ids=rows, use_cache=False, logits_to_keep=1)
    finally:
        for handle in hooks:
            handle.remove()


def output_ratios(model: nn.Module, delta: Delta, rows: Int[Tensor, "n t"]) -> dict[str, float]:
    """Q / S² of each matrix: Σ ΔW² x² over Σ (ΔW x)², summed over the outputs of the layer and over
    the inputs x that it has on these rows. No labels are needed.
    """
    ratios: dict[str, float] = {}

    def look(name: str, x: Float[Tensor, "n in"]) -> None:
        change = delta.change[name]
        total = float((x @ change.T).square().sum())
        single = float((change.square() @ x.square().sum(0)).sum())
        ratios[name] = single / total if total > 0 else 1.0

    read_inputs(model, rows, look)
    return ratios


def _norm(matrices: Matrices) -> float:
    return sum(float(matrix.double().square().sum()) for matrix in matrices.values()) ** 0.5
