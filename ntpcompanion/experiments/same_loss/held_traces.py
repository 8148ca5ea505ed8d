"""Networks of one loss and of chosen traces on both sides: do their features differ?"""

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss.downstream import CheckpointStore, Seed
from ntpcompanion.experiments.same_loss.interventions import PRETRAINING, Arm, Measured
from ntpcompanion.experiments.same_loss.measure_models import divergences, measure_arm
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage
from ntpcompanion.experiments.same_loss.recorded_study import Study, study_table
from ntpcompanion.experiments.same_loss.study_model import StudyModel
from ntpcompanion.experiments.same_loss.study_suite import SuitePlan, draw_study_suite
from ntpcompanion.mlm.curvature.function_trace import function_traces
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.held_trace import HeldTracePlan, hold_trace, stops_of_equal_loss
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.networks.stack import Stack, initial_stack
from ntpcompanion.recorded import Run
from ntpcompanion.validation import check_instance


class Plan(experiment.Plan):
    """Networks of one shape and language, the traces that they are held at, and how they are
    measured.
    """

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="by AdamW, without a penalty")]
    held: Annotated[HeldTracePlan, Field(description="from there on, for each of the changes")]
    changes: Annotated[
        tuple[float, ...],
        Field(min_length=2, description="of the logarithm of the trace; one is 0, the control"),
    ]
    seeds: Annotated[
        tuple[Seed, ...],
        Field(min_length=1, description="of parameters and sentences; a network for each change"),
    ]
    suite: SuitePlan
    validation: Annotated[
        int, Field(ge=100, description="sentences that decide where losses are equal")
    ] = 4000
    flattened: Annotated[
        int, Field(ge=20, description="so many of these decide where a trace is smallest")
    ] = 1000
    suite_seed: Annotated[int, Field(ge=0, description="of the test set and the tasks")] = 0
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )


class HeldNetwork(experiment.Result):
    """One network; `model.kind` is held, at the stop of equal loss, or last, after all steps."""

    model: Annotated[StudyModel, Field(description="its strength is the change")]
    step: Annotated[int, Field(ge=1, description="of the training at the chosen trace")]
    function: Annotated[float, Field(gt=0, description="trace at its minimum over symmetries")]
    median: Annotated[float, Field(gt=0, description="over inputs, after the symmetry")]
    largest: Annotated[float, Field(description="fraction of `function` that one input carries")]


class Result(experiment.Result):
    """Every network, by kind, change and seed."""

    networks: tuple[HeldNetwork, ...]
    device: Annotated[str, Field(description="cpu or cuda")]


def run(plan: Plan, *, checkpoint: Path | None = None) -> Result:
    """Train a network for each seed, train it on at each of the chosen traces, and measure all
    where those of a seed have one loss, and at the end.

    Parameters
    ----------
    plan
        the networks, and how they are held and measured.
    checkpoint
        a folder in which trained networks are kept: a run that was killed goes on behind the last
        training that it had finished.

    Returns
    -------
    Result
        a row for each network.

    Raises
    ------
    ValueError
        a plan that does not fit the language, or of another experiment; changes without a control.
    FloatingPointError
        a training loss that is not finite.

    Notes
    -----
    The second half of the training is looked at, at each correction. The level of a seed is the
    largest loss of its networks at the end; the other ones are taken where they cross it last.

    Examples
    --------
    >>> from ntpcompanion.experiments import SuitePlan
    >>> from ntpcompanion.experiments.same_loss import held_traces
    >>> from ntpcompanion.mlm import ConvergedProbe, HeldTracePlan, HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> short = TrainingPlan(20, 32, weight_decay=0.0)
    >>> probe = ConvergedProbe(dims=4, draws=1, shots=20, subsets=1, ridges=(0.01,))
    >>> suite = SuitePlan((2,), (60, 60), sentences=100, inputs=60, labels=1, probe=probe)
    >>> plan = held_traces.Plan(
    ...     language=HMMPlan(states=2, words=6, length=4), shape=TransformerSize(8, 1, 2),
    ...     training=short, held=HeldTracePlan(short, corrected_every=5, flattened_every=5),
    ...     changes=(0.0, 0.5), seeds=(0,), suite=suite, validation=100, flattened=60,
    ... )
    >>> [network.model.strength for network in held_traces.run(plan).networks]
    [0.0, 0.5, 0.0, 0.5]
    """
    check_instance("plan", plan, Plan)
    if 0 not in plan.changes:
        raise ValueError(f"`changes` must hold 0, the control, got {plan.changes}.")
    device = checked_device(plan.device)
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    suite = draw_study_suite(language, shape.positions, plan.suite, plan.suite_seed, device)
    store = CheckpointStore(checkpoint, repr(plan))
    seeds = list(plan.seeds)

    def pretrained() -> Iterator[Arm]:
        untrained = initial_stack(shape, seeds, device, deviation=0.1)
        stack = trained_stack(
            untrained, plan.training, language, seeds, PRETRAINING, labels="exact"
        )
        yield Arm("saturated", [0.0] * len(seeds), seeds, stack)

    (saturated,) = store.arms("saturated", shape, device.type, pretrained)
    state = store.state("held", lambda: _held(plan, saturated.stack))
    changes, runs = zip(*product(plan.changes, seeds), strict=True)
    networks: list[HeldNetwork] = []
    for kind, measured in (("held", Measured.ALL), ("last", Measured.FIRST)):
        parameters = {name: p.to(device) for name, p in state[kind].items()}
        arm = Arm(kind, list(changes), list(runs), Stack(shape, parameters), measured)
        models = measure_arm(arm, suite)
        traces = function_traces(arm.stack.network, parameters, *suite.traced, suite.uniforms)
        networks += [
            HeldNetwork(
                model=model,
                step=step,
                function=float(traces.value[row]),
                median=float(traces.median[row]),
                largest=float(traces.largest[row]),
            )
            for row, (model, step) in enumerate(zip(models, state[f"{kind} steps"], strict=True))
        ]
    return Result(networks=tuple(networks), device=device.type)


def held_study(tasks: Iterable[Run[Plan, Result]], gaps: ContextGaps) -> Study:
    """The networks of all tasks as a study, with the columns function, median, largest and step."""
    networks = [network for task in tasks for network in task.result.networks]
    models = tuple(network.model for network in networks)
    table = study_table(
        [downstream.Result(models=models, references={}, device="cpu")], gaps.learnable_gap
    )
    beside = table_of(networks).drop(columns="model")
    keys = ["kind", "strength", "seed"]
    beside = beside.assign(**{key: [getattr(model, key) for model in models] for key in keys})
    return Study(table.merge(beside, on=keys), gaps=gaps, equal_share=np.inf)


def _held(plan: Plan, saturated: Stack) -> dict[str, object]:
    """Parameters of all networks at the stops of equal loss and at the end, with the steps."""
    rows, changes, seeds = zip(
        *((row, change, seed) for change in plan.changes for row, seed in enumerate(plan.seeds)),
        strict=True,
    )
    language = plan.language.build(saturated.device)
    validation = draw_test_set(
        language, plan.validation, saturated.plan.positions, plan.suite_seed + 1, saturated.device
    )
    inputs = validation.tokens[: plan.flattened], validation.positions[: plan.flattened]
    steps, excess, stacks = [], [], []
    for state in hold_trace(saturated.take(rows), plan.held, language, changes, seeds, *inputs):
        if 2 * state.step >= plan.held.training.steps:
            steps.append(state.step)
            excess.append(divergences(state.stack, validation).mean(1).cpu().numpy())
            stacks.append(state.stack.take(range(len(rows))).parameters)
    chosen = stops_of_equal_loss(np.stack(excess, 1), seeds)
    held = {
        name: torch.stack([stacks[stop][name][row] for row, stop in enumerate(chosen)])
        for name in stacks[-1]
    }
    return {
        "held": {name: p.detach() for name, p in held.items()},
        "last": {name: p.detach() for name, p in stacks[-1].items()},
        "held steps": [steps[stop] for stop in chosen],
        "last steps": [steps[-1]] * len(rows),
    }
