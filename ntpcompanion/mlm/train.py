"""Training: a generator that yields the model at chosen steps, and that a kill does not disturb."""

import math
import time
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ntpcompanion.languages.language import PADDING, Language
from ntpcompanion.mlm.checkpoints import identity, load_checkpoint, save_checkpoint
from ntpcompanion.mlm.data import MaskedBatch, batch_generator, draw_batch
from ntpcompanion.mlm.model import MaskedLM, build_model
from ntpcompanion.mlm.plan import ModelPlan, TrainingPlan
from ntpcompanion.mlm.processes import Processes


@dataclass(frozen=True)
class TrainingState:
    """Where a run is.

    Fields
    ------
    step, sentences
        updates made, and sentences seen.
    loss
        mean training loss since the state before, in nats; NaN if there was no step since.
    seconds
        of training so far, those before a kill included, without what was done with the states.
    model
        as it is now: the next state changes it.
    """

    step: int
    sentences: int
    loss: float
    seconds: float
    model: MaskedLM


def train(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    *,
    device: torch.device | str = "cpu",
    stops: Collection[int] = (),
    checkpoint: Path | None = None,
    save_every: int = 1000,
    processes: Processes | None = None,
) -> Iterator[TrainingState]:
    """Train a new model on sentences that `language` draws, and yield its state at each of the
    `stops` and at the last step.

    Step s of a run depends on the plans, the language and s only: with a checkpoint, a run that was
    killed goes on from the last one saved and ends at the same parameters, bit for bit on a CPU
    with the same number of threads. Stops before that checkpoint are not yielded again; the
    checkpoint's own is, with loss NaN.

    Parameters
    ----------
    language
        with its tables on `device`, where its sentences are drawn.
    stops
        numbers of updates, 0 … steps.
    checkpoint
        a file, written every `save_every` steps, at every stop and at the end; None keeps nothing.
    processes
        those that share the batch (see `joined`): gradients are averaged, so that any number of
        them takes the same steps up to the order of summation. All must see the same checkpoint;
        the first one writes it.

    Raises
    ------
    ValueError
        a language and a model of different vocabularies, stops outside the run, micro-batches that
        the processes cannot share, a checkpoint of another run or damaged.
    FloatingPointError
        a training loss that is not finite, found at a stop.
    """
    processes = processes or Processes()
    numbers = processes.share(plan.micro_batches)
    stops = _checked(model_plan, plan, language, stops)
    model = build_model(model_plan, plan.seed, device)
    optimizer = _optimizer(model, plan)
    belongs = identity(language, model_plan, plan)
    state = load_checkpoint(checkpoint, belongs) if checkpoint else None
    start, since, losses, seconds = _resume(state, model, optimizer, device)
    forward = _prepared(model, plan, processes)
    began = time.perf_counter() - seconds
    for step in range(start, plan.steps + 1):
        if step in stops:
            paused = time.perf_counter()
            yield TrainingState(
                step,
                step * plan.batch,
                _mean_loss(processes, losses, since, step, plan.rate),
                paused - began,
                model,
            )
            began += time.perf_counter() - paused
            since, losses = step, torch.zeros_like(losses)
        if checkpoint and step > start and (step % save_every == 0 or step in stops):
            total = processes.mean(losses)
            if not processes.rank:
                run = {
                    "step": step,
                    "since": since,
                    "losses": total,
                    "seconds": time.perf_counter() - began,
                }
                parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                save_checkpoint(checkpoint, {"identity": belongs, **run, **parts})
        if step < plan.steps:
            losses += _update(
                forward, optimizer, plan, language, model_plan.positions, step, numbers, device
            )


def _checked(
    model_plan: ModelPlan, plan: TrainingPlan, language: Language, stops: Collection[int]
) -> set[int]:
    if language.vocab_size != model_plan.words:
        raise ValueError(
            f"`model_plan` has {model_plan.words} words and the language {language.vocab_size}. "
            "Use ModelPlan.for_language."
        )
    if outside := [stop for stop in stops if not 0 <= stop <= plan.steps]:
        raise ValueError(
            f"`stops` must lie in 0 … {plan.steps}, the `steps` of the plan, got {outside}."
        )
    return {*stops, plan.steps}


def _optimizer(model: MaskedLM, plan: TrainingPlan) -> torch.optim.Optimizer:
    if plan.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), plan.rate, fused=True)
    named = list(model.named_parameters())
    decays = [p for name, p in named if p.ndim == 2 and not name.startswith("places")]
    groups = [
        {"params": decays},
        {
            "params": [p for name, p in named if p.ndim == 1 or name.startswith("places")],
            "weight_decay": 0.0,
        },
    ]
    return torch.optim.AdamW(
        groups, plan.rate, plan.betas, plan.epsilon, plan.weight_decay, fused=True
    )


def _resume(
    state: dict | None,
    model: MaskedLM,
    optimizer: torch.optim.Optimizer,
    device: torch.device | str,
) -> tuple[int, int, Tensor, float]:
    """The step to go on from, that of the stop before, the sum of the losses since, and the
    seconds; model and optimizer as they were.
    """
    if state is None:
        return 0, 0, torch.zeros((), device=device), 0.0
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"], state["since"], state["losses"].to(device), state["seconds"]


def _mean_loss(processes: Processes, losses: Tensor, since: int, step: int, rate: float) -> float:
    if step == since:
        return math.nan
    loss = float(processes.mean(losses)) / (step - since)
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The training loss is {loss} between steps {since} and {step}. Lower `rate` = {rate}."
        )
    return loss


def _prepared(model: MaskedLM, plan: TrainingPlan, processes: Processes) -> nn.Module:
    forward = torch.compile(model) if plan.compile else model
    return DistributedDataParallel(forward) if processes.count > 1 else forward


def _update(
    forward: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: TrainingPlan,
    language: Language,
    positions: int,
    step: int,
    numbers: range,
    device: torch.device | str,
) -> Tensor:
    """One update of the parameters from the micro-batches `numbers` of this step; the mean loss
    over them.
    """
    for group in optimizer.param_groups:
        group["lr"] = plan.rate_at(step)
    total = torch.zeros((), device=device)
    for number in numbers:
        generator = batch_generator(
            plan.seed, "training", step * plan.micro_batches + number, device
        )
        batch = draw_batch(
            language, plan.batch // plan.micro_batches, positions, plan.mask_share, generator
        )
        # gradients are exchanged once, at the end
        waits = number != numbers[-1] and isinstance(forward, DistributedDataParallel)
        with forward.no_sync() if waits else nullcontext():
            loss = masked_loss(forward, batch, plan.precision) / len(numbers)
            loss.backward()
        total += loss.detach()
    optimizer.step()
    optimizer.zero_grad()
    return total


def masked_loss(forward: nn.Module, batch: MaskedBatch, precision: str = "float32") -> Tensor:
    """Mean over sentences of the mean over their masks of −log Pr(hidden word) in nats; the logits
    in `precision`, the loss in float32.
    """
    with torch.autocast(batch.tokens.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        logits = forward(batch.tokens, batch.at)
    losses = F.cross_entropy(
        logits.float().flatten(0, 1),
        batch.targets.flatten(),
        ignore_index=PADDING,
        reduction="none",
    )
    return (losses.view_as(batch.targets).sum(1) / (batch.targets != PADDING).sum(1)).mean()
