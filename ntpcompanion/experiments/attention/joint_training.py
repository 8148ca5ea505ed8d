"""How fast does the loss fall where the key-query matrix and the decoder are trained together?"""

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from jaxtyping import Int
from pydantic import Field

from ntpcompanion.attention.joint import JointPath, train_jointly
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.attention.planted_sets import PlantedSets, draw_sets
from ntpcompanion.statistics.effects import Effect, mean_effect, slopes_of_seeds

# method, power with which the steps fall, length of the first step
ARMS: dict[str, tuple[Literal["gd", "ngd"], float, float]] = {
    "constant": ("ngd", 0.0, 0.1),
    "falling": ("ngd", 2 / 3, 1.0),
    "GD": ("gd", 0.0, 1.0),
}


class Plan(experiment.Plan):
    """Data sets with 10 sequences of 5 tokens in 50 dimensions, trained from zero."""

    data_sets: Annotated[int, Field(ge=2, description="drawn from the random model")] = 8
    steps: Annotated[int, Field(ge=300, description="of each method")]
    seed: Annotated[int, Field(ge=0, description="of the data")]

    @property
    def last_decade(self) -> Int[np.ndarray, " 40"]:
        """The steps after which losses are stored."""
        return np.geomspace(self.steps / 10, self.steps, 40).round().astype(int)


class Result(experiment.Result):
    """Losses over the last decade of steps, and the margins that the decoder reaches."""

    plan: Plan
    exponents: Annotated[
        dict[str, tuple[float, ...]],
        Field(description="−log L against t, of each arm and data set"),
    ]
    log_losses: Annotated[
        dict[str, tuple[tuple[float, ...], ...]],
        Field(description="−log L of each arm: `Plan.last_decade` × data sets"),
    ]
    margins: Annotated[
        tuple[float, ...], Field(description="over the largest, after constant normalized steps")
    ]
    length_exponent: Annotated[float, Field(description="of the sum of the falling steps")]

    @property
    def table(self) -> pd.DataFrame:
        """−log L: a row for each arm and step, a column for each data set."""
        steps = pd.Index(self.plan.last_decade, name="step")
        arms = {arm: pd.DataFrame(rows, index=steps) for arm, rows in self.log_losses.items()}
        return pd.concat(arms, names=["arm"])

    def exponent(self, arm: str) -> Effect:
        """The power of t with which −log L grows."""
        return mean_effect(np.array(self.exponents[arm]))

    @property
    def margin(self) -> Effect:
        """The smallest margin of the decoder over the largest possible one."""
        return mean_effect(np.array(self.margins))


def run(plan: Plan) -> Result:
    """Train W and the decoder together, by normalized steps of constant and of falling length and
    by gradient descent.

    Returns −log of the losses, their exponents in the number of steps, and margins. Cost that of
    `train_jointly`: 2 s for 3000 steps of 8 data sets.

    Examples
    --------
    >>> from ntpcompanion.experiments.attention import joint_training
    >>> found = joint_training.run(joint_training.Plan(data_sets=2, steps=300, seed=0))
    >>> found.exponent("falling").mean < found.exponent("constant").mean
    True
    """
    sets = draw_sets(plan.seed, plan.data_sets, dim=50, count=10, length=5)
    paths = {}
    for arm, (method, decay, rate) in ARMS.items():
        paths[arm] = train_jointly(
            sets.sequences, method=method, decay=decay, learning_rate=rate, keep=plan.last_decade
        )
    log_t = np.broadcast_to(np.log(plan.last_decade), (plan.data_sets, len(plan.last_decade)))
    lengths = np.cumsum(np.arange(1.0, plan.steps + 1) ** -ARMS["falling"][1])[plan.last_decade - 1]
    return Result(
        plan=plan,
        exponents={
            arm: tuple(slopes_of_seeds(log_t, np.log(-path.log_loss.T)))
            for arm, path in paths.items()
        },
        log_losses={arm: tuple(map(tuple, -path.log_loss)) for arm, path in paths.items()},
        margins=_margins(sets, paths["constant"]),
        length_exponent=slopes_of_seeds(log_t[:1], np.log(lengths)[None])[0],
    )


def _margins(sets: PlantedSets, path: JointPath) -> tuple[float, ...]:
    """The largest margin of a decoder of norm 1 is 1/√2, that of μ₊ − μ₋."""
    decoder = path.decoder[-1]
    smallest = sets.on_best(sets.sequences.scores(decoder)).min(axis=1)
    return tuple(smallest * np.sqrt(2) / np.linalg.norm(decoder, axis=1))
