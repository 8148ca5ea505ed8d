"""Ensembles of runs of SGD and of Adam from one point, in one vectorized run, and the gradients of
their mini-batches.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from ntpcompanion.checks import Finite, Is, NotNegative, Positive, Range, Size, checked
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.validation import require

# Draws are made for this many at a time: 8 MiB.
BLOCK_DRAWS = 2**20


class MeanGradient:
    """A function of thetas (replicas, d): the gradient of the mean of −log f_θ(v_i | x_i) over a
    fresh batch for each replica and call, drawn from the true distribution Pr(x, v). With
    `batch_size` None it is the gradient of the population loss.

    One forward and backward pass over all n inputs of all replicas. Raises `ValueError` for a batch
    size below 1.
    """

    @checked
    def __init__(
        self,
        model: ConditionalModel,
        batch_size: Size | None,
        replicas: Size,
        rng: np.random.Generator,
    ) -> None:
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
        fraction = torch.full((1, 1), 1 / batch.shape[1], dtype=torch.float64)
        counts = empty.scatter_add_(1, batch, fraction.expand(batch.shape))
        return counts.view(self.replicas, *self.model.distributions.shape)

    def _draw(self, batch_size: int) -> Iterator[Tensor]:
        """Batches without end, as indices (replicas, batch) into the flat joint distribution."""
        steps = max(1, BLOCK_DRAWS // (self.replicas * batch_size))
        while True:
            uniform = self.rng.random((steps, self.replicas, batch_size))
            drawn = torch.tensor(np.searchsorted(self.cumulative, uniform, side="right"))
            # not `yield from drawn`, which makes all views at once: a million for one replica
            yield from (drawn[step] for step in range(steps))


@dataclass(frozen=True, eq=False)
class EnsemblePath:
    """An ensemble of runs of SGD or Adam.

    Fields
    ------
    steps
        (k,), the numbers of steps at which the runs are kept, from 0 to the last.
    times
        (k,), η² times the number of steps: the time of theorem 4.3.
    thetas
        (k, replicas, d).
    """

    steps: Float[Tensor, " k"]
    times: Float[Tensor, " k"]
    thetas: Float[Tensor, "k replicas d"]


Start = Annotated[
    Float64[Tensor, "*replicas d"],
    Finite,
    Is(lambda start: start.ndim < 3 and start.device.type == "cpu", "have 1 or 2 axes on the CPU"),
]
Snapshots = Annotated[int, Range(2)]


@checked
def follow_sgd(
    model: ConditionalModel,
    start: Start,
    learning_rate: Positive,
    steps: Size,
    batch_size: Size | None,
    replicas: Size,
    rng: np.random.Generator,
    *,
    snapshots: Snapshots = 101,
) -> EnsemblePath:
    """θ_{k+1} = θ_k − η ∇ mean_i −log f_θ(v_i | x_i), a fresh batch (x_i, v_i) of the true
    distribution at every step, in many replicas at once.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    start
        (d,), or (replicas, d) for a start of its own for each.
    learning_rate
        η.
    steps
        how many steps.
    batch_size
        None: no noise, the gradient of the population loss.
    replicas
        how many independent runs.
    rng
        draws the batches.
    snapshots
        so many states are kept, evenly spaced, the first and the last among them.

    Returns
    -------
    EnsemblePath
        steps, times η² · steps, and parameters (snapshots, replicas, d).

    Raises
    ------
    ValueError
        sizes below 1 (`snapshots` below 2), a learning rate that is not positive and finite, a
        start of another shape.
    RuntimeError
        a replica left the finite numbers: the learning rate is too large.

    Notes
    -----
    Each step evaluates the logits of all n inputs: meant for models whose inputs can be enumerated.
    Memory O(snapshots · replicas · d).

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import numpy as np
    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, follow_sgd, nearest_minimizer
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> runs = follow_sgd(
    ...     model, minimizer, learning_rate=0.1, steps=1000, batch_size=1, replicas=50,
    ...     rng=np.random.default_rng(0), snapshots=2,
    ... )
    >>> tuple(runs.thetas.shape), runs.times.round(decimals=6).tolist()
    ((2, 50, 2), [0.0, 10.0])
    >>> runs.thetas.mean(dim=1).round(decimals=1).tolist()  # from (2, ⅓) to the flattest, a = b
    [[2.0, 0.4], [0.8, 0.8]]
    """
    thetas = _starts(model, start, replicas)
    gradient = MeanGradient(model, batch_size, replicas, rng)

    def step() -> None:
        thetas.sub_(learning_rate * gradient(thetas))

    return _repeat(step, thetas, learning_rate, steps, snapshots)


@checked
def follow_adam(
    model: ConditionalModel,
    start: Start,
    learning_rate: Positive,
    steps: Size,
    batch_size: Size | None,
    replicas: Size,
    rng: np.random.Generator,
    *,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: NotNegative = 0.0,
    epsilon: NotNegative = 1e-12,
    snapshots: Snapshots = 101,
) -> EnsemblePath:
    """The runs of `follow_sgd` with `torch.optim.AdamW` in place of the plain step; every replica
    has moments of its own.

    Raises ValueError and RuntimeError as `follow_sgd`, and ValueError for what torch rejects.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    start
        (d,), or (replicas, d) for a start of its own for each.
    learning_rate
        η.
    steps
        how many steps.
    batch_size
        None: no noise, the gradient of the population loss.
    replicas
        how many independent runs.
    rng
        draws the batches.
    betas, weight_decay, epsilon
        as in `torch.optim.AdamW`.
    snapshots
        so many states are kept, evenly spaced, the first and the last among them.

    Returns
    -------
    EnsemblePath
        steps, times η² · steps, and parameters (snapshots, replicas, d).

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import numpy as np
    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, follow_adam, nearest_minimizer
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> minimizer = nearest_minimizer(model, near)
    >>> runs = follow_adam(
    ...     model, minimizer, learning_rate=0.01, steps=100, batch_size=1, replicas=3,
    ...     rng=np.random.default_rng(0), snapshots=2,
    ... )
    >>> tuple(runs.thetas.shape)
    (2, 3, 2)
    """
    thetas = _starts(model, start, replicas)
    gradient = MeanGradient(model, batch_size, replicas, rng)
    adam = torch.optim.AdamW(
        [thetas], lr=learning_rate, betas=betas, eps=epsilon, weight_decay=weight_decay
    )

    def step() -> None:
        thetas.grad = gradient(thetas)
        adam.step()

    return _repeat(step, thetas, learning_rate, steps, snapshots)


def _starts(model: ConditionalModel, start: Tensor, replicas: int) -> Tensor:
    """A row of parameters for each replica, or a ValueError about what cannot be run."""
    require(
        start.ndim == 1 or len(start) == replicas,
        f"`start` must have a row for each of the {replicas} replicas, got {len(start)}.",
    )
    thetas = start.expand(replicas, start.shape[-1]).clone()
    model.log_probabilities(thetas)  # rejects logits of another shape
    return thetas


def _repeat(
    step: Callable[[], None], thetas: Tensor, learning_rate: float, steps: int, snapshots: int
) -> EnsemblePath:
    """Take `steps` steps, each of which changes `thetas` in place."""
    marks = np.unique(np.linspace(0, steps, snapshots).round().astype(int))
    states = [thetas.clone()]
    for first, last in pairwise(marks):
        for _ in range(last - first):
            step()
        if not thetas.isfinite().all():
            raise RuntimeError(
                f"The runs diverged before step {last}: make `learning_rate` smaller than "
                f"{learning_rate}."
            )
        states.append(thetas.clone())
    counted = torch.tensor(marks, dtype=torch.float64)
    return EnsemblePath(counted, learning_rate**2 * counted, torch.stack(states))
