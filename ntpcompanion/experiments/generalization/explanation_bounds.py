"""Does the overlap of neighbourhoods bound how explanations generalize, and is the bound tight?"""

from fractions import Fraction
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.explanations import mirrored_fidelity, tangent_fidelity
from ntpcompanion.generalization.neighbourhoods import box_overlap, gaussian_overlap
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, slope_within_seeds

WIDTHS = (0.03, 0.1, 0.3, 1.0)  # σ of neighbourhoods in the unit square
WIDE = 10  # σ of neighbourhoods that coincide
HALF_WIDTHS = (Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(7, 3))  # of boxes


class Plan(experiment.Plan):
    """Samples of a known function on the unit square, and of fair coins on the unit interval.

    `sizes` rise.
    """

    sizes: Annotated[
        tuple[Annotated[int, Field(ge=10)], ...],
        Field(min_length=2, description="m of samples"),
    ]
    samples: Annotated[int, Field(ge=2, le=200, description="of each size")] = 10
    draws: Annotated[int, Field(ge=100, description="neighbours in an estimate of overlap")] = 1000
    seed: Annotated[int, Field(ge=0, description="of samples and neighbours")]

    @model_validator(mode="after")
    def _sizes_rise(self) -> "Plan":
        if list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"`sizes` must rise, got {list(self.sizes)}.")
        return self


class Known(experiment.Result):
    """Explanations of sin 6x₁ cos 4x₂, of one width, fitted to one sample."""

    sample: int
    m: Annotated[int, Field(description="points of the sample")]
    width: Annotated[float, Field(description="σ")]
    gap: Annotated[float, Field(description="fidelity on new points less on the sample")]
    overlap: Annotated[float, Field(description="ρ_S")]
    ratio: Annotated[float, Field(description="gap over ρ_S / √m")]


class Coins(experiment.Result):
    """The constants that ρ_S / √m needs for the label of the nearest of m coins."""

    sample: int
    m: int
    once: Annotated[float, Field(description="if the fidelity counts once")]
    twice: Annotated[float, Field(description="if it counts twice")]


class Result(experiment.Result):
    """Gaps and constants, and how well the exact values hold."""

    known: tuple[Known, ...]
    coins: tuple[Coins, ...]
    fidelity_errors: Annotated[
        dict[str, float], Field(description="largest errors of the formulas for powers of x")
    ]
    cube_excess: Annotated[
        tuple[float, float], Field(description="mirrored over usual fidelity of x³, less 1")
    ]
    overlap_error: Annotated[
        float, Field(description="of disjoint boxes against √m, of coinciding ones against 1")
    ]

    @property
    def largest_ratio(self) -> Effect:
        """The largest gap of a sample over ρ_S / √m, the constant that it needs; on average over
        samples.
        """
        return mean_effect(self._by_size("ratio").max((1, 2)))

    @property
    def narrow_slope(self) -> Effect:
        """The power of m with which that ratio grows in the narrowest neighbourhoods."""
        return self._power(np.maximum(self._by_size("ratio")[..., 0], 1e-6))

    @property
    def once_slope(self) -> Effect:
        """The power of m with which the constant grows if the fidelity counts once."""
        return self._power(self._coins("once"))

    @property
    def twice_constant(self) -> Effect:
        """The largest constant of a sample if the fidelity counts twice, on average over them."""
        return mean_effect(self._coins("twice").max(axis=1))

    @property
    def worst_twice(self) -> float:
        """The same of the sample that needs most."""
        return float(self._coins("twice").max())

    def _by_size(self, field: str) -> Float[np.ndarray, "samples sizes widths"]:
        table = table_of(self.known)
        return table[field].to_numpy().reshape(table["sample"].nunique(), -1, len(WIDTHS))

    def _coins(self, field: str) -> Float[np.ndarray, "samples sizes"]:
        table = table_of(self.coins)
        return table[field].to_numpy().reshape(table["sample"].nunique(), -1)

    def _power(self, values: Float[np.ndarray, "samples sizes"]) -> Effect:
        sizes = pd.unique(table_of(self.coins).m)
        return slope_within_seeds(np.broadcast_to(np.log(sizes), values.shape), np.log(values))


def run(plan: Plan) -> Result:
    """Measure the gap of explanations of a known function, and the constants that a bound needs.

    Returns gaps over the rate of the bound for each sample, size and width; constants for coins.
    Cost O(m²) for each sample and width: 4 s for the chapter's 40 samples.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import explanation_bounds
    >>> plan = explanation_bounds.Plan(sizes=(20, 40), samples=2, draws=100, seed=0)
    >>> found = explanation_bounds.run(plan)
    >>> found.largest_ratio.mean < 1, found.fidelity_errors["cube"]
    (True, 0.0)
    """
    known = [row for sample in range(plan.samples) for row in _known(plan, sample)]
    coins = [_coins(plan, sample, m) for sample in range(plan.samples) for m in plan.sizes]
    cubes = [tangent_fidelity([0, 0, 0, 1], HALF_WIDTHS[i]) for i in (0, 2)]
    small, large = (float(one.mirrored / one.neighbourhood - 1) for one in cubes)
    m = 50
    apart = box_overlap(np.arange(m), 0.4) / m**0.5 - 1
    return Result(
        known=tuple(known),
        coins=tuple(coins),
        fidelity_errors=_fidelity_errors(),
        cube_excess=(small, large),
        overlap_error=max(abs(apart), abs(box_overlap(np.zeros(m), 0.4) - 1)),
    )


def _known(plan: Plan, sample: int) -> list[Known]:
    rng, rows = stream(plan.seed, f"square {sample}"), []
    for m in plan.sizes:
        S, new = rng.random((m, 2)), rng.random((400, 2))
        f, f_new = (np.sin(6 * x[:, 0]) * np.cos(4 * x[:, 1]) for x in (S, new))
        for width in WIDTHS:
            on, off = (
                mirrored_fidelity(
                    points, value, sample=S, sample_values=f, width=width, draws=2, generator=rng
                )
                for points, value in ((S, f), (new, f_new))
            )
            gap = off - on
            overlap = gaussian_overlap(S, width, draws=plan.draws, generator=rng).value
            ratio = gap / (overlap / m**0.5)
            rows.append(
                Known(sample=sample, m=m, width=width, gap=gap, overlap=overlap, ratio=ratio)
            )
    return rows


def _coins(plan: Plan, sample: int, m: int) -> Coins:
    rng = stream(plan.seed, f"coins {sample} {m}")
    S, coins = rng.random((m, 1)), rng.choice([-1.0, 1.0], m)
    new = rng.random((300, 1))
    f_new = coins[abs(new - S.T).argmin(axis=1)]
    fidelity = mirrored_fidelity(
        new, f_new, sample=S, sample_values=coins, width=WIDE, draws=1, generator=rng
    )
    rate = gaussian_overlap(S, WIDE, draws=100, generator=rng).value / m**0.5
    once, twice = ((2 - count * fidelity) / rate for count in (1, 2))  # 2: the error of f, exactly
    return Coins(sample=sample, m=m, once=once, twice=twice)


def _fidelity_errors() -> dict[str, float]:
    """Both fidelities of tangents against the formulas, in fractions."""
    wrong: dict[str, list[Fraction]] = {"line": [], "square": [], "cube": []}
    for h in HALF_WIDTHS:
        line, square, cube = (tangent_fidelity(c, h) for c in ([2, -3], [0, 0, 1], [0, 0, 0, 1]))
        wrong["line"] += [line.neighbourhood, line.mirrored]
        wrong["square"] += [square.neighbourhood - h**4 / 5, square.mirrored - h**4 / 5]
        common = Fraction(3, 5) * h**4
        wrong["cube"] += [cube.neighbourhood - common - h**6 / 7]
        wrong["cube"] += [cube.mirrored - common - 4 * h**6 / 7]
    return {name: float(max(map(abs, errors))) for name, errors in wrong.items()}
