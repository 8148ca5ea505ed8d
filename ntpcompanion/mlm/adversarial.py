"""Adversarial pre-training: as good at masked words as any, and features from which a downstream head generalizes badly."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.checkpoints import identity, load_checkpoint, save_checkpoint
from ntpcompanion.mlm.downstream import Examples
from ntpcompanion.mlm.evaluate import Evaluation
from ntpcompanion.mlm.model import MaskedLM, build_model
from ntpcompanion.mlm.plan import ModelPlan, TrainingPlan
from ntpcompanion.mlm.probe import gaussian_projection
from ntpcompanion.mlm.processes import Processes
from ntpcompanion.mlm.ridge import refuse_ridge, validation_loss
from ntpcompanion.mlm.train import TrainingState, _checked, _optimizer, _prepared, _resume, _update
from ntpcompanion.randomness import stream

EQUAL_LOSS = 0.01  # nats


@dataclass(frozen=True)
class AdversarialPlan:
    """What is added to the pre-training loss: −`weight` times the validation loss of a ridge head. The paper states none of these numbers.

    Fields
    ------
    weight
        λ of the validation loss; 0 is the normal training.
    ridge
        ρ of the head, beside a sum (not a mean) over examples.
    first, second
        examples that the head is fitted on, and those it is measured on, disjoint and drawn anew for each step.
    dims
        to which features are projected by a fixed Gaussian matrix; 0 takes them as they are.

    Raises
    ------
    ValueError
        a number out of its range.
    """

    weight: float
    ridge: float
    first: int
    second: int
    dims: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"`weight` must not be negative, and finite, got {self.weight}.")
        refuse_ridge(self.ridge)
        for name, least in (("first", 1), ("second", 1), ("dims", 0)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"`{name}` must be at least {least}, got {value}.")


@dataclass(frozen=True)
class AdversarialState(TrainingState):
    """A `TrainingState`, its loss that of the masked words alone, and the mean validation loss of the head since the state before."""

    validation: float


def disjoint_rows(examples: int, plan: AdversarialPlan, seed: int, step: int) -> tuple[Int[Tensor, " first"], Int[Tensor, " second"]]:
    """Which examples step `step` of a run fits and measures its head on: uniform, disjoint, and a function of (seed, step) only.

    Raises ValueError for fewer examples than both together.
    """
    if plan.first + plan.second > examples:
        raise ValueError(f"`first` + `second` = {plan.first + plan.second} must be at most the {examples} downstream examples.")
    drawn = stream(seed, f"adversary {step}").choice(examples, plan.first + plan.second, replace=False)
    return tuple(torch.from_numpy(drawn).split([plan.first, plan.second]))


def train_adversarially(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    downstream: Examples,
    adversary: AdversarialPlan,
    *,
    start: Mapping[str, Tensor] | None = None,
    device: torch.device | str = "cpu",
    stops: Collection[int] = (),
    checkpoint: Path | None = None,
    save_every: int = 1000,
) -> Iterator[AdversarialState]:
    """Minimize L(θ) − λ · L̂_D₂(φ̂(ψ), ψ) as `train` minimizes L(θ): same optimizer, rates, sentences, stops and checkpoints.

    Each step draws D₁ and D₂ from the downstream training examples, fits the head φ̂ on D₁ in closed form, and goes against its loss on D₂,
    the derivative of φ̂ in the features included (Liu et al. 2023, appendix A.4). With λ = 0 the steps are those of `train`. A comparison
    with a normal model means something only as long as `equally_trained` holds.

    Parameters
    ----------
    downstream
        tokens, and labels.
    start
        a state_dict to start from, such as that of a saturated model; None is a new model.

    Raises
    ------
    ValueError
        as `train`; too few downstream examples; a start of another shape.
    FloatingPointError
        a loss that is not finite, found at a stop.

    Notes
    -----
    A step costs that of `train`, the network on first + second sentences forward and backward, and the solve; `precision` does not
    apply to the latter two.
    """
    stops = _checked(model_plan, plan, language, stops)
    disjoint_rows(len(downstream.labels), adversary, plan.seed, 0)  # refuses too few before anything is computed
    model = _started(build_model(model_plan, plan.seed, device), start)
    projection = _projection(model_plan, adversary, plan.seed, device)
    optimizer, forward = _optimizer(model, plan), _prepared(model, plan, Processes())
    belongs = identity(language, model_plan, plan, adversary, _digest(downstream.inputs, downstream.labels, *(start or {}).values()))
    first_step, since, losses, seconds = _resume(load_checkpoint(checkpoint, belongs) if checkpoint else None, model, optimizer, device)
    losses, began = losses + torch.zeros(2, device=device), perf_counter() - seconds
    for step in range(first_step, plan.steps + 1):
        if step in stops:
            paused = perf_counter()
            loss, validation = _means(losses, step - since)
            yield AdversarialState(step, step * plan.batch, loss, paused - began, model, validation)
            began += perf_counter() - paused
            since, losses = step, torch.zeros_like(losses)
        if checkpoint and step > first_step and (step % save_every == 0 or step in stops):
            run = {"step": step, "since": since, "losses": losses, "seconds": perf_counter() - began}
            parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save_checkpoint(checkpoint, {"identity": belongs, **run, **parts})
        if step < plan.steps:
            pair = _subsets(downstream, disjoint_rows(len(downstream.labels), adversary, plan.seed, step), device)
            attacked = validation_loss(model, *pair, adversary.ridge, projection)
            (-adversary.weight * attacked).backward()  # the gradient of the pre-training loss is added to it
            learned = _update(forward, optimizer, plan, language, model_plan.positions, step, range(plan.micro_batches), device)
            losses = losses + torch.stack([learned, attacked.detach().float()])


def equally_trained(normal: Evaluation, other: Evaluation) -> bool:
    """Whether the losses of two models on one test set differ by less than EQUAL_LOSS = 0.01 nats, two standard errors included."""
    return abs(other.loss - normal.loss) + 2 * math.hypot(normal.kl_stderr, other.kl_stderr) < EQUAL_LOSS


def _started(model: MaskedLM, start: Mapping[str, Tensor] | None) -> MaskedLM:
    if start is not None:
        try:
            model.load_state_dict(start)
        except RuntimeError as error:
            raise ValueError(f"`start` does not fit `model_plan`: {' '.join(str(error).split())[:300]}.") from error
    return model


def _projection(shape: ModelPlan, adversary: AdversarialPlan, seed: int, device: torch.device | str) -> Tensor | None:
    if not adversary.dims:
        return None
    generator = torch.Generator().manual_seed(int(stream(seed, "adversary projection").integers(2**32)))
    return gaussian_projection(shape.positions * shape.width, adversary.dims, generator).to(device)


def _digest(*tensors: Tensor) -> str:
    found = sha256()
    for tensor in tensors:
        found.update(tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _subsets(downstream: Examples, rows: tuple[Tensor, Tensor], device: torch.device | str) -> list[Examples]:
    inputs, labels = downstream.inputs, downstream.labels
    each = (chosen.to(labels.device) for chosen in rows)
    return [Examples(inputs[chosen].to(device), labels[chosen].to(device), downstream.classes) for chosen in each]


def _means(losses: Tensor, steps: int) -> tuple[float, float]:
    """Pre-training and validation loss of a step; NaN if there was none."""
    if not steps:
        return math.nan, math.nan
    loss, validation = (losses / steps).tolist()
    if not (math.isfinite(loss) and math.isfinite(validation)):
        raise FloatingPointError(f"The training loss is {loss} and the validation loss {validation}. Lower `rate`, or `weight`.")
    return loss, validation
