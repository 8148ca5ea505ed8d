"""Training that goes on from given parameters, or has a second term beside the loss of the masked
words.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.checkpoints import identity, load_checkpoint, save_checkpoint
from ntpcompanion.mlm.model import MaskedLM, build_model
from ntpcompanion.mlm.plan import ModelPlan, TrainingPlan
from ntpcompanion.mlm.processes import Processes
from ntpcompanion.mlm.train import TrainingState, _checked, _optimizer, _prepared, _resume, _update

Term = Callable[[MaskedLM, int], Tensor]  # of the model and the number of the step


@dataclass(frozen=True)
class ContinuedState(TrainingState):
    """A `TrainingState`, its loss that of the masked words alone, and the mean of the second term
    since the state before.
    """

    term: float


def train_on(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    *,
    start: Mapping[str, Tensor] | None = None,
    term: Term | None = None,
    weight: float = 0.0,
    term_identity: object = None,
    device: torch.device | str = "cpu",
    stops: Collection[int] = (),
    checkpoint: Path | None = None,
    save_every: int = 1000,
) -> Iterator[ContinuedState]:
    """Minimize L(θ) + `weight` · term(θ, step) as `train` minimizes L(θ): same optimizer, rates,
    sentences, stops and checkpoints.

    Parameters
    ----------
    start
        a state_dict to start from, such as that of a saturated model; None is a new model. The
        optimizer is new in any case.
    term, weight
        a scalar of the model and of the number of the step alone, and its factor; None is no second
        term, and reported as 0.
    term_identity
        what tells this term from another one, so that a checkpoint of another is refused; its
        `repr` is kept.

    Raises
    ------
    ValueError
        as `train`; a start of another shape.
    FloatingPointError
        a loss or a term that is not finite, found at a stop.
    """
    stops = _checked(model_plan, plan, language, stops)
    model = _started(build_model(model_plan, plan.seed, device), start)
    optimizer, forward = _optimizer(model, plan), _prepared(model, plan, Processes())
    belongs = identity(
        language, model_plan, plan, weight, term_identity, digest(*(start or {}).values())
    )
    first_step, since, losses, seconds = _resume(
        load_checkpoint(checkpoint, belongs) if checkpoint else None, model, optimizer, device
    )
    losses, began = losses + torch.zeros(2, device=device), perf_counter() - seconds
    for step in range(first_step, plan.steps + 1):
        if step in stops:
            paused = perf_counter()
            loss, other = _means(losses, step - since)
            yield ContinuedState(step, step * plan.batch, loss, paused - began, model, other)
            began += perf_counter() - paused
            since, losses = step, torch.zeros_like(losses)
        if checkpoint and step > first_step and (step % save_every == 0 or step in stops):
            run = {
                "step": step,
                "since": since,
                "losses": losses,
                "seconds": perf_counter() - began,
            }
            parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save_checkpoint(checkpoint, {"identity": belongs, **run, **parts})
        if step < plan.steps:
            other = torch.zeros((), device=device)
            if term:
                other = term(model, step)
                # the gradient of the loss of the masked words is added to it
                (weight * other).backward()
            learned = _update(
                forward,
                optimizer,
                plan,
                language,
                model_plan.positions,
                step,
                range(plan.micro_batches),
                device,
            )
            losses = losses + torch.stack([learned, other.detach().float()])


def digest(*tensors: Tensor) -> str:
    """A hash of the entries of tensors."""
    found = sha256()
    for tensor in tensors:
        found.update(tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _started(model: MaskedLM, start: Mapping[str, Tensor] | None) -> MaskedLM:
    if start is not None:
        try:
            model.load_state_dict(start)
        except RuntimeError as error:
            raise ValueError(
                f"`start` does not fit `model_plan`: {' '.join(str(error).split())[:300]}."
            ) from error
    return model


def _means(losses: Tensor, steps: int) -> tuple[float, float]:
    """Loss and second term of a step; NaN if there was none."""
    if not steps:
        return math.nan, math.nan
    loss, term = (losses / steps).tolist()
    if not (math.isfinite(loss) and math.isfinite(term)):
        raise FloatingPointError(
            f"The training loss is {loss} and the second term {term}. Lower `rate`, or `weight`."
        )
    return loss, term
