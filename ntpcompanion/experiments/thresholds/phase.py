"""At how many dimensions do random tables with given support sizes become separable?"""

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.linear.thresholds.phase_diagram import (
    CrossingSample,
    crossing_sample,
    table_of_sizes,
)
from ntpcompanion.randomness import stream

Counts = tuple[Annotated[int, Field(ge=0)], ...]


class Plan(experiment.Plan):
    """Draws of random tables: N(0, 1) embeddings of m coordinates, uniform supports.

    `support_sizes` are at most `vocab_size`, and one of those that occur is below it.
    """

    num_contexts: Annotated[int, Field(ge=1, description="m, contexts of a table")]
    vocab_size: Annotated[int, Field(ge=2, description="V, tokens")]
    support_sizes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="sizes S, tokens, dealt to the contexts in turn"),
    ]
    draws: Annotated[int, Field(ge=2, description="random tables")]
    seed: Annotated[int, Field(ge=0, description="of embeddings and supports")]

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Plan":
        sizes, maximum = list(self.support_sizes), self.vocab_size
        if max(sizes) > maximum:
            raise ValueError(
                f"`support_sizes` must lie in 1 … {maximum} (`vocab_size`), got {sizes}."
            )
        if min(sizes[: self.num_contexts]) == maximum:
            raise ValueError(
                f"`support_sizes` must hold a size below {maximum} (`vocab_size`), got {sizes}: "
                "tables whose contexts can be followed by every token are always separable."
            )
        return self


class Result(experiment.Result):
    """The different pairs of proved sides, and how many draws had each."""

    not_separable_to: Annotated[
        Counts, Field(description="largest d proved not separable; 0 if there is none")
    ]
    separable_from: Annotated[
        Counts, Field(description="smallest d proved separable; m + 1 if there is none")
    ]
    draws: Annotated[Counts, Field(description="tables with this pair of sides")]

    def sample(self, num_contexts: int) -> CrossingSample:
        """The sample of draws behind these counts, for tables with `num_contexts` contexts."""
        sides = (
            np.repeat(side, self.draws) for side in (self.not_separable_to, self.separable_from)
        )
        return CrossingSample(num_contexts, *sides)


def run(plan: Plan) -> Result:
    """Measure one point of a phase diagram: the dimension at which each of many random tables
    becomes separable, found by bisection with a proof on both sides.

    Returns the sides of all draws, equal ones counted; `Result.sample` gives crossing and error.
    Cost `draws` · log2(m) times that of `check_separability`: 0.05 s a draw at V = 10, m = 40, and
    1 s at m = 320.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import phase
    >>> plan = phase.Plan(num_contexts=8, vocab_size=4, support_sizes=(2,), draws=3, seed=0)
    >>> found = phase.run(plan)
    >>> sum(found.draws), phase.Result.from_json(found.to_json()) == found
    (3, True)
    >>> phase.Plan.from_json({**plan.to_json(), "draw": 3})
    Traceback (most recent call last):
    ValueError: `draw` is not a field of this plan. Did you mean `draws`?
    """
    m, V, sizes = plan.num_contexts, plan.vocab_size, list(plan.support_sizes)
    names = (f"{m} contexts, sizes {sizes}, table {draw}" for draw in range(plan.draws))
    dealt = np.resize(sizes, m)
    sample = crossing_sample(table_of_sizes(dealt, V, m, stream(plan.seed, name)) for name in names)
    return Result(**counted_sides(sample))


def counted_sides(sample: CrossingSample) -> dict[str, tuple[int, ...]]:
    """The fields of a result: the different pairs of sides, and how many draws had each."""
    sides, numbers = np.unique(
        [sample.not_separable_to, sample.separable_from], axis=1, return_counts=True
    )
    return {
        "not_separable_to": tuple(sides[0].tolist()),
        "separable_from": tuple(sides[1].tolist()),
        "draws": tuple(numbers.tolist()),
    }
