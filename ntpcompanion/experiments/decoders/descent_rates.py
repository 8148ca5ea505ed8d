"""How fast does the direction of gradient descent itself converge, with strict complementarity and
without?
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.decoders.separable_tables import Solved
from ntpcompanion.experiments.decoders.stochastic_limits import Sizes, solved_tables
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.descent import step_bound
from ntpcompanion.linear.dynamics.stochastic_descent import descend_many
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.complementarity import complementarity_gap
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

TRIED = 20  # embeddings of a further context, of which the shortest is taken
SMALLEST_GAP = 1e-6  # between its two largest logits, for an embedding of length 1
LATER = 10  # how many times more steps the prediction reaches than what it is made from


class Plan(Sizes):
    """Random tables, and tables with a further context whose multiplier is zero."""

    steps: Annotated[int, Field(ge=1000, description="of gradient descent")]


class Approach(experiment.Result):
    """One table: the decoder after a tenth of the steps and after all of them."""

    strict: Annotated[bool, Field(description="whether complementarity is strict")]
    gap: Annotated[float, Field(description="of complementarity, its smallest")]
    log_times: Annotated[tuple[float, float], Field(description="log t of both")]
    predicted: Annotated[float, Field(description="1 − cos at the end, from the first")]
    measured: Annotated[float, Field(description="1 − cos at the end")]
    offsets: Annotated[
        tuple[float, float], Field(description="‖P_⊥ W − W^mm log t‖ of both decoders")
    ]

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted

    @property
    def spread(self) -> float:
        """The offset at the end over that of the first decoder."""
        return self.offsets[1] / self.offsets[0]


class Result(experiment.Result):
    """All tables."""

    approaches: tuple[Approach, ...]

    def mean(self, name: str, *, strict: bool) -> Effect:
        """The mean of `ratio` or `spread` over the tables of one kind."""
        chosen = [each for each in self.approaches if each.strict == strict]
        return mean_effect([getattr(each, name) for each in chosen])


def run(plan: Plan) -> Result:
    """Predict the direction of gradient descent from a tenth of the steps, and compare.

    If W = W^mm log t + W* + ρ + o(1), the decoder at t gives those at later times: W(t) + W^mm log
    (t' / t). If not, as without strict complementarity, W − W^mm log t is still O(√log t).

    Parameters
    ----------
    plan
        the tables and the steps.

    Returns
    -------
    Result
        for each table what is predicted and measured.

    Raises
    ------
    ValueError
        sizes at which hardly a table is separable, or at which tokens share their vectors.

    Notes
    -----
    The step on each table is the largest one that the theorem allows, η = 1 / (2L). 50 s for a
    million steps on 20 tables of each kind with m = 8, V = 6, d = 9.

    Examples
    --------
    >>> from ntpcompanion.experiments import descent_rates
    >>> sizes = {"num_contexts": 3, "vocab_size": 3, "support_size": 2, "dim": 4, "tables": 2}
    >>> found = descent_rates.run(descent_rates.Plan(**sizes, steps=10_000, seed=0))
    >>> [each.strict for each in found.approaches]
    [True, True, False, False]
    """
    solved = solved_tables(plan, plan.num_contexts)
    fewer = solved_tables(plan, plan.num_contexts - 1)
    for index, pair in enumerate(fewer):
        rng = stream(plan.seed, f"further context {index}")
        solved.append((with_free_multiplier(*pair, rng), pair[1]))
    tables = [table for table, _ in solved]
    rates = np.array([step_bound(table) for table in tables])
    steps = plan.steps // LATER, plan.steps
    weights = descend_many(
        tables,
        [stream(plan.seed, "nothing is drawn")] * len(tables),
        learning_rate=rates,
        batch_size=None,
        steps=plan.steps,
        keep=steps,
    )
    log_times = np.log(rates[:, None] * steps)
    return Result(
        approaches=tuple(
            _approach(pair, weights[:, i], log_times[i], i < plan.tables)
            for i, pair in enumerate(solved)
        )
    )


def with_free_multiplier(
    table: ContextTable, svm: Float[np.ndarray, "V d"], rng: np.random.Generator
) -> ContextTable:
    """One more context, followed by one token, that has a margin of exactly 1 in W^mm: W^mm solves
    the next-token SVM as before, without it, so its multiplier is zero. Raises ValueError if no
    context can have such a margin.
    """
    tried = rng.standard_normal((TRIED, table.dim))
    gap = np.diff(np.sort(tried @ svm.T)[:, -2:])[:, 0] / np.linalg.norm(tried, axis=1)
    best = gap.argmax()
    if gap[best] < SMALLEST_GAP:
        raise ValueError(
            "`num_contexts` is too small: the max-margin decoder has the same vector for several "
            "tokens, so no further context can follow one of them by a margin."
        )
    h = tried[best] / np.linalg.norm(tried[best]) / gap[best]
    p = np.zeros((1, table.vocab_size))
    p[0, (svm @ h).argmax()] = 1
    m = table.num_contexts + 1
    return ContextTable(
        np.vstack([table.embeddings, h]),
        np.vstack([table.distributions.toarray(), p]),
        np.full(m, 1 / m),
    )


def _approach(
    pair: Solved,
    weights: Float[np.ndarray, "2 V d"],
    log_times: Float[np.ndarray, " 2"],
    strict: bool,
) -> Approach:
    table, svm = pair
    ahead = weights[:1] + svm * (log_times[1] - log_times[0])
    rest = np.array([W - project_onto_F(table, W) for W in weights])
    offsets = np.linalg.norm(rest - log_times[:, None, None] * svm, axis=(1, 2)).tolist()
    return Approach(
        strict=strict,
        gap=complementarity_gap(table, solve_ntp_svm(table, tol=1e-10)),
        log_times=tuple(log_times.tolist()),
        predicted=float(cosine_distance(ahead, svm)[0]),
        measured=float(cosine_distance(weights[1:], svm)[0]),
        offsets=tuple(offsets),
    )
