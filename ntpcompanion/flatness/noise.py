"""The gradient of a mini-batch, in many replicas at once."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.validation import as_integer, check_generator

# Draws are made for this many at a time: 8 MiB.
BLOCK_DRAWS = 2**20


class MeanGradient:
    """A function of thetas (replicas, d): the gradient of the mean of −log f_θ(v_i | x_i) over a
    fresh batch for each replica.

    Batches are drawn from the true distribution Pr(x, v), independently in every replica and every
    call; with `batch_size` None the gradient is that of the population loss. One forward and
    backward pass over all n inputs of all replicas.

    Raises ValueError for a batch size below 1.
    """

    def __init__(
        self,
        model: ConditionalModel,
        batch_size: int | None,
        replicas: int,
        rng: np.random.Generator,
    ) -> None:
        if batch_size is not None:
            as_integer("batch_size", batch_size, 1, reason="or None for the population loss")
        check_generator("rng", rng)
        self.model, self.replicas, self.rng = model, replicas, rng
        # the last is 1, up to rounding
        self.cumulative = model.joint.flatten().cumsum(0).numpy()[:-1]
        self.batches = None if batch_size is None else self._draw(batch_size)

    def __call__(self, thetas: Float[Tensor, "replicas d"]) -> Float[Tensor, "replicas d"]:
        """The gradient of a fresh batch in every replica."""
        thetas = thetas.detach().requires_grad_()
        with torch.enable_grad():
            log_probabilities = self.model.logits(thetas).log_softmax(-1)
        return torch.autograd.grad(log_probabilities, thetas, -self._frequencies())[0]

    def _frequencies(self) -> Tensor:
        """How often each pair (x, v) is in the batch of each replica, over the batch size:
        (replicas, n, c).
        """
        if self.batches is None:
            return self.model.joint.expand(self.replicas, *self.model.distributions.shape)
        batch = next(self.batches)
        empty = torch.zeros(self.replicas, self.model.distributions.numel(), dtype=torch.float64)
        share = torch.full((1, 1), 1 / batch.shape[1], dtype=torch.float64)
        counts = empty.scatter_add_(1, batch, share.expand(batch.shape))
        return counts.view(self.replicas, *self.model.distributions.shape)

    def _draw(self, batch_size: int) -> Iterator[Tensor]:
        """Batches without end, as indices (replicas, batch) into the flat joint distribution."""
        steps = max(1, BLOCK_DRAWS // (self.replicas * batch_size))
        while True:
            uniform = self.rng.random((steps, self.replicas, batch_size))
            drawn = torch.tensor(np.searchsorted(self.cumulative, uniform, side="right"))
            # not `yield from drawn`, which makes all views at once: a million for one replica
            yield from (drawn[step] for step in range(steps))
