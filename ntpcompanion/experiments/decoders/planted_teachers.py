"""From how many contexts on does training find the supports of contexts that it has not seen, and
with which kind of training?
"""

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from pydantic import Field, model_validator

from ntpcompanion.checks import Count, checked, need
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.descent import descend_from_zero
from ntpcompanion.linear.svm.label_smoothing import smoothed_decoders, smoothing_limit
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.tables.planted_teacher import (
    counted_contexts,
    determining_contexts,
    draw_tied_contexts,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect
from ntpcompanion.statistics.success_rates import Successes, count_successes

Way = Literal["svm", "limit", "usual"]
KNOWN = need(
    "fraction",
    "fraction in {row.fraction for row in self.recoveries}",
    "be one of those of the plan",
)
SNAPSHOTS = 60  # of gradient descent
RESERVE = 4  # contexts drawn, as a multiple of equations over unknowns


class Plan(experiment.Plan):
    """Teachers with N(0, 1) entries, contexts whose supports they decide, and ways to train.

    `support_size` and `further_sizes` lie below `vocab_size` and are at most `dim`; `smoothings`
    decreases.
    """

    vocab_size: Annotated[int, Field(ge=3, le=12, description="V, tokens")]
    dim: Annotated[int, Field(ge=2, description="d")]
    support_size: Annotated[int, Field(ge=2, description="S, tokens that can follow a context")]
    further_sizes: Annotated[
        tuple[Annotated[int, Field(ge=2)], ...],
        Field(description="S of more teachers, whose contexts are only counted"),
    ] = ()
    fractions: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(description="training contexts over those at which the count is reached, at most 4"),
    ]
    smoothings: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="ε of label smoothing, decreasing"),
    ]
    steps: Annotated[int, Field(ge=10, description="of gradient descent with step 1/(2L)")]
    noise: Annotated[
        float,
        Field(ge=0, le=1, description="fraction of the contexts in which one token is replaced"),
    ]
    uniform: Annotated[
        bool, Field(description="equal probabilities on the supports, instead of random ones")
    ] = False
    teachers: Annotated[int, Field(ge=2, description="independent ones")]
    tests: Annotated[int, Field(ge=10, description="contexts that are not trained on")]
    seed: Annotated[int, Field(ge=0, description="of teachers and contexts")]

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Plan":
        largest = min(self.vocab_size - 1, self.dim)
        for name, size in (
            ("support_size", self.support_size),
            ("further_sizes", max(self.further_sizes, default=2)),
        ):
            if size > largest:
                raise ValueError(
                    f"`{name}` must lie in 2 … {largest}, below `vocab_size` and at most `dim`, "
                    f"got {size}."
                )
        if list(self.smoothings) != sorted(set(self.smoothings), reverse=True):
            raise ValueError(f"`smoothings` must decrease, got {list(self.smoothings)}.")
        return self


class Threshold(experiment.Result):
    """One teacher: numbers of contexts."""

    support_size: Annotated[int, Field(description="S")]
    equations: Annotated[int, Field(description="with as many ties as unknowns, less the scale")]
    counted: Annotated[int, Field(description="with enough ties for every set of tokens")]
    determined: Annotated[int, Field(description="whose ties leave one decoder but for its scale")]


class Recovery(experiment.Result):
    """One teacher and one number of training contexts: the fraction of new contexts whose S largest
    logits are those of the teacher's support, for each way to train.
    """

    teacher: Annotated[int, Field(description="number")]
    fraction: Annotated[float, Field(description="of the counted number of contexts")]
    contexts: Annotated[int, Field(description="m")]
    svm: Annotated[float | None, Field(description="of the next-token SVM, where there is one")]
    limit: Annotated[float | None, Field(description="of label smoothing as ε → 0")]
    limit_unique: Annotated[
        bool | None, Field(description="whether the limit is proved to be the only one")
    ]
    smoothed: Annotated[tuple[float, ...], Field(description="of label smoothing, for each ε")]
    smoothed_excess: Annotated[
        tuple[float, ...], Field(description="its loss above the entropy, nats, for each ε")
    ]
    descended: Annotated[tuple[float, ...], Field(description="of gradient descent, by snapshot")]
    excess: Annotated[tuple[float, ...], Field(description="its loss above the entropy, nats")]

    @property
    def at_equal_loss(self) -> tuple[float, ...]:
        """Of gradient descent at the losses of label smoothing, between snapshots linear in the
        logarithm of the excess. ValueError where descent does not pass through a loss.
        """
        falling = -np.log(self.excess)
        wanted = -np.log(self.smoothed_excess)
        if wanted.max() > falling[-1] or wanted.min() < falling[0]:
            raise ValueError(
                f"`steps` is too small: gradient descent ends {self.excess[-1]:.3g} nats above the "
                f"entropy, and label smoothing {min(self.smoothed_excess):.3g}."
            )
        return tuple(np.interp(wanted, falling, self.descended).tolist())

    @property
    def gained_by_stopping(self) -> float:
        """The best snapshot of gradient descent less the last."""
        return max(self.descended) - self.descended[-1]


class Result(experiment.Result):
    """All teachers."""

    thresholds: tuple[Threshold, ...]
    recoveries: tuple[Recovery, ...]

    @property
    def counts(self) -> pd.DataFrame:
        """Numbers of contexts, a row for each teacher."""
        return table_of(self.thresholds)

    @property
    def exact(self) -> Successes:
        """The teachers whose ties determine them as soon as the count is reached."""
        return count_successes((self.counts.counted == self.counts.determined).tolist())

    @property
    def table(self) -> pd.DataFrame:
        """A row for each teacher and number of contexts; `usual` is the first of `smoothed`."""
        table = table_of(self.recoveries)
        return table.assign(usual=[each.smoothed[0] for each in self.recoveries])

    @property
    def by_fraction(self) -> pd.DataFrame:
        """The mean fractions recovered by the SVM, by the limit of label smoothing, and by it with
        the largest ε, `usual`: a row for each number of contexts.
        """
        ways = ["svm", "limit", "usual"]
        return self.table.groupby("fraction")[ways].mean().reset_index()

    @checked(KNOWN)
    def more(self, one: Way, other: Way, fraction: float) -> Effect:
        """The fraction recovered by one way to train, less that by another, paired by teacher; ways
        are columns of `by_fraction`.
        """
        rows = self.table[self.table.fraction == fraction]
        return paired_effect(rows[one], rows[other])

    @checked(KNOWN)
    def more_at_equal_loss(self, fraction: float, smoothing: Count) -> Effect:
        """The fraction recovered by gradient descent, less that by label smoothing, at the loss of
        the latter; `smoothing` is an index into those of the plan.
        """
        rows = self._rows(fraction)
        return mean_effect([row.at_equal_loss[smoothing] - row.smoothed[smoothing] for row in rows])

    @checked(KNOWN)
    def gained_by_stopping(self, fraction: float) -> Effect:
        """The fraction recovered at the best snapshot of descent, less that at the last."""
        return mean_effect([row.gained_by_stopping for row in self._rows(fraction)])

    @checked(KNOWN)
    def ways(self, fraction: float) -> pd.Series:
        """Mean fractions recovered by label smoothing, by name of ε, and by descent: its last
        snapshot, and the best of each course.
        """
        rows, smoothed = self._rows(fraction), self.smoothed(fraction).recovered
        return pd.Series(
            {f"smoothing {number + 1}": value for number, value in enumerate(smoothed)}
            | {"descent": np.mean([row.descended[-1] for row in rows])}
            | {"best on the way": np.mean([max(row.descended) for row in rows])}
        )

    @checked(KNOWN)
    def courses(self, fraction: float) -> pd.DataFrame:
        """Means over teachers by snapshot: columns `excess` and `descended`."""
        rows = self._rows(fraction)
        columns = {
            name: np.mean([getattr(row, name) for row in rows], axis=0)
            for name in ("excess", "descended")
        }
        return pd.DataFrame(columns)

    @checked(KNOWN)
    def smoothed(self, fraction: float) -> pd.DataFrame:
        """Means over teachers by ε: columns `excess` and `recovered`."""
        rows = self._rows(fraction)
        excess = np.mean([row.smoothed_excess for row in rows], axis=0)
        recovered = np.mean([row.smoothed for row in rows], axis=0)
        return pd.DataFrame({"excess": excess, "recovered": recovered})

    def _rows(self, fraction: float) -> list[Recovery]:
        return [row for row in self.recoveries if row.fraction == fraction]


def run(plan: Plan) -> Result:
    """Train on contexts whose supports a planted decoder decides, and look at new ones.

    Parameters
    ----------
    plan
        teachers, numbers of contexts and ways to train.

    Returns
    -------
    Result
        how many contexts determine each teacher, and what each way to train recovers.

    Raises
    ------
    ValueError
        a teacher whose ties many contexts do not determine, as when some token is in no support;
        more contexts than are drawn.

    Notes
    -----
    2 s for a teacher with V = 8, d = 24, S = 3 and four numbers of contexts.

    Examples
    --------
    >>> from ntpcompanion.experiments import planted_teachers
    >>> sizes = {"vocab_size": 4, "dim": 6, "support_size": 2, "fractions": (0.5, 1.0)}
    >>> ways = {"smoothings": (0.1,), "steps": 1000, "noise": 0.0}
    >>> plan = planted_teachers.Plan(**sizes, **ways, teachers=2, tests=200, seed=0)
    >>> float(planted_teachers.run(plan).by_fraction.svm.iloc[-1])
    1.0
    """
    thresholds, recoveries = [], []
    for number in range(plan.teachers):
        rng = stream(plan.seed, f"teacher {number}")
        teacher = rng.standard_normal((plan.vocab_size, plan.dim))
        new = draw_tied_contexts(teacher, plan.support_size, plan.tests, rng)
        embeddings, supports, threshold = _counted(plan, teacher, plan.support_size, rng)
        thresholds.append(threshold)
        noisy = _replaced(supports, plan.noise, rng)
        for fraction in plan.fractions:
            m = int(np.ceil(fraction * threshold.counted))
            if m > len(supports):
                raise ValueError(
                    f"`fractions` asks for {m} contexts of a teacher with {len(supports)}. Take "
                    f"fractions of at most {len(supports) / threshold.counted:.2g}."
                )
            random = rng.exponential(size=(m, plan.vocab_size))
            p = noisy[:m] * (1.0 if plan.uniform else random)
            p /= p.sum(axis=1, keepdims=True)
            table = ContextTable(embeddings[:m], p, np.full(m, 1 / m))
            recoveries.append(_recover(plan, table, new, number, fraction))
    for size in plan.further_sizes:
        for number in range(plan.teachers):
            rng = stream(plan.seed, f"teacher {size} {number}")
            teacher = rng.standard_normal((plan.vocab_size, plan.dim))
            thresholds.append(_counted(plan, teacher, size, rng)[-1])
    return Result(thresholds=tuple(thresholds), recoveries=tuple(recoveries))


def _counted(
    plan: Plan, teacher: Float[np.ndarray, "V d"], support_size: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "m d"], Bool[np.ndarray, "m V"], Threshold]:
    """Embeddings and supports of training contexts, and how many are enough."""
    unknowns = (plan.vocab_size - 1) * plan.dim - 1
    equations = -(-unknowns // (support_size - 1))
    embeddings, supports = draw_tied_contexts(teacher, support_size, RESERVE * equations, rng)
    counted = counted_contexts(supports, plan.dim)
    determined = determining_contexts(embeddings, supports)
    if counted is None or determined is None:
        raise ValueError(
            f"`seed` = {plan.seed} gives a teacher that {len(supports)} contexts do not determine: "
            "some token is in hardly any support. Take another."
        )
    threshold = Threshold(
        support_size=support_size, equations=equations, counted=counted, determined=determined
    )
    return embeddings, supports, threshold


def _recover(
    plan: Plan,
    table: ContextTable,
    new: tuple[Float[np.ndarray, "n d"], Bool[np.ndarray, "n V"]],
    number: int,
    fraction: float,
) -> Recovery:
    svm = solve_ntp_svm(table, method="cvxpy").weights
    limit = None if svm is None else smoothing_limit(table)
    smoothed = smoothed_decoders(table, plan.smoothings)
    course = descend_from_zero(table, plan.steps, SNAPSHOTS)[1:]
    return Recovery(
        teacher=number,
        fraction=fraction,
        contexts=table.num_contexts,
        svm=None if svm is None else _recovered(svm, new),
        limit=None if limit is None else _recovered(limit.weights, new),
        limit_unique=None if limit is None else limit.proved_unique,
        smoothed=tuple(_recovered(W, new) for W in smoothed),
        smoothed_excess=tuple(table.cross_entropy(W) - table.entropy for W in smoothed),
        descended=tuple(_recovered(W, new) for W in course),
        excess=tuple(table.cross_entropy(W) - table.entropy for W in course),
    )


def _recovered(
    decoder: Float[np.ndarray, "V d"],
    new: tuple[Float[np.ndarray, "n d"], Bool[np.ndarray, "n V"]],
) -> float:
    embeddings, supports = new
    logits = embeddings @ decoder.T
    inside = np.where(supports, logits, np.inf).min(axis=1)
    return float((inside > np.where(supports, -np.inf, logits).max(axis=1)).mean())


def _replaced(
    supports: Bool[np.ndarray, "m V"], noise: float, rng: np.random.Generator
) -> Bool[np.ndarray, "m V"]:
    """With one token replaced by one from outside, in about a fraction `noise` of the contexts."""
    result = supports.copy()
    for j in np.flatnonzero(rng.random(len(supports)) < noise):
        result[j, rng.choice(np.flatnonzero(supports[j]))] = False
        result[j, rng.choice(np.flatnonzero(~supports[j]))] = True
    return result
