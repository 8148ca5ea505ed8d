"""Does a narrow decoder answer better after pauses, if it was trained with them?"""

from collections.abc import Sequence
from typing import Annotated

import pandas as pd
import torch
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.planning.parity import WORDS, ParityQuestions, parity_questions
from ntpcompanion.planning.pause_training import train_with_pauses
from ntpcompanion.planning.pauses import PauseDecoder
from ntpcompanion.recorded import Run

Probability = Annotated[float, Field(ge=0, le=1)]
Pauses = Annotated[int, Field(ge=0, le=64)]


class Plan(experiment.Plan):
    """One seed: a decoder for each number of pauses, all from the same initial parameters."""

    bits: Annotated[int, Field(ge=2, le=10, description="k of a question, whose parity is asked")]
    pauses: Annotated[
        tuple[Pauses, ...],
        Field(min_length=1, description="M, a decoder is trained with each, and tested with all"),
    ]
    width: Annotated[int, Field(ge=2, description="of the contextual vectors")]
    inner: Annotated[int, Field(ge=1, description="hidden units of an MLP at each position")]
    layers: Annotated[int, Field(ge=1, description="of attention and MLP; one head each")] = 2
    deviation: Annotated[float, Field(gt=0, description="of initial matrices, embeddings")] = 0.1
    steps: Annotated[int, Field(ge=1, description="of Adam, each on all questions")]
    every: Annotated[int, Field(ge=1, description="steps between evaluations")] = 20
    learning_rate: Annotated[float, Field(gt=0, description="of Adam, after 50 steps of rise")]
    seed: Annotated[int, Field(ge=0, description="of the initial parameters")]

    @property
    def shape(self) -> ModelPlan:
        """The decoder, with room for the longest sequence."""
        positions = self.bits + 1 + max(self.pauses)
        return ModelPlan("transformer", self.width, self.layers, 1, self.inner, WORDS, positions)

    def steps_of_equal_tokens(self, pauses: int) -> int:
        """How many steps with pauses process as many vectors as `steps` steps with the fewest."""
        fewest, prefix = min(self.pauses), self.bits + 2  # the symbol CLS, the bits, "="
        return round(self.steps * (prefix + fewest) / (prefix + pauses))


class Arm(experiment.Result):
    """A decoder trained with one number of pauses. It is judged in the state of lowest loss among
    the evaluated ones: the loss is an expectation over all questions, so this picks no noise.
    """

    pauses: Annotated[int, Field(ge=0, description="M of its training")]
    losses: Annotated[tuple[float, ...], Field(description="nats, at each evaluation")]
    accuracy: Annotated[Probability, Field(description="tested as trained, equal examples")]
    equal_tokens: Annotated[Probability, Field(description="the same, equal tokens")]
    tested: Annotated[
        tuple[Probability, ...], Field(description="accuracy with each of the plan's pauses")
    ]


class Result(experiment.Result):
    """The arms of one seed."""

    arms: Annotated[tuple[Arm, ...], Field(description="in the order of the plan's pauses")]


def run(plan: Plan) -> Result:
    """Train narrow decoders on the parity of bits, with several numbers of pauses before the
    answer, and test each with all of them.

    Returns accuracies of the arms, which share their initial parameters: differences between arms
    are paired. Cost 4 ms a step and arm on one core at the sizes of the record.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import pause_tokens
    >>> sizes = {"bits": 2, "pauses": (0, 1), "width": 4, "inner": 1, "steps": 4}
    >>> found = pause_tokens.run(pause_tokens.Plan(**sizes, learning_rate=0.01, seed=0))
    >>> [arm.pauses for arm in found.arms], len(found.arms[0].tested)
    ([0, 1], 2)
    """
    questions = parity_questions(plan.bits)
    return Result(arms=tuple(_arm(plan, questions, pauses) for pauses in plan.pauses))


def arms_table(tasks: Sequence[Run[Plan, Result]]) -> pd.DataFrame:
    """Recorded arms, a row for each.

    Parameters
    ----------
    tasks
        of a record, one for each seed, all with the same pauses.

    Returns
    -------
    pandas.DataFrame
        `seed`, `pauses` of the training, accuracies for `equal examples` and `equal tokens` and
        `tested with M` for each M, and the least `loss` in training (nats).
    """
    rows = []
    for task in tasks:
        for arm in task.result.arms:
            row = {"seed": task.plan.seed, "pauses": arm.pauses, "equal examples": arm.accuracy}
            row |= {"equal tokens": arm.equal_tokens}
            row |= dict(
                zip((f"tested with {m}" for m in task.plan.pauses), arm.tested, strict=True)
            )
            rows.append(row | {"loss": min(arm.losses)})
    return pd.DataFrame(rows)


def _arm(plan: Plan, questions: ParityQuestions, pauses: int) -> Arm:
    decoder = PauseDecoder(plan.shape, plan.seed, deviation=plan.deviation)
    eval_steps = {*range(0, plan.steps, plan.every), plan.steps}
    limit = plan.steps_of_equal_tokens(pauses)
    losses: list[float] = []
    accuracies: list[float] = []  # of the best state so far
    equal, best = 0.0, decoder.state_dict()
    training = train_with_pauses(
        decoder, questions, pauses, eval_steps=eval_steps, learning_rate=plan.learning_rate
    )
    for step in training:
        logits = _answers(decoder, questions, pauses)
        losses.append(float(questions.loss(logits)))
        if losses[-1] == min(losses):
            best = {name: p.clone() for name, p in decoder.state_dict().items()}
            accuracies.append(questions.accuracy(logits))
        if step <= limit:
            equal = accuracies[-1]
    decoder.load_state_dict(best)
    tested = (questions.accuracy(_answers(decoder, questions, m)) for m in plan.pauses)
    return Arm(
        pauses=pauses,
        losses=tuple(losses),
        accuracy=accuracies[-1],
        equal_tokens=equal,
        tested=tuple(tested),
    )


def _answers(decoder: PauseDecoder, questions: ParityQuestions, pauses: int) -> torch.Tensor:
    with torch.no_grad():
        return decoder.answer(questions.prefixes, pauses)
