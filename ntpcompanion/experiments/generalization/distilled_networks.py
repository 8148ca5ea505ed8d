"""Do small networks exaggerate the confidence of their teachers, and are they more accurate?"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field, field_validator
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.generalization.soft_training import confidence_shift, train_on_probabilities
from ntpcompanion.randomness import torch_stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

INPUTS, TEACHER_UNITS = 10, 20
HELD_OUT, NEW = 500, 5000  # points for confidence, and for accuracy
LEARNING_RATE = 0.003  # of Adam


class Arm(NamedTuple):
    """How a teacher and its student are trained."""

    flipped: float  # fraction of labels drawn anew
    steps: int  # of the teacher
    longer: int  # steps of the student over those of the teacher
    data: int  # name of the data, which arms can share


class Plan(experiment.Plan):
    """Perceptrons with one hidden layer on normal inputs, with the classes of a random network."""

    steps: Annotated[
        tuple[Annotated[int, Field(ge=10)], ...],
        Field(min_length=1, description="of Adam for a teacher, rising; of its student"),
    ]
    seeds: Annotated[int, Field(ge=2, description="pairs of networks in each arm")] = 6
    points: Annotated[int, Field(ge=50, description="training examples")] = 200
    hidden: Annotated[int, Field(ge=1, description="units")] = 64
    classes: Annotated[int, Field(ge=2, description="of the task")] = 3
    wrong: Annotated[float, Field(gt=0, lt=1, description="fraction of noisy labels")] = 0.3
    seed: Annotated[int, Field(ge=0, description="of tasks, data and networks")]

    @field_validator("steps")
    @classmethod
    def _rise(cls, steps: tuple[int, ...]) -> tuple[int, ...]:
        if list(steps) != sorted(set(steps)):
            raise ValueError(f"`steps` must rise, got {list(steps)}.")
        return steps

    @property
    def settings(self) -> list[Arm]:
        """Students that are trained as long as their teachers."""
        return [Arm(some, t, 1, t) for t in self.steps for some in (0.0, self.wrong)]

    @property
    def lasting(self) -> list[Arm]:
        """Students that are trained three times as long as teachers of the fewest steps."""
        few = self.steps[0]
        return [Arm(some, few, 3, few) for some in (0.0, self.wrong)]

    def noisy(self, longer: int = 1, early: bool = False) -> Arm:
        """Noisy labels and the most steps, or the fewest on the same data (`early`)."""
        return Arm(self.wrong, self.steps[0 if early else -1], longer, self.steps[-1])

    @property
    def arms(self) -> list[Arm]:
        """All that are trained, each once."""
        more = [self.noisy(longer=3), self.noisy(early=True)]
        return list(dict.fromkeys([*self.settings, *self.lasting, *more]))


class Pair(experiment.Result):
    """A teacher and its student."""

    flipped: float
    steps: int
    longer: int
    data: int
    seed: Annotated[int, Field(description="of the pair, from 0")]
    teacher: Annotated[float, Field(description="accuracy on new points (%)")]
    student: Annotated[float, Field(description="accuracy on new points (%)")]
    slope: Annotated[float, Field(description="of the student's log-odds against the teacher's")]
    fifths: Annotated[
        tuple[float, ...],
        Field(description="student less teacher (log-odds), by the teacher's confidence"),
    ]


class Result(experiment.Result):
    """All pairs."""

    plan: Plan
    pairs: tuple[Pair, ...]

    def of(self, arm: Arm, field: str) -> Float[np.ndarray, "seeds ..."]:
        """A field of the pairs of one arm."""
        pairs = [one for one in self.pairs if _arm(one) == arm]
        return np.array([getattr(one, field) for one in pairs])

    def gain(self, arm: Arm) -> Float[np.ndarray, " seeds"]:
        """By how much students are more accurate than their teachers (points)."""
        return np.asarray(self.of(arm, "student") - self.of(arm, "teacher"))

    @property
    def table(self) -> pd.DataFrame:
        """A row for each pair."""
        table = table_of(self.pairs)
        fifths = pd.DataFrame(table.pop("fifths").tolist())
        names = {"longer": "student's steps / teacher's"}
        names |= {name: f"{name} right (%)" for name in ("teacher", "student")}
        return table.join(fifths.rename(columns=lambda i: f"fifth {i + 1}")).rename(columns=names)

    @property
    def slope(self) -> Effect:
        """Mean slope of the settings."""
        return mean_effect(self._settings("slope").mean(0))

    @property
    def lasting_slope(self) -> float:
        """Mean slope of students that are trained three times as long."""
        return float(np.mean([self.of(arm, "slope") for arm in self.plan.lasting]))

    @property
    def least_confident(self) -> Effect:
        """Student less teacher (log-odds) in the teacher's least confident fifth."""
        return mean_effect(self._settings("fifths")[..., 0].mean(0))

    @property
    def most_confident(self) -> Effect:
        """The same in the most confident fifth, less that in the least confident one."""
        fifths = self._settings("fifths")
        return paired_effect(fifths[..., -1].mean(0), fifths[..., 0].mean(0))

    @property
    def noisy_gain(self) -> Effect:
        """Gain of students (points), with noisy labels and the most steps."""
        return mean_effect(self.gain(self.plan.noisy()))

    @property
    def shorter_gain(self) -> Effect:
        """The same, less the gain of students that are trained three times as long."""
        return paired_effect(self.gain(self.plan.noisy()), self.gain(self.plan.noisy(longer=3)))

    @property
    def early_gain(self) -> Effect:
        """Accuracy of teachers that stop early, less that of the students (points)."""
        early = self.of(self.plan.noisy(early=True), "teacher")
        return paired_effect(early, self.of(self.plan.noisy(), "student"))

    def _settings(self, field: str) -> Float[np.ndarray, "settings seeds ..."]:
        return np.array([self.of(arm, field) for arm in self.plan.settings])


def run(plan: Plan) -> Result:
    """Train teachers on labels and students on their probabilities, and compare both on new points.

    Returns accuracies and confidence of each pair. Each seed has a task of its own. The networks of
    one arm are trained together. Cost 1 ms a step for six of width 64.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import distilled_networks
    >>> plan = distilled_networks.Plan(steps=(10, 20), seeds=2, points=50, hidden=8, seed=0)
    >>> found = distilled_networks.run(plan)
    >>> len(found.pairs), found.slope.mean < 1
    (16, True)
    """
    return Result(plan=plan, pairs=tuple(pair for arm in plan.arms for pair in _pairs(plan, arm)))


def _arm(pair: Pair) -> Arm:
    return Arm(pair.flipped, pair.steps, pair.longer, pair.data)


def _pairs(plan: Plan, arm: Arm) -> Iterator[Pair]:
    draw = torch_stream(plan.seed, f"{arm.flipped} {arm.data}")
    X = torch.randn(plan.seeds, plan.points + HELD_OUT, INPUTS, generator=draw)
    inner = torch.randn(plan.seeds, INPUTS, TEACHER_UNITS, generator=draw) * 2 / INPUTS**0.5
    outer = torch.randn(plan.seeds, TEACHER_UNITS, plan.classes, generator=draw)
    y = _noisy_labels(plan, arm, _classes(X, inner, outer), draw)
    rule = {"width": plan.hidden, "learning_rate": LEARNING_RATE, "generator": draw}
    seen, unseen = X[:, : plan.points], X[:, plan.points :]
    teacher = train_on_probabilities(seen, y, steps=arm.steps, **rule)
    soft = teacher.logits(seen).softmax(-1)
    student = train_on_probabilities(seen, soft, steps=arm.longer * arm.steps, **rule)
    new = torch.randn(
        plan.seeds,
        NEW,
        INPUTS,
        generator=torch_stream(plan.seed, f"new points {arm.flipped} {arm.data}"),
    )
    guesses = torch.stack([teacher.predictions(new), student.predictions(new)])
    right = 100 * (guesses == _classes(new, inner, outer)).double().mean(-1).numpy()
    both = zip(teacher.logits(unseen).double(), student.logits(unseen).double(), strict=True)
    for i, (first, second) in enumerate(both):
        shift = confidence_shift(first, second)
        yield Pair(
            **arm._asdict(),
            seed=i,
            teacher=right[0, i],
            student=right[1, i],
            slope=shift.slope,
            fifths=tuple(shift.groups),
        )


def _classes(X: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    return (torch.tanh(X @ inner) @ outer).argmax(-1)


def _noisy_labels(plan: Plan, arm: Arm, labels: Tensor, draw: torch.Generator) -> Tensor:
    """One-hot labels of the training points, a fraction of them drawn anew."""
    others = torch.randint(plan.classes, labels.shape, generator=draw)
    change = torch.rand(labels.shape, generator=draw) < arm.flipped
    return torch.eye(plan.classes)[torch.where(change, others, labels)[:, : plan.points]]
