"""How far can disagreement be from error? Random finite problems, where all is exact."""

from typing import Annotated

import numpy as np
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.disagreement import compare_disagreement
from ntpcompanion.randomness import stream

CALIBRATED = 1e-9  # calibration error below which a problem bounds nothing
Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """Problems of one to seven inputs, two to five classes, and one to four classifiers."""

    problems: Annotated[int, Field(ge=1, description="random problems")]
    seed: Annotated[int, Field(ge=0, description="of the problems")]


class Result(experiment.Result):
    """Disagreement, error and calibration error of each problem."""

    gap: Annotated[Numbers, Field(description="disagreement less error")]
    calibration_error: Annotated[Numbers, Field(description="CACE")]
    calibrated_gap: Annotated[
        float, Field(description="largest |gap| where labels are drawn from the votes")
    ]

    @property
    def largest_ratio(self) -> float:
        """The largest |gap| / CACE, which the paper bounds by 1."""
        gap, bound = np.abs(self.gap), np.array(self.calibration_error)
        return float((gap[bound > CALIBRATED] / bound[bound > CALIBRATED]).max())


def run(plan: Plan) -> Result:
    """Draw random finite problems, and compare disagreement less error with calibration error.

    Returns both numbers of each problem. Cost 0.4 ms a problem.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import disagreement_bounds
    >>> found = disagreement_bounds.run(disagreement_bounds.Plan(problems=50, seed=0))
    >>> found.largest_ratio < 0.5 + 1e-6, found.calibrated_gap < 1e-9
    (True, True)
    """
    rng = stream(plan.seed, "problems")
    drawn = np.array([_problem(rng) for _ in range(plan.problems)])
    return Result(
        gap=tuple(drawn[:, 0]),
        calibration_error=tuple(drawn[:, 1]),
        calibrated_gap=np.abs(drawn[:, 2]).max(),
    )


def _problem(rng: np.random.Generator) -> tuple[float, float, float]:
    count, n, classes = rng.integers(1, 5), rng.integers(1, 8), rng.integers(2, 6)
    predictions = rng.integers(0, classes, (count, n))
    labels = rng.dirichlet(np.full(classes, rng.choice([0.05, 1.0])), size=n)
    estimate = compare_disagreement(predictions, labels)
    votes = (predictions[..., None] == np.arange(classes)).mean(axis=0)
    calibrated = compare_disagreement(predictions, votes)
    return estimate.gap, estimate.calibration_error, calibrated.gap
