"""Models of the same loss, downstream: pre-train several seeds to the floor, intervene, and measure
all alike.
"""

from typing import Annotated

from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.comparison import TransformerSize
from ntpcompanion.experiments.interventions import Arm, Intervention, Start
from ntpcompanion.experiments.named import NamedLanguage
from ntpcompanion.experiments.study_measures import measure_arms, with_slopes
from ntpcompanion.experiments.study_probes import study_references
from ntpcompanion.experiments.study_results import StudyModel, TaskReferences
from ntpcompanion.experiments.study_suite import SuitePlan, draw_study_suite
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.processes import checked_device
from ntpcompanion.mlm.stacked_data import Labels
from ntpcompanion.mlm.stacked_training import train_stack
from ntpcompanion.networks.stack import initial_stack

Seed = Annotated[int, Field(ge=0)]


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


def run(plan: Plan) -> Result:
    """Pre-train a model for each seed, intervene, and measure.

    Models of one seed see the same sentences in the same order wherever the intervention does not
    change them, so that differences are paired.

    Raises
    ------
    ValueError
        a plan that does not fit the language.
    FloatingPointError
        a training loss that is not finite.
    """
    device = checked_device(plan.device)
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    suite = draw_study_suite(language, shape.positions, plan.suite, plan.suite_seed, device)
    untrained = initial_stack(shape, plan.seeds, device, deviation=plan.deviation)
    *_, state = train_stack(
        untrained, plan.training, language, plan.seeds, "pretraining", labels=plan.labels
    )
    saturated = state.stack.take(range(len(plan.seeds)))
    start = Start(
        untrained,
        saturated,
        plan.seeds,
        language,
        plan.training,
        plan.labels,
        suite.tasks[plan.suite.places[0]].train,
    )
    own = {"untrained": untrained, "saturated": saturated}
    zeros = [0.0] * len(plan.seeds)
    arms = [Arm(kind, zeros, list(plan.seeds), stack) for kind, stack in own.items()]
    arms += [arm for intervention in plan.interventions for arm in intervention.arms(start)]
    models = measure_arms(arms, suite)
    steep = [model for model in models if model.kind == "saturated"]
    others = [model for model in models if model.kind != "saturated"]
    return Result(
        models=(*with_slopes(saturated, steep, suite), *others),
        references=study_references(language, suite) if plan.references else {},
        device=device.type,
    )
