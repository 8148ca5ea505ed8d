"""Do local explanations of a random forest hold on new patients, and how wide must they be?"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import scale

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.explanations import mirrored_fidelity
from ntpcompanion.generalization.neighbourhoods import gaussian_overlap
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect, slope_within_seeds

FEW = 50  # points of the smaller sample, by which the growth of the overlap is measured
COLUMNS = ["width", "split", "on the sample", "on new points", "exponent"]


class Plan(experiment.Plan):
    """Random halves of scikit-learn's diabetes data, standardized."""

    widths: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(min_length=2, description="σ of neighbourhoods, rising"),
    ]
    splits: Annotated[int, Field(ge=2, le=200, description="random halves")] = 30
    trees: Annotated[int, Field(ge=1, le=1000, description="of the forest")] = 30
    draws: Annotated[int, Field(ge=100, description="neighbours in an estimate of overlap")] = 1000
    seed: Annotated[int, Field(ge=0, description="of halves and neighbours")]


class Explained(experiment.Result):
    """The explanations of one width, for one split."""

    split: int
    width: Annotated[float, Field(description="σ")]
    sample: Annotated[float, Field(description="mirrored fidelity on the sample")]
    new: Annotated[float, Field(description="mirrored fidelity on new points")]
    overlap: Annotated[float, Field(description="ρ_S of the sample")]
    exponent: Annotated[float, Field(description="power of m with which ρ_S grows")]
    risk: Annotated[float, Field(description="error of the forest on new points less on sample")]
    size: Annotated[int, Field(description="m, points of the sample")]


class Result(experiment.Result):
    """All explanations."""

    explained: Annotated[tuple[Explained, ...], Field(description="split by split, widths rising")]

    def of(self, field: str) -> Float[np.ndarray, "splits widths"]:
        """A number of each split and width."""
        table = table_of(self.explained)
        return table.pivot(index="split", columns="width", values=field).to_numpy(float)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each width and split."""
        table = table_of(self.explained).sort_values("width", kind="stable")
        names = {"sample": "on the sample", "new": "on new points"}
        return table.rename(columns=names)[COLUMNS].reset_index(drop=True)

    def exponent(self, width: int) -> Effect:
        """The power of the sample size with which the overlap grows, at a width by its number."""
        return mean_effect(self.of("exponent")[:, width])

    @property
    def sample_slope(self) -> Effect:
        """Change of the fidelity on the sample for each factor e in the width."""
        return self._slope(self.of("sample"))

    @property
    def gap_slope(self) -> Effect:
        """Change of the gap, new points less sample, for each factor e in the width."""
        return self._slope(self.of("new") - self.of("sample"))

    def worse(self, width: int, than: int = -2) -> Effect:
        """Fidelity on new points at a width, less that at another."""
        new = self.of("new")
        return paired_effect(new[:, width], new[:, than])

    @property
    def above_bound(self) -> Effect:
        """By how much the forest exceeds theorem 1 with all constants 1, at the worst width."""
        rate = self.of("overlap") / self.of("size") ** 0.5
        return mean_effect((self.of("risk") - self.of("new") - rate).max(axis=1))

    def _slope(self, values: Float[np.ndarray, "splits widths"]) -> Effect:
        widths = sorted({one.width for one in self.explained})
        return slope_within_seeds(np.broadcast_to(np.log(widths), values.shape), values)


def run(plan: Plan) -> Result:
    """Explain a random forest by ridge regressions in Gaussian neighbourhoods, fitted to the half
    on which it was trained, and judge them on both halves.

    Returns mirrored fidelities, overlap and its growth, for each split and width. Cost 0.1 s a
    split and width at 1000 draws.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import forest_explanations
    >>> size = {"splits": 2, "trees": 5, "draws": 100, "seed": 0}
    >>> found = forest_explanations.run(forest_explanations.Plan(widths=(0.3, 10.0), **size))
    >>> found.sample_slope.mean > 0 > found.gap_slope.mean
    True
    """
    features, target = map(scale, load_diabetes(return_X_y=True))
    return Result(
        explained=tuple(
            row for split in range(plan.splits) for row in _split(plan, split, features, target)
        )
    )


def _split(
    plan: Plan, split: int, features: Float[np.ndarray, "n d"], target: Float[np.ndarray, " n"]
) -> Iterator[Explained]:
    rng, half = stream(plan.seed, f"split {split}"), len(features) // 2
    sample, test = np.split(rng.permutation(len(features))[: 2 * half], 2)
    forest = RandomForestRegressor(plan.trees, min_samples_leaf=3, random_state=split)
    f = forest.fit(features[sample], target[sample]).predict(features)
    on, new = (((f - target)[rows] ** 2).mean() for rows in (sample, test))
    for width in plan.widths:
        fidelity = [
            mirrored_fidelity(
                features[rows],
                f[rows],
                sample=features[sample],
                sample_values=f[sample],
                width=width,
                draws=2,
                ridge=0.01,
                generator=rng,
            )
            for rows in (sample, test)
        ]
        few, overlap = (
            gaussian_overlap(features[rows], width, draws=plan.draws, generator=rng).value
            for rows in (sample[:FEW], sample)
        )
        yield Explained(
            split=split,
            width=width,
            sample=fidelity[0],
            new=fidelity[1],
            overlap=overlap,
            exponent=np.log(overlap / few) / np.log(half / FEW),
            risk=new - on,
            size=half,
        )
