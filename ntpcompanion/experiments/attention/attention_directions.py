"""How fast do three methods turn the key-query matrix towards its SVM, and where do they end?"""

from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.attention.offset_vector import limiting_offset
from ntpcompanion.attention.steps import AttentionPath, Method
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.attention.planted_sets import PlantedSets, draw_sets
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect, slopes_of_seeds

METHODS: dict[str, Method] = {"GD": "gd", "normalized GD": "ngd", "Polyak": "polyak"}
LEARNING_RATES = {"GD": 1.0, "normalized GD": 0.1, "Polyak": 1.0}  # Polyak's steps have none
LEVEL = 0.12  # of the direction error, to which steps are counted
ROUNDED_SETS = 5  # data sets that are trained by both formulas for the gradient
ROUNDED_STEPS = range(100, 3001, 20)


class Plan(experiment.Plan):
    """Data sets with 20 sequences of 6 tokens in 50 dimensions, and steps of gradient descent."""

    data_sets: Annotated[int, Field(ge=5, description="drawn from the random model")]
    gd_steps: Annotated[int, Field(ge=300, description="of gradient descent")]
    seed: Annotated[int, Field(ge=0, description="of the data")]

    @property
    def steps(self) -> dict[str, int]:
        """How many steps each method takes."""
        return {"GD": self.gd_steps, "normalized GD": 2000, "Polyak": 100}


class Point(experiment.Result):
    """A step on the path of the first data set."""

    method: str
    step: int
    norm: Annotated[float, Field(description="of W, Frobenius")]
    error: Annotated[float, Field(description="distance of the directions of W and W_mm")]


class Rates(experiment.Result):
    """What the paths of one data set show; errors are direction errors."""

    svm_norm: Annotated[float, Field(description="Frobenius norm of W_mm")]
    gap: Annotated[float, Field(description="relative duality gap of W_mm")]
    end: Annotated[float, Field(description="error of GD after all steps")]
    change: Annotated[float, Field(description="`end` less the error after a tenth of the steps")]
    constant: Annotated[
        float, Field(description="error times norm of GD after all steps, over that after 0.3")
    ]
    gd_steps: Annotated[float, Field(description="log10 of steps to `LEVEL`; of all if none does")]
    ngd_steps: Annotated[float, Field(description="the same of normalized GD")]
    polyak_steps: Annotated[float, Field(description="the same of Polyak")]
    gd_apart: Annotated[
        float,
        Field(description="largest relative difference to normalized GD, last 30 % of GD's norm"),
    ]
    polyak_apart: Annotated[float, Field(description="the same of Polyak")]
    first_polyak: Annotated[float, Field(description="norm after Polyak's first step")]
    exponent: Annotated[
        float, Field(description="power of t with which normalized GD's error falls")
    ]
    sparse_rate: Annotated[
        float, Field(description="fall of the attention elsewhere, over the predicted one")
    ]


class Result(experiment.Result):
    """Paths of the first data set, rates of all, and two checks of where normalized GD ends."""

    path: tuple[Point, ...]
    rates: tuple[Rates, ...]
    elsewhere: Annotated[
        tuple[tuple[float, ...], ...],
        Field(description="attention off the best token, at most: normalized steps × data sets"),
    ]
    offset_ratios: Annotated[
        tuple[float, ...],
        Field(description="error times norm at norm 300, over its limit, in 100 dimensions"),
    ]
    rounded: Annotated[
        dict[str, tuple[tuple[float, ...], ...]],
        Field(description="errors with gradients by each formula: `ROUNDED_STEPS` × data sets"),
    ]

    @property
    def path_table(self) -> pd.DataFrame:
        """A row for each kept step of each method, on the first data set."""
        return table_of(self.path)

    @property
    def rates_table(self) -> pd.DataFrame:
        """A row for each data set."""
        return table_of(self.rates)

    @property
    def elsewhere_table(self) -> pd.DataFrame:
        """Attention elsewhere after each normalized step: a column for each data set."""
        steps = pd.RangeIndex(1, len(self.elsewhere) + 1, name="step")
        return pd.DataFrame(self.elsewhere, index=steps)

    def rounded_table(self, gradient: str) -> pd.DataFrame:
        """Direction errors with gradients in the log domain or by the plain formula."""
        return pd.DataFrame(self.rounded[gradient], index=ROUNDED_STEPS)

    def mean(self, column: str) -> Effect:
        """The mean of a column of `rates_table` over data sets."""
        return mean_effect(self.rates_table[column])

    def speedup(self, column: str) -> Effect:
        """log10 of the steps of gradient descent over those in a column of `rates_table`."""
        table = self.rates_table
        return paired_effect(table.gd_steps, table[column])

    @property
    def offset(self) -> Effect:
        """The mean of `offset_ratios` over data sets."""
        return mean_effect(np.array(self.offset_ratios))

    def rounded_end(self, gradient: str) -> Effect:
        """The mean direction error after the last of `ROUNDED_STEPS`."""
        return mean_effect(np.array(self.rounded[gradient][-1]))


def run(plan: Plan) -> Result:
    """Train the key-query matrix of one layer of attention by three methods, from zero.

    Returns direction errors against steps and norm, rates for each data set, the constant of the
    direction error in 100 dimensions, and what rounding does to the plain gradient. Cost that of
    `descend_attention`: 4 s for 16 data sets and 10 000 steps.

    Examples
    --------
    >>> from ntpcompanion.experiments.attention import attention_directions
    >>> plan = attention_directions.Plan(data_sets=5, gd_steps=300, seed=0)
    >>> found = attention_directions.run(plan)
    >>> found.mean("gd_apart").mean < 0.05, found.speedup("polyak_steps").mean > 1
    (True, True)
    """
    sets = draw_sets(plan.seed, plan.data_sets, dim=50)
    solutions, W = sets.solve()
    paths = {method: _descend(plan, sets, method) for method in METHODS}
    errors = {method: path.direction_error(W) for method, path in paths.items()}
    norms = {method: path.norm for method, path in paths.items()}
    ngd = paths["normalized GD"].attention
    others = np.arange(sets.sequences.length) != sets.best[..., None]
    elsewhere = (ngd * others).sum(axis=-1).max(axis=-1)
    svm_norms, rates = np.linalg.norm(W, axis=(1, 2)), []
    for k, solution in enumerate(solutions):
        courses = {
            method: _Course(paths[method].steps, norms[method][:, k], errors[method][:, k])
            for method in METHODS
        }
        svm = {"svm_norm": svm_norms[k], "gap": solution.duality_gap}
        rates.append(Rates(**svm, **_rates(plan, courses, elsewhere[:, k], svm_norms[k])))
    return Result(
        path=tuple(
            Point(method=method, step=step, norm=norm, error=error)
            for method in METHODS
            for step, norm, error in zip(
                paths[method].steps, norms[method][:, 0], errors[method][:, 0], strict=True
            )
        ),
        rates=tuple(rates),
        elsewhere=tuple(map(tuple, elsewhere)),
        offset_ratios=_offset_ratios(plan),
        rounded=_rounded(plan, W[:ROUNDED_SETS]),
    )


class _Course(NamedTuple):
    steps: np.ndarray
    norm: Float[np.ndarray, " steps"]
    error: Float[np.ndarray, " steps"]

    def log_steps(self) -> float:
        """log10 of the first step below `LEVEL`, or of the last one."""
        below = self.error < LEVEL
        return float(np.log10(self.steps[below.argmax() if below.any() else -1]))


def _descend(plan: Plan, sets: PlantedSets, method: str) -> AttentionPath:
    last = plan.steps[method]
    every = np.arange(1, last + 1)
    if method == "GD":
        every = np.unique(np.geomspace(1, last, 200).round().astype(int))
    return sets.descend(every, LEARNING_RATES[method], method=METHODS[method])


def _rates(
    plan: Plan, courses: dict[str, _Course], elsewhere: np.ndarray, svm_norm: float
) -> dict[str, float]:
    gd, ngd, polyak = courses.values()
    tenth = -1 - (gd.steps[::-1] <= plan.gd_steps // 10).argmax()
    product = gd.error * gd.norm
    grid = np.geomspace(0.7, 1, 20) * gd.norm[-1]
    log_errors = [np.interp(grid, one.norm, np.log(one.error)) for one in courses.values()]
    apart = [np.abs(np.expm1(one - log_errors[1])).max() for one in log_errors]
    window = (elsewhere < 1e-2) & (elsewhere > 1e-10)
    steps, rate = ngd.steps[window], LEARNING_RATES["normalized GD"]
    decay = slopes_of_seeds([steps], [np.log(elsewhere[window])])[0]
    return {
        "end": gd.error[-1],
        "change": gd.error[-1] - gd.error[tenth],
        "constant": product[-1] / product[(gd.steps <= plan.gd_steps * 0.3).sum() - 1],
        "gd_steps": gd.log_steps(),
        "ngd_steps": ngd.log_steps(),
        "polyak_steps": polyak.log_steps(),
        "gd_apart": apart[0],
        "polyak_apart": apart[2],
        "first_polyak": polyak.norm[0],
        "exponent": slopes_of_seeds([np.log(steps)], [np.log(ngd.error[window])])[0],
        "sparse_rate": decay / (-rate / svm_norm),
    }


def _offset_ratios(plan: Plan) -> tuple[float, ...]:
    sets = draw_sets(plan.seed, min(8, plan.data_sets), dim=100, count=10, length=5)
    offsets = [limiting_offset(one.sequences, one.decoder, one.best) for one in sets.drawn]
    path = sets.descend([1200], 0.25)
    products = (path.direction_error(sets.solve()[1]) * path.norm)[-1]
    return tuple(products / np.linalg.norm(offsets, axis=(1, 2)))


def _rounded(plan: Plan, targets: np.ndarray) -> dict[str, tuple[tuple[float, ...], ...]]:
    sets, errors = draw_sets(plan.seed, ROUNDED_SETS, dim=50), {}
    for gradient in ("log", "plain"):
        path = sets.descend(ROUNDED_STEPS, 0.1, gradient=gradient)
        errors[gradient] = tuple(map(tuple, path.direction_error(targets)))
    return errors
