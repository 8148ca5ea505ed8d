"""Does a network err on its own sample, moved to the other sphere, where it errs on few fresh
points?
"""

from collections.abc import Sequence
from typing import Annotated

import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.concentric_spheres import (
    draw_spheres,
    to_other_sphere,
    train_two_layers,
)
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run

Fraction = Annotated[float, Field(ge=0, le=1)]
Size = Annotated[int, Field(ge=1)]


class Plan(experiment.Plan):
    """One seed: a sample and a network for each pair of sizes."""

    sizes: Annotated[
        tuple[tuple[Size, Size], ...],
        Field(min_length=1, description="pairs: dimension, points of the sample"),
    ]
    width: Annotated[int, Field(ge=1, description="hidden units")] = 1000
    learning_rate: Annotated[float, Field(gt=0, description="of SGD, constant")] = 0.3
    batch_size: Annotated[int, Field(ge=1, description="points of a step")] = 64
    margin: Annotated[float, Field(gt=0, description="that 99 % of the sample reach")] = 1.0
    epochs: Annotated[int, Field(ge=1, description="at most")] = 1000
    held_out: Annotated[int, Field(ge=1, description="fresh points")] = 4000
    seed: Annotated[int, Field(ge=0, description="of samples, networks and their training")]


class Arm(experiment.Result):
    """The network of one pair of sizes."""

    dim: Annotated[int, Field(ge=1, description="of the space")]
    m: Annotated[int, Field(ge=1, description="points of the sample")]
    epochs: Annotated[int, Field(ge=1, description="of training")]
    train_error: Annotated[Fraction, Field(description="on the sample S")]
    test_error: Annotated[Fraction, Field(description="on fresh points")]
    moved_error: Annotated[Fraction, Field(description="on S′, the sample on the other sphere")]


class Result(experiment.Result):
    """The networks of one seed."""

    arms: Annotated[tuple[Arm, ...], Field(description="in the order of the plan's sizes")]


def run(plan: Plan) -> Result:
    """Train a network on two spheres for each pair of sizes, and judge it on its sample, on fresh
    points, and on its sample moved to the other sphere.

    Returns three errors for each pair of sizes. Arms share no randomness. Cost O(m dim width) for
    an epoch: 40 s for (500, 8000) on one core, 3 s for (100, 1000).

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import hyperspheres
    >>> plan = hyperspheres.Plan(sizes=((20, 40),), width=100, held_out=200, seed=0)
    >>> arm = hyperspheres.run(plan).arms[0]
    >>> arm.train_error, arm.moved_error > arm.test_error
    (0.0, True)
    """
    return Result(arms=tuple(_arm(plan, dim, m) for dim, m in plan.sizes))


def _arm(plan: Plan, dim: int, m: int) -> Arm:
    rng = stream(plan.seed, f"spheres {dim} {m}")
    sample = draw_spheres(rng, m, dim)
    net = train_two_layers(
        rng,
        sample,
        width=plan.width,
        learning_rate=plan.learning_rate,
        batch_size=plan.batch_size,
        margin=plan.margin,
        epochs=plan.epochs,
    )
    return Arm(
        dim=dim,
        m=m,
        epochs=net.epochs,
        train_error=net.error(sample),
        test_error=net.error(draw_spheres(rng, plan.held_out, dim)),
        moved_error=net.error(to_other_sphere(sample)),
    )


def errors_table(tasks: Sequence[Run[Plan, Result]], field: str) -> pd.DataFrame:
    """An error in recorded runs.

    Parameters
    ----------
    tasks
        of a record.
    field
        of an arm, such as `test_error`.

    Returns
    -------
    pandas.DataFrame
        a row for each seed, a column for each pair (dim, m).
    """
    runs = [task.result.arms for task in tasks]
    pairs = pd.MultiIndex.from_tuples([(arm.dim, arm.m) for arm in runs[0]], names=["dim", "m"])
    return pd.DataFrame([[getattr(arm, field) for arm in arms] for arms in runs], columns=pairs)
