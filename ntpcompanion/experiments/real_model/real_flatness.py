"""How flat is a language model at a text, before and after it is fine-tuned on it by SGD and by
AdamW to one loss?
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor, nn

from ntpcompanion.adaptation.finetuning import (
    ADAMW,
    Delta,
    finetune,
    next_token_log_p,
    text_loss,
)
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import TextRows, shuffled, split_rows
from ntpcompanion.flatness.causal_traces import fisher_squares, hessian_forms
from ntpcompanion.flatness.llama_rescaling import KINDS, balanced_llama, kind_of
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import torch_stream

INPUTS = ("text",)  # fields of a plan that name files
HALVINGS = 8  # of the interval of lengths at which two losses are equal
Arm = Literal["start", "SGD", "AdamW"]
OPTIMIZERS: dict[Arm, Any] = {"SGD": partial(torch.optim.SGD, momentum=0.9), "AdamW": ADAMW}


class Plan(TextRows):
    """Two fine-tunings of one model on the same rows in the same order."""

    sgd_rate: Annotated[float, Field(gt=0, description="largest learning rate, momentum .9")]
    adamw_rate: Annotated[float, Field(gt=0, description="largest learning rate")]
    hessian_rows: Annotated[
        int, Field(ge=2, description="held-out rows, with one random probe each")
    ]


class Traces(experiment.Result):
    """One model at the held-out rows. All traces are of the loss a token, in nats."""

    arm: Arm
    loss: Annotated[float, Field(description="nats a token")]
    length: Annotated[
        float, Field(ge=0, le=1, description="of the change that is applied, to reach the loss")
    ]
    relative_size: Annotated[float, Field(ge=0, description="of this change, in norm")]
    fisher: Annotated[
        dict[str, float], Field(description="trace of the Fisher information by kind of parameter")
    ]
    balanced: Annotated[
        float,
        Field(description="of its trace, half of the rows by the rescaling best for the others"),
    ]
    fitted: Annotated[float, Field(description="its minimum over rescalings on these rows")]
    gradient: Annotated[float, Field(description="certificate of that minimum, relative")]
    balanced_kinds: Annotated[dict[str, float], Field(description="parts of `fitted`")]
    hessian: Annotated[
        tuple[dict[str, float], ...], Field(description="zᵀHz by kind of parameter, each row")
    ]

    @property
    def plain(self) -> float:
        """Trace of the Fisher information."""
        return sum(self.fisher.values())

    @property
    def of_hessian(self) -> float:
        """Trace of the Hessian, a mean over rows."""
        return float(np.mean([sum(row.values()) for row in self.hessian]))


class Result(experiment.Result):
    """One part of a text."""

    models: tuple[Traces, ...]
    text_sha256: str


def run(plan: Plan) -> Result:
    """Measure the trace of the Fisher information and of the Hessian of a Llama at held-out rows of
    a part of a text, fine-tune its matrices on the other rows by SGD and by AdamW, and measure
    again.

    The optimizer whose loss of held-out rows is lower has its change shortened until the losses are
    equal. All models see the same rows, draw labels from the same numbers and have the same probes.

    Returns the traces of the three models. SmolLM2-135M, 60 steps of 96 tokens, 16 rows: a quarter
    of an hour on one core, 5 GB.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`; a segment that there is not, a text that is too short, a model of
        another architecture.

    Examples
    --------
    >>> from ntpcompanion.experiments import real_flatness
    >>> part = {"segments": 8, "segment": 2, "length": 96, "batch_size": 1, "steps": 60, "seed": 0}
    >>> rates = {"sgd_rate": 0.003, "adamw_rate": 1e-4}
    >>> plan = real_flatness.Plan(**part, held_out=16, hessian_rows=8, **rates)
    >>> real_flatness.run(plan).models[0].plain  # doctest: +SKIP
    """
    model, tokenizer = load_causal_model(plan.source)
    text = read_text(plan.text)
    training, held_out = split_rows(plan, tokenizer, text.content)
    if plan.hessian_rows > plan.held_out:
        raise ValueError(
            f"`hessian_rows` must be at most `held_out` = {plan.held_out}, got {plan.hessian_rows}."
        )
    models = [_measured(plan, model, held_out, "start")]
    batches = [training[rows] for rows in np.split(shuffled(plan, training), plan.steps)]
    rates: dict[Arm, float] = {"SGD": plan.sgd_rate, "AdamW": plan.adamw_rate}
    deltas: dict[Arm, Delta] = {}
    for arm, rate in rates.items():
        deltas[arm] = finetune(model, batches, learning_rate=rate, optimizer=OPTIMIZERS[arm])[0]
        deltas[arm].put(model, _times(deltas[arm], 0.0))
    lengths = equal_losses(model, deltas, held_out)
    for arm, delta in deltas.items():
        delta.put(model, _times(delta, lengths[arm]))
        models.append(_measured(plan, model, held_out, arm, delta, lengths[arm]))
    return Result(models=tuple(models), text_sha256=text.sha256)


def equal_losses(
    model: nn.Module, deltas: Mapping[Arm, Delta], rows: Int[Tensor, "n t"]
) -> dict[Arm, float]:
    """The lengths of the changes at which their losses are equal: 1 for the one with the larger
    loss, and for every other the largest of a bisection between 0 and 1 with at least that loss.
    """

    def loss(arm: Arm, length: float) -> float:
        deltas[arm].put(model, _times(deltas[arm], length))
        return _loss(model, rows)

    full = {arm: loss(arm, 1.0) for arm in deltas}
    target = max(full.values())
    lengths = {}
    for arm, reached in full.items():
        low, high = (1.0, 1.0) if reached == target else (0.0, 1.0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if loss(arm, middle) >= target else (low, middle)
        lengths[arm] = low
    return lengths


def _times(delta: Delta, length: float) -> dict[str, Tensor]:
    return {name: length * change for name, change in delta.change.items()}


def _loss(model: nn.Module, rows: Int[Tensor, "n t"]) -> float:
    with torch.no_grad():
        losses = [float(text_loss(next_token_log_p(model, row[None]), row[None])) for row in rows]
    return float(np.mean(losses))


def _measured(
    plan: Plan,
    model: Any,
    rows: Int[Tensor, "n t"],
    arm: Arm,
    delta: Delta | None = None,
    length: float = 0.0,
) -> Traces:
    model.requires_grad_(requires_grad=True)
    heads = model.config.num_attention_heads
    shape = (heads, model.config.num_key_value_heads)
    forms = hessian_forms(model, rows[: plan.hessian_rows], torch_stream(plan.seed, "probes"))
    draws = torch_stream(plan.seed, "labels")
    halves = [fisher_squares(model, rows[i::2], draws) for i in (0, 1)]
    crossed = [
        balanced_llama(half, *shape).rescaling.trace(other, heads)
        for half, other in (halves, reversed(halves))
    ]
    sizes = len(rows[::2]) / len(rows), len(rows[1::2]) / len(rows)
    squares = {
        name: sizes[0] * first + sizes[1] * halves[1][name] for name, first in halves[0].items()
    }
    fitted = balanced_llama(squares, *shape)
    factors = fitted.rescaling.squared_factors(heads)
    return Traces(
        arm=arm,
        loss=_loss(model, rows),
        length=length,
        relative_size=length * delta.relative_size if delta else 0.0,
        fisher=_by_kind({name: float(square.double().sum()) for name, square in squares.items()}),
        balanced=sizes[1] * crossed[0] + sizes[0] * crossed[1],
        fitted=fitted.value,
        gradient=fitted.gradient,
        balanced_kinds=_by_kind(
            {n: float((square.double() / factors[n]).sum()) for n, square in squares.items()}
        ),
        hessian=tuple(_by_kind(form) for form in forms),
    )


def _by_kind(values: Mapping[str, float]) -> dict[str, float]:
    sums = dict.fromkeys(KINDS.values(), 0.0)
    for name, value in values.items():
        sums[kind_of(name)] += value
    return sums
