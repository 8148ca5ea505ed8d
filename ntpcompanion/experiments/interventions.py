"""What is done to saturated models so that they differ at the same loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import torch
from pydantic import Discriminator, Field

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.adversarial import AdversarialPlan
from ntpcompanion.mlm.downstream import Examples
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.rescaling import rescale, scale_names
from ntpcompanion.mlm.stacked_data import Labels
from ntpcompanion.mlm.stacked_terms import adversary, trace_penalty
from ntpcompanion.mlm.stacked_training import StackedTerm, train_stack
from ntpcompanion.networks.stack import Stack

Measured = Literal["loss", "first", "all"]
Weights = Annotated[tuple[float, ...], Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Arm:
    """Models that were treated alike: one for each strength and seed.

    Fields
    ------
    measured
        how much of each: "loss" and trace only, also the "first" task by converged probes, or
        "all" tasks, and the first one by the paper's own protocols, too.
    """

    kind: str
    strengths: list[float]
    seeds: list[int]
    stack: Stack
    measured: Measured = "first"


@dataclass(frozen=True, eq=False)
class Start:
    """Where an intervention begins.

    Fields
    ------
    untrained
        networks, one for each seed.
    seeds, language, training, labels
        of the pre-training.
    downstream
        the training examples of the first task.
    stack
        the saturated models, one for each seed; None before the pre-training.
    """

    untrained: Stack
    seeds: tuple[int, ...]
    language: Language
    training: TrainingPlan
    labels: Labels
    downstream: Examples
    stack: Stack | None = None

    @property
    def saturated(self) -> Stack:
        """The models after the pre-training."""
        assert self.stack is not None, "interventions begin after the pre-training"
        return self.stack


def pretrained(start: Start) -> Arm:
    """The saturated models."""
    stack = _trained(start, start.untrained, start.training, "pretraining", start.seeds)
    return Arm("saturated", [0.0] * len(start.seeds), list(start.seeds), stack, "all")


@dataclass(frozen=True)
class Continued:
    """Training goes on, as at the end of pre-training, for `steps` more steps."""

    training: TrainingPlan
    kind: Literal["continued"] = field(default="continued", kw_only=True)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after the further steps."""
        stack = _trained(start, start.saturated, self.training, "continued", start.seeds)
        steps = float(self.training.steps)
        yield Arm("continued", [steps] * len(start.seeds), list(start.seeds), stack)


@dataclass(frozen=True)
class Noise:
    """SGD on drawn labels at each of the rates, then an anneal by AdamW that is the same for all.

    Fields
    ------
    sgd
        its learning rate is multiplied by each of the `rates`; 0 is no SGD.
    anneal
        of what SGD has left, on the labels of the pre-training.
    """

    sgd: TrainingPlan
    rates: Weights
    anneal: TrainingPlan
    kind: Literal["noise"] = field(default="noise", kw_only=True)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after SGD ("sgd") and after the anneal ("annealed")."""
        strengths, seeds, stack = _crossed(start, self.rates)
        drawn = replace(start, labels="drawn")
        noisy = _trained(drawn, stack, self.sgd, "sgd", seeds, rates=strengths)
        yield Arm("sgd", strengths, seeds, noisy, "loss")
        yield Arm(
            "annealed", strengths, seeds, _trained(start, noisy, self.anneal, "anneal", seeds)
        )


@dataclass(frozen=True)
class Adversarial:
    """Pre-training from the first step against an adversary of the first task, see
    `adversarial_term`.

    Fields
    ------
    weights
        λ, one model for each and each seed; the other numbers are as in `AdversarialPlan`.
    """

    weights: Weights
    ridge: float
    first: int
    second: int
    kind: Literal["adversarial"] = field(default="adversarial", kw_only=True)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models at the end of the same number of steps as the saturated ones."""
        strengths, seeds, stack = _crossed(replace(start, stack=start.untrained), self.weights)
        plans = [AdversarialPlan(w, self.ridge, self.first, self.second) for w in strengths]
        term = adversary(plans, seeds, start.downstream)
        trained = _trained(start, stack, start.training, "pretraining", seeds, term=term)
        yield Arm("adversarial", strengths, seeds, trained, "all")


@dataclass(frozen=True)
class Penalty:
    """The loss plus μ · log trace, from the saturated models, for each of the `weights` μ."""

    training: TrainingPlan
    weights: Weights
    labels: Labels = "drawn"
    kind: Literal["penalty"] = field(default="penalty", kw_only=True)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The models after the steps of the plan."""
        strengths, seeds, stack = _crossed(start, self.weights)
        weights = torch.tensor(strengths, device=stack.device)
        term = trace_penalty(weights, seeds, self.training.batch_size)
        begun = replace(start, labels=self.labels)
        trained = _trained(begun, stack, self.training, "penalty", seeds, term=term)
        yield Arm("penalty", strengths, seeds, trained)


@dataclass(frozen=True)
class Rescaled:
    """All scales that are free, of the saturated models, moved by each of the `logarithms`: another
    trace, the same function.
    """

    logarithms: Weights
    kind: Literal["rescaled"] = field(default="rescaled", kw_only=True)

    def arms(self, start: Start) -> Iterator[Arm]:
        """The rescaled models."""
        strengths, seeds, stack = _crossed(start, self.logarithms)
        names = scale_names(stack.plan.layers)
        signs = torch.tensor([0.0 if name == "residual stream" else 1.0 for name in names])
        scales = torch.tensor(strengths)[:, None] * signs
        moved = rescale(stack.parameters, scales.to(stack.device))
        yield Arm("rescaled", strengths, seeds, Stack(stack.plan, moved))


Intervention = Annotated[
    Continued | Noise | Adversarial | Penalty | Rescaled, Discriminator("kind")
]


def _crossed(start: Start, strengths: Sequence[float]) -> tuple[list[float], list[int], Stack]:
    """One copy of each saturated model for each strength."""
    seeds = [seed for _ in strengths for seed in start.seeds]
    repeated = [strength for strength in strengths for _ in start.seeds]
    rows = [row for _ in strengths for row in range(len(start.seeds))]
    return repeated, seeds, start.saturated.take(rows)


def _trained(
    start: Start,
    stack: Stack,
    plan: TrainingPlan,
    name: str,
    seeds: Sequence[int],
    *,
    rates: Sequence[float] | None = None,
    term: StackedTerm | None = None,
) -> Stack:
    *_, state = train_stack(
        stack, plan, start.language, seeds, name, labels=start.labels, rates=rates, term=term
    )
    return state.stack.take(range(len(stack)))
