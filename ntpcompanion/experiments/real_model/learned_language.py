"""How near does a small masked network come to the exact conditionals of a pretrained model, by the
number of sentences that it learns from?
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.sampled_language import Result as Sample
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.mlm.data.masked_sentences import mask
from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.evaluation.evaluate import divergence
from ntpcompanion.mlm.training.optimizer import optimizer_of
from ntpcompanion.mlm.training.train import masked_loss
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.randomness import torch_stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect

INPUTS = ("record",)  # fields of a plan that name files
HELD_OUT = 10  # every tenth sentence chooses when to stop


class Plan(experiment.Plan):
    """A transformer that learns from the joined sentences of some samples of a record of
    `sampled_language`, and is measured on the tests of the first of them.
    """

    record: Annotated[str, Field(min_length=1, description="path of the record")]
    first: Annotated[int, Field(ge=0, description="sample, and the seed of the network")]
    samples: Annotated[int, Field(ge=1, description="how many, from the first on, cyclically")]
    width: Annotated[int, Field(ge=4, description="d; a multiple of 4, the heads")]
    layers: Annotated[int, Field(ge=1, description="of the transformer")]
    training: TrainingPlan
    evaluations: Annotated[int, Field(ge=1, description="evenly spread; the best one counts")]


class Result(experiment.Result):
    """One network, on tests that it has not seen; in nats."""

    sentences: Annotated[int, Field(description="learned from")]
    step: Annotated[int, Field(description="with the least loss on the sentences held out")]
    distance: Annotated[float, Field(description="mean KL from the exact conditionals there")]
    last: Annotated[float, Field(description="the same after the last step")]
    gap: Annotated[float, Field(description="mean KL from them of word frequencies by position")]
    entropy: Annotated[float, Field(description="of the exact conditionals")]


class LearningCurve:
    """All networks of a record, by the number of sentences."""

    def __init__(self, runs: Sequence[Run[Plan, Result]]) -> None:
        self.table = table_of([run.result for run in runs])
        self.table["fraction"] = self.table.distance / self.table.gap

    @property
    def fractions(self) -> pd.DataFrame:
        """Distance over gap, a column for each number of sentences, a row for each first sample."""
        groups = self.table.groupby("sentences").fraction
        return pd.DataFrame({size: values.to_numpy() for size, values in groups})

    @property
    def gap(self) -> Effect:
        """What the context is worth, in nats, over first samples; with the most sentences."""
        largest = self.table.sentences == self.table.sentences.max()
        return mean_effect(self.table.gap[largest].to_numpy())

    @property
    def fraction(self) -> Effect:
        """With the most sentences."""
        return mean_effect(self.fractions.iloc[:, -1].to_numpy())

    @property
    def exponents(self) -> Float[np.ndarray, " firsts"]:
        """Of the power of the number of sentences that fits the fractions of each first sample."""
        logs = np.log(self.fractions.to_numpy())
        sizes = np.log(self.fractions.columns.to_numpy(dtype=float))
        return np.asarray(np.polyfit(sizes, logs.T, 1)[0])

    @property
    def per_doubling(self) -> Effect:
        """The fraction of the distance that is left by twice as many sentences."""
        return mean_effect(2.0**self.exponents)

    def sentences_for(self, distance: float) -> Effect:
        """The logarithm to base 10 of how many sentences would lead to a distance in nats, if the
        power went on.
        """
        table = self.table[self.table.sentences == self.table.sentences.max()]
        needed = np.log(distance / table.distance.to_numpy()) / self.exponents
        return mean_effect((np.log(table.sentences.to_numpy()) + needed) / np.log(10))


def run(plan: Plan) -> Result:
    """Train a network on one masked word of each sentence, and compare it with the language.

    Parameters
    ----------
    plan
        the samples, the network, and how it is trained.

    Returns
    -------
    Result
        distances at the evaluation that is best on sentences held out, and after the last step.

    Raises
    ------
    ValueError
        a record with fewer samples than are asked for, or of another experiment; a width that is no
        multiple of 4.
    FileNotFoundError
        no such record.

    Notes
    -----
    20 s on one core for 2,000 steps of 256 sentences with width 64 and two layers.

    Examples
    --------
    >>> from ntpcompanion.experiments import learned_language
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> sizes = {"first": 0, "samples": 1, "width": 64, "layers": 2, "evaluations": 20}
    >>> training = TrainingPlan(steps=2000, batch_size=256, learning_rate=3e-3)
    >>> record = "book/records/sampled_language.json"
    >>> plan = learned_language.Plan(record=record, training=training, **sizes)
    >>> learned_language.run(plan).distance  # doctest: +SKIP
    """
    samples = _samples(plan)
    tokens = torch.from_numpy(np.concatenate([sample.tokens for sample in samples]))
    held = torch.arange(len(tokens)) % HELD_OUT == 0
    pool, held_out = tokens[~held], tokens[held]
    tests = torch.from_numpy(samples[0].test_tokens)
    exact = torch.from_numpy(samples[0].conditionals)
    c, T = exact.shape[-1], tokens.shape[1]
    training, generator = plan.training, torch_stream(plan.first, "sentences and masks")
    shape = ModelPlan("transformer", plan.width, plan.layers, 4, 4 * plan.width, c, T)
    model = build_model(shape, plan.first)
    optimizer = optimizer_of(dict(model.named_parameters()), training)
    eval_steps = (
        np.linspace(0, training.steps, plan.evaluations + 1).round()[1:].astype(int).tolist()
    )
    course = []
    for step in range(1, training.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = training.rate_at(step - 1)
        rows = torch.randint(len(pool), (training.batch_size,), generator=generator)
        optimizer.zero_grad()
        masked_loss(model, mask(pool[rows], 0.0, generator)).backward()
        optimizer.step()
        if step in eval_steps:
            log_p = masked_logits(model, held_out).log_softmax(2)
            loss = -log_p.gather(2, held_out[..., None]).mean()
            distance = divergence(exact, masked_logits(model, tests)).mean()
            course.append((float(loss), step, float(distance)))
    _, step, distance = min(course)
    counts = torch.nn.functional.one_hot(pool, c).sum(0) + 0.5
    return Result(
        sentences=len(pool),
        step=step,
        distance=distance,
        last=course[-1][-1],
        gap=float(divergence(exact, counts.log().expand(len(tests), T, c)).mean()),
        entropy=samples[0].entropy,
    )


@torch.no_grad()  # type: ignore[untyped-decorator]
def masked_logits(model: LanguageModel, tokens: Int[Tensor, "n T"]) -> Float[Tensor, "n T c"]:
    """Those of each word from all others, one position at a time."""
    n, T = tokens.shape
    masked = tokens.repeat_interleave(T, 0)
    positions = torch.arange(T, device=tokens.device).repeat(n)[:, None]
    return model(masked.scatter(1, positions, MASK), positions).view(n, T, -1)


def _samples(plan: Plan) -> list[Sample]:
    rows = json.loads(Path(plan.record).read_text(encoding="utf-8"))["results"]
    samples = [Sample.from_json(row["result"]) for row in rows]
    if max(plan.samples, plan.first + 1) > len(samples):
        raise ValueError(
            f"`samples` and `first` must lie within the {len(samples)} samples of {plan.record}, "
            f"got {plan.samples} and {plan.first}."
        )
    return [samples[(plan.first + i) % len(samples)] for i in range(plan.samples)]
