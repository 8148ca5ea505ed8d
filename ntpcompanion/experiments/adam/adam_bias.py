"""Where do long runs of Adam lead: to the solution of the next-token SVM in the Frobenius norm, in
the max norm, or in the norm that Adam's second moments define?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any, Literal, cast

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.linear.dynamics.alignment import cosine_distance, measure_alignment
from ntpcompanion.linear.dynamics.descent import Snapshot, descend
from ntpcompanion.linear.svm.margin_programs import constraint_pairs, least_max_norm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect

Decoder = Float[np.ndarray, "V d"]
Curve = tuple[float, ...]

# The paper's sizes.
NUM_CONTEXTS, VOCAB_SIZE, DIM = 50, 10, 60

LEARNING_RATES = {
    "constant": lambda k: 0.01,
    "decaying": lambda k: 0.01 / np.sqrt(1 + k / 1000),
}

# Snapshots, evenly spaced in log k over three decades, and how many of them make one point of a
# curve.
SNAPSHOTS, THIN = 301, 25

# Squares of gradients end below 1e-308: a run of one-hot contexts is read up to here.
SMALLEST_SQUARE = 1e-280

# Two directions count as the same from the cosine SAME on, two solutions from the cosine EQUAL on,
# and a margin as the widest from the fraction WIDE of it on.
SAME, EQUAL, WIDE = 0.98, 0.999, 0.9


class Plan(experiment.Plan):
    """One run of Adam, with β₁ = 0.9, on a random table of the paper's sizes (V = 10, m = 50,
    d = 60).
    """

    support_size: Annotated[
        int, Field(ge=1, lt=VOCAB_SIZE, description="S_j of every context, tokens")
    ]
    rate: Annotated[
        Literal["constant", "decaying"],
        Field(description="learning rate: 0.01, or 0.01 / √(1 + k/1000) in step k"),
    ]
    beta2: Annotated[float, Field(ge=0, lt=1, description="β₂ of Adam")]
    epsilon: Annotated[float, Field(gt=0, description="ε of Adam; 1e-150 stands for none")]
    steps: Annotated[int, Field(ge=2, description="of Adam")]
    seed: Annotated[int, Field(ge=0, description="of the table and the start")]


class Result(experiment.Result):
    """One run of Adam against three solutions of the next-token SVM.

    Curves have one value for each of `steps`; W* is the finite part, W − P_F W the part of the
    decoder orthogonal to F. The growth of W is its difference over the last two thirds of the run.
    The weighted solution minimizes Σ_zi (√v_zi + ε) W_zi², with v the second moments of Adam,
    averaged over the same steps.
    """

    steps: Annotated[tuple[int, ...], Field(min_length=1, description="k, evenly spaced in log k")]
    cosine_frobenius: Annotated[
        Curve, Field(description="cosine of W − W* with the Frobenius solution")
    ]
    cosine_max: Annotated[Curve, Field(description="cosine of W − W* with the max-norm solution")]
    share_frobenius: Annotated[
        Curve, Field(description="margin of W − P_F W over its Frobenius norm, over the widest")
    ]
    share_max: Annotated[
        Curve, Field(description="margin of W − P_F W over its max norm, over the widest")
    ]
    excess: Annotated[Curve, Field(description="CE(W) − H, nats")]
    growth_frobenius: Annotated[
        float, Field(description="cosine of the growth with the Frobenius solution")
    ]
    growth_max: Annotated[
        float, Field(description="cosine of the growth with the max-norm solution")
    ]
    growth_weighted: Annotated[
        float, Field(description="cosine of the growth with the weighted solution")
    ]
    between: Annotated[
        float, Field(description="cosine of the Frobenius with the max-norm solution")
    ]
    weighted: Annotated[
        float, Field(description="cosine of the Frobenius with the weighted solution")
    ]

    @model_validator(mode="after")
    def _curves_are_as_long_as_steps(self) -> "Result":
        for name in ("cosine_frobenius", "cosine_max", "share_frobenius", "share_max", "excess"):
            if len(getattr(self, name)) != len(self.steps):
                raise ValueError(
                    f"`{name}` must have a value for each of the {len(self.steps)} `steps`, got "
                    f"{len(getattr(self, name))}."
                )
        return self

    @property
    def solution_norm(self) -> Literal["max", "Frobenius", "weighted", "undecided"]:
        """The norm in which the run approaches the solution of the next-token SVM.

        "max" if W − P_F W ends with at least the fraction WIDE of the widest margin in the max
        norm: that solution need not be unique, so no cosine decides. The other two are unique:
        "Frobenius" or "weighted", whichever solution has the larger cosine with the growth of W, if
        that cosine is at least SAME. The weighted solution counts as the Frobenius one if their
        cosine is at least EQUAL.
        """
        if self.share_max[-1] >= WIDE:
            return "max"
        if max(self.growth_frobenius, self.growth_weighted) < SAME:
            return "undecided"
        nearer = self.growth_frobenius >= self.growth_weighted
        return "Frobenius" if nearer or self.weighted >= EQUAL else "weighted"


def run(plan: Plan) -> Result:
    """Run Adam and compare its decoders with the solutions of the next-token SVM in three norms.

    Returns cosines, margins and losses on the way, and the direction of growth at the end. The run
    is cut where squares of gradients would underflow. Some 60 µs a step.

    Raises
    ------
    RuntimeError
        one of the general solvers finds no solution.

    Examples
    --------
    >>> from ntpcompanion.experiments.adam import adam_bias
    >>> adam = {"rate": "constant", "beta2": 0.99, "epsilon": 1e-8, "steps": 300}
    >>> found = adam_bias.run(adam_bias.Plan(support_size=1, seed=0, **adam))
    >>> found.steps[-1], found.excess[-1] < found.excess[0]
    (300, True)
    """
    table = ContextTable.random(
        NUM_CONTEXTS,
        VOCAB_SIZE,
        plan.support_size,
        DIM,
        stream(plan.seed, f"table {plan.support_size}"),
    )
    snapshots = _snapshots(table, plan)
    frobenius = least_weighted_norm(table, np.ones((VOCAB_SIZE, DIM)))
    if (max_norm_solution := least_max_norm(table)) is None:
        raise RuntimeError("HiGHS finds no solution in the max norm. Take another `seed`.")
    curves = _curves(table, snapshots[::-THIN][::-1], frobenius, max_norm_solution.weights)
    growth = _growth(table, snapshots, plan.epsilon, frobenius, max_norm_solution.weights)
    return Result.model_validate(curves | growth)


@dataclass(frozen=True, eq=False)
class Case:
    """Recorded runs with equal constants."""

    tasks: Sequence[Run[Plan, Result]]

    def mean(self, field: str) -> Effect:
        """Of a field of their results; of a curve its last value."""
        values = [getattr(task.result, field) for task in self.tasks]
        return mean_effect([one[-1] if isinstance(one, tuple) else one for one in values])

    @property
    def mean_cosines(self) -> pd.DataFrame:
        """The means of both cosines: a row for each step that all runs have, a column for the
        solution in each norm.
        """
        results = [task.result for task in self.tasks]
        common = min(len(result.steps) for result in results)
        index = pd.Index(results[0].steps[:common], name="step k")
        curves = {
            "Frobenius": [result.cosine_frobenius[:common] for result in results],
            "max": [result.cosine_max[:common] for result in results],
        }
        return pd.DataFrame({norm: np.mean(each, axis=0) for norm, each in curves.items()}, index)

    @property
    def cosines(self) -> pd.DataFrame:
        """Both cosines of each run, a row for each step."""
        columns = ["steps", "cosine_frobenius", "cosine_max"]
        return tasks_table(self.tasks)[columns].explode(columns)


def case_of(tasks: Sequence[Run[Plan, Result]], **constants: object) -> Case:
    """The runs whose plans have these values, at least two."""
    chosen = [
        task
        for task in tasks
        if all(getattr(task.plan, name) == value for name, value in constants.items())
    ]
    return Case(chosen)


def norms_table(tasks: Sequence[Run[Plan, Result]]) -> pd.DataFrame:
    """The norms in which recorded runs approach the solution: a row for each kind of supports, rate
    and β₂, a column for each ε.
    """
    table = tasks_table(tasks)
    table["norm"] = [task.result.solution_norm for task in tasks]
    keys = ["support_size", "rate", "beta2", "epsilon"]
    norms = table.groupby(keys, sort=False).norm.agg(lambda each: ", ".join(sorted(set(each))))
    shown = norms.unstack("epsilon").reset_index().rename_axis(columns=None)
    shown["support_size"] = shown["support_size"].map({1: "one token", 6: "six tokens"})
    heads = {"support_size": "supports", "rate": "η", "beta2": "β₂"}
    return shown.rename(columns=heads | {1e-150: "no ε", 1e-8: "ε = 1e-8", 1e-4: "ε = 1e-4"})


def _snapshots(table: ContextTable, plan: Plan) -> list[Snapshot]:
    """Decoders of the run up to where squares of gradients would underflow."""
    first = max(plan.steps / 1000, 1)
    snapshots = descend(
        table,
        optimizer="adam",
        learning_rate=LEARNING_RATES[plan.rate],
        betas=(0.9, plan.beta2),
        epsilon=plan.epsilon,
        steps=plan.steps,
        keep=np.unique(np.geomspace(first, plan.steps, SNAPSHOTS).astype(int)).tolist(),
        rng=stream(plan.seed, "start"),
    )
    return list(
        takewhile(lambda snapshot: _second_moment(snapshot).max() > SMALLEST_SQUARE, snapshots)
    )


def _second_moment(snapshot: Snapshot) -> Decoder:
    return cast(Decoder, snapshot.second_moment)  # Adam has one after the first step


def _curves(
    table: ContextTable, snapshots: list[Snapshot], frobenius: Decoder, largest: Decoder
) -> dict[str, Any]:
    """The fields of a result that hold one value for each snapshot."""
    weights = [snapshot.weights for snapshot in snapshots]
    alignment = measure_alignment(table, weights, frobenius)
    other = measure_alignment(table, weights, largest)
    curves = {
        "cosine_frobenius": alignment.cosine_rest,
        "cosine_max": other.cosine_rest,
        "share_frobenius": alignment.margin / alignment.rest_norm * np.linalg.norm(frobenius),
        "share_max": alignment.margin / alignment.rest_largest * np.abs(largest).max(),
        "excess": alignment.excess,
    }
    return {"steps": tuple(snapshot.step for snapshot in snapshots)} | {
        name: tuple(curve.tolist()) for name, curve in curves.items()
    }


def _growth(
    table: ContextTable,
    snapshots: list[Snapshot],
    epsilon: float,
    frobenius: Decoder,
    largest: Decoder,
) -> dict[str, Any]:
    """The fields of a result that compare directions: of growth, and of solutions."""
    late = [snapshot for snapshot in snapshots if snapshot.step >= snapshots[-1].step / 3]
    growth = late[-1].weights - late[0].weights
    divisors = np.array([np.sqrt(_second_moment(snapshot)) + epsilon for snapshot in late])
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


# As the record `adam_bias` was made: embeddings have about length 1, where Clarabel's own tolerance
# serves. `solve_weighted_svm` proves its gap at every length; the record takes it when it is made
# again, which moves cosines by 2e-5.
def least_weighted_norm(
    table: ContextTable, scale: Float[np.ndarray, "V d"]
) -> Float[np.ndarray, "V d"]:
    """The next-token SVM in a weighted norm, by Clarabel: minimize Σ_zi scale_zi W_zi² subject to
    ties within supports and margins of at least 1. All weights equal give W^mm.

    Raises ValueError for weights that are not all positive, and RuntimeError where the solver stops
    without a solution.
    """
    import cvxpy as cp

    if not (scale > 0).all():
        raise ValueError(f"`scale` must be positive, its smallest entry is {scale.min()}.")
    W: Any
    W, (ties, margins) = cp.Variable(scale.shape), constraint_pairs(table)
    logits = table.embeddings @ W.T
    conditions = [logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1]
    if ties.shape[1]:
        conditions.append(logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0)
    weight = np.sqrt(scale / np.exp(np.log(scale).mean()))
    problem: Any = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(weight, W))), conditions)
    problem.solve(solver=cp.CLARABEL)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(f"Clarabel ends with {problem.status!r}. Is the table separable?")
    return W.value  # type: ignore[no-any-return]  # cvxpy has no types
