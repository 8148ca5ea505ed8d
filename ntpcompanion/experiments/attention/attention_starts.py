"""From which starts, and in which data, does attention end on the best tokens?"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ntpcompanion.attention.planted_data import PlantedTokens, TokenSequences, stack_sequences
from ntpcompanion.attention.steps import descend_attention
from ntpcompanion.attention.wsvm import solve_w_svm
from ntpcompanion.checks import checked, need
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.attention.planted_sets import draw_sets
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

DIMS = (20, 100)  # few and many dimensions
RANDOM_SETS = 5  # data sets with random starts, in 50 dimensions
STEP = 0.25  # length of the normalized steps
NORMS = (80, 300)  # total length of steps after which random starts are looked at
# One sequence in the plane, whose scores are the second coordinates.
TOKENS = ((-1.0, 1.0), (1.0, 0.5), (0.5, 0.0))
CIRCLE = 24  # starts of w = W q on a circle of radius 5
SHOWN = (-1.0, -6.0)  # start whose attention is shown
Vector = tuple[float, float]


class Plan(experiment.Plan):
    """Random starts of norm 1 to 10 for five data sets, and data sets that start at zero."""

    starts: Annotated[int, Field(ge=2, description="W_0 for each of five data sets")]
    few_sets: Annotated[
        int, Field(ge=2, description="data sets in 20 dimensions, and as many in 100")
    ]
    seed: Annotated[int, Field(ge=0, description="of data and starts")]


class End(experiment.Result):
    """Where one data set ends from zero."""

    dim: int
    wrong: Annotated[int, Field(description="sequences with less attention than 1/2 on the best")]
    lag: Annotated[
        float | None,
        Field(description="least lag of the best token there, under the SVM of other sequences"),
    ]


class Walk(experiment.Result):
    """The way of w from one start in the plane."""

    best: Annotated[float, Field(description="direction error to the SVM of the best token")]
    second: Annotated[float, Field(description="direction error to that of the second token")]
    path: Annotated[tuple[Vector, ...], Field(description="w after 0, 5, …, 120 steps of 0.1")]


class Result(experiment.Result):
    """Direction errors from random starts, where data sets end from zero, and ways in the plane."""

    errors: Annotated[
        dict[int, tuple[float, ...]],
        Field(description="largest direction error over the starts of each data set, by `NORMS`"),
    ]
    ends: tuple[End, ...]
    walks: Annotated[tuple[Walk, ...], Field(description="from each start on the circle")]
    directions: Annotated[
        tuple[Vector, ...], Field(description="in the plane, for the best and the second token")
    ]
    attention: Annotated[
        tuple[tuple[float, ...], ...],
        Field(description="on each token of the plane, after each of 150 steps from `SHOWN`"),
    ]

    @checked(need("norm", "norm in NORMS", "be 80 or 300"))
    def farthest(self, norm: int) -> Effect:
        """The largest direction error over starts after steps of this total length, mean over data
        sets.
        """
        return mean_effect(np.array(self.errors[norm]))

    @checked(need("dim", "dim in DIMS", "be 20 or 100"))
    def wrong_sets(self, dim: int) -> int:
        """How many data sets of this dimension end on a wrong token in some sequence."""
        return sum(end.wrong > 0 for end in self.ends if end.dim == dim)

    @checked(need("dim", "dim in DIMS", "be 20 or 100"))
    def wrong_fraction(self, dim: int) -> Effect:
        """The fraction of the data sets of `wrong_sets`, its replicates. Its error is that of
        (s + 1) / (n + 2), which is never zero: that none did so in n sets does not prove that none
        can.
        """
        n, s = len(self.ends) // len(DIMS), self.wrong_sets(dim)
        p = (s + 1) / (n + 2)
        return Effect(s / n, float(np.sqrt(p * (1 - p) / n)), n, float(np.sqrt(p * (1 - p))))

    @property
    def least_lag(self) -> float:
        """The least lag in all sequences that end on a wrong token (margins); infinite if none
        does.
        """
        return min((end.lag for end in self.ends if end.lag is not None), default=np.inf)

    @property
    def farthest_walk(self) -> float:
        """The largest direction error, in the plane, to the nearer of both directions."""
        return max(min(walk.best, walk.second) for walk in self.walks)


def run(plan: Plan) -> Result:
    """Train the key-query matrix by normalized gradient descent: from random starts, from zero in
    few and in many dimensions, and from a circle of starts where one sequence has two ends.

    Returns direction errors, for each data set how many sequences end on a wrong token, and ways in
    the plane. Cost that of `descend_attention`: 3 s for 100 starts, 4 s for 200 data sets.

    Examples
    --------
    >>> from ntpcompanion.experiments.attention import attention_starts
    >>> plan = attention_starts.Plan(starts=2, few_sets=4, seed=0)
    >>> found = attention_starts.run(plan)
    >>> found.farthest(300).mean < 0.1, found.wrong_sets(100)
    (True, 0)
    """
    return Result(
        errors=_from_random_starts(plan),
        ends=tuple(end for dim in DIMS for end in _ends(plan, dim)),
        **_in_the_plane(),
    )


def _from_random_starts(plan: Plan) -> dict[int, tuple[float, ...]]:
    sets, rng = draw_sets(plan.seed, RANDOM_SETS, dim=50), stream(plan.seed, "starts")
    targets = sets.solve()[1]
    start = rng.standard_normal((RANDOM_SETS, plan.starts, 50, 50))
    sizes = np.linspace(1, 10, plan.starts)[:, None, None]
    start *= sizes / np.linalg.norm(start, axis=(2, 3), keepdims=True)
    data = sets.sequences
    path = descend_attention(
        TokenSequences(data.tokens[:, None], data.queries[:, None], data.labels[:, None]),
        sets.decoders[:, None],
        method="ngd",
        learning_rate=STEP,
        keep=[round(norm / STEP) for norm in NORMS],
        start=start,
    )
    largest = path.direction_error(targets[:, None]).max(axis=2)
    return dict(zip(NORMS, map(tuple, largest), strict=True))


def _ends(plan: Plan, dim: int) -> Iterator[End]:
    sets = draw_sets(plan.seed, plan.few_sets, dim=dim)
    path = sets.descend([400], STEP)
    wrong = sets.on_best(path.attention[0]) < 0.5
    for one, missed in zip(sets.drawn, wrong, strict=True):
        yield End(dim=dim, wrong=missed.sum(), lag=_lag(one, missed) if missed.any() else None)


def _lag(drawn: PlantedTokens, missed: np.ndarray) -> float:
    """By how much the best token is behind in the missed sequences, under the SVM of the rest."""
    data, rows = drawn.sequences, np.arange(len(missed))
    rest = TokenSequences(data.tokens[~missed], data.queries[~missed], data.labels[~missed])
    logits = data.logits(np.asarray(solve_w_svm(rest, drawn.best[~missed]).weights))
    best = logits[rows, drawn.best]
    logits[rows, drawn.best] = -np.inf
    return float((logits.max(axis=1) - best)[missed].min())


def _in_the_plane() -> dict[str, Any]:
    plane = TokenSequences(np.array([TOKENS]), np.ones((1, 1)), np.ones(1))
    svms = [np.asarray(solve_w_svm(plane, [token]).weights) for token in (0, 1)]
    turns = np.radians(np.arange(CIRCLE) * (360 / CIRCLE))
    around = 5 * np.stack([np.cos(turns), np.sin(turns)], axis=1)[..., None]
    descent = partial(descend_attention, decoder=[0.0, 1.0], method="ngd", learning_rate=0.1)
    copies = stack_sequences([plane] * CIRCLE)
    path = descent(copies, keep=[*range(0, 121, 5), 3000], start=around)
    best, second = (path.direction_error(W)[-1] for W in svms)
    ways = path.weights[:-1, ..., 0].swapaxes(0, 1)
    shown = descent(plane, keep=range(151), start=np.array(SHOWN)[:, None])
    return {
        "walks": tuple(
            Walk(best=best[k], second=second[k], path=tuple(map(tuple, way)))
            for k, way in enumerate(ways)
        ),
        "directions": tuple(tuple((W / np.linalg.norm(W))[:, 0]) for W in svms),
        "attention": tuple(map(tuple, shown.attention[:, 0])),
    }
