"""At how many dimensions do tables become separable whose supports prefer some tokens?"""

from typing import Annotated

from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.thresholds import phase
from ntpcompanion.linear.tables.weighted_supports import (
    SupportDistribution,
    table_of_supports,
    weighted_supports,
)
from ntpcompanion.linear.thresholds.phase_diagram import crossing_sample
from ntpcompanion.randomness import stream


class Plan(experiment.Plan):
    """Draws of N(0, 1) embeddings of m coordinates; the supports of all draws are the same.

    `support_size` is below the number of `token_weights`.
    """

    num_contexts: Annotated[int, Field(ge=1, description="m, contexts of a table")]
    token_weights: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(min_length=2, description="a weight for each of the V tokens"),
    ]
    support_size: Annotated[int, Field(ge=1, description="S, tokens of a support")]
    draws: Annotated[int, Field(ge=2, description="draws of the embeddings")]
    seed: Annotated[int, Field(ge=0, description="of the embeddings")]

    @model_validator(mode="after")
    def _size_fits(self) -> "Plan":
        maximum = len(self.token_weights) - 1
        if self.support_size > maximum:
            raise ValueError(
                f"`support_size` must be at most {maximum}, one less than `token_weights` has "
                f"entries, got {self.support_size}."
            )
        return self

    @property
    def distribution(self) -> SupportDistribution:
        """The supports, and how often each occurs."""
        return weighted_supports(self.token_weights, self.support_size)


class Result(phase.Result):
    """The different pairs of proved sides, and how many draws had each."""


def run(plan: Plan) -> Result:
    """Measure where tables become separable whose supports have probabilities proportional to the
    product of their tokens' weights, by bisection with a proof on both sides.

    Returns the sides of all draws, equal ones counted; `Result.sample` gives crossing and error.
    Cost `draws` · log2(m) times that of `check_separability`: half a second a draw at V = 10, m =
    160.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import weighted_tokens
    >>> sizes = {"num_contexts": 8, "token_weights": (4, 1, 1, 1), "support_size": 1}
    >>> found = weighted_tokens.run(weighted_tokens.Plan(**sizes, draws=3, seed=0))
    >>> sum(found.draws)
    3
    """
    m, distribution = plan.num_contexts, plan.distribution
    names = (f"{m} contexts, weighted tokens, table {draw}" for draw in range(plan.draws))
    sample = crossing_sample(
        table_of_supports(distribution, m, stream(plan.seed, name)) for name in names
    )
    return Result(**phase.counted_sides(sample))
