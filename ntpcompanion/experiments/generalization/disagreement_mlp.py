"""Do small perceptrons that differ in data, start or order disagree as often as they err?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.disagreement import compare_disagreement
from ntpcompanion.generalization.stacked_mlp import (
    StackedMLP,
    draw_order,
    draw_stacked_mlp,
    train_stacked_mlp,
)
from ntpcompanion.randomness import torch_stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect

Fraction = Annotated[float, Field(ge=0, le=1)]
Arm = Literal["data", "start", "order"]
ARMS: tuple[Arm, ...] = ("data", "start", "order")
TEACHER_UNITS, TEACHER_SCALE = 20, 1.5  # the scale bends the teacher's tanh


class Task(experiment.Plan):
    """Sizes of the data."""

    examples: Annotated[int, Field(ge=2, description="n, on which each network is trained")]
    inputs: Annotated[int, Field(ge=1, description="d, normal inputs")]
    classes: Annotated[int, Field(ge=2, description="of the teacher")]


class Plan(experiment.Plan):
    """One draw of teacher and data, with an ensemble for each of three sources of randomness."""

    task: Task
    models: Annotated[int, Field(ge=2, description="networks of an ensemble")] = 20
    hidden: Annotated[int, Field(ge=1, description="units of a network")] = 64
    epochs: Annotated[int, Field(ge=1, description="passes over the examples")] = 40
    batch_size: Annotated[int, Field(ge=1, description="of SGD")] = 50
    learning_rate: Annotated[float, Field(gt=0, description="of SGD, momentum 0.9")] = 0.05
    tested: Annotated[int, Field(ge=1, description="new inputs on which all are compared")] = 3000
    seed: Annotated[int, Field(ge=0, description="of teacher, data, starts and orders")]


class Ensemble(experiment.Result):
    """Networks that differ in one thing only."""

    differ_in: Annotated[Arm, Field(description="what is drawn anew for each network")]
    error: Annotated[Fraction, Field(description="of a network, mean")]
    disagreement: Annotated[Fraction, Field(description="of two different networks, mean")]
    gap: Annotated[float, Field(description="disagreement, with replacement, less error")]
    calibration_error: Annotated[float, Field(ge=0, le=2, description="CACE of the votes")]
    training_error: Annotated[Fraction, Field(description="of a network on its examples, mean")]


class Result(experiment.Result):
    """The ensembles of one seed."""

    ensembles: Annotated[tuple[Ensemble, ...], Field(description="differing in data, start, order")]


def run(plan: Plan) -> Result:
    """Train three ensembles of perceptrons on data of one teacher: with new data, a new start, or a
    new order of the examples for each network, and everything else equal.

    Returns error, disagreement and calibration error of each ensemble on the same new inputs. Cost
    1 ms a step and ensemble on one core.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import disagreement_mlp
    >>> task = {"examples": 50, "inputs": 3, "classes": 2}
    >>> found = disagreement_mlp.run(disagreement_mlp.Plan(task=task, models=2, epochs=2, seed=0))
    >>> [one.differ_in for one in found.ensembles]
    ['data', 'start', 'order']
    """
    return Result(ensembles=tuple(_ensemble(plan, arm) for arm in ARMS))


def _ensemble(plan: Plan, arm: Arm) -> Ensemble:
    drawn = [_examples(plan, name, plan.task.examples) for name in _names(plan, arm, "data")]
    inputs, labels = (torch.stack(parts) for parts in zip(*drawn, strict=True))
    starts, orders = (
        [torch_stream(plan.seed, name) for name in _names(plan, arm, source)]
        for source in ("start", "order")
    )
    order = draw_order(
        orders, count=plan.task.examples, epochs=plan.epochs, batch_size=plan.batch_size
    )
    networks = train_stacked_mlp(
        draw_stacked_mlp(starts, [plan.task.inputs, plan.hidden, plan.task.classes]),
        inputs,
        labels,
        order,
        learning_rate=plan.learning_rate,
    )
    return _compared(plan, arm, networks, (networks.predictions(inputs) != labels))


def _compared(plan: Plan, arm: Arm, networks: StackedMLP, missed: Tensor) -> Ensemble:
    new, classes = _examples(plan, "test", plan.tested)
    comparison = compare_disagreement(networks.predictions(new), classes)
    return Ensemble(
        differ_in=arm,
        error=comparison.error,
        disagreement=comparison.between_models,
        gap=comparison.gap,
        calibration_error=comparison.calibration_error,
        training_error=missed.double().mean().item(),
    )


def _names(plan: Plan, arm: Arm, source: Arm) -> list[str]:
    """The stream of each network: its own where the networks of this arm differ."""
    return [f"{source} {i if source == arm else 0}" for i in range(plan.models)]


def _examples(plan: Plan, name: str, count: int) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    """Normal inputs, and the class that a random network of tanh units gives them."""
    g = torch_stream(plan.seed, "teacher")
    first = torch.randn(plan.task.inputs, TEACHER_UNITS, generator=g)
    last = torch.randn(TEACHER_UNITS, plan.task.classes, generator=g)
    x = torch.randn(count, plan.task.inputs, generator=torch_stream(plan.seed, name))
    return x, (torch.tanh(x @ first * TEACHER_SCALE / plan.task.inputs**0.5) @ last).argmax(1)


@dataclass(frozen=True, eq=False)
class Ensembles:
    """What `read_ensembles` returns: a `table` with a row for each ensemble. `gap` is absolute,
    `cace` the calibration error, and `ratio` disagreement over error.
    """

    table: pd.DataFrame

    def ratios(self, arm: Arm) -> list[Effect]:
        """The mean ratio of each task, rising, for ensembles that differ in one thing."""
        groups = self.table[self.table.differ_in == arm].groupby("task").ratio
        return sorted((mean_effect(group) for _, group in groups), key=lambda effect: effect.mean)

    def largest(self, arm: Arm) -> Effect:
        """The largest of them."""
        return self.ratios(arm)[-1]

    @property
    def farthest(self) -> Effect:
        """Where networks differ in their data, the ratio farthest from 1."""
        return max(self.ratios("data"), key=lambda effect: abs(effect.mean - 1))

    @property
    def ends(self) -> dict[str, float]:
        """The least and the largest ratio, `low_ARM` and `high_ARM`, of each arm."""
        arms = {arm: self.ratios(arm) for arm in ARMS}
        low = {f"low_{arm}": ratios[0].mean for arm, ratios in arms.items()}
        return low | {f"high_{arm}": ratios[-1].mean for arm, ratios in arms.items()}


def read_ensembles(tasks: Sequence[Run[Plan, Result]]) -> Ensembles:
    """Read recorded runs, at least two for each task."""
    rows = []
    for task in tasks:
        plan = task.plan
        sizes = (plan.task.examples, plan.task.inputs, plan.task.classes)
        words = {"task": "n = {}, d = {}, {} classes".format(*sizes), "seed": plan.seed}
        rows += [words | vars(one) for one in task.result.ensembles]
    table = pd.DataFrame(rows).rename(columns={"calibration_error": "cace"})
    return Ensembles(table.assign(gap=table.gap.abs(), ratio=table.disagreement / table.error))


def printed_table() -> pd.DataFrame:
    """Table 1 of Jiang et al. (2022), with the `gap` of both errors, and its `ratio` to half of the
    calibration error.
    """
    rows = [
        ("all", 0.336, 0.348, 0.0437),
        ("data", 0.341, 0.354, 0.0491),
        ("start", 0.337, 0.307, 0.0979),
        ("order", 0.335, 0.302, 0.1014),
    ]
    table = pd.DataFrame(rows, columns=["differ_in", "error", "disagreement", "cace"])
    gap = abs(table.disagreement - table.error)
    return table.assign(gap=gap, ratio=2 * gap / table.cace)
