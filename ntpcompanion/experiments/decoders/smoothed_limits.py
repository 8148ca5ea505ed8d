"""Does training with smoothed labels tend to the next-token SVM?"""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator
from scipy.special import softmax

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.decoders.separable_tables import separable_tables
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.descent import descend, step_bound
from ntpcompanion.linear.svm.label_smoothing import smoothed_decoders, smoothing_limit
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

TOLERANCE = 1e-6  # of the next-token SVM, relative


class Plan(experiment.Plan):
    """Random tables of one shape, and how much their labels are smoothed."""

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=1, description="S, tokens that can follow a context")]
    dim: Annotated[int, Field(ge=1, description="d")]
    draws: Annotated[int, Field(ge=2, description="separable tables")]
    smoothings: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=2, description="ε, decreasing"),
    ]
    seed: Annotated[int, Field(ge=0, description="of the tables")]
    teacher_steps: Annotated[
        int, Field(ge=0, description="of gradient descent, on embeddings of its own; 0: no teacher")
    ] = 0

    @field_validator("smoothings")
    @classmethod
    def _decrease(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if list(values) != sorted(set(values), reverse=True):
            raise ValueError(f"`smoothings` must decrease, got {list(values)}.")
        return values


class Table(experiment.Result):
    """One separable table: W_ε minimizes the smoothed loss, U is its direction as ε → 0."""

    cosine: Annotated[float, Field(description="of U and the next-token SVM")]
    largest_margin: Annotated[float, Field(description="of U, whose smallest is 1")]
    to_limit: Annotated[tuple[float, ...], Field(description="cosine of W_ε and U, for each ε")]
    to_svm: Annotated[tuple[float, ...], Field(description="cosine of W_ε and the SVM")]
    unique: Annotated[bool, Field(description="whether U is proved to be the only one")]
    gap: Annotated[
        float, Field(description="relative, between the sum of U's margins and its bound")
    ]
    student: Annotated[
        float | None, Field(description="cosine of U and the student of a teacher")
    ] = None


class Result(experiment.Result):
    """All tables, and how many were drawn to get them."""

    tables: tuple[Table, ...]
    drawn: Annotated[int, Field(description="tables, separable or not")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table."""
        return table_of(self.tables)

    @property
    def cosine(self) -> Effect:
        """Cosine of the limit of label smoothing and the next-token SVM."""
        return mean_effect([each.cosine for each in self.tables])

    @property
    def nearer(self) -> Effect:
        """At the smallest ε, the cosine of the minimizer with the limit less that with the SVM."""
        return mean_effect([each.to_limit[-1] - each.to_svm[-1] for each in self.tables])

    @property
    def student(self) -> Effect:
        """Cosine of the limit and the student of a teacher; ValueError where the plan has none."""
        if self.table.student.isna().any():
            raise ValueError("`student` needs a teacher: take `teacher_steps` of at least 1.")
        return mean_effect(self.table.student)

    @property
    def paths(self) -> pd.DataFrame:
        """Mean cosines of the minimizer W_ε: columns `to_limit`, `to_svm`, a row for each ε."""
        columns = {name: np.mean(list(self.table[name]), axis=0) for name in ("to_limit", "to_svm")}
        return pd.DataFrame(columns)


def run(plan: Plan) -> Result:
    """Solve for the decoders of smoothed labels, their limit and the next-token SVM.

    Parameters
    ----------
    plan
        the tables and the smoothings.

    Returns
    -------
    Result
        cosines of the three.

    Raises
    ------
    ValueError
        sizes at which hardly a table is separable.

    Notes
    -----
    3 s for each table with m = 50, V = 10, d = 60 and six smoothings.

    Examples
    --------
    >>> from ntpcompanion.experiments import smoothed_limits
    >>> sizes = {"num_contexts": 4, "vocab_size": 4, "support_size": 1, "dim": 6}
    >>> plan = smoothed_limits.Plan(**sizes, draws=2, smoothings=(1e-4, 1e-8), seed=0)
    >>> result = smoothed_limits.run(plan)  # one token after each context, independent embeddings
    >>> bool((result.table.largest_margin < 1 + 1e-6).all())
    True
    """
    sizes = plan.num_contexts, plan.vocab_size, plan.support_size, plan.dim
    solved, drawn = separable_tables(
        sizes, plan.draws, lambda draw: stream(plan.seed, f"table {draw}"), tol=TOLERANCE
    )
    rng = stream(plan.seed, "teachers")
    return Result(tables=tuple(_compare(plan, *pair, rng) for pair in solved), drawn=drawn)


def _compare(plan: Plan, table: ContextTable, svm: np.ndarray, rng: np.random.Generator) -> Table:
    limit, smoothed = smoothing_limit(table), smoothed_decoders(table, plan.smoothings)
    logits = table.embeddings @ limit.weights.T
    compared = np.concatenate([smoothed, [svm]])
    *to_limit, cosine = (1 - cosine_distance(compared, limit.weights)).tolist()
    return Table(
        cosine=cosine,
        largest_margin=float(np.ptp(logits, axis=1).max()),
        to_limit=tuple(to_limit),
        to_svm=tuple((1 - cosine_distance(smoothed, svm)).tolist()),
        unique=limit.proved_unique,
        gap=limit.gap,
        student=_student(plan, table, limit.weights, rng) if plan.teacher_steps else None,
    )


def _student(plan: Plan, table: ContextTable, limit: np.ndarray, rng: np.random.Generator) -> float:
    """Its cosine with the limit. The teacher has independent embeddings of its own."""
    m = table.num_contexts
    teacher = ContextTable(rng.standard_normal((m, m)), table.next_token, table.weight)
    rate, steps = step_bound(teacher), plan.teacher_steps
    (end,) = descend(
        teacher, optimizer="gd", learning_rate=rate, steps=steps, keep=[steps], rng=rng
    )
    predicted = softmax(teacher.embeddings @ end.weights.T, axis=1)
    student = smoothed_decoders(table, (1.0,), predicted)
    return 1 - float(cosine_distance(student, limit)[0])
