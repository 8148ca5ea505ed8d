"""Does a head count on the network to which the flow of the trace leads, with a mask of random sign
and with one of fixed sign, where a flattest network need not?
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.checks import checked
from ntpcompanion.dyck import balance, bound, bracket_counting, minimizer_path, solutions
from ntpcompanion.dyck.bracket_transformer import Parameters
from ntpcompanion.dyck.sentences import MaskSign, masked_support
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

SIGNS: tuple[MaskSign, ...] = ("random", "fixed")
ROUNDS = 80  # Euler steps of the flow


class Plan(experiment.Plan):
    """Starts at zero loss, random features, with both signs of the mask."""

    length: Annotated[int, Field(ge=4, le=6, multiple_of=2, description="T, brackets")] = 6
    width: Annotated[int, Field(ge=40, description="m, random features")] = 160
    starts: Annotated[int, Field(ge=2, description="for each sign")] = 5
    horizon: Annotated[float, Field(gt=0, description="time of the flow")] = 400.0
    strings: Annotated[int, Field(ge=1, le=64, description="that a head is fitted to")] = 8
    draws: Annotated[int, Field(ge=20, description="samples of strings")] = 400
    seed: Annotated[int, Field(ge=0, description="of starts and samples")]


class Path(experiment.Result):
    """One flow. Errors are those of heads on random strings, as fractions of the variance."""

    sign: Annotated[MaskSign, Field(description="of the mask")]
    ratio_before: Annotated[float, Field(description="trace over its bound at zero loss")]
    ratio: Annotated[float, Field(description="the same at the end")]
    alignment: Annotated[float, Field(description="mean cosine with counting at the end")]
    error_before: Annotated[float, Field(description="mean error of heads on the start")]
    error: Annotated[float, Field(description="the same on the end")]


class Result(experiment.Result):
    """All flows, and the error of heads on neurons that count."""

    paths: tuple[Path, ...]
    counting: Annotated[float, Field(description="expected error on counting neurons")]

    @property
    def table(self) -> pd.DataFrame:
        """Means over starts, a row for each sign."""
        return table_of(self.paths).groupby("sign", sort=False).mean().reset_index()

    @checked
    def error(self, sign: MaskSign) -> Effect:
        """That of heads at the end of the flows, as in `Path`. ValueError for another sign."""
        return mean_effect([path.error for path in self.paths if path.sign == sign])


def run(plan: Plan) -> Result:
    """Follow the flow of the trace at zero loss from each start, and fit heads to random strings.

    Returns traces, alignments and errors of heads before and after. Cost that of
    `follow_trace_flow`: half a second for each start. Raises ValueError for a `width` that is too
    small for zero loss, more than 140 at T = 6.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import transfer_paths
    >>> result = transfer_paths.run(transfer_paths.Plan(length=4, width=64, starts=2, seed=0))
    >>> result.error("fixed").mean < 0.1
    True
    """
    return Result(
        paths=tuple(path for sign in SIGNS for path in _paths(plan, sign)),
        counting=float(bracket_counting.expected_error(plan.length, plan.strings)),
    )


def _paths(plan: Plan, sign: MaskSign) -> Iterator[Path]:
    inputs, _ = masked_support(plan.length, sign)
    for number in range(plan.starts):
        rng = stream(plan.seed, f"{sign} features {number}")
        drawn = solutions.random_features(plan.length, plan.width, rng, sign)
        path = minimizer_path.follow_trace_flow(
            balance.balance_neurons(drawn, inputs),
            plan.horizon,
            rate=plan.horizon / ROUNDS,
            mask_sign=sign,
        )
        ratios = path.squared_gradient / bound.lower_bound(plan.length)
        yield Path(
            sign=sign,
            ratio_before=ratios[0],
            ratio=ratios[-1],
            alignment=path.alignment[-1],
            error_before=_error(plan, path.parameters(0), rng),
            error=_error(plan, path.parameters(), rng),
        )


def _error(plan: Plan, network: Parameters, rng: np.random.Generator) -> float:
    curve = bracket_counting.learning_curve(network, [plan.strings], plan.draws, rng)
    return float(curve.error[0])
