"""Training: a generator that yields the model at chosen steps, and that a kill does not disturb."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ntpcompanion.checks import Device, Size, checked, need
from ntpcompanion.languages.language import PADDING, Language
from ntpcompanion.mlm.data.fingerprint import fingerprint
from ntpcompanion.mlm.data.masked_sentences import MaskedBatch, batch_generator, draw_batch
from ntpcompanion.mlm.training.checkpoints import identity, load_checkpoint, save_checkpoint
from ntpcompanion.mlm.training.distributed import Processes
from ntpcompanion.mlm.training.optimizer import optimizer_of
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import ModelPlan


@dataclass(frozen=True)
class Regularizer:
    """What is minimized beside the loss of the masked words: `weight` · value(model, step).

    Fields
    ------
    value
        a scalar of the model and of the number of the step alone.
    weight
        its factor; a negative one maximizes the term.
    identity
        what tells this term from another one, so that a checkpoint of another is rejected.
    """

    value: Callable[[LanguageModel, int], Tensor]
    weight: float
    identity: str


@dataclass(frozen=True)
class TrainingState:
    """Where a run is.

    Fields
    ------
    step, sentences
        updates made, and sentences seen.
    loss
        mean training loss of the masked words since the state before, in nats; NaN if there was no
        step since.
    seconds
        of training so far, those before a kill included, without what was done with the states; on
        a GPU also without the wait, at a state, for the steps that it has not finished.
    model
        as it is now: the next state changes it.
    term
        mean of the second term since the state before; 0 without one.
    """

    step: int
    sentences: int
    loss: float
    seconds: float
    model: LanguageModel
    term: float = 0.0


@dataclass
class _Progress:
    """What changes during a run beside model and optimizer, and is saved with them."""

    step: int  # the next update
    since: int  # the step of the last stop
    sums: Tensor  # (2,) of the loss and of the second term since then
    began: float  # `perf_counter` at the start, if all training had been without a pause


@checked(
    need(
        "model_plan",
        "model_plan.words == language.vocab_size",
        "have the {language.vocab_size} `words` of the language",
    ),
    need(
        "second",
        "None in (second, processes) or processes.count == 1",
        "be None in several processes, which share the loss of the masked words only",
    ),
)
def train(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    *,
    start: Mapping[str, Tensor] | None = None,
    second: Regularizer | None = None,
    device: Device = "cpu",
    eval_steps: Collection[int] = (),
    checkpoint: Path | None = None,
    save_every: Size = 1000,
    processes: Processes | None = None,
) -> Iterator[TrainingState]:
    """Train a model on sentences that `language` draws, and yield its state at each of the
    `eval_steps` and at the last step.

    Step s of a run depends on the plans, the language, the start and s only: with a checkpoint, a
    run that was killed goes on from the last one saved and ends at the same parameters, bit for bit
    on a CPU with the same number of threads. States before that checkpoint are not yielded
    again; the checkpoint's own is, with loss NaN.

    Parameters
    ----------
    model_plan, plan
        the shape of the model, and how it is trained.
    language
        with its tables on `device`, where its sentences are drawn.
    start
        a state_dict to start from, such as that of a saturated model; None is a new model. The
        optimizer is new in any case.
    second
        what is minimized beside the loss of the masked words.
    device
        as for torch.
    eval_steps
        numbers of updates, 0 … steps.
    checkpoint, save_every
        a file, written every `save_every` steps, at `eval_steps` and at the end, or None.
    processes
        those that share the batch (see `joined`): gradients are averaged, so that any number of
        them takes the same steps up to the order of summation. All must see the same checkpoint;
        the first one writes it.

    Yields
    ------
    TrainingState
        the model, its losses and what it has seen.

    Raises
    ------
    ValueError
        a language and a model of different vocabularies, a start of another shape, stops outside
        the run, micro-batches that the processes cannot share, a second term in several processes,
        a checkpoint of another run or damaged, an argument of another kind.
    FloatingPointError
        a training loss or a second term that is not finite, found at a stop.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan, draw_test_set
    >>> from ntpcompanion.mlm import evaluate
    >>> from ntpcompanion.mlm import train
    >>> from ntpcompanion.networks import TransformerSize
    >>> language = HMMPlan(states=2, words=6, length=4).build()
    >>> test = draw_test_set(language, 200, positions=4, seed=0)
    >>> shape = TransformerSize(8, layers=1, heads=1).for_sentences(words=6, positions=4)
    >>> plan = TrainingPlan(steps=60, batch_size=64, learning_rate=0.01)
    >>> kl = [evaluate(at.model, test).kl for at in train(shape, plan, language, eval_steps=[0])]
    >>> kl[1] < kl[0] / 5  # nats above the floor, at the end and at the start
    True
    """
    processes = Processes() if processes is None else processes
    numbers = processes.shard(plan.micro_batches)
    eval_steps = plan.with_last(eval_steps)
    model = _started(build_model(model_plan, plan.seed, device), start)
    optimizer = optimizer_of(dict(model.named_parameters()), plan)
    belongs = _identity(language, model_plan, plan, start, second) if checkpoint else ""
    saved = load_checkpoint(checkpoint, belongs) if checkpoint else None
    run = _resumed(saved, model, optimizer, device)
    forward, first_step = _prepared(model, plan, processes), run.step
    for step in range(first_step, plan.steps + 1):
        run.step = step
        if step in eval_steps:
            paused = perf_counter()
            means = _means(processes.mean(run.sums), step - run.since, plan, second)
            sentences, seconds = step * plan.batch_size, paused - run.began
            yield TrainingState(step, sentences, means[0], seconds, model, means[1])
            run.began += perf_counter() - paused
            run.since, run.sums = step, torch.zeros_like(run.sums)
        due = step % save_every == 0 or step in eval_steps
        if checkpoint and step > first_step and due:
            _save(checkpoint, belongs, run, model, optimizer, processes)
        if step < plan.steps:
            _set_rate(optimizer, plan.rate_at(step))
            if second:
                run.sums[1] += _descend(second, model, step)
            # the gradient of the loss of the masked words is added to that of the second term
            run.sums[0] += _learn(
                forward, plan, language, model_plan.positions, step, numbers, device
            )
            optimizer.step()
            optimizer.zero_grad()


def _identity(
    language: Language,
    model_plan: ModelPlan,
    plan: TrainingPlan,
    start: Mapping[str, Tensor] | None,
    second: Regularizer | None,
) -> str:
    beside = (second.weight, second.identity) if second else None
    digest = fingerprint((language, dict(start or {})))
    return identity(language, model_plan, plan, beside, digest)


def _started(model: LanguageModel, start: Mapping[str, Tensor] | None) -> LanguageModel:
    if start is not None:
        try:
            model.load_state_dict(start)
        except RuntimeError as error:
            raise ValueError(
                f"`start` does not fit `model_plan`: {' '.join(str(error).split())[:300]}."
            ) from error
    return model


def _resumed(
    state: dict[str, Any] | None,
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    device: torch.device | str,
) -> _Progress:
    """Where a checkpoint left the run; model and optimizer as they were."""
    if state is None:
        return _Progress(0, 0, torch.zeros(2, device=device), perf_counter())
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    sums, began = state["sums"].to(device), perf_counter() - state["seconds"]
    return _Progress(state["step"], state["since"], sums, began)


def _save(
    checkpoint: Path,
    belongs: str,
    run: _Progress,
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    sums = processes.mean(run.sums)  # of all processes; the first one writes
    if not processes.rank:
        progress = {"step": run.step, "since": run.since, "seconds": perf_counter() - run.began}
        parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        save_checkpoint(checkpoint, {"identity": belongs, "sums": sums, **progress, **parts})


def _means(
    sums: Tensor, steps: int, plan: TrainingPlan, second: Regularizer | None
) -> tuple[float, float]:
    """Loss and second term of a step; NaN if there was none."""
    if not steps:
        return math.nan, math.nan if second else 0.0
    loss, term = (total / steps for total in sums.tolist())
    if math.isfinite(loss) and math.isfinite(term):
        return loss, term
    beside = f" and the second term {term}" if second else ""
    advice = f"Lower `learning_rate` = {plan.learning_rate}"
    weight = f", or `weight` = {second.weight}" if second else ""
    raise FloatingPointError(
        f"The training loss is {loss}{beside} over the last {steps} steps. {advice}{weight}."
    )


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _descend(second: Regularizer, model: LanguageModel, step: int) -> Tensor:
    """Add the gradient of the weighted second term; its value."""
    value = second.value(model, step)
    (second.weight * value).backward()
    return value.detach().float()


def _prepared(model: LanguageModel, plan: TrainingPlan, processes: Processes) -> nn.Module:
    forward = torch.compile(model) if plan.compile else model
    return DistributedDataParallel(forward) if processes.count > 1 else forward


def _learn(
    forward: nn.Module,
    plan: TrainingPlan,
    language: Language,
    positions: int,
    step: int,
    numbers: range,
    device: torch.device | str,
) -> Tensor:
    """Add the gradient of the loss of the masked words, from the micro-batches `numbers` of this
    step; the mean loss over them.
    """
    total = torch.zeros((), device=device)
    for number in numbers:
        generator = batch_generator(
            plan.seed, "training", step * plan.micro_batches + number, device
        )
        batch = draw_batch(
            language, plan.batch_size // plan.micro_batches, positions, plan.mask_share, generator
        )
        # gradients are exchanged once, at the end
        waits = number != numbers[-1] and isinstance(forward, DistributedDataParallel)
        with forward.no_sync() if waits else nullcontext():
            loss = masked_loss(forward, batch, plan.precision) / len(numbers)
            loss.backward()
        total += loss.detach()
    return total


def masked_loss(forward: nn.Module, batch: MaskedBatch, precision: str = "float32") -> Tensor:
    """Mean over sentences of the mean over their masks of −log Pr(hidden word) in nats; the logits
    in `precision`, the loss in float32.
    """
    with torch.autocast(batch.tokens.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        logits = forward(batch.tokens, batch.positions)
    losses = F.cross_entropy(
        logits.float().flatten(0, 1),
        batch.targets.flatten(),
        ignore_index=PADDING,
        reduction="none",
    )
    return (losses.view_as(batch.targets).sum(1) / (batch.targets != PADDING).sum(1)).mean()
