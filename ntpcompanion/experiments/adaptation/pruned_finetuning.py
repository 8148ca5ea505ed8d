"""How much of the fine-tuning of a language model is left when most of its change is dropped?"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from ntpcompanion.adaptation.dropped_deltas import least_error_divisor
from ntpcompanion.adaptation.finetuning import (
    Delta,
    Matrices,
    Rescaling,
    divergence,
    finetune,
    next_token_log_p,
    output_ratios,
    text_loss,
)
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import TextRows, shuffled, split_rows
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import torch_stream

INPUTS = ("text",)  # fields of a plan that name files
Method = Literal["unbiased", "global", "local", "magnitude"]


class Tuning(experiment.Plan):
    """AdamW without weight decay, on the matrices of the model."""

    learning_rate: Annotated[float, Field(gt=0, description="the largest")]
    pull: Annotated[float, Field(ge=0, description="λ of the decoupled pull to the start")] = 0.0


class Plan(TextRows):
    """One fine-tuning on a part of a text, and what is dropped of it."""

    calibration: Annotated[int, Field(ge=1, description="rows of the training text, for q")]
    tuning: Tuning
    dropped: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="p, fractions of the change that are dropped"),
    ]
    masks: Annotated[int, Field(ge=1, description="draws for each p")]


class Pruned(experiment.Result):
    """The model with a part of the change."""

    method: Annotated[
        Method,
        Field(
            description="random with 1/(1 − p); with one q* from the outputs of the model; with a "
            "q* for each matrix; largest entries of each matrix"
        ),
    ]
    p: float
    mask: Annotated[int, Field(description="number of the draw; 0 for magnitude")]
    loss: Annotated[float, Field(description="of held-out rows, nats a token")]
    divergence: Annotated[float, Field(description="from the fine-tuned model, there, nats")]


class Result(experiment.Result):
    """One fine-tuning."""

    loss_before: Annotated[float, Field(description="of held-out rows, nats a token")]
    loss_after: Annotated[float, Field(description="of the same, fine-tuned")]
    divergence_before: Annotated[float, Field(description="of the start, there, nats")]
    training_loss: Annotated[float, Field(description="mean of the last ten steps, nats")]
    relative_size: Annotated[float, Field(ge=0, description="of the change, in norm")]
    mean_over_deviation: Annotated[float, Field(description="of its entries")]
    shift: Annotated[float, Field(ge=0, description="divergence of the start, calibration rows")]
    noise: Annotated[
        float, Field(ge=0, description="divergence of p = ½ there, mean of two other draws")
    ]
    ratios: Annotated[
        tuple[float, ...], Field(description="Q / S² of each matrix, by its inputs and outputs")
    ]
    pruned: tuple[Pruned, ...]
    text_sha256: str


def run(plan: Plan) -> Result:
    """Fine-tune a language model on a part of a text, drop entries of the change, and measure the
    loss of held-out rows of that part.

    The divisors need tokens of the training text and no labels. To second order divergences are
    quadratic in the change of the logits, so that S² is proportional to the divergence of the start
    from the fine-tuned model, and Q to that of a model with half of the change dropped and the rest
    doubled, where p (1 − p) / q² = 1.

    Returns the losses of one fine-tuning. SmolLM2-135M, 40 steps of 192 tokens, 60 readings of 512
    held-out tokens: four minutes on one core.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`; a segment that there is not, a text that is too short.

    Examples
    --------
    >>> from ntpcompanion.experiments import pruned_finetuning
    >>> part = {"segments": 8, "segment": 2, "length": 96, "batch_size": 2, "steps": 40}
    >>> rows = {"held_out": 5, "calibration": 5, "dropped": (0.9, 0.99), "masks": 5}
    >>> tuning = pruned_finetuning.Tuning(learning_rate=1e-4)
    >>> plan = pruned_finetuning.Plan(**part, **rows, tuning=tuning, seed=0)
    >>> pruned_finetuning.run(plan).loss_after  # doctest: +SKIP
    """
    model, tokenizer = load_causal_model(plan.source)
    text = read_text(plan.text)
    training, held_out = split_rows(plan, tokenizer, text.content, plan.calibration)
    order = shuffled(plan, training)
    calibration = training[np.sort(order)[: plan.calibration]]
    before = [_log_p(model, rows) for rows in (calibration, held_out)]
    batches = [training[rows] for rows in np.split(order, plan.steps)]
    delta, losses = finetune(model, batches, **vars(plan.tuning))
    after = [_log_p(model, rows) for rows in (calibration, held_out)]
    ratios = output_ratios(model, delta, calibration)
    shift = divergence(after[0], before[0])
    halves = [delta.dropped(0.5, torch_stream(plan.seed, f"half {draw}"), 2.0) for draw in (0, 1)]
    noise = [divergence(after[0], _changed(model, delta, half, calibration)) for half in halves]
    pruned = []
    for method, p, mask, change in variants(plan, delta, float(np.mean(noise)) / shift, ratios):
        log_p = _changed(model, delta, change, held_out)
        loss, apart = float(text_loss(log_p, held_out)), divergence(after[1], log_p)
        pruned.append(Pruned(method=method, p=p, mask=mask, loss=loss, divergence=apart))
    return Result(
        loss_before=float(text_loss(before[1], held_out)),
        loss_after=float(text_loss(after[1], held_out)),
        divergence_before=divergence(after[1], before[1]),
        training_loss=float(np.mean(losses[-10:])),
        relative_size=delta.relative_size,
        mean_over_deviation=delta.mean_over_deviation,
        shift=shift,
        noise=float(np.mean(noise)),
        ratios=tuple(ratios.values()),
        pruned=tuple(pruned),
        text_sha256=text.sha256,
    )


def variants(
    plan: Plan, delta: Delta, ratio: float, ratios: Mapping[str, float]
) -> Iterator[tuple[Method, float, int, Matrices]]:
    """What is put in place of the change, one after the other. All methods that drop at random use
    the same draws, and a draw for a larger p drops what one for a smaller p drops.
    """
    for p in plan.dropped:
        rescalings: dict[Method, Rescaling] = {
            "unbiased": 1 / (1 - p),
            "global": 1 / least_error_divisor(p, ratio),
            "local": {name: 1 / least_error_divisor(p, each) for name, each in ratios.items()},
        }
        for mask in range(plan.masks):
            for method, factor in rescalings.items():
                if method != "local" or mask == 0:
                    draws = torch_stream(plan.seed, f"mask {mask}")
                    yield method, p, mask, delta.dropped(p, draws, factor)
        yield "magnitude", p, 0, delta.largest(p)


def _changed(
    model: nn.Module, delta: Delta, change: Matrices, rows: Int[Tensor, "n t"]
) -> Float[Tensor, "n u tokens"]:
    delta.put(model, change)
    return _log_p(model, rows)


def _log_p(model: nn.Module, rows: Int[Tensor, "n t"]) -> Float[Tensor, "n u tokens"]:
    with torch.no_grad():
        return next_token_log_p(model, rows)
