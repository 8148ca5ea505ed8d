"""Models of the same loss, downstream: pre-train several seeds to the floor, intervene, and measure
all alike.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.same_loss.interventions import (
    PRETRAINING,
    Arm,
    Intervention,
    Measured,
    Start,
)
from ntpcompanion.experiments.same_loss.measure_models import measure_arm, with_slopes
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage
from ntpcompanion.experiments.same_loss.study_model import StudyModel, TaskReferences
from ntpcompanion.experiments.same_loss.study_probes import study_references
from ntpcompanion.experiments.same_loss.study_suite import StudySuite, SuitePlan, draw_study_suite
from ntpcompanion.mlm.data.stacked_sentences import Labels
from ntpcompanion.mlm.training.checkpoints import load_checkpoint, save_checkpoint
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import ModelPlan, TransformerSize
from ntpcompanion.networks.stack import Stack, initial_stack
from ntpcompanion.validation import check_instance

Seed = Annotated[int, Field(ge=0)]


MODELS = TypeAdapter(tuple[StudyModel, ...])


class Plan(experiment.Plan):
    """Models of one shape and language, and what is done to them."""

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="of the pre-training, by AdamW")]
    seeds: Annotated[
        tuple[Seed, ...],
        Field(min_length=1, description="of parameters and sentences; one model for each"),
    ]
    suite: SuitePlan
    interventions: Annotated[
        tuple[Intervention, ...], Field(description="each begins with the saturated models")
    ] = ()
    labels: Annotated[
        Labels,
        Field(
            description="exact conditional distributions or drawn words as labels of the "
            "pre-training, see `draw_steps`"
        ),
    ] = "exact"
    deviation: Annotated[float, Field(gt=0, description="of the initial matrices")] = 0.1
    references: Annotated[
        bool,
        Field(description="whether to measure what accuracies are compared with"),
    ] = True
    suite_seed: Annotated[int, Field(ge=0, description="of the test set and the tasks")] = 0
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )


class Result(experiment.Result):
    """Measurements of the untrained and saturated models, and of those that were made of them."""

    models: tuple[StudyModel, ...]
    references: Annotated[
        dict[int, TaskReferences], Field(description="by position; empty if not asked for")
    ]
    device: Annotated[str, Field(description="cpu or cuda")]


class CheckpointStore:
    """What a run computed before, or computes now and stores in `folder` (None: nowhere);
    `belongs_to` distinguishes it from other runs.
    """

    def __init__(self, folder: Path | None, belongs_to: str) -> None:
        if folder is not None:
            check_instance("checkpoint", folder, Path)
        self._folder, self._identity = folder, belongs_to

    def state(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A dict of tensors, numbers, texts, lists and dicts of that name. Raises ValueError for a
        file of another run, or a damaged one.
        """
        if self._folder is None:
            return make()
        path = self._folder / f"{name}.pt"
        state = load_checkpoint(path, self._identity)
        if state is None:
            state = {**make(), "identity": self._identity}
            save_checkpoint(path, state)
        return state

    def arms(
        self, name: str, plan: ModelPlan, device: str, make: Callable[[], Iterable[Arm]]
    ) -> list[Arm]:
        """Trained models of that name, on the device."""
        state = self.state(name, lambda: {"arms": [_state_of(arm) for arm in make()]})
        return [
            Arm(
                arm["kind"],
                arm["strengths"],
                arm["seeds"],
                Stack(plan, {key: p.to(device) for key, p in arm["parameters"].items()}),
                measured=Measured(arm["measured"]),
            )
            for arm in state["arms"]
        ]


def run(plan: Plan, *, checkpoint: Path | None = None) -> Result:
    """Pre-train a model for each seed, intervene, and measure.

    Models of one seed see the same sentences in the same order wherever the intervention does not
    change them, so that differences are paired.

    Parameters
    ----------
    plan
        the models, what is done to them, and how they are measured.
    checkpoint
        a folder in which trained models and measurements are kept: a run that was killed goes on
        after the last intervention, or measurement of one, that it had finished.

    Returns
    -------
    Result
        measurements of every model, and what accuracies are compared with.

    Raises
    ------
    ValueError
        a plan that does not fit the language, or of another experiment; a folder of another plan.
    FloatingPointError
        a training loss that is not finite.

    Examples
    --------
    Two models of another trace and the same function:

    >>> from ntpcompanion.experiments import Rescaled, SuitePlan
    >>> from ntpcompanion.experiments.same_loss import downstream, recorded_study
    >>> from ntpcompanion.mlm import ConvergedProbe, HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> probe = ConvergedProbe(dims=4, draws=1, shots=20, subsets=1, ridges=(0.01,))
    >>> suite = SuitePlan((2,), (60, 60), sentences=100, inputs=20, labels=1, probe=probe)
    >>> plan = downstream.Plan(
    ...     language=HMMPlan(states=2, words=6, length=4), shape=TransformerSize(8, 1, 1),
    ...     training=TrainingPlan(20, 32, weight_decay=0.0), seeds=(0, 1), suite=suite,
    ...     interventions=(Rescaled((0.5,)),), references=False,
    ... )
    >>> table = recorded_study.study_table([downstream.run(plan)], learnable_gap=0.1)
    >>> study = recorded_study.Study(table)
    >>> table.kind.unique().tolist()
    ['untrained', 'saturated', 'rescaled']
    >>> abs(study.effect("rescaled", "balanced", strength=0.5).mean) < 0.01
    True
    >>> study.effect("rescaled", "trace", strength=0.5).mean > 0.1
    True
    """
    check_instance("plan", plan, Plan)
    device = checked_device(plan.device)
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    suite = draw_study_suite(language, shape.positions, plan.suite, plan.suite_seed, device)
    store = CheckpointStore(checkpoint, repr(plan))
    untrained = initial_stack(shape, plan.seeds, device, deviation=plan.deviation)
    strengths, seeds = [0.0] * len(plan.seeds), list(plan.seeds)

    def pretrained() -> Iterator[Arm]:
        stack = trained_stack(
            untrained, plan.training, language, seeds, PRETRAINING, labels=plan.labels
        )
        yield Arm("saturated", strengths, seeds, stack, Measured.ALL)

    (saturated,) = store.arms("saturated", shape, device.type, pretrained)
    start = Start(
        untrained,
        saturated.stack,
        plan.seeds,
        language,
        plan.training,
        plan.labels,
        suite.tasks[plan.suite.places[0]].train,
    )
    arms = [Arm("untrained", strengths, seeds, untrained, Measured.ALL), saturated]
    for number, intervention in enumerate(plan.interventions):
        name = f"{number}-{intervention.kind}"
        arms += store.arms(name, shape, device.type, partial(intervention.arms, start))
    models = [_measured(arm, number, suite, store) for number, arm in enumerate(arms)]
    return Result(
        models=tuple(model for arm_models in models for model in arm_models),
        references=study_references(language, suite) if plan.references else {},
        device=device.type,
    )


def _measured(
    arm: Arm, number: int, suite: StudySuite, store: CheckpointStore
) -> tuple[StudyModel, ...]:
    def measure() -> dict[str, Any]:
        models = measure_arm(arm, suite)
        if arm.kind == "saturated":
            models = with_slopes(arm.stack, models, suite)
        return {"models": MODELS.dump_python(tuple(models), mode="json")}

    return MODELS.validate_python(store.state(f"measured-{number}-{arm.kind}", measure)["models"])


def _state_of(arm: Arm) -> dict[str, Any]:
    return {
        "kind": arm.kind,
        "strengths": arm.strengths,
        "seeds": arm.seeds,
        "measured": arm.measured.value,
        "parameters": {name: p.detach() for name, p in arm.stack.parameters.items()},
    }
