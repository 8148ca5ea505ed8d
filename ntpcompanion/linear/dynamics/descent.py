"""Gradient descent, normalized, stochastic and Adam on the cross-entropy of a context table, as a
stream of snapshots.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.checks import Between, Fraction, Size, checked, need
from ntpcompanion.linear.dynamics.optimizers import Adam, normalized, plain
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_integer, as_integer_array, as_matrix

# (m, V) arrays at a time, in the buffers of the full gradient
DENSE_ARRAYS = 7

Rate = float | Callable[[int], float]
# In-support mass below this counts as none: the gradient on the support is −p there, whatever the
# shares.
SMALLEST_MASS = 1e-300


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The decoder after some steps.

    Fields
    ------
    step
        k, the number of steps taken.
    time
        the sum of the learning rates so far: for "gd" the time t at which gradient flow is to be
        compared.
    weights
        W_k, (V, d), a copy.
    second_moment
        (V, d), the running mean of squared gradients by whose root "adam" divides, with its bias
        correction; None for the others, and before the first step.
    """

    step: int
    time: float
    weights: Float[np.ndarray, "V d"]
    second_moment: Float[np.ndarray, "V d"] | None = None


@checked
def step_bound(table: ContextTable) -> float:
    """1 / (2L), the largest step size of Theorem 2 (Thrampoulidis 2024), with L = λ_max(Σ_j π_j h_j
    h_jᵀ) / 2.

    L bounds the Hessian Σ_j π_j (diag q_j − q_j q_jᵀ) ⊗ h_j h_jᵀ of the cross-entropy at every W:
    no covariance of a point of the simplex exceeds ½, and half the mass on each of two tokens has
    it. Raises ValueError if all embeddings are zero. Cost one SVD of (m, d).

    Parameters
    ----------
    table
        the contexts.

    Returns
    -------
    float
        the step size 1 / (2L).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, step_bound
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> round(step_bound(table), 6)  # L = 1/4: half the largest eigenvalue of diag(1/2, 1/2)
    2.0
    """
    scale = np.linalg.norm(np.sqrt(table.weight)[:, None] * table.embeddings, 2)
    if scale == 0:
        raise ValueError(
            "All embeddings are zero: the loss is constant, and no step size is too large."
        )
    return float(scale**-2)


@checked(
    need(
        "batch_size",
        "(optimizer == 'sgd') == (batch_size is not None)",
        "be an integer for 'sgd' and None for the others, here {optimizer!r}",
    )
)
def descend(
    table: ContextTable,
    *,
    optimizer: Literal["gd", "ngd", "adam", "sgd"],
    learning_rate: Annotated[Rate, Between(0, np.inf, "or a function of the step")],
    steps: Size,
    keep: int | Sequence[int] | Int[np.ndarray, " kept"],
    rng: np.random.Generator,
    batch_size: Size | None = None,
    start: Float[np.ndarray, "V d"] | None = None,
    betas: tuple[Fraction, Fraction] = (0.9, 0.999),
    epsilon: Annotated[float, Between(0, np.inf, "1e-300 for next to none")] = 1e-8,
) -> Iterator[Snapshot]:
    """Minimize CE(W) step by step, and yield W_k at the steps asked for.

        "gd"     W ← W − η ∇CE(W)
        "ngd"    W ← W − η ∇CE(W) / ‖∇CE(W)‖_F        (no step where the gradient is zero)
        "sgd"    W ← W − η ∇̂, the gradient on `batch_size` fresh samples, (j, z) with π_j p_jz
        "adam"   Kingma and Ba (2015), with bias corrections, as `torch.optim.Adam`

    Parameters
    ----------
    table
        the contexts, any: `implied_table(table).case` says where descent goes.
    optimizer
        "gd", "ngd", "sgd" or "adam".
    learning_rate
        η, or a function of the number k = 1, 2, … of the step that returns it.
    steps
        how many steps to take.
    keep
        the steps k after which a snapshot is yielded, increasing, 0 for the start; or a number of
        them, spaced evenly in log k between 1 and `steps` (fewer where they coincide), after the
        start.
    rng
        draws the start, LeCun's N(0, 1/d) for every entry, unless `start` is given; and the samples
        of "sgd".
    batch_size
        samples a step, for "sgd" only.
    start
        W_0, (V, d); by default drawn from `rng`.
    betas, epsilon
        β₁, β₂ and ε > 0 of "adam".

    Returns
    -------
    Iterator of Snapshot
        step, time, and decoder W_k, for every k in `keep`.

    Raises
    ------
    ValueError
        An unknown optimizer, a step size, `steps`, `keep`, `batch_size`, `betas` or `epsilon` out
        of range, a start of another shape, what is not a generator, or a table whose dense arrays
        exceed the memory of the machine.

    Notes
    -----
    Every snapshot is what a loop over `table.gradient` gives, to rounding. Cost O(m V d) a step
    ("sgd": O(`batch_size` V d)), O(m V + V d) memory. Within supports of several tokens gradients
    are differences of probabilities, rounding once these agree to 1e-16; those of one-hot contexts
    keep their digits until they underflow ("sgd": not so).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, descend, step_bound
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> path = descend(
    ...     table, optimizer="gd", learning_rate=step_bound(table), steps=1000, keep=[0, 10, 1000],
    ...     rng=np.random.default_rng(0), start=np.zeros((3, 2)),
    ... )
    >>> [(state.step, round(table.excess(state.weights), 4)) for state in path]
    [(0, 0.752), (10, 0.0642), (1000, 0.0007)]
    """
    if optimizer != "sgd":
        check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    snapshot_steps = _snapshot_steps(keep, steps)
    if start is None:
        start = rng.standard_normal((table.vocab_size, table.dim)) / np.sqrt(table.dim)
    W = np.array(as_matrix("start", start, (table.vocab_size, table.dim)))
    gradient: Any = (
        SampledGradient(table, batch_size, rng) if optimizer == "sgd" else FullGradient(table)  # type: ignore[arg-type]  # no None left
    )
    update: Any = {"ngd": normalized, "adam": Adam(W.shape, *betas, epsilon)}.get(optimizer, plain)
    return _run(W, gradient, update, learning_rate, snapshot_steps)


def descend_from_zero(
    table: ContextTable, steps: int, keep: int | Sequence[int]
) -> Float[np.ndarray, "n V d"]:
    """W_k of gradient descent with the step size 1 / (2L) from W_0 = 0, at the steps of `keep`, as
    `descend` takes it.
    """
    zero, rate = np.zeros((table.vocab_size, table.dim)), step_bound(table)
    rng = np.random.default_rng(0)  # draws nothing
    path = descend(
        table, optimizer="gd", learning_rate=rate, steps=steps, keep=keep, rng=rng, start=zero
    )
    return np.stack([state.weights for state in path])


def _run(
    W: np.ndarray, gradient: Any, update: Any, learning_rate: Rate, snapshot_steps: list[int]
) -> Iterator[Snapshot]:
    rate_of = learning_rate if callable(learning_rate) else lambda k: learning_rate
    time: Any = 0.0
    for before, after in pairwise([0, *snapshot_steps]):
        for k in range(before + 1, after + 1):
            rate = rate_of(k)
            W -= update(gradient(W), rate)
            time += rate
        if not np.isfinite(time):
            raise ValueError(
                f"`learning_rate` returned NaN or infinity in one of the steps {before + 1} … "
                f"{after}."
            )
        yield Snapshot(
            after,
            float(time),
            W.copy(),
            update.second_moment() if isinstance(update, Adam) and after else None,
        )


def _snapshot_steps(keep: Any, steps: int) -> list[int]:
    if np.ndim(keep) == 0:
        count = as_integer("keep", keep, 1, reason="snapshot, or a sequence of steps")
        return [0, *np.unique(np.geomspace(1, steps, count).round().astype(int)).tolist()]
    snapshot_steps = as_integer_array("keep", keep).ravel().tolist() if len(keep) else []
    if (
        not snapshot_steps
        or snapshot_steps != sorted(set(snapshot_steps))
        or snapshot_steps[0] < 0
        or snapshot_steps[-1] > steps
    ):
        raise ValueError(f"`keep` must hold increasing steps in 0 … {steps} (`steps`), got {keep}.")
    return snapshot_steps


class FullGradient:
    """∇CE at W in preallocated buffers. Tokens are rows here, so that softmax reduces along the
    first axis, which is faster.

    With r the softmax within the support and ε the mass off it, q − p is (r − p) − ε r there:
    exactly −ε for one-hot contexts.
    """

    def __init__(self, table: ContextTable) -> None:
        self.columns = np.ascontiguousarray(table.embeddings.T)
        self.weighted = table.weight[:, None] * table.embeddings
        p = np.ascontiguousarray(table.distributions.toarray().T)
        # a single token has exactly 1
        self.distributions, self.support = p / p.sum(axis=0), (p > 0).astype(float)
        self.off, self.inside, self.product = np.empty((3, *p.shape))
        self.peak, self.mass_off, self.mass_inside = np.empty((3, table.num_contexts))
        self.gradient = np.empty((table.vocab_size, table.dim))

    def __call__(self, W: np.ndarray) -> np.ndarray:
        """The gradient at W, (V, d), in a buffer that the next call overwrites. O(m V d)."""
        off, inside = self.off, self.inside
        _exponentials_of_columns(np.dot(W, self.columns, out=off), self.peak)
        np.subtract(off, np.multiply(off, self.support, out=inside), out=off)
        np.add.reduce(off, axis=0, out=self.mass_off)
        np.add.reduce(inside, axis=0, out=self.mass_inside)
        total = np.add(self.mass_off, self.mass_inside, out=self.peak)
        np.divide(
            inside, np.maximum(self.mass_inside, SMALLEST_MASS, out=self.mass_inside), out=inside
        )
        np.divide(off, total, out=off)
        np.multiply(inside, np.divide(self.mass_off, total, out=self.mass_off), out=self.product)
        np.subtract(off, self.product, out=off)
        np.add(off, np.subtract(inside, self.distributions, out=inside), out=off)
        return np.dot(off, self.weighted, out=self.gradient)


class SampledGradient:
    """The same on fresh samples of pairs (j, z) with probabilities π_j p_jz; its expectation is
    ∇CE.
    """

    def __init__(self, table: ContextTable, batch_size: int, rng: np.random.Generator) -> None:
        self.rows, self.tokens = table.distributions.tocoo().coords
        joint = np.repeat(table.weight, table.support_sizes) * table.distributions.data
        self.upper = np.cumsum(joint / joint.sum())
        self.embeddings, self.batch_size, self.rng = table.embeddings, batch_size, rng

    def __call__(self, W: np.ndarray) -> np.ndarray:
        """The gradient at W on the next samples, (V, d). O(batch_size V d)."""
        drawn = np.searchsorted(self.upper[:-1], self.rng.random(self.batch_size), side="right")
        h = self.embeddings[self.rows[drawn]]
        residual = _exponentials_of_columns(W @ h.T, np.empty(self.batch_size))
        residual /= residual.sum(axis=0)
        residual[self.tokens[drawn], np.arange(self.batch_size)] -= 1
        return residual @ h / self.batch_size


def _exponentials_of_columns(logits: np.ndarray, peak: np.ndarray) -> np.ndarray:
    np.subtract(logits, np.maximum.reduce(logits, axis=0, out=peak), out=logits)
    return np.exp(logits, out=logits)
