"""Models at the same loss: pre-train one, go on with SGD or against adversaries, measure everything
alike.
"""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.evaluation_suite import (
    EvaluationPlan,
    EvaluationSuite,
    Measurements,
    ReferenceAccuracies,
    draw_suite,
    fine_tuned,
    fisher_of,
    labels_of,
    measure_model,
    reference_accuracies,
)
from ntpcompanion.experiments.named import NamedLanguage
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.adversarial import AdversarialPlan, adversarial_term
from ntpcompanion.mlm.enlarge import GRADIENT_POWERS, enlarge
from ntpcompanion.mlm.evaluate import SUBSETS
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.probe import ProbePlan
from ntpcompanion.mlm.processes import checked_device
from ntpcompanion.mlm.train import TrainingState, train
from ntpcompanion.networks.build import parameters_of
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.plan import ModelPlan

Positive = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class TransformerSize:
    """A transformer whose MLPs are 4 times as wide as its vectors."""

    width: int
    layers: int
    heads: int

    def for_sentences(self, words: int, positions: int) -> ModelPlan:
        """The plan of this network for a vocabulary and sentences of up to `positions` words."""
        return ModelPlan(
            "transformer", self.width, self.layers, self.heads, 4 * self.width, words, positions
        )


class Plan(experiment.Plan):
    """One model: how it is pre-trained, what is done to it afterwards, and what it is measured
    with.
    """

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="of the pre-training; its seed is `seed`")]
    seed: Annotated[
        int, Field(ge=0, description="of parameters, sentences, masks, tasks and test set")
    ]
    places: Annotated[
        tuple[Positive, ...], Field(min_length=1, description="of the tasks, see `draw_task`")
    ]
    examples: Annotated[
        tuple[Positive, Positive],
        Field(description="of each task, to train on and to test on"),
    ]
    probe: Annotated[ProbePlan, Field(description="how linear heads are trained")]
    evaluation: EvaluationPlan
    sentences: Annotated[int, Field(ge=SUBSETS, description="of the test set")] = 4000
    evaluations: Annotated[
        int, Field(ge=2, description="steps at which pre-training is measured, the start included")
    ] = 6
    sgd: Annotated[
        TrainingPlan | None,
        Field(
            description="a run of SGD from the last parameters, measured at four steps; its "
            "optimizer is sgd and its seed `seed` + 1"
        ),
    ] = None
    attack: Annotated[
        TrainingPlan | None,
        Field(
            description="the training of each adversary from the last parameters; its seed is "
            "`seed` + 2"
        ),
    ] = None
    adversaries: Annotated[
        tuple[AdversarialPlan, ...],
        Field(
            description="they attack the first of the places; one of weight 0 is what the others "
            "have to be compared with: the same steps without an adversary"
        ),
    ] = ()
    fine_tuning: Annotated[
        ProbePlan | None,
        Field(
            description="how the pre-trained and the attacked models are fine-tuned on the first "
            "of the places"
        ),
    ] = None
    enlarged: Annotated[
        TransformerSize | None,
        Field(
            description="a larger transformer in which the pre-trained one is embedded with both "
            "scalings, to measure its Fisher trace there"
        ),
    ] = None
    lines: Annotated[
        bool,
        Field(
            description="whether to measure what accuracies are compared with; it is the same for "
            "all models of one language and seed"
        ),
    ] = True
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )

    @model_validator(mode="after")
    def _adversaries_are_trained(self) -> "Plan":
        if self.adversaries and self.attack is None:
            raise ValueError(
                f"`attack` must say how the {len(self.adversaries)} `adversaries` are trained, "
                "got None."
            )
        return self

    @property
    def stops(self) -> list[int]:
        """The steps at which the pre-training is measured."""
        steps = self.training.steps
        spread = np.geomspace(steps, max(1, steps // 30), self.evaluations - 1)
        return [0, *spread.round().astype(int).tolist()]


@dataclass(frozen=True, kw_only=True)
class Point(Measurements):
    """A model at one step of one phase.

    Fields
    ------
    phase, step, seconds
        of which training, after how many of its updates and seconds.
    weight, validation
        of the adversary: λ, and its mean validation loss.
    fine_tuned
        accuracies after fine-tuning, one for each seed of the probe.
    """

    phase: Literal["pretraining", "sgd", "adversarial"]
    step: int
    seconds: float
    weight: float | None = None
    validation: float | None = None
    fine_tuned: tuple[float, ...] | None = None


@dataclass(frozen=True)
class FisherTrace:
    """An estimate of the trace of the Hessian, and its standard error."""

    fisher: float
    fisher_stderr: float


class Result(experiment.Result):
    """Measurements along all phases, and what they are compared with."""

    points: tuple[Point, ...]
    lines: Annotated[
        dict[int, ReferenceAccuracies], Field(description="by place; empty if not asked for")
    ]
    enlarged: Annotated[
        dict[str, FisherTrace],
        Field(description="of the model inside the larger one, by scaling; empty if not asked for"),
    ]
    parameters: Annotated[int, Field(description="trained numbers of the model")]
    device: Annotated[str, Field(description="cpu or cuda")]


def run(plan: Plan) -> Result:
    """Pre-train one model, follow what it is worth downstream, and go on from it with SGD and
    against adversaries.

    Raises
    ------
    ValueError
        a plan that does not fit the language.
    FloatingPointError
        a training loss that is not finite.
    """
    case = _case(plan)
    points, model = _pretraining(case)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    embedded = _embedded(model, case)
    points += [*_sgd(case, start), *_adversarial(case, start)]
    return Result(
        points=tuple(points),
        lines=reference_accuracies(case.language, case.suite) if plan.lines else {},
        enlarged=embedded,
        parameters=parameters_of(model),
        device=case.device.type,
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """A plan with what is built from it once."""

    plan: Plan
    language: HMM | PCFG
    shape: ModelPlan
    suite: EvaluationSuite
    device: torch.device


def _case(plan: Plan) -> _Case:
    device = checked_device(plan.device)
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    suite = draw_suite(
        language,
        plan.language.length,
        plan.places,
        plan.examples,
        plan.sentences,
        plan.probe,
        plan.evaluation,
        plan.seed,
        device,
    )
    return _Case(plan, language, shape, suite, device)


def _pretraining(case: _Case) -> tuple[list[Point], LanguageModel]:
    training = replace(case.plan.training, seed=case.plan.seed)
    points = []
    for state in train(
        case.shape, training, case.language, stops=case.plan.stops, device=case.device
    ):
        last = state.step == training.steps
        points.append(_point("pretraining", state, case, tuned=last))
    return points, state.model


def _sgd(case: _Case, start: dict[str, Tensor]) -> list[Point]:
    if not case.plan.sgd:
        return []
    noisy = replace(case.plan.sgd, optimizer="sgd", seed=case.plan.seed + 1)
    quarters = [noisy.steps * k // 4 for k in (1, 2, 3)]
    states = train(
        case.shape, noisy, case.language, start=start, stops=quarters, device=case.device
    )
    return [_point("sgd", state, case) for state in states]


def _adversarial(case: _Case, start: dict[str, Tensor]) -> list[Point]:
    points, downstream = [], case.suite.tasks[case.plan.places[0]].train
    for adversary in case.plan.adversaries:
        attack = replace(case.plan.attack, seed=case.plan.seed + 2)
        second = adversarial_term(case.shape, downstream, adversary, attack.seed, case.device)
        *_, state = train(
            case.shape, attack, case.language, start=start, second=second, device=case.device
        )
        point = _point("adversarial", state, case, tuned=True)
        points.append(replace(point, weight=adversary.weight, validation=state.term))
    return points


def _point(phase: str, state: TrainingState, case: _Case, *, tuned: bool = False) -> Point:
    found, accuracies = measure_model(state.model, case.suite), None
    if tuned and case.plan.fine_tuning:
        place, tuning = case.plan.places[0], case.plan.fine_tuning
        accuracies = fine_tuned(state.model, case.suite, place, tuning).accuracies
    place = {"phase": phase, "step": state.step, "seconds": state.seconds}
    return Point(**place, **asdict(found), fine_tuned=accuracies)


def _embedded(model: LanguageModel, case: _Case) -> dict[str, FisherTrace]:
    """The Fisher trace of a model inside a larger one, by scaling."""
    if not case.plan.enlarged:
        return {}
    larger = case.plan.enlarged.for_sentences(case.shape.words, case.shape.positions)
    found = {}
    for scaling in GRADIENT_POWERS:
        inside = enlarge(model, larger, scaling)
        trace = fisher_of(inside, case.suite, labels_of(case.suite))
        found[scaling] = FisherTrace(trace.value, trace.stderr)
    return found
