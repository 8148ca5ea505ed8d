"""When does a student of a linear model beat every teacher? Filters along eigendirections."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.distillation import (
    effective_time,
    filter_risk,
    flow_filter,
    student_filter,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

TOP = 5  # directions that hold the signal
SIGNAL = 20.0  # squared length of the signal
TIMES = np.geomspace(0.1, 1e5, 121)
Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """Eigenvalues i^−a, signal in the first five directions, and noise in all."""

    eigenvectors: Annotated[int, Field(ge=20, le=1000, description="n, directions")] = 200
    power: Annotated[float, Field(gt=0, le=4, description="a, of the decay of the eigenvalues")]
    noise: Annotated[float, Field(gt=0, description="standard deviation of the labels")]
    draws: Annotated[int, Field(ge=2, description="of labels, by which times are chosen")] = 40
    seed: Annotated[int, Field(ge=0, description="of the labels")]


class Result(experiment.Result):
    """The best student, and how its risk compares with that of teachers."""

    student: Annotated[Numbers, Field(description="fraction fitted by the best student")]
    teacher: Annotated[
        Numbers, Field(description="by the teacher that equals it in direction `TOP`")
    ]
    best: Annotated[float, Field(description="risk of the best student over best teacher − 1 (%)")]
    one_time: Annotated[float, Field(description="the same for students with s = t (%)")]
    gains: Annotated[Numbers, Field(description="the same with times chosen by a draw (%)")]
    exchanged: Annotated[
        float,
        Field(description="signal below noise: smallest risk over matched teacher − 1 (%)"),
    ]

    @property
    def lower(self) -> float:
        """The largest fraction that the student fits over that of the teacher, less 1, in the
        directions without signal.
        """
        return float((np.array(self.student[TOP:]) / np.array(self.teacher[TOP:]) - 1).max())

    @property
    def chosen(self) -> Effect:
        """The mean of `gains`."""
        return mean_effect(np.array(self.gains))


def run(plan: Plan) -> Result:
    """Compare the risks of all students with those of all teachers in a linear model.

    Returns the best student, and differences of risk in per cent. Cost O(T²
    n) for T = 121 times and for each draw: 2 s for n = 200 and 40 draws.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import distilled_filters
    >>> plan = distilled_filters.Plan(eigenvectors=20, power=1.5, noise=0.3, draws=2, seed=0)
    >>> found = distilled_filters.run(plan)
    >>> found.best < 0 < found.exchanged
    True
    """
    rates = np.arange(1.0, plan.eigenvectors + 1) ** -plan.power
    signal = np.where(np.arange(plan.eigenvectors) < TOP, SIGNAL / TOP, 0.0)
    spread = np.full(plan.eigenvectors, plan.noise**2)
    teachers = np.array([flow_filter(rates, t) for t in TIMES])
    students = teachers[:, None] * teachers  # s, then t
    alone = filter_risk(teachers, signal=signal, noise=spread)
    pairs = filter_risk(students, signal=signal, noise=spread)
    s, t = TIMES[list(np.unravel_index(pairs.argmin(), pairs.shape))]
    tau = effective_time(rates, student_time=s, teacher_time=t)
    return Result(
        student=tuple(student_filter(rates, student_time=s, teacher_time=t)),
        teacher=tuple(flow_filter(rates, tau[TOP - 1])),
        best=100 * (pairs.min() / alone.min() - 1),
        one_time=100 * (np.diagonal(pairs).min() / alone.min() - 1),
        gains=tuple(_gains(plan, np.sqrt(signal), teachers, students)),
        exchanged=min(_exchanged(rates)),
    )


def _gains(
    plan: Plan,
    clean: Float[np.ndarray, " n"],
    teachers: Float[np.ndarray, "times n"],
    students: Float[np.ndarray, "times times n"],
) -> Iterator[float]:
    """Risk of a student over a teacher, less 1 (%): both have the least error on a second draw."""
    rng, flat = stream(plan.seed, "noise"), students.reshape(-1, plan.eigenvectors)
    for _ in range(plan.draws):
        y, fresh = clean + plan.noise * rng.standard_normal((2, plan.eigenvectors))
        errors = []
        for options in (teachers, flat):
            student = options[(options**2 @ y**2 - 2 * options @ (y * fresh)).argmin()]
            errors.append(((student * y - clean) ** 2).sum())
        yield float(100 * (errors[1] / errors[0] - 1))


def _exchanged(rates: Float[np.ndarray, " n"]) -> Iterator[float]:
    """Risk of students over that of the teacher that equals them in direction `TOP`, less 1 (%),
    with the signal below the noise.
    """
    signal = np.where(np.arange(len(rates)) < TOP, 0.0, 1.0)
    for s, t in product((3, 10, 30), repeat=2):
        stop = effective_time(rates, student_time=s, teacher_time=t)[TOP - 1]
        fitted = student_filter(rates, student_time=s, teacher_time=t)
        rivals = np.array([fitted, flow_filter(rates, stop)])
        student, teacher = filter_risk(rivals, signal=signal, noise=1 - signal)
        yield float(100 * (student / teacher - 1))
