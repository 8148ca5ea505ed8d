"""How the decoders of a descent align with the solution of the next-token SVM, step by step, and
what happens at step sizes around the edge of stability.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.checks import checked, need
from ntpcompanion.linear.dynamics.alignment import Alignment, measure_alignment
from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss
from ntpcompanion.linear.dynamics.descent import Snapshot, descend
from ntpcompanion.linear.tables.contexts import ContextTable


@dataclass(frozen=True, eq=False)
class Trajectory:
    """n decoders W_k of one descent after k steps, and how far they have come. `time` is the sum of
    the learning rates up to there. `alignment` is that with W^mm, W* and the entropy lower bound.
    """

    step: Int[np.ndarray, " n"]
    time: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, "n V d"]
    alignment: Alignment


def measure_trajectory(
    table: ContextTable, snapshots: Iterable[Snapshot], w_mm: Float[np.ndarray, "V d"]
) -> Trajectory:
    """Collect the snapshots of `descend` and compare each decoder with the limits that the paper
    proves. Raises `ValueError` as `measure_alignment`, and where there are no snapshots.
    """
    collected = list(snapshots)
    if not collected:
        raise ValueError("`snapshots` is empty: keep at least one step of the descent.")
    weights = np.array([snapshot.weights for snapshot in collected])
    return Trajectory(
        np.array([snapshot.step for snapshot in collected]),
        np.array([snapshot.time for snapshot in collected]),
        weights,
        measure_alignment(table, weights, w_mm),
    )


@checked(
    need("table", "table.support.nnz > table.num_contexts", "have a context with two successors")
)
def stability_edge(table: ContextTable) -> float:
    """2 / λ_max, the step size beyond which gradient descent cannot settle in F: λ_max is the
    largest curvature of the loss in the limit W* + ∞ · W^mm. The table must be separable, which is
    not checked here.

    Raises ValueError if the table is not compatible, or if all its contexts are one-hot: then F is
    {0}. Cost that of `DecomposedLoss`.
    """
    return float(2 / np.linalg.eigvalsh(DecomposedLoss(table).limit_curvature())[-1])


def last_decoders(
    table: ContextTable,
    learning_rates: Sequence[float] | Float[np.ndarray, " n"],
    *,
    steps: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n V d"]:
    """Gradient descent with each of n constant learning rates from one start, drawn as `descend`
    draws it: the decoders after `steps` steps.

    Raises ValueError as `descend`. Cost O(n · `steps` · m V d).
    """
    start = rng.standard_normal((table.vocab_size, table.dim)) / np.sqrt(table.dim)
    runs = (
        descend(
            table,
            optimizer="gd",
            learning_rate=rate,
            steps=steps,
            keep=[steps],
            rng=rng,
            start=start,
        )
        for rate in learning_rates
    )
    return np.array([snapshot.weights for run in runs for snapshot in run])
