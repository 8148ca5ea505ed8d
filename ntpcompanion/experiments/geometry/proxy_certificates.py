"""How often is the centred support matrix proved to be the solution, and how far is it from one?"""

from itertools import pairwise
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.geometry.predictions import predicted_grams
from ntpcompanion.geometry.random_geometry import random_supports
from ntpcompanion.geometry.supports import polar_certificate
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect

SHAPES = ((10, 95, 3), (10, 30, 3), (10, 15, 3), (20, 95, 3), (30, 60, 5))  # V, m, k
GROWING = ("10, 15, 3", "10, 30, 3", "10, 95, 3")  # more contexts
MORE_TOKENS, FEWER_TOKENS = "20, 95, 3", "10, 30, 3"  # with as many contexts for each token
JUDGED = 20  # supports on which certificates are compared with solutions
LANGUAGE = (100, 104, 5)  # m, V, k, the sizes of a real text


class Plan(experiment.Plan):
    """How many random supports are drawn."""

    draws: Annotated[int, Field(ge=2, description="of supports, for each shape")]
    seed: Annotated[int, Field(ge=0, description="of the supports")]


class Judged(experiment.Result):
    """A certificate beside the solution."""

    holds: bool
    shorter: Annotated[float, Field(description="fraction by which the solution's norm is less")]


class Result(experiment.Result):
    """Certificates of random supports."""

    holds: Annotated[
        dict[str, tuple[bool, ...]], Field(description='for each shape "V, m, k", of each draw')
    ]
    judged: tuple[Judged, ...]
    language: Annotated[
        float, Field(description="as `Judged.shorter`, on 100 supports of 5 of 104")
    ]

    @property
    def frequency(self) -> pd.DataFrame:
        """The percentage of draws with a certificate, a row for each shape: `mean` and `sem`."""
        table = pd.DataFrame(self.holds).melt(var_name="shape", value_name="holds")
        percentages = (100.0 * table.holds).groupby(table["shape"], sort=False)
        return percentages.agg(["mean", "sem"])

    @property
    def rise(self) -> Effect:
        """Points of percentage by which more contexts raise it, the least of two steps."""
        steps = [self._difference(more, fewer) for fewer, more in pairwise(GROWING)]
        return min(steps, key=lambda step: step.mean)

    @property
    def more_tokens(self) -> Effect:
        """Points of percentage by which more tokens raise it."""
        return self._difference(MORE_TOKENS, FEWER_TOKENS)

    @property
    def certified_error(self) -> float:
        """Largest distance of the proxy's norm from the least one, where a certificate holds."""
        return max((abs(one.shorter) for one in self.judged if one.holds), default=np.nan)

    @property
    def uncertified_excess(self) -> float:
        """Least excess of the proxy's norm where none holds."""
        return min((one.shorter for one in self.judged if not one.holds), default=np.nan)

    def _difference(self, first: str, second: str) -> Effect:
        rows = self.frequency.loc[[first, second]]
        draws, stderr = len(self.holds[first]), float(np.hypot(*rows["sem"]))
        mean = rows["mean"].to_numpy()
        return Effect(float(mean[0] - mean[1]), stderr, draws, stderr * draws**0.5)


def run(plan: Plan) -> Result:
    """Try to certify the centred support matrix on random supports of several shapes, and compare
    certificates with solutions of the nuclear-norm SVM.

    Returns how often certificates hold, and how much less than the proxy's the least norm is. Cost
    that of 5 singular value decompositions for each draw, and of 21 solutions.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import proxy_certificates
    >>> found = proxy_certificates.run(proxy_certificates.Plan(draws=2, seed=0))
    >>> found.certified_error < 1e-6, found.uncertified_excess > 0
    (True, True)
    """
    language = random_supports(*LANGUAGE, stream(plan.seed, "language"))
    return Result(
        holds={
            f"{V}, {m}, {k}": tuple(
                polar_certificate(
                    random_supports(m, V, k, stream(plan.seed, f"proxy {V} {m} {k} {draw}"))
                ).holds
                for draw in range(plan.draws)
            )
            for V, m, k in SHAPES
        },
        judged=tuple(_judged(plan, draw) for draw in range(JUDGED)),
        language=predicted_grams(language).shorter,
    )


def _judged(plan: Plan, draw: int) -> Judged:
    contexts = 95 if draw % 2 else 15
    support = random_supports(contexts, 10, 3, stream(plan.seed, f"judged {draw}"))
    return Judged(
        holds=polar_certificate(support).holds, shorter=predicted_grams(support, tol=1e-9).shorter
    )
