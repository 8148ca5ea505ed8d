"""What is done to saturated models so that they differ at the same loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import product
from typing import Annotated, Literal, get_args

import torch
from pydantic import Discriminator, Field

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.curvature.rescaling import STREAM, rescale, scale_names
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.mlm_checks import as_numbers
from ntpcompanion.mlm.data.stacked_sentences import Labels
from ntpcompanion.mlm.training.regularizers import AdversarialPlan, adversary, trace_penalty
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.stack import Stack
from ntpcompanion.validation import as_number, check_choice, check_instance

PRETRAINING = "pretraining"  # against an adversary the sentences are those of the normal training
Weights = Annotated[tuple[float, ...], Field(min_length=1)]


class Measured(StrEnum):
    """How much is measured of the models of an arm, beside loss and traces."""

    LOSS = "loss"
    FIRST = "first"
    ALL = "all"

    def tasks(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the positions whose tasks are measured."""
        if self is Measured.LOSS:
            return ()
        return positions if self is Measured.ALL else positions[:1]

    @property
    def protocols(self) -> bool:
        """Whether the paper's own protocols are run on the first task, beside converged probes."""
        return self is Measured.ALL


@dataclass(frozen=True, eq=False)
class Arm:
    """Models that were treated alike: one for each strength and seed.

    Fields
    ------
    measured
        how much of each, by default the first task by converged probes.
    """

    kind: str
    strengths: list[float]
    seeds: list[int]
    stack: Stack
    measured: Measured = Measured.FIRST


@dataclass(frozen=True, eq=False)
class Start:
    """Where an intervention begins.

    Fields
    ------
    untrained, saturated
        networks before and after the pre-training, one for each seed.
    seeds, language, training, labels
        of the pre-training.
    downstream
        the training examples of the first task.
    """

    untrained: Stack
    saturated: Stack
    seeds: tuple[int, ...]
    language: Language
    training: TrainingPlan
    labels: Labels
    downstream: LabelledExamples


@dataclass(frozen=True)
class Continued:
    """Training goes on, as at the end of pre-training, for `steps` more steps.

    Fields
    ------
    training
        how, and for how many steps.

    Examples
    --------
    >>> from ntpcompanion.experiments import Continued
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> Continued(TrainingPlan(steps=3000, batch_size=128, learning_rate=1e-4)).kind
    'continued'
    """

    training: TrainingPlan
    kind: Literal["continued"] = field(default="continued", kw_only=True)

    def __post_init__(self) -> None:
        check_instance("training", self.training, TrainingPlan)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after the further steps."""
        steps = float(self.training.steps)
        strengths, seeds, stack = _crossed(start, [steps], start.saturated)
        stack = trained_stack(
            stack, self.training, start.language, seeds, "continued", labels=start.labels
        )
        yield Arm("continued", strengths, seeds, stack)


@dataclass(frozen=True)
class Noise:
    """SGD on drawn labels at each of the rates, then an anneal by AdamW that is the same for all.

    Fields
    ------
    sgd
        its learning rate is multiplied by each of the `rates`; 0 is not SGD.
    anneal
        of what SGD has left, on the labels of the pre-training.

    Raises
    ------
    ValueError
        no rate, or what is not a number; what is not a `TrainingPlan`, or, of `sgd`, has another
        optimizer.

    Examples
    --------
    >>> from ntpcompanion.experiments import Noise
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> sgd = TrainingPlan(500, 32, optimizer="sgd", learning_rate=0.1, schedule="constant")
    >>> Noise(sgd, rates=(0.0, 0.5, 1.0), anneal=TrainingPlan(200, 128)).kind
    'noise'
    """

    sgd: TrainingPlan
    rates: Weights
    anneal: TrainingPlan
    kind: Literal["noise"] = field(default="noise", kw_only=True)

    def __post_init__(self) -> None:
        check_instance("sgd", self.sgd, TrainingPlan)
        check_instance("anneal", self.anneal, TrainingPlan)
        as_numbers("rates", self.rates)
        if self.sgd.optimizer != "sgd":
            raise ValueError(
                f"`sgd` must have the optimizer 'sgd', got {self.sgd.optimizer!r}: AdamW does not "
                "notice a factor of the gradient."
            )

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after SGD ("sgd") and after the anneal ("annealed")."""
        strengths, seeds, stack = _crossed(start, self.rates, start.saturated)
        stack = trained_stack(stack, self.sgd, start.language, seeds, "sgd", rates=strengths)
        yield Arm("sgd", strengths, seeds, stack, Measured.LOSS)
        stack = trained_stack(
            stack, self.anneal, start.language, seeds, "anneal", labels=start.labels
        )
        yield Arm("annealed", strengths, seeds, stack)


@dataclass(frozen=True)
class Adversarial:
    """Pre-training from the first step against an adversary of the first task, see `adversary`.

    Fields
    ------
    weights
        λ, one model for each and each seed; the other numbers are as in `AdversarialPlan`.
    ridge, first, second
        penalty of the adversary's head; examples that it is fitted to, and judged by, in a step.

    Examples
    --------
    >>> from ntpcompanion.experiments import Adversarial
    >>> Adversarial(weights=(0.0, 0.01), ridge=10.0, first=60, second=30).kind
    'adversarial'
    """

    weights: Weights
    ridge: float
    first: int
    second: int
    kind: Literal["adversarial"] = field(default="adversarial", kw_only=True)

    def __post_init__(self) -> None:
        for weight in as_numbers("weights", self.weights, partial(as_number, minimum=0.0)):
            AdversarialPlan(weight, self.ridge, self.first, self.second)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models at the end of the same number of steps as the saturated ones."""
        strengths, seeds, stack = _crossed(start, self.weights, start.untrained)
        plans = [AdversarialPlan(w, self.ridge, self.first, self.second) for w in strengths]
        stack = trained_stack(
            stack,
            start.training,
            start.language,
            seeds,
            PRETRAINING,
            labels=start.labels,
            term=adversary(plans, seeds, start.downstream),
        )
        yield Arm("adversarial", strengths, seeds, stack, Measured.ALL)


@dataclass(frozen=True)
class Penalty:
    """The loss plus μ · log trace, from the saturated models, for each of the `weights` μ.

    Fields
    ------
    training
        how, and for how many steps.
    weights
        μ, one model for each and each seed; negative ones make the trace larger.
    labels
        of the training, see `draw_steps`.

    Examples
    --------
    >>> from ntpcompanion.experiments import Penalty
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> Penalty(TrainingPlan(500, 32), weights=(-0.01, 0.0, 0.01)).labels
    'drawn'
    """

    training: TrainingPlan
    weights: Weights
    labels: Labels = "drawn"
    kind: Literal["penalty"] = field(default="penalty", kw_only=True)

    def __post_init__(self) -> None:
        check_instance("training", self.training, TrainingPlan)
        as_numbers("weights", self.weights)
        check_choice("labels", self.labels, get_args(Labels))

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after the steps of the plan."""
        strengths, seeds, stack = _crossed(start, self.weights, start.saturated)
        weights = torch.tensor(strengths, device=stack.device)
        stack = trained_stack(
            stack,
            self.training,
            start.language,
            seeds,
            "penalty",
            labels=self.labels,
            term=trace_penalty(weights, seeds, self.training.batch_size),
        )
        yield Arm("penalty", strengths, seeds, stack)


@dataclass(frozen=True)
class Rescaled:
    """All scales that are free, of the saturated models, moved by each of the `logarithms`: another
    trace, the same function.

    Fields
    ------
    logarithms
        of the factors, one model for each and each seed.

    Examples
    --------
    >>> from ntpcompanion.experiments import Rescaled
    >>> Rescaled(logarithms=(-0.5, 0.5)).kind  # by e^{±1/2}
    'rescaled'
    """

    logarithms: Weights
    kind: Literal["rescaled"] = field(default="rescaled", kw_only=True)

    def __post_init__(self) -> None:
        as_numbers("logarithms", self.logarithms)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The rescaled models."""
        strengths, seeds, stack = _crossed(start, self.logarithms, start.saturated)
        names = scale_names(stack.plan.layers)
        free = torch.tensor([float(name != STREAM) for name in names])
        scales = torch.tensor(strengths)[:, None] * free
        moved = rescale(stack.parameters, scales.to(stack.device))
        yield Arm("rescaled", strengths, seeds, Stack(stack.plan, moved))


Intervention = Annotated[
    Continued | Noise | Adversarial | Penalty | Rescaled, Discriminator("kind")
]


def _crossed(
    start: Start, strengths: Sequence[float], stack: Stack
) -> tuple[list[float], list[int], Stack]:
    """A copy for each strength of the networks of a stack, of which there is one for each seed:
    strength and seed of every copy, and the copies.
    """
    pairs = list(product(strengths, enumerate(start.seeds)))
    copies = stack.take([row for _, (row, _) in pairs])
    return [strength for strength, _ in pairs], [seed for _, (_, seed) in pairs], copies
