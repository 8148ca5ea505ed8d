"""Do methods that lower the trace at zero loss lead random features to the network that counts?"""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.dyck import balance, bound, minimizer_path, solutions
from ntpcompanion.dyck.bracket_transformer import Parameters
from ntpcompanion.dyck.minimizer_path import ValleyPath
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

Method = Literal["flow", "penalty", "label noise"]
LONGER = 3.5  # time of the flow at T = 6 over that at T = 4
SIX = 3  # starts at T = 6


class Plan(experiment.Plan):
    """Random starts at lengths 4 and 6, balanced neuron by neuron."""

    starts: Annotated[int, Field(ge=2, description="random starts of T = 4")] = 5
    width: Annotated[int, Field(ge=40, description="m, neurons of T = 4; once four times that")] = (
        64
    )
    wider: Annotated[int, Field(ge=140, description="m of T = 6")] = 160
    horizon: Annotated[float, Field(ge=20, description="time of the flow at T = 4")] = 200.0
    seed: Annotated[int, Field(ge=0, description="of starts and noise")]

    @property
    def sizes(self) -> list[tuple[int, int, int]]:
        """T, m and number of each start."""
        four = [(4, self.width, start) for start in range(self.starts)]
        return [*four, (4, 4 * self.width, 0), *((6, self.wider, start) for start in range(SIX))]


class Path(experiment.Result):
    """One path, at evenly spaced steps."""

    method: Method
    T: Annotated[int, Field(description="brackets")]
    m: Annotated[int, Field(description="neurons")]
    start: Annotated[int, Field(description="number of the start, from 0")]
    times: Annotated[tuple[float, ...], Field(description="of the flow; none for the penalty")]
    ratios: Annotated[tuple[float, ...], Field(description="trace over its bound at zero loss")]
    alignments: Annotated[
        tuple[float, ...], Field(description="mean cosine with counting, by part of the output")
    ]


class Result(experiment.Result):
    """All paths."""

    paths: tuple[Path, ...]
    noise_ratios: Annotated[
        tuple[float, ...],
        Field(description="squared gradient with label noise over that of the flow, by start"),
    ]

    @property
    def first(self) -> list[Path]:
        """The flow from the first start of each size."""
        return [one for one in self.paths if one.method == "flow" and one.start == 0]

    @property
    def noisy(self) -> Path:
        """The run with label noise from the first start."""
        return next(one for one in self.paths if one.method == "label noise")

    def flows(self, field: str) -> pd.DataFrame:
        """Times, ratios or alignments along these, a column each; what ends early is missing."""
        columns = {
            f"$T = {one.T}$, $m = {one.m}$": pd.Series(getattr(one, field)) for one in self.first
        }
        return pd.DataFrame(columns)

    @property
    def table(self) -> pd.DataFrame:
        """The alignments along these flows, a row for each size and time."""
        names = {"times": "time", "alignments": "alignment"}
        table = table_of(self.first).rename(columns=names)
        return table[["T", "m", *names.values()]].explode([*names.values()])

    def end(self, method: Method, *lengths: int) -> float:
        """The largest trace over its bound at the end of the paths of a method, at lengths T."""
        paths = [one for one in self.paths if one.method == method and one.T in lengths]
        return max(one.ratios[-1] for one in paths)

    @property
    def noise_ratio(self) -> Effect:
        """The mean of `noise_ratios`."""
        return mean_effect(np.array(self.noise_ratios))


def run(plan: Plan) -> Result:
    """Lower the trace of random features at zero loss: by its gradient flow, by Adam on a penalty,
    and by SGD with noisy labels.

    Returns trace and alignment along each path. Cost that of `follow_trace_flow`: 15 s for the
    chapter's plan.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import bracket_descent
    >>> result = bracket_descent.run(bracket_descent.Plan(starts=2, horizon=20, seed=0))
    >>> 1 <= result.end("penalty", 4, 6) < result.end("flow", 4) < 2
    True
    """
    starts = {size: _start(plan.seed, *size) for size in plan.sizes}
    paths = [one for size, start in starts.items() for one in _paths(plan, size, start)]
    noise = [_noise(plan, draw, starts[4, plan.width, draw]) for draw in range(plan.starts)]
    return Result(
        paths=(*paths, _typed("label noise", (4, plan.width, 0), noise[0][0])),
        noise_ratios=tuple(ratio for _, ratio in noise),
    )


def _start(seed: int, T: int, width: int, start: int) -> Parameters:
    drawn = solutions.random_features(T, width, stream(seed, f"start {T} {width} {start}"))
    return balance.balance_neurons(drawn, masked_support(T, "random")[0])


def _paths(plan: Plan, size: tuple[int, int, int], start: Parameters) -> Iterator[Path]:
    T, _, number = size
    longer, rate = (1.0, 1.0) if T == 4 else (LONGER, 5.0)
    flow = minimizer_path.follow_trace_flow(start, longer * plan.horizon, rate=rate, snapshots=81)
    yield _typed("flow", size, flow)
    if T == 4 or number == 0:
        yield _typed("penalty", size, minimizer_path.follow_regularized_adam(start, 0.005, 500 * T))


def _noise(plan: Plan, number: int, start: Parameters) -> tuple[ValleyPath, float]:
    """A run with label noise, and its last squared gradient over that of the flow."""
    noisy = minimizer_path.follow_label_noise(
        start, 0.02, int(250 * plan.horizon), stream(plan.seed, f"noise {number}"), label_noise=1.0
    )
    flow = minimizer_path.follow_trace_flow(start, float(noisy.times[-1]), rate=0.05)
    return noisy, float(noisy.squared_gradient[-1] / flow.squared_gradient[-1])


def _typed(method: Method, size: tuple[int, int, int], path: ValleyPath) -> Path:
    T, m, start = size
    return Path(
        method=method,
        T=T,
        m=m,
        start=start,
        times=() if method == "penalty" else tuple(path.times),
        ratios=tuple(path.squared_gradient / bound.lower_bound(T)),
        alignments=tuple(path.alignment),
    )
