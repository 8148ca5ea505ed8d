"""What a vanishing penalty on words and contexts makes of random tables, against the prediction."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.geometry.angles import Similarities, compare_angles
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.geometry.gram_matrices import GramMatrices, cosines, gram_matrices, similarity
from ntpcompanion.geometry.nuclear_svm import solve_nuclear_svm
from ntpcompanion.geometry.predictions import PredictedGrams, predicted_grams
from ntpcompanion.geometry.random_geometry import random_distributions, random_supports
from ntpcompanion.geometry.ridge_minimizers import RidgeMinimum, ridge_path
from ntpcompanion.geometry.supports import in_support_logits, project_in_support
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

TOLERANCE = 1e-8  # certified, of the SVM and of each minimum
JUDGED = 6  # index of the penalty 1e-5, at which angles are judged
STEPS_OF_A_DECADE = 2
FEWER = 3  # dimensions below the rank
VECTORS = ("untrained", "λ = 1e-5", "λ → 0")


class TablePlan(experiment.Plan):
    """Random tables: supports of one size, each shared by contexts of other probabilities."""

    vocab_size: Annotated[int, Field(ge=4, le=40, description="V")] = 10
    num_supports: Annotated[int, Field(ge=3, description="supports that are drawn")] = 19
    copies: Annotated[int, Field(ge=2, description="contexts that share each support")] = 5
    support_size: Annotated[int, Field(ge=2, description="k, tokens that can follow")] = 3
    tables: Annotated[int, Field(ge=2, description="independent tables")] = 5
    seed: Annotated[int, Field(ge=0, description="of supports, probabilities and starts")]

    @model_validator(mode="after")
    def _supports_are_not_full(self) -> "TablePlan":
        if self.support_size >= self.vocab_size:
            raise ValueError(
                f"`support_size` must be below {self.vocab_size} (`vocab_size`), got "
                f"{self.support_size}."
            )
        return self

    @property
    def weight(self) -> Float[np.ndarray, " m"]:
        """π: every context is as frequent as any other."""
        contexts = self.num_supports * self.copies
        return np.full(contexts, 1 / contexts)

    def next_token(self, table: int) -> Float[np.ndarray, "m V"]:
        """The distributions of a table, those of one support beside each other."""
        rng = stream(self.seed, f"table {table}")
        few = random_supports(self.num_supports, self.vocab_size, self.support_size, rng)
        return random_distributions(np.repeat(few, self.copies, axis=0), rng)


class Plan(TablePlan):
    """Random tables, and how far their ridge paths are followed.

    `support_size` is below `vocab_size`.
    """

    decades: Annotated[int, Field(ge=5, le=8, description="the least λ is 10 to minus this")] = 7

    @property
    def ridges(self) -> Float[np.ndarray, " n"]:
        """λ, two for each decade from 1e-2 on."""
        return np.asarray(10.0 ** -np.arange(2, self.decades + 0.1, 1 / STEPS_OF_A_DECADE))


class Point(experiment.Result):
    """The minimizer of one table at one penalty."""

    table: int
    ridge: Annotated[float, Field(description="λ")]
    scale: Annotated[float, Field(description="size along the SVM's solution, in its units")]
    contexts: Annotated[float, Field(description="similarity of cosines, diagonals counted")]
    same: Annotated[float, Field(description="mean cosine of contexts of one support")]
    words: Annotated[float, Field(description="as `contexts`, of word vectors")]
    cosine: Annotated[float, Field(description="of the logits and the SVM's solution")]
    away: Annotated[float, Field(description="median error of the finite part on the supports")]
    ratio: Annotated[float, Field(description="excess loss over λ times the SVM's norm")]
    gap: Annotated[float, Field(description="certified, in units of the penalty")]
    smallest_same: Annotated[float, Field(description="least cosine of contexts of one support")]
    word_grams: Annotated[float, Field(description="relative error of the normalized Gram matrix")]
    context_grams: Annotated[float, Field(description="the same of contexts")]
    other: Annotated[float, Field(description="1 − cosine to logits of other probabilities")]


class Alike(Similarities):
    """How similar the angles of vectors are to predicted ones."""

    table: int
    vectors: Annotated[str, Field(description="one of `VECTORS`")]
    kind: Annotated[str, Field(description="words or contexts")]


class Pairs(experiment.Result):
    """Cosines of all pairs of different vectors, at λ = 1e-5."""

    predicted: tuple[float, ...]
    measured: tuple[float, ...]
    same: Annotated[tuple[bool, ...], Field(description="whether the contexts share a support")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each pair."""
        return pd.DataFrame(vars(self))


class Result(experiment.Result):
    """The paths, and the angles at their ends."""

    points: Annotated[tuple[Point, ...], Field(description="table by table, for falling λ")]
    alike: tuple[Alike, ...]
    moved: Annotated[
        tuple[float, ...],
        Field(description="relative change of the finite part with other probabilities"),
    ]
    word_pairs: Annotated[Pairs, Field(description="of the first table")]
    context_pairs: Annotated[Pairs, Field(description="of the first table")]
    fewer_cost: Annotated[
        float, Field(description="relative, of three dimensions fewer than the rank")
    ]

    @property
    def path(self) -> pd.DataFrame:
        """A row for each table and λ; `slow` is constant where the cosine errs by 1/scale²."""
        table = table_of(self.points)
        slow = table.scale**2 * (1 - table.cosine)
        return table.assign(log=np.log(1 / table.ridge), log_away=np.log(table.away), slow=slow)

    @property
    def mean_path(self) -> pd.DataFrame:
        """The means over the tables, for rising λ."""
        return self.path.groupby("ridge").mean()

    @property
    def judged(self) -> pd.DataFrame:
        """The rows at λ = 1e-5, by table."""
        path = self.path
        return path[np.isclose(path.ridge, 1e-5)].set_index("table")

    def mean(self, column: str) -> Effect:
        """Of the tables at λ = 1e-5."""
        return mean_effect(self.judged[column])

    @property
    def growth(self) -> Effect:
        """Growth of the scale for each factor e of the penalty, below 1e-3."""
        return self._slope("scale", 1e-3)

    @property
    def decay(self) -> Effect:
        """Order of convergence of the finite part, below 2e-5."""
        fall = self._slope("log_away", 2e-5)
        return Effect(-fall.mean, fall.stderr, fall.replicates, fall.sd)

    @property
    def floor_ratio(self) -> Effect:
        """Excess loss over λ times the SVM's norm, at the least λ."""
        path = self.path
        return mean_effect(path.ratio[path.ridge == path.ridge.min()])

    @property
    def direction(self) -> float:
        """The least rise of the mean cosine from one λ to the next."""
        return float(np.diff(self.mean_path.cosine[::-1]).min())

    @property
    def slowness(self) -> float:
        """Largest ratio of `slow` at two λ of at most 1e-4, over the tables."""
        path = self.path
        steady = path[path.ridge < 10**-3.9].groupby("table").slow
        return float((steady.max() / steady.min()).max())

    @property
    def gram_errors(self) -> list[float]:
        """Relative errors of the Gram matrices for falling λ, of words or contexts."""
        return list(self.mean_path[["word_grams", "context_grams"]].max(axis=1)[::-1])

    @property
    def other_directions(self) -> list[float]:
        """1 − cosine to the logits of other probabilities, for falling λ."""
        others = np.array([point.other for point in self.points])
        return list(others.reshape(len(self.moved), -1).mean(axis=0))

    @property
    def similarities(self) -> pd.DataFrame:
        """A row for each table, vectors and kind: with the SVM's solution, of `all entries` and of
        `pairs`.
        """
        heads = {"with_diagonal": "all entries", "solution": "pairs"}
        columns = ["kind", "vectors", *heads]
        return table_of(self.alike)[columns].rename(columns=heads)

    def similarity(self, kind: str, prediction: str) -> Effect:
        """Of the angles at λ = 1e-5 with a prediction."""
        return mean_effect(self._alike(kind)[prediction])

    @property
    def root_gain(self) -> Effect:
        """How much better the angles of words are predicted with the square root than without."""
        words = self._alike("words")
        return mean_effect(words["root"] - words["plain"])

    @property
    def mean_similarities(self) -> pd.DataFrame:
        """Of all entries and of pairs, the means over the tables, by kind and vectors."""
        return self.similarities.groupby(["kind", "vectors"])[["all entries", "pairs"]].mean()

    def _alike(self, kind: str) -> pd.DataFrame:
        table = table_of(self.alike)
        return table[(table.vectors == VECTORS[1]) & (table.kind == kind)]

    def _slope(self, column: str, below: float) -> Effect:
        late = self.path[lambda path: path.ridge < below].groupby("table")
        return mean_effect([np.polyfit(path.log, path[column], 1)[0] for _, path in late])


@dataclass(frozen=True, eq=False)
class FollowedTable:
    """A table of distributions (m, V), the prediction from their supports, and the minimizers for
    falling λ: `path` for these distributions, `other` for other probabilities on the same supports.
    """

    next_token: Float[np.ndarray, "m V"]
    predicted: PredictedGrams
    path: list[RidgeMinimum]
    other: list[RidgeMinimum]

    @property
    def support(self) -> Bool[np.ndarray, "m V"]:
        """Which tokens can follow."""
        return self.next_token > 0


def run(plan: Plan) -> Result:
    """Follow the ridge path of free word vectors and context embeddings on random tables, and
    compare logits and angles with what the supports predict (Zhao et al. 2024).

    Returns certified minima at each penalty; similarities of trained and untrained vectors; the
    same supports with other probabilities; and the cost of fewer dimensions than tokens. Cost that
    of `ridge_path`, twice for each table: 20 s at the default sizes.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import ridge_tables
    >>> shape = {"vocab_size": 6, "num_supports": 4, "copies": 2, "support_size": 2}
    >>> found = ridge_tables.run(ridge_tables.Plan(**shape, tables=2, decades=5, seed=0))
    >>> bool(found.path.gap.max() < 1e-7), 0.9 < found.growth.mean < 1.1
    (True, True)
    """
    tables = [_followed(plan, number) for number in range(plan.tables)]
    words, contexts = _pairs(plan, tables[0])
    return Result(
        points=tuple(
            _point(plan, number, table, minimum, other)
            for number, table in enumerate(tables)
            for minimum, other in zip(table.path, table.other, strict=True)
        ),
        alike=tuple(row for i, table in enumerate(tables) for row in _alike(plan, i, table)),
        moved=tuple(map(_moved, tables)),
        word_pairs=words,
        context_pairs=contexts,
        fewer_cost=_fewer_cost(plan, tables[0]),
    )


def seven_contexts() -> tuple[RidgeMinimum, dict[str, Any]]:
    """The ridge path of an example of seven contexts and five tokens, for readers to touch: the
    minimum at λ = 1e-3, at which the figure starts, and what its script draws.
    """
    percent = [[90, 10, 0, 0, 0], [20, 80, 0, 0, 0], [0, 50, 50, 0, 0], [0, 0, 30, 70, 0]]
    percent += [*2 * [[0, 0, 0, 0, 100]], [0, 0, 0, 50, 50]]
    next_token = np.array(percent) / 100
    often = np.array([0.15, 0.15, 0.15, 0.15, 0.2, 0.04, 0.16])
    ridges = 10.0 ** -np.arange(0.5, 8.01, 0.25)
    minima = ridge_path(next_token, often, ridges.tolist(), tol=1e-7)
    start = int(np.searchsorted(-np.log10(ridges), 3 - 1e-6))
    return minima[start], {
        "support": (next_token > 0).astype(int),
        "ridges": [float(f"{minimum.ridge:.3g}") for minimum in minima],
        "logits": [minimum.logits.round(6) for minimum in minima],
        "solution": solve_nuclear_svm(next_token > 0, tol=1e-9).logits.round(9),
        "start": start,
    }


def _followed(plan: Plan, number: int) -> FollowedTable:
    table = plan.next_token(number)
    other = random_distributions(table > 0, stream(plan.seed, f"again {number}"))
    ridges = plan.ridges.tolist()
    return FollowedTable(
        next_token=table,
        predicted=predicted_grams(table > 0, tol=TOLERANCE),
        path=ridge_path(table, plan.weight, ridges, tol=TOLERANCE),
        other=ridge_path(other, plan.weight, ridges, tol=TOLERANCE),
    )


def _point(
    plan: Plan, number: int, table: FollowedTable, minimum: RidgeMinimum, other: RidgeMinimum
) -> Point:
    limit, solution, logits = table.predicted.answer, table.predicted.solution, minimum.logits
    grams = gram_matrices(logits)
    contexts = cosines(grams.contexts)
    together = contexts[_shared(plan)]
    error = project_in_support(logits, table.support) - in_support_logits(table.next_token)
    return Point(
        table=number,
        ridge=minimum.ridge,
        scale=(logits * limit.logits).sum() / (limit.logits**2).sum(),
        contexts=similarity(contexts, cosines(solution.contexts)),
        same=together.mean(),
        words=similarity(cosines(grams.words), cosines(solution.words)),
        cosine=1 - cosine_distance(logits[None], limit.logits)[0],
        away=np.median(np.abs(error[table.support])),
        ratio=minimum.excess / minimum.ridge / limit.norm,
        gap=minimum.gap,
        smallest_same=together.min(),
        word_grams=_relative_error(grams.words, solution.words),
        context_grams=_relative_error(grams.contexts, solution.contexts),
        other=cosine_distance(logits[None], other.logits)[0],
    )


def _shared(plan: Plan) -> Bool[np.ndarray, "m m"]:
    """Which different contexts were given one support."""
    of_context = np.repeat(np.arange(plan.num_supports), plan.copies)
    same = of_context[:, None] == of_context
    return np.asarray(same & ~np.eye(len(same), dtype=bool))


def _relative_error(gram: Float[np.ndarray, "n n"], goal: Float[np.ndarray, "n n"]) -> float:
    """Of a Gram matrix, both divided by their traces."""
    aim = goal / np.trace(goal)
    return float(np.linalg.norm(gram / np.trace(gram) - aim) / np.linalg.norm(aim))


def _alike(plan: Plan, number: int, table: FollowedTable) -> list[Alike]:
    rng = stream(plan.seed, f"untrained {number}")
    sizes = (plan.vocab_size, len(table.next_token))
    W, H = (rng.standard_normal((size, plan.vocab_size)) for size in sizes)
    grams = [GramMatrices(W @ W.T, H @ H.T)]
    grams += [gram_matrices(table.path[i].logits) for i in (JUDGED, -1)]
    return [
        Alike(table=number, vectors=name, kind=kind, **vars(getattr(angles, kind)))
        for name, gram in zip(VECTORS, grams, strict=True)
        for angles in [compare_angles(gram, table.predicted, table.support)]
        for kind in ("words", "contexts")
    ]


def _moved(table: FollowedTable) -> float:
    """How far other probabilities move the finite part at the least λ."""
    first, second = (
        project_in_support(path[-1].logits, table.support) for path in (table.path, table.other)
    )
    return float(np.linalg.norm(first - second) / np.linalg.norm(first))


def _pairs(plan: Plan, table: FollowedTable) -> list[Pairs]:
    """Of words and of contexts."""
    solution, grams = table.predicted.solution, gram_matrices(table.path[JUDGED].logits)
    same = _shared(plan)
    each_kind = []
    for kind, shared in (("words", np.zeros((plan.vocab_size,) * 2, bool)), ("contexts", same)):
        pairs = np.triu_indices(len(shared), 1)
        predicted, measured = (cosines(getattr(gram, kind))[pairs] for gram in (solution, grams))
        each_kind.append(
            Pairs(
                predicted=predicted.tolist(),
                measured=measured.tolist(),
                same=shared[pairs].tolist(),
            )
        )
    return each_kind


def _fewer_cost(plan: Plan, table: FollowedTable) -> float:
    """At λ = 1e-5, of three dimensions fewer than the minimizer's rank."""
    free = table.path[JUDGED]
    dim = max(1, int(np.linalg.matrix_rank(free.logits, tol=1e-6)) - FEWER)
    ridges = plan.ridges[: JUDGED + 1].tolist()
    few = ridge_path(table.next_token, plan.weight, ridges, dim=dim)[-1]
    return few.objective / free.objective - 1
