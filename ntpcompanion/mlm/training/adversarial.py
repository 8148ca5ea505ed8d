"""Adversarial pre-training: as good at masked words as any, and features from which a downstream
head generalizes badly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.evaluation.features import gaussian_projection
from ntpcompanion.mlm.probes.ridge import refuse_ridge, validation_loss
from ntpcompanion.mlm.training.checkpoints import digest
from ntpcompanion.mlm.training.regularizer import Regularizer
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.randomness import stream, torch_stream
from ntpcompanion.validation import as_integer, as_number, check_instance


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
        as_number("weight", self.weight, 0)
        refuse_ridge(self.ridge)
        for name, least in (("first", 1), ("second", 1), ("dims", 0)):
            as_integer(name, getattr(self, name), least)


def disjoint_rows(
    examples: int, plan: AdversarialPlan, seed: int, step: int
) -> tuple[Int[Tensor, " first"], Int[Tensor, " second"]]:
    """Which examples step `step` of a run fits and measures its head on: uniform, disjoint, and a
    function of (seed, step) only.

    Raises ValueError for fewer examples than both together.
    """
    refuse_few(examples, plan.first, plan.second)
    drawn = stream(seed, f"adversary {step}").choice(
        examples, plan.first + plan.second, replace=False
    )
    return tuple(torch.from_numpy(drawn).split([plan.first, plan.second]))


def refuse_few(examples: int, first: int, second: int) -> None:
    """Raise ValueError for fewer downstream examples than both sets together."""
    if first + second > examples:
        raise ValueError(
            f"`first` + `second` = {first + second} must be at most the {examples} downstream "
            "examples."
        )


def adversarial_term(
    model_plan: ModelPlan,
    downstream: LabelledExamples,
    adversary: AdversarialPlan,
    seed: int,
    device: torch.device | str = "cpu",
) -> Regularizer:
    """The second term −λ · L̂_D₂(φ̂(ψ), ψ) of adversarial pre-training; `term` of the states of
    `train` is then the mean validation loss L̂_D₂.

    Each step draws D₁ and D₂ from the downstream training examples, fits the head φ̂ on D₁ in
    closed form, and goes against its loss on D₂, the derivative of φ̂ in the features included (Liu
    et al. 2023, appendix A.4). With λ = 0 the steps are those of `train` without a second term. A
    comparison with a normal model means something only where both have the same loss.

    Parameters
    ----------
    model_plan
        of the model that is trained.
    downstream
        tokens, and labels.
    seed
        of the examples of each step, and of the projection.
    device
        where the model is.

    Raises
    ------
    ValueError
        too few downstream examples.

    Notes
    -----
    A step of `train` then costs, besides, the network on first + second sentences forward and
    backward, and the solve; `precision` does not apply to these two.
    """
    check_instance("model_plan", model_plan, ModelPlan)
    check_instance("downstream", downstream, LabelledExamples)
    check_instance("adversary", adversary, AdversarialPlan)
    # rejects too few before anything is computed
    disjoint_rows(len(downstream.labels), adversary, seed, 0)
    projection = _projection(model_plan, adversary, seed, device)

    def attacked(model: LanguageModel, step: int) -> Tensor:
        rows = disjoint_rows(len(downstream.labels), adversary, seed, step)
        first, second = _subsets(downstream, rows, device)
        return validation_loss(model, first, second, adversary.ridge, projection)

    examples = digest(downstream.inputs, downstream.labels)
    return Regularizer(attacked, -adversary.weight, repr((adversary, seed, examples)))


def _projection(
    shape: ModelPlan, adversary: AdversarialPlan, seed: int, device: torch.device | str
) -> Tensor | None:
    if not adversary.dims:
        return None
    generator = torch_stream(seed, "adversary projection")
    return gaussian_projection(shape.positions * shape.width, adversary.dims, generator).to(device)


def _subsets(
    downstream: LabelledExamples, rows: tuple[Tensor, Tensor], device: torch.device | str
) -> Iterator[LabelledExamples]:
    inputs, labels = downstream.inputs, downstream.labels
    for chosen in (own.to(labels.device) for own in rows):
        yield LabelledExamples(
            inputs[chosen].to(device), labels[chosen].to(device), downstream.classes
        )
