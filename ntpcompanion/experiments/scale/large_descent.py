"""Gradient descent on a table of the size of a real vocabulary: how the loss falls, and what a step
costs.
"""

import itertools
import statistics
import time
from typing import Annotated

from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.scale import large_svm
from ntpcompanion.experiments.scale.large_svm import Sizes
from ntpcompanion.linear.dynamics.block_descent import descend_large
from ntpcompanion.linear.dynamics.descent import step_bound
from ntpcompanion.numerics.memory import forget_peak, peak_gib


class Plan(experiment.Plan):
    """A planted table, that of `large_svm` of the same sizes and seed, and steps on it."""

    sizes: Sizes
    times_bound: Annotated[
        float, Field(gt=0, description="η in multiples of `step_bound`, safe at every decoder")
    ] = 1.0
    steps: Annotated[int, Field(ge=1, description="of gradient descent")]
    seed: Annotated[int, Field(ge=0, description="of the table")]


class Result(experiment.Result):
    """How the loss fell, and what it took."""

    losses: Annotated[
        tuple[float, ...], Field(description="cross-entropy after 0, 1, … steps, nats")
    ]
    entropy: Annotated[float, Field(description="its greatest lower bound on this table, nats")]
    learning_rate: Annotated[float, Field(description="η")]
    seconds: Annotated[float, Field(description="median of a step, on a machine with other work")]
    peak_gib: Annotated[float | None, Field(description="resident size at most, GiB, in halves")]


def run(plan: Plan) -> Result:
    """Descend from zero, and watch the loss.

    Returns losses, their limit, and what a step needed. 2 m V d multiplications a step: half a
    minute of one core at m = 10⁵, V = 10⁴, d = 256.

    Raises
    ------
    ValueError
        as `planted_table`.

    Examples
    --------
    >>> from ntpcompanion.experiments.scale import large_descent
    >>> from ntpcompanion.experiments.scale import large_svm
    >>> sizes = large_svm.Sizes(num_contexts=40, vocab_size=12, dim=16, support_size=3)
    >>> found = large_descent.run(large_descent.Plan(sizes=sizes, steps=20, seed=0))
    >>> len(found.losses), found.losses[0] > found.losses[-1] > found.entropy
    (21, True)
    """
    forget_peak()
    table = large_svm.table_of(
        large_svm.Plan(sizes=plan.sizes, table="planted", solver="working set", seed=plan.seed)
    )
    rate = plan.times_bound * step_bound(table)
    losses, clock = [], [time.monotonic()]
    for snapshot in descend_large(table, learning_rate=rate, steps=plan.steps):
        losses.append(snapshot.cross_entropy)
        clock.append(time.monotonic())
    return Result(
        losses=tuple(losses),
        entropy=table.entropy,
        learning_rate=rate,
        seconds=statistics.median(b - a for a, b in itertools.pairwise(clock)),
        peak_gib=peak_gib(),
    )
