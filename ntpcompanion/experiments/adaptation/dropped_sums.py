"""How often do sums with dropped terms exceed the bound for them? By all masks."""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.adaptation.dropped_deltas import dropped_bound, violation
from ntpcompanion.experiments import experiment
from ntpcompanion.randomness import stream


class Plan(experiment.Plan):
    """Vectors of contributions: n ones, and normal draws around 1 and around 0."""

    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=16)], ...],
        Field(min_length=1, description="n, terms of a sum"),
    ]
    dropped: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="p, the probability with which a term is dropped"),
    ]
    gammas: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="γ, of a larger error"),
    ]
    seed: Annotated[int, Field(ge=0, description="of the contributions")]


class Violation(experiment.Result):
    """One vector of contributions, one p and one γ."""

    contributions: Annotated[str, Field(description="equal, around one, around zero")]
    n: int
    p: float
    gamma: float
    with_root: Annotated[
        float, Field(ge=0, description="probability above the bound of the appendix, over γ")
    ]
    without_root: Annotated[float, Field(ge=0, description="the same without the root of Φ")]


class Result(experiment.Result):
    """All of them."""

    violations: tuple[Violation, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each vector, p and γ."""
        return experiment.table_of(self.violations)


def run(plan: Plan) -> Result:
    """Add up the probabilities of all masks whose error is above the bound (Deng et al. 2025,
    theorem 3.1 and equation 8).

    Returns probabilities without any error of sampling. 2ⁿ masks for each vector: a second for n up
    to 12.

    Examples
    --------
    >>> from ntpcompanion.experiments import dropped_sums
    >>> plan = dropped_sums.Plan(sizes=(1,), dropped=(0.99,), gammas=(0.009,), seed=0)
    >>> first = dropped_sums.run(plan).violations[0]
    >>> first.with_root, round(first.without_root, 3)
    (0.0, 1.111)
    """
    return Result(
        violations=tuple(
            Violation(
                contributions=name,
                n=n,
                p=p,
                gamma=gamma,
                with_root=violation(c, p, dropped_bound(c, p, gamma)) / gamma,
                without_root=violation(c, p, dropped_bound(c, p, gamma, root=False)) / gamma,
            )
            for n in plan.sizes
            for name, c in _vectors(n, plan.seed).items()
            for p in plan.dropped
            for gamma in plan.gammas
        )
    )


def _vectors(n: int, seed: int) -> dict[str, Float[np.ndarray, " n"]]:
    normal = stream(seed, f"contributions {n}").standard_normal(n)
    return {"equal": np.ones(n), "around one": 1 + normal, "around zero": normal}
