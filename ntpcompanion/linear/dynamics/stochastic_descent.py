"""Stochastic gradient descent and Adam on many tables at once, and the fluctuation that the noise
keeps up within the supports.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Fraction, Length, Positive, Range, Size, checked, need
from ntpcompanion.linear.dynamics.adam_norm import in_support_hessian
from ntpcompanion.linear.dynamics.decomposed_loss import split_bases
from ntpcompanion.linear.dynamics.optimizers import Adam
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_shaped

# Steps whose samples are drawn at once, and the counts that these may be.
BLOCK, COUNTS = 512, 2**22
# Of Adam, as in `torch.optim.Adam`: far below the root of every second moment.
EPSILON = 1e-8

# What the gradient of a step is formed of: rows h, (n, r, d), the fraction of the batch that each
# is, (n, 1, r), and the fractions of the tokens after them, (n, V, r).
Batch = tuple[Float[np.ndarray, "n r d"], Float[np.ndarray, "n 1 r"], Float[np.ndarray, "n V r"]]


@checked(
    need(
        "tables",
        "len({each.next_token.shape + (each.dim,) for each in tables}) == 1",
        "have one number of contexts, of tokens and of dimensions",
    ),
    need("rngs", "len(rngs) == len(tables)", "be as many as `tables`"),
    need("learning_rate", "np.all(np.greater(learning_rate, 0))", "be positive"),
    need(
        "learning_rate",
        "np.size(learning_rate) in (1, len(tables))",
        "be one number, or one for each of `tables`",
    ),
    need(
        "keep",
        "all(0 <= a < b <= steps for a, b in zip([0, *keep], keep))",
        "be increasing steps in 1 … `steps` = {steps}",
    ),
)
def descend_many(
    tables: Annotated[Sequence[ContextTable], Length()],
    rngs: Sequence[np.random.Generator],
    *,
    learning_rate: float | Float[np.ndarray, " n"],
    batch_size: Size | None,
    steps: Size,
    keep: Annotated[Sequence[int], Length()],
    power: Annotated[float, Range(0, 1)] = 0.0,
    start: Float[np.ndarray, "n V d"] | None = None,
    betas: tuple[Fraction, Fraction] | None = None,
) -> Float[np.ndarray, "kept n V d"]:
    """W_k = W_{k−1} − η k^{−power} ∇̂_k, where ∇̂_k is the gradient on `batch_size`
    fresh pairs (j, z) with probabilities π_j p_jz, or Adam with it: n independent runs at once.

    Parameters
    ----------
    tables
        n of them, of one size; the same may come several times.
    rngs
        n generators: run i draws its samples from the i-th.
    learning_rate, power
        η, of all runs or of each; how fast it decays, 0 for a constant step.
    batch_size
        samples a step; None for the full gradient, which draws nothing.
    steps
        how many.
    keep
        the steps k ≥ 1 whose W_k are returned, increasing.
    start
        W_0 of each run; 0 by default.
    betas
        β₁ and β₂ of Adam; None for SGD.

    Returns
    -------
    (kept, n, V, d) array
        W_k of each run.

    Raises
    ------
    ValueError
        tables of different sizes, another number of generators, steps that do not increase or lie
        outside 1 … `steps`, a start of another shape, or a number out of range.

    Notes
    -----
    O(n min(B, m) V d) a step: some 0.1 ms for 50 runs with m = 8, V = 6, d = 9. `descend` is for
    one table, and has other optimizers.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.dynamics.stochastic_descent import descend_many
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> rngs = [np.random.default_rng(seed) for seed in range(4)]
    >>> found = descend_many(
    ...     [table] * 4, rngs, learning_rate=0.5, batch_size=1, steps=1000, keep=[100, 1000]
    ... )
    >>> found.shape
    (2, 4, 3, 2)
    >>> bool((found[-1, :, 2, 0] < found[-1, :, :2, 0].min(axis=-1)).all())  # the third token loses
    True
    """
    shape = (len(tables), tables[0].vocab_size, tables[0].dim)
    W = np.zeros(shape) if start is None else as_shaped("start", start, shape).copy()
    rates = as_array("learning_rate", learning_rate).reshape(-1, 1, 1)
    adam = betas and Adam((len(W), W[0].size), *betas, EPSILON)
    snapshots: list[np.ndarray] = []
    batches = _batches(tables, rngs, batch_size, steps)
    for k in range(1, steps + 1):
        h, fraction, target = next(batches)
        q = W @ h.swapaxes(1, 2)
        q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q *= fraction / q.sum(axis=1, keepdims=True)
        q -= target
        step = q @ h
        if adam is not None:
            step = adam(step.reshape(len(W), -1), 1.0).reshape(shape)
        W -= rates * k**-power * step
        if len(snapshots) < len(keep) and k == keep[len(snapshots)]:
            snapshots.append(W.copy())
    return np.array(snapshots)


def _batches(
    tables: Sequence[ContextTable],
    rngs: Sequence[np.random.Generator],
    size: int | None,
    steps: int,
) -> Iterator[Batch]:
    """One after the other, drawn many at a time. Of more samples than contexts there is one row for
    each context.
    """
    rows = np.array([table.embeddings for table in tables])
    weight = np.array([table.weight for table in tables])
    p = np.array([table.distributions.toarray() for table in tables])
    n, m, V = p.shape
    block = min(BLOCK, steps, max(1, COUNTS // p.size))
    joint = weight[:, :, None] * p
    if size is None:
        while True:
            yield rows, weight[:, None], joint.swapaxes(1, 2)
    flat = joint.reshape(n, -1) / joint.sum(axis=(1, 2))[:, None]
    runs = np.arange(n)[:, None]
    while True:
        if size <= m:
            upper = np.cumsum(flat, axis=1)[:, :-1]
            drawn = [
                np.searchsorted(edges, rng.random((block, size)), side="right")
                for edges, rng in zip(upper, rngs, strict=True)
            ]
            for pairs in np.stack(drawn, axis=1):
                target = np.zeros((n, V, size))
                target[runs, pairs % V, np.arange(size)] = 1 / size
                yield rows[runs, pairs // V], np.full((n, 1, size), 1 / size), target
        else:
            counts = [
                rng.multinomial(size, law, block) for law, rng in zip(flat, rngs, strict=True)
            ]
            for count in np.stack(counts, axis=1).reshape(block, n, m, V) / size:
                yield rows, count.sum(axis=2)[:, None], count.swapaxes(1, 2)


@checked
def stationary_covariance(
    table: ContextTable, *, learning_rate: Positive, batch_size: Size
) -> tuple[Float[np.ndarray, "f V d"], Float[np.ndarray, " f"], Float[np.ndarray, " f"]]:
    """How far the component of SGD in F fluctuates around W* at a constant small step.

    Far along W^mm the gradient on one sample near W* has the mean A (W − W*) and the covariance A,
    the same matrix: the Hessian of a log-likelihood is the covariance of its gradient. So W − W* is
    an autoregressive process, and its covariance S solves the Lyapunov equation S = (1 − ηA) S (1 −
    ηA) + (η²/B) A: it is (η/B) (2 − ηA)⁻¹ on F, nearly the same in all directions.

    Parameters
    ----------
    table
        the contexts.
    learning_rate, batch_size
        η and B.

    Returns
    -------
    modes
        (f, V, d), an orthonormal basis of F of eigenvectors of A.
    curvature
        (f,), their eigenvalues, increasing.
    variance
        (f,), of W − W* along each; infinite from ηA = 2 on, beyond the edge of stability.

    Raises
    ------
    ValueError
        a rate or a size that is not positive, or a Hessian that does not fit in memory.

    Notes
    -----
    To leading order in η/B: it takes the loss within the supports as quadratic. O((V d)³).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.dynamics.stochastic_descent import stationary_covariance
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> _, curvature, variance = stationary_covariance(table, learning_rate=0.4, batch_size=4)
    >>> curvature.round(4).tolist(), variance.round(4).tolist()  # 0.1 / (2 − 0.4 / 4)
    ([0.25], [0.0526])
    """
    basis = split_bases(table).finite.reshape(-1, table.vocab_size * table.dim)
    curvature, modes = np.linalg.eigh(basis @ in_support_hessian(table) @ basis.T)
    stretch = 2 - learning_rate * curvature
    with np.errstate(divide="ignore"):
        variance = np.where(stretch > 0, learning_rate / batch_size / stretch, np.inf)
    return (modes.T @ basis).reshape(-1, table.vocab_size, table.dim), curvature, variance
