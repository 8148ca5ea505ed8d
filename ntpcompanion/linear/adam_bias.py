"""Where long runs of Adam lead: to the solution of NTP-SVM in the Frobenius norm, in the max norm,
or in a norm that Adam weighs itself.
"""

from itertools import takewhile

import cvxpy as cp
import numpy as np
from jaxtyping import Float

from ntpcompanion.linear.alignment import cosine_distance, measure_alignment
from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.descent import Snapshot, descend
from ntpcompanion.linear.margin_programs import constraint_pairs, least_max_norm
from ntpcompanion.randomness import stream

Decoder = Float[np.ndarray, "V d"]

RATES = {"constant": lambda k: 0.01, "decaying": lambda k: 0.01 / np.sqrt(1 + k / 1000)}

# Snapshots, evenly spaced in log k over three decades, and how many of them make one point of a
# curve.
SNAPSHOTS, THIN = 301, 25

# Squares of gradients end below 1e-308: a run of one-hot contexts is read up to here.
SMALLEST_SQUARE = 1e-280

# A direction of growth is said to be that of a solution, and one solution that of another norm,
# from these cosines on; and to have the widest margin from this share of it on.
SAME, EQUAL, WIDE = 0.98, 0.999, 0.9


def least_weighted_norm(
    table: ContextTable, scale: Float[np.ndarray, "V d"]
) -> Float[np.ndarray, "V d"]:
    """Minimize Σ_zi scale_zi W_zi² subject to ties within supports and margins of at least 1, by
    Clarabel; `scale` = 1 gives W^mm.

    Raises ValueError unless all of `scale` is positive, RuntimeError if the solver finds no
    solution. O(V d) unknowns.
    """
    if not (scale > 0).all():
        raise ValueError(f"`scale` must be positive, its smallest entry is {scale.min()}.")
    W, (ties, margins) = cp.Variable(scale.shape), constraint_pairs(table)
    logits = table.embeddings @ W.T
    conditions = [logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1]
    if ties.shape[1]:
        conditions.append(logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0)
    weight = np.sqrt(scale / np.exp(np.log(scale).mean()))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(weight, W))), conditions)
    problem.solve(solver=cp.CLARABEL)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(f"Clarabel ends with {problem.status!r}. Is the table separable?")
    return W.value


def adam_bias(
    support_size: int, rate: str, beta2: float, epsilon: float, steps: int, seed: int
) -> dict:
    """One run of Adam on a random table of the paper's sizes (V = 10, m = 50, d = 60), compared
    with solutions of NTP-SVM.

    Parameters
    ----------
    rate
        "constant", 0.01, or "decaying", 0.01 / √(1 + k/1000).
    beta2, epsilon
        of Adam; β₁ = 0.9.

    Returns
    -------
    Plain numbers for a record. Lists over `steps`, evenly spaced in log k: `cosine_frobenius`,
    `cosine_max` of W − W* with the solutions in the two norms, `share_frobenius`, `share_max` of W
    − P_F W in their margins, and `excess` (nats). For the growth of W over the last two thirds of
    the steps: `growth_frobenius`, `growth_max`, `growth_weighted`, its cosines with both and with
    the solution in the norm Σ_zi (√v_zi + ε) W_zi², v the second moments, averaged. `between` and
    `weighted` are the cosines of the first solution with the second and the third.

    Raises
    ------
    ValueError
        An unknown rate, or as `ContextTable.random` and `descend`.

    Notes
    -----
    The run is cut where squares of gradients would underflow. Some 60 µs a step.
    """
    if rate not in RATES:
        raise ValueError(f"`rate` must be one of {', '.join(RATES)}, got {rate!r}.")
    table = ContextTable.random(50, 10, support_size, 60, stream(seed, f"table {support_size}"))
    keep = np.unique(np.geomspace(max(steps / 1000, 1), steps, SNAPSHOTS).astype(int)).tolist()
    run = {"learning_rate": RATES[rate], "betas": (0.9, beta2), "epsilon": epsilon, "steps": steps}
    snapshots = descend(table, optimizer="adam", keep=keep, rng=stream(seed, "start"), **run)
    kept = list(
        takewhile(lambda snapshot: snapshot.second_moment.max() > SMALLEST_SQUARE, snapshots)
    )
    solutions = least_weighted_norm(table, np.ones((10, 60))), least_max_norm(table).weights
    return _curves(table, kept[::-THIN][::-1], *solutions) | _growth(
        table, kept, epsilon, *solutions
    )


def _curves(
    table: ContextTable, snapshots: list[Snapshot], frobenius: Decoder, largest: Decoder
) -> dict:
    weights = [snapshot.weights for snapshot in snapshots]
    found, other = (
        measure_alignment(table, weights, frobenius),
        measure_alignment(table, weights, largest),
    )
    curves = {
        "cosine_frobenius": found.cosine_rest,
        "cosine_max": other.cosine_rest,
        "share_frobenius": found.margin / found.rest_norm * np.linalg.norm(frobenius),
        "share_max": found.margin / found.rest_largest * np.abs(largest).max(),
        "excess": found.excess,
    }
    return {"steps": [snapshot.step for snapshot in snapshots]} | {
        name: curve.tolist() for name, curve in curves.items()
    }


def _growth(
    table: ContextTable,
    snapshots: list[Snapshot],
    epsilon: float,
    frobenius: Decoder,
    largest: Decoder,
) -> dict:
    late = [snapshot for snapshot in snapshots if snapshot.step >= snapshots[-1].step / 3]
    growth = late[-1].weights - late[0].weights
    divisors = np.array([np.sqrt(snapshot.second_moment) + epsilon for snapshot in late])
    weighted = least_weighted_norm(
        table, 1 / np.mean(divisors.mean(axis=(1, 2), keepdims=True) / divisors, axis=0)
    )
    cosines = {
        "growth_frobenius": (growth, frobenius),
        "growth_max": (growth, largest),
        "growth_weighted": (growth, weighted),
        "between": (frobenius, largest),
        "weighted": (frobenius, weighted),
    }
    return {
        name: float(1 - cosine_distance(one[None], other)[0])
        for name, (one, other) in cosines.items()
    }


def leads_to(
    share_max: float, growth_frobenius: float, growth_weighted: float, weighted: float
) -> str:
    """The verdict on a run, from numbers that `adam_bias` returns: "max", "Frobenius", "weighted"
    or "undecided".

    "max" if W − P_F W ends with at least WIDE of the widest margin in the max norm: its solution
    need not be unique, so no cosine decides. The others are unique: the one with the larger cosine
    with the growth of W, if that is at least SAME. The weighted solution counts as the Frobenius
    one where it has become that (`weighted` at least EQUAL).
    """
    if share_max >= WIDE:
        return "max"
    nearest = (
        "Frobenius" if growth_frobenius >= growth_weighted or weighted >= EQUAL else "weighted"
    )
    return nearest if max(growth_frobenius, growth_weighted) >= SAME else "undecided"
