"""Which of scikit-learn's handwritten digits does the nearest neighbour rule memorize?"""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.memorization import nearest_neighbour_scores
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

FRACTIONS = (0.5, 0.7, 0.9)  # of the digits that are in a random subset
MIDDLE = FRACTIONS[1]
Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """How many digits, and how often some of their labels are flipped."""

    digits: Annotated[int, Field(ge=100, le=1797, description="images, the first of the data set")]
    draws: Annotated[int, Field(ge=2, description="of a twentieth of the labels to flip")] = 5
    seed: Annotated[int, Field(ge=0, description="of the flipped labels")]


class Result(experiment.Result):
    """Exact scores of each digit."""

    plan: Plan
    scores: Annotated[
        tuple[Numbers, ...], Field(description="of each digit, for each of `FRACTIONS`")
    ]
    left_out: Annotated[Numbers, Field(description="of each digit, from leaving it out")]
    labels: tuple[int, ...]
    neighbours: Annotated[tuple[int, ...], Field(description="the nearest other digit")]
    hits: Annotated[
        Numbers, Field(description="fraction of flipped digits among those of highest score")
    ]

    @property
    def order(self) -> Int[np.ndarray, " n"]:
        """The digits, most memorized first."""
        return np.argsort(-self._middle(), kind="stable")

    @property
    def tail(self) -> float:
        """The part of all memorization that the most memorized twentieth has."""
        ranked = self._middle()[self.order]
        return float(ranked[: self.plan.digits // 20].sum() / ranked.sum())

    @property
    def correlations(self) -> list[float]:
        """Of the scores for each of `FRACTIONS` with those of leaving one out."""
        left_out = np.array(self.left_out)
        return [float(np.corrcoef(np.array(one), left_out)[0, 1]) for one in self.scores]

    @property
    def flipped_found(self) -> Effect:
        """The fraction of flipped digits among as many of the highest scores."""
        return mean_effect(np.array(self.hits))

    def _middle(self) -> Float[np.ndarray, " n"]:
        return np.array(self.scores[FRACTIONS.index(MIDDLE)])


def run(plan: Plan) -> Result:
    """Compute the memorization scores of handwritten digits for the nearest neighbour rule, and
    look for flipped labels among the highest.

    Returns exact scores of each digit, and how many flipped labels are found. Cost that of
    `nearest_neighbour_scores`, O(n² log n): 3 s for 1797 digits.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import digit_memorization
    >>> found = digit_memorization.run(digit_memorization.Plan(digits=100, seed=0))
    >>> [round(one, 1) for one in found.correlations]
    [0.9, 0.9, 1.0]
    """
    pixels, labels = load_digits(return_X_y=True)
    pixels, labels = pixels[: plan.digits], labels[: plan.digits]
    nearest = NearestNeighbors(n_neighbors=1).fit(pixels).kneighbors(return_distance=False)
    sizes = [int(fraction * plan.digits) for fraction in FRACTIONS]
    return Result(
        plan=plan,
        scores=tuple(tuple(nearest_neighbour_scores(pixels, labels, size)) for size in sizes),
        left_out=tuple(nearest_neighbour_scores(pixels, labels, plan.digits - 1)),
        labels=tuple(labels.tolist()),
        neighbours=tuple(nearest[:, 0].tolist()),
        hits=tuple(_hits(plan, draw, pixels, labels) for draw in range(plan.draws)),
    )


def _hits(
    plan: Plan, draw: int, pixels: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"]
) -> float:
    rng, flipped = stream(plan.seed, f"flipped digits {draw}"), plan.digits // 20
    chosen = rng.choice(plan.digits, flipped, replace=False)
    wrong = labels.copy()
    wrong[chosen] = (wrong[chosen] + rng.integers(1, 10, flipped)) % 10
    scores = nearest_neighbour_scores(pixels, wrong, int(MIDDLE * plan.digits))
    highest = np.argsort(-scores, kind="stable")[:flipped]
    return float(np.isin(highest, chosen).mean())
