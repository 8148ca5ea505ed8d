"""How many steps of SGD find the two bits whose product is the label, and what do they need?"""

from typing import Annotated, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.xor import (
    XorNetwork,
    draw_network,
    estimate_accuracy,
    population_step,
    sgd_path,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import (
    Effect,
    estimate,
    mean_effect,
    paired_effect,
    slope_within_seeds,
)
from ntpcompanion.statistics.success_rates import Successes, count_successes

Bits = tuple[Annotated[int, Field(ge=4)], ...]
LEARNED = 0.99  # accuracy above which a run succeeds
JUDGED = 64  # bits from which runs are judged: the theorem is one for large d


class Setting(NamedTuple):
    """What is changed against η = m, batches of 4 d ln d inputs, the linear loss, ⌈ln d⌉ steps."""

    learning_rate: float = 1.0  # η / m
    batch_size: float | None = None  # n / d
    width: int | None = None  # m
    loss: Literal["linear", "logistic"] = "linear"
    steps: int = 0  # how many are taken; 0: ⌈ln d⌉


def settings(dim: int) -> dict[str, Setting]:
    """The settings that are compared at d bits, each with its name."""
    return {
        "η = m": Setting(),
        "η = m/20": Setting(learning_rate=1 / 20),
        "η = m/2": Setting(learning_rate=1 / 2),
        "η = 2m": Setting(learning_rate=2.0),
        "n = d": Setting(batch_size=1.0),
        "n = 4d": Setting(batch_size=4.0),
        **{f"m = {m}": Setting(width=m) for m in (2, 4, 8)},
        "logistic": Setting(loss="logistic"),
        "logistic, more steps": Setting(loss="logistic", steps=2 * int(np.ceil(np.log2(dim)))),
    }


class Plan(experiment.Plan):
    """Numbers of bits, runs for each, and one number of bits where settings are compared."""

    dims: Annotated[Bits, Field(min_length=2, description="d, bits, of the runs of SGD, rising")]
    population_dims: Annotated[
        Bits, Field(min_length=1, description="d of the runs by the expected step")
    ]
    width: Annotated[int, Field(ge=2, description="m, hidden units, even")] = 20
    replicates: Annotated[int, Field(ge=2, description="runs for each d")] = 10
    studied_dim: Annotated[int, Field(ge=16, description="d where settings are compared")] = 100
    studied_runs: Annotated[int, Field(ge=2, description="runs of each setting")] = 160
    tested: Annotated[int, Field(ge=100, description="new inputs of an accuracy")] = 2000
    seed: Annotated[int, Field(ge=0, description="of starts, batches and new inputs")]

    @field_validator("width")
    @classmethod
    def _even(cls, width: int) -> int:
        if width % 2:
            raise ValueError(f"`width` must be even, half of it for each sign, got {width}.")
        return width


class Run(experiment.Result):
    """One run of training from a random start."""

    training: Literal["batches", "expected step"]
    d: Annotated[int, Field(description="bits")]
    run: Annotated[int, Field(description="of this d, from 0")]
    steps: Annotated[float, Field(description="until the accuracy exceeds 0.99, interpolated")]
    at_log_d: Annotated[float | None, Field(description="accuracy after ⌈ln d⌉ steps of SGD")]


class Sizes(experiment.Result):
    """Root mean squares over the hidden units of their weights, at one step."""

    right: Annotated[float, Field(description="along e₁ + a_j e₂")]
    other: Annotated[float, Field(description="along the other coordinates")]
    wrong: Annotated[float, Field(description="along e₁ − a_j e₂")]


class Result(experiment.Result):
    """The runs, the path of one of them, and the accuracies of each setting."""

    width: Annotated[int, Field(description="m of the plan")]
    runs: tuple[Run, ...]
    path: Annotated[tuple[Sizes, ...], Field(description="of a run at the second largest d")]
    accuracies: Annotated[
        dict[str, tuple[float, ...]], Field(description="of each run after the last step")
    ]

    @property
    def runs_table(self) -> pd.DataFrame:
        """A row for each run."""
        return table_of(self.runs)

    @property
    def path_table(self) -> pd.DataFrame:
        """The sizes at each step, from 0 on."""
        return table_of(self.path)

    @property
    def settings_table(self) -> pd.DataFrame:
        """The accuracy of each run, a column for each setting."""
        return pd.DataFrame(self.accuracies)

    def steps(self, training: str, min_bits: int = 0) -> pd.DataFrame:
        """The steps that each run needs: a column for each d of at least that many bits."""
        table = self.runs_table
        chosen = table[(table.training == training) & (table.d >= min_bits)]
        return chosen.pivot(index="run", columns="d", values="steps")

    @property
    def enough(self) -> Successes:
        """Runs with d ≥ 64 that succeed after ⌈ln d⌉ steps."""
        judged = [run for run in self.runs if run.training == "batches" and run.d >= JUDGED]
        return count_successes([bool((run.at_log_d or 0) > LEARNED) for run in judged])

    @property
    def slope(self) -> Effect:
        """Steps of SGD for each factor e in d, from d = 64 on."""
        return _steps_per_e_fold(self.steps("batches", JUDGED))

    @property
    def population_slope(self) -> Effect:
        """The same with the expected step."""
        return _steps_per_e_fold(self.steps("expected step"))

    def accuracy(self, setting: str) -> Effect:
        """The mean accuracy of a setting."""
        return mean_effect(self.settings_table[setting])

    def change(self, setting: str, against: str) -> Effect:
        """How much more accurate a setting is than another, with the same starts."""
        table = self.settings_table
        return paired_effect(table[setting], table[against])

    @property
    def excess_failures(self) -> Effect:
        """By how much the fraction of runs that fail exceeds exp(−m/16): the largest of m = 4, 8
        and the plan's width.
        """
        widths = {"m = 4": 4, "m = 8": 8, "η = m": self.width}
        excesses = []
        for name, m in widths.items():
            failed = count_successes([one <= LEARNED for one in self.accuracies[name]])
            excess = failed.mean - np.exp(-m / 16)
            excesses.append(estimate(excess, failed.stderr, failed.replicates))
        return max(excesses, key=lambda effect: effect.mean)


def run(plan: Plan) -> Result:
    """Train quadratic networks on the exclusive or of two bits among d, from random starts.

    Runs of one d are independent; runs with the same number share the first coordinates of their
    start at every d.

    Returns steps until each run succeeds, and accuracies where one thing is changed at a time. Cost
    that of `sgd_path`: 0.2 s a step for d = 1024, m = 20, n = 4 d ln d on one core.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import xor_steps
    >>> sizes = {"dims": (16, 64), "population_dims": (64, 128), "studied_dim": 16}
    >>> plan = xor_steps.Plan(**sizes, replicates=2, studied_runs=2, tested=500, seed=0)
    >>> found = xor_steps.run(plan)
    >>> 0 < found.population_slope.mean < 2
    True
    """
    runs = [_by_batches(plan, d, run) for d in plan.dims for run in range(plan.replicates)]
    runs += [
        _by_expected_step(plan, d, run)
        for d in plan.population_dims
        for run in range(plan.replicates)
    ]
    compared = [_each_setting(plan, run) for run in range(plan.studied_runs)]
    return Result(
        width=plan.width,
        runs=tuple(runs),
        path=_path(plan),
        accuracies={name: tuple(one[name] for one in compared) for name in compared[0]},
    )


def log_steps(dim: int) -> int:
    """⌈ln d⌉, the number of steps in the theorem."""
    return int(np.ceil(np.log(dim)))


def _start(plan: Plan, run: int, dim: int, width: int) -> XorNetwork:
    """The start of a run; a smaller d takes the first coordinates of the same weights."""
    largest = max(*plan.dims, *plan.population_dims, plan.studied_dim)
    whole = draw_network(stream(plan.seed, f"start {run}"), width=width, dim=largest)
    return XorNetwork(whole.weights[:, :dim], whole.signs)


def _by_batches(plan: Plan, d: int, run: int) -> Run:
    steps = max(6, log_steps(d))
    start = _start(plan, run, d, plan.width)
    accuracies = _accuracies(plan, run, start, Setting(steps=steps), tests=steps + 1)
    crossing = np.interp(LEARNED, np.maximum.accumulate(accuracies), range(len(accuracies)))
    return Run(
        training="batches", d=d, run=run, steps=float(crossing), at_log_d=accuracies[log_steps(d)]
    )


def _by_expected_step(plan: Plan, d: int, run: int) -> Run:
    network = _start(plan, run, d, plan.width)
    rng = stream(plan.seed, f"tests {run} {d}")
    accuracies = [estimate_accuracy(network, rng, plan.tested)]
    while accuracies[-1] <= LEARNED:
        network = population_step(network, plan.width)
        accuracies.append(estimate_accuracy(network, rng, plan.tested))
    crossing = np.interp(LEARNED, accuracies, range(len(accuracies)))
    return Run(training="expected step", d=d, run=run, steps=float(crossing), at_log_d=None)


def _each_setting(plan: Plan, run: int) -> dict[str, float]:
    d, compared = plan.studied_dim, settings(plan.studied_dim)
    widths = {setting.width or plan.width for setting in compared.values()}
    starts = {m: _start(plan, run, d, m) for m in widths}
    return {
        name: _accuracies(plan, run, starts[setting.width or plan.width], setting, tests=1)[0]
        for name, setting in compared.items()
    }


def _accuracies(
    plan: Plan, run: int, start: XorNetwork, setting: Setting, tests: int
) -> list[float]:
    """Estimated accuracies at the last so many points of a path."""
    m, d = start.weights.shape
    path = list(
        sgd_path(
            start,
            stream(plan.seed, f"batches {run} {d}"),
            steps=setting.steps or log_steps(d),
            batch_size=round((setting.batch_size or 4 * np.log(d)) * d),
            learning_rate=setting.learning_rate * m,
            loss=setting.loss,
        )
    )
    rng = stream(plan.seed, f"tests {run} {d}")
    return [estimate_accuracy(network, rng, plan.tested) for network in path[-tests:]]


def _path(plan: Plan) -> tuple[Sizes, ...]:
    d, rng = plan.dims[-2], stream(plan.seed, "path")
    start = draw_network(rng, width=plan.width, dim=d)
    rule = {"batch_size": round(4 * d * np.log(d)), "learning_rate": plan.width}
    return tuple(
        Sizes(
            right=_size(network.right),
            other=_size(network.weights[:, 2:]),
            wrong=_size(network.wrong),
        )
        for network in sgd_path(start, rng, steps=log_steps(d), **rule)
    )


def _size(part: np.ndarray) -> float:
    return float(np.sqrt((part**2).mean()))


def _steps_per_e_fold(steps: pd.DataFrame) -> Effect:
    e_folds = np.tile(np.log(steps.columns), (len(steps), 1))
    return slope_within_seeds(e_folds, steps.to_numpy(float))
