"""Adversarial pre-training: as good at masked words as any, and features from which a downstream
head generalizes badly.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.continued import ContinuedState, digest, train_on
from ntpcompanion.mlm.downstream import Examples
from ntpcompanion.mlm.evaluate import Evaluation
from ntpcompanion.mlm.model import MaskedLM
from ntpcompanion.mlm.plan import ModelPlan, TrainingPlan
from ntpcompanion.mlm.probe import gaussian_projection
from ntpcompanion.mlm.ridge import refuse_ridge, validation_loss
from ntpcompanion.randomness import stream

EQUAL_LOSS = 0.01  # nats


@dataclass(frozen=True)
class AdversarialPlan:
    """What is added to the pre-training loss: −`weight` times the validation loss of a ridge head.
    The paper states none of these numbers.

    Fields
    ------
    weight
        λ of the validation loss; 0 is the normal training.
    ridge
        ρ of the head, beside a sum (not a mean) over examples.
    first, second
        examples that the head is fitted on, and those it is measured on, disjoint and drawn anew
        for each step.
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


def disjoint_rows(
    examples: int, plan: AdversarialPlan, seed: int, step: int
) -> tuple[Int[Tensor, " first"], Int[Tensor, " second"]]:
    """Which examples step `step` of a run fits and measures its head on: uniform, disjoint, and a
    function of (seed, step) only.

    Raises ValueError for fewer examples than both together.
    """
    if plan.first + plan.second > examples:
        raise ValueError(
            f"`first` + `second` = {plan.first + plan.second} must be at most the {examples} "
            "downstream examples."
        )
    drawn = stream(seed, f"adversary {step}").choice(
        examples, plan.first + plan.second, replace=False
    )
    return tuple(torch.from_numpy(drawn).split([plan.first, plan.second]))


def train_adversarially(
    model_plan: ModelPlan,
    plan: TrainingPlan,
    language: Language,
    downstream: Examples,
    adversary: AdversarialPlan,
    *,
    device: torch.device | str = "cpu",
    **options: Any,
) -> Iterator[ContinuedState]:
    """Minimize L(θ) − λ · L̂_D₂(φ̂(ψ), ψ); the `term` of its states is the mean validation loss
    L̂_D₂.

    Each step draws D₁ and D₂ from the downstream training examples, fits the head φ̂ on D₁ in
    closed form, and goes against its loss on D₂, the derivative of φ̂ in the features included (Liu
    et al. 2023, appendix A.4). With λ = 0 the steps are those of `train`. A comparison with a
    normal model means something only as long as `equally_trained` holds.

    Parameters
    ----------
    downstream
        tokens, and labels.
    options
        of `train_on`: start, stops, checkpoint, save_every.

    Raises
    ------
    ValueError
        as `train_on`; too few downstream examples.
    FloatingPointError
        a loss that is not finite, found at a stop.

    Notes
    -----
    A step costs that of `train`, the network on first + second sentences forward and backward, and
    the solve; `precision` does not apply to the latter two.
    """
    # refuses too few before anything is computed
    disjoint_rows(len(downstream.labels), adversary, plan.seed, 0)
    projection = _projection(model_plan, adversary, plan.seed, device)

    def attacked(model: MaskedLM, step: int) -> Tensor:
        pair = _subsets(
            downstream, disjoint_rows(len(downstream.labels), adversary, plan.seed, step), device
        )
        return validation_loss(model, *pair, adversary.ridge, projection)

    belongs = (adversary, digest(downstream.inputs, downstream.labels))
    yield from train_on(
        model_plan,
        plan,
        language,
        term=attacked,
        weight=-adversary.weight,
        term_identity=belongs,
        device=device,
        **options,
    )


def equally_trained(normal: Evaluation, other: Evaluation) -> bool:
    """Whether the losses of two models on one test set differ by less than EQUAL_LOSS = 0.01 nats,
    two standard errors included.
    """
    return (
        abs(other.loss - normal.loss) + 2 * math.hypot(normal.kl_stderr, other.kl_stderr)
        < EQUAL_LOSS
    )


def _projection(
    shape: ModelPlan, adversary: AdversarialPlan, seed: int, device: torch.device | str
) -> Tensor | None:
    if not adversary.dims:
        return None
    generator = torch.Generator().manual_seed(
        int(stream(seed, "adversary projection").integers(2**32))
    )
    return gaussian_projection(shape.positions * shape.width, adversary.dims, generator).to(device)


def _subsets(
    downstream: Examples, rows: tuple[Tensor, Tensor], device: torch.device | str
) -> list[Examples]:
    inputs, labels = downstream.inputs, downstream.labels
    each = (chosen.to(labels.device) for chosen in rows)
    return [
        Examples(inputs[chosen].to(device), labels[chosen].to(device), downstream.classes)
        for chosen in each
    ]
