"""Gradient descent on the cross-entropy of large tables: blocks of contexts, single precision."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Positive, Size, checked
from ntpcompanion.linear.tables.contexts import BLOCK_ENTRIES, ContextTable
from ntpcompanion.validation import as_matrix


@dataclass(frozen=True, eq=False)
class LargeStep:
    """The decoder before a step of `descend_large`, and what the pass over the contexts found.

    Fields
    ------
    step
        k, how many steps were taken before.
    weights
        W_k, (V, d), a copy in float64.
    cross_entropy
        CE(W_k), in nats.
    square
        ‖∇CE(W_k)‖²_F.
    """

    step: int
    weights: Float[np.ndarray, "V d"]
    cross_entropy: float
    square: float


@checked
def descend_large(
    table: ContextTable,
    *,
    learning_rate: Positive,
    steps: Size,
    start: Float[np.ndarray, "V d"] | None = None,
) -> Iterator[LargeStep]:
    """Gradient descent W ← W − η ∇CE(W) without an (m, V) array.

    Logits, exponentials and the products of a block, of 16 MiB, are single precision; the decoder
    and sums over blocks are double precision. `descend` has rounding errors of double precision,
    but keeps seven (m, V) arrays.

    Parameters
    ----------
    table
        the contexts; `next_token` should be sparse.
    learning_rate
        η > 0; `step_bound` gives the largest one that is safe.
    steps
        how many steps to take.
    start
        W_0, (V, d); by default zero.

    Returns
    -------
    Iterator of LargeStep
        one for each k = 0 … `steps`, with the loss of W_k.

    Raises
    ------
    ValueError
        a learning rate that is not positive, `steps` below 1, or a start of another shape.

    Notes
    -----
    Cost 2 m V d multiplications and m V exponentials a step; memory that of the embeddings in
    single precision, of two decoders, and of two blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import step_bound
    >>> from ntpcompanion.linear.dynamics.block_descent import descend_large
    >>> from ntpcompanion.linear.tables.large_tables import planted_table
    >>> table = planted_table(40, 12, 3, 16, np.random.default_rng(0))
    >>> path = descend_large(table, learning_rate=step_bound(table), steps=20)
    >>> losses = [at.cross_entropy for at in path]
    >>> round(losses[0], 4) == round(float(np.log(12)), 4), losses[-1] < losses[0]
    (True, True)
    """
    shape = table.vocab_size, table.dim
    W = np.zeros(shape) if start is None else np.array(as_matrix("start", start, shape))
    return _run(table, W, learning_rate, steps)


def _run(
    table: ContextTable, W: Float[np.ndarray, "V d"], rate: float, steps: int
) -> Iterator[LargeStep]:
    single = table.embeddings.astype(np.float32)
    for k in range(steps + 1):
        loss, gradient = _loss_and_gradient(table, single, W)
        yield LargeStep(k, W.copy(), loss, float(np.vdot(gradient, gradient)))
        W -= rate * gradient


def _loss_and_gradient(
    table: ContextTable, single: Float[np.ndarray, "m d"], W: Float[np.ndarray, "V d"]
) -> tuple[float, Float[np.ndarray, "V d"]]:
    weighted = table.distributions.T.multiply(table.weight).tocsr()
    gradient = -(weighted @ table.embeddings)
    # the linear part of the loss, −Σ π_j p_jz w_z·h_j, and its gradient, which does not depend on W
    loss, narrow = float(np.vdot(gradient, W)), np.ascontiguousarray(W.T, dtype=np.float32)
    step = max(1, BLOCK_ENTRIES // table.vocab_size)
    for begin in range(0, table.num_contexts, step):
        part = slice(begin, begin + step)
        logits = single[part] @ narrow
        peak = logits.max(axis=1)
        logits -= peak[:, None]
        total = np.exp(logits, out=logits).sum(axis=1, dtype=np.float64)
        loss += float(table.weight[part] @ (peak + np.log(total)))
        logits *= (table.weight[part] / total).astype(np.float32)[:, None]
        gradient += logits.T @ single[part]
    return loss, gradient
