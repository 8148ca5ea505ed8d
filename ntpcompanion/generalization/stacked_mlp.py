"""Small perceptrons of one shape that are trained side by side, as one batch of matrix products."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ntpcompanion.checks import Fraction, Length, Positive, Range, Size, checked


@dataclass(frozen=True, eq=False)
class StackedMLP:
    """Perceptrons with ReLU activation, network i in row i: weights (k, inputs, outputs) and biases
    (k, 1, outputs) of each layer.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.weights[0])

    def logits(self, inputs: Float[Tensor, "*k n d"]) -> Float[Tensor, "k n classes"]:
        """Of inputs (k, n, d), or of (n, d) that all networks see."""
        h = inputs.expand(len(self), *inputs.shape[-2:])
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias, F.relu(h) if layer else h, weight)
        return h

    def predictions(self, inputs: Float[Tensor, "*k n d"]) -> Int[Tensor, "k n"]:
        """The class with the largest logit, of each network for each input."""
        with torch.no_grad():
            return self.logits(inputs).argmax(-1)


Generators = Annotated[Sequence[torch.Generator], Length()]


@checked
def draw_stacked_mlp(
    generators: Generators, sizes: Annotated[Sequence[int], Length(2), Range(1)]
) -> StackedMLP:
    """Draw one network from each generator, alone on which it depends: normal weights with variance
    2 / inputs, biases of zero. Raises ValueError for no generator, fewer than two sizes or one
    below 1.
    """
    drawn = [
        [torch.randn(a, b, generator=generator) * (2 / a) ** 0.5 for a, b in pairwise(sizes)]
        for generator in generators
    ]
    weights = tuple(torch.stack(layer) for layer in zip(*drawn, strict=True))
    return StackedMLP(weights, tuple(torch.zeros(len(generators), 1, b) for b in sizes[1:]))


@checked
def train_stacked_mlp(
    start: StackedMLP,
    inputs: Float[Tensor, "{len(start)} n {start.weights[0].shape[1]}"],
    labels: Annotated[Int64[Tensor, "{len(start)} n"], Range(0, "start.weights[-1].shape[2] - 1")],
    order: Annotated[Int64[Tensor, "{len(start)} steps batch"], Range(0, "n - 1")],
    *,
    learning_rate: Positive,
    momentum: Fraction = 0.9,
) -> StackedMLP:
    """Train every network on its own examples by SGD with momentum on the cross-entropy, as if it
    were alone; `order` has the rows of each step. Raises ValueError for shapes, labels or rows that
    do not fit, a learning rate that is not positive, a momentum outside [0, 1).
    """
    weights = tuple(weight.clone().requires_grad_() for weight in start.weights)
    biases = tuple(bias.clone().requires_grad_() for bias in start.biases)
    networks = StackedMLP(weights, biases)
    optimizer = torch.optim.SGD([*weights, *biases], lr=learning_rate, momentum=momentum)
    row = torch.arange(len(start))[:, None]
    for step in range(order.shape[1]):
        chosen = order[:, step]
        logits = networks.logits(inputs[row, chosen])
        # the sum over networks: each has the gradient of its own mean
        loss = F.cross_entropy(logits.flatten(0, 1), labels[row, chosen].flatten())
        optimizer.zero_grad()
        (loss * len(start)).backward()
        optimizer.step()
    return StackedMLP(tuple(w.detach() for w in weights), tuple(b.detach() for b in biases))


@checked
def draw_order(
    generators: Generators,
    *,
    count: Size,
    epochs: Size,
    batch_size: Annotated[int, Range(1, "count", "(`count`)")],
) -> Int[Tensor, "k steps batch"]:
    """Rows 0 … count − 1 in a random order for each epoch, cut into whole batches; the rest is left
    out. Raises ValueError for no generator, rows or epochs, a batch that is empty or larger than
    `count`.
    """
    steps = count // batch_size
    rows = [
        torch.randperm(count, generator=generator)[: steps * batch_size].view(steps, batch_size)
        for generator in generators
        for _ in range(epochs)
    ]
    return torch.stack(rows).view(len(generators), epochs * steps, batch_size)
