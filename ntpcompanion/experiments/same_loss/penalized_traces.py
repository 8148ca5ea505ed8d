"""Does a penalty of the trace change what networks compute, or how their parameters describe it?
Traces of penalized networks before and after all symmetries are minimized over.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.same_loss.downstream import CheckpointStore, Seed
from ntpcompanion.experiments.same_loss.interventions import PRETRAINING, Arm
from ntpcompanion.experiments.same_loss.measure_models import divergences
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.mlm.curvature.function_trace import function_traces
from ntpcompanion.mlm.curvature.traces import measured_traces
from ntpcompanion.mlm.data.stacked_sentences import Labels
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.regularizers import trace_penalty
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.networks.stack import initial_stack
from ntpcompanion.randomness import torch_stream
from ntpcompanion.recorded import Run
from ntpcompanion.validation import check_instance


class Plan(experiment.Plan):
    """Networks of one shape and language, and the penalties that training goes on with."""

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="by AdamW, without a penalty")]
    penalty: Annotated[TrainingPlan, Field(description="from there on, with each of the weights")]
    weights: Annotated[
        tuple[float, ...],
        Field(min_length=1, description="of log tr H; negative ones make the trace larger"),
    ]
    seeds: Annotated[
        tuple[Seed, ...],
        Field(min_length=1, description="of parameters and sentences; one network for each"),
    ]
    sentences: Annotated[int, Field(ge=100, description="for the distance from the floor")] = 10_000
    inputs: Annotated[int, Field(ge=20, description="so many of these for the traces")] = 2000
    labels: Annotated[int, Field(ge=1, description="drawn for each input of a trace")] = 2
    test_seed: Annotated[int, Field(ge=0, description="of the sentences and labels")] = 0
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )


class TracedNetwork(experiment.Result):
    """One network after the steps of its penalty."""

    seed: int
    weight: float
    excess: Annotated[float, Field(description="loss above the floor, nats")]
    plain: Annotated[float, Field(description="trace of the Fisher information")]
    balanced: Annotated[float, Field(description="at its minimum over rescalings")]
    function: Annotated[float, Field(description="at its minimum over all symmetries")]
    function_stderr: Annotated[float, Field(description="over inputs")]
    fitted: Annotated[float, Field(description="the same with the symmetry fitted to the sample")]
    median: Annotated[float, Field(description="over inputs, after the symmetry")]
    largest: Annotated[float, Field(description="fraction of `function` that one input carries")]


class Result(experiment.Result):
    """Every network, by weight and seed."""

    networks: tuple[TracedNetwork, ...]


def run(plan: Plan, *, checkpoint: Path | None = None) -> Result:
    """Train a network for each seed, go on with each weight of the penalty, and measure traces.

    Networks of one seed see the same sentences in the same order, so that differences are paired.
    Sentences, labels and random streams are those of `downstream` with its `Penalty`.

    Parameters
    ----------
    plan
        the networks, and how they are measured.
    checkpoint
        a folder in which trained networks are kept: a run that was killed goes on behind the last
        training that it had finished.

    Returns
    -------
    Result
        a row for each weight and seed.

    Raises
    ------
    ValueError
        a plan of another experiment; networks whose trace has no minimum over symmetries.
    FloatingPointError
        a training loss that is not finite.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss import penalized_traces
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> short = TrainingPlan(20, 32, weight_decay=0.0)
    >>> plan = penalized_traces.Plan(
    ...     language=HMMPlan(states=2, words=6, length=4), shape=TransformerSize(8, 1, 2),
    ...     training=short, penalty=short, weights=(0.0, 0.1), seeds=(0,), sentences=100,
    ...     inputs=60, labels=1,
    ... )
    >>> all(n.fitted < n.balanced < n.plain for n in penalized_traces.run(plan).networks)
    True
    """
    check_instance("plan", plan, Plan)
    device = checked_device(plan.device)
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    store = CheckpointStore(checkpoint, repr(plan))
    seeds = list(plan.seeds)
    labels: Labels = "exact"

    def pretrained() -> Iterator[Arm]:
        untrained = initial_stack(shape, seeds, device, deviation=0.1)
        stack = trained_stack(untrained, plan.training, language, seeds, PRETRAINING, labels=labels)
        yield Arm("saturated", [0.0] * len(seeds), seeds, stack)

    (saturated,) = store.arms("saturated", shape, device.type, pretrained)

    def penalized(weight: float) -> Iterator[Arm]:
        weights = [weight] * len(seeds)
        of_all = torch.tensor(weights, device=device)
        term = trace_penalty(of_all, seeds, plan.penalty.batch_size)
        stack = trained_stack(
            saturated.stack, plan.penalty, language, seeds, "penalty", labels=labels, term=term
        )
        yield Arm("penalty", weights, seeds, stack)

    test = draw_test_set(language, plan.sentences, shape.positions, plan.test_seed, device)
    traced = test.tokens[: plan.inputs], test.positions[: plan.inputs]
    generator = torch_stream(plan.test_seed, "labels of traces", device)
    uniforms = torch.rand(plan.inputs, plan.labels, generator=generator, device=device)
    networks: list[TracedNetwork] = []
    for number, weight in enumerate(plan.weights):
        (arm,) = store.arms(f"{number}", shape, device.type, partial(penalized, weight))
        excess = divergences(arm.stack, test).mean(1)
        scaled = measured_traces(arm.stack.network, arm.stack.parameters, *traced, uniforms)
        minimal = function_traces(arm.stack.network, arm.stack.parameters, *traced, uniforms)
        columns = {
            "excess": excess,
            "plain": scaled.plain,
            "balanced": scaled.balanced,
            "function": minimal.value,
            "function_stderr": minimal.stderr,
            "fitted": minimal.fitted,
            "median": minimal.median,
            "largest": minimal.largest,
        }
        networks += [
            TracedNetwork(
                seed=seed, weight=weight, **{name: float(x[row]) for name, x in columns.items()}
            )
            for row, seed in enumerate(seeds)
        ]
    return Result(networks=tuple(networks))


def with_function_traces(
    study: Study, tasks: Iterable[Run[Plan, Result]], *, tolerance: float = 0.01
) -> Study:
    """The penalized models of a study that were trained again (`tasks`), with the traces of their
    functions (columns function, fitted, median, largest) beside the accuracies of the study. Raises
    ValueError for another kind of study, a network that it lacks or whose balanced trace differs by
    more than `tolerance`, relatively.
    """
    check_instance("study", study, Study)
    networks = [network for task in tasks for network in task.result.networks]
    again = table_of(networks).rename(columns={"weight": "strength"})
    again = again.assign(kind="penalty", again=again.balanced)
    columns = ["kind", "strength", "seed", "again", "function", "fitted", "median", "largest"]
    joined = study.table.merge(again[columns], on=columns[:3])
    if len(joined) < len(again):
        raise ValueError(
            f"`tasks` must hold penalized models of `study`, got {len(again) - len(joined)} of "
            f"{len(again)} whose weight or seed it does not have."
        )
    for row in joined.to_dict("records"):
        if abs(row["again"] / row["balanced"] - 1) > tolerance:
            raise ValueError(
                f"`tasks` must hold networks of `study`, got the balanced trace {row['again']:.4g} "
                f"for seed {row['seed']} and weight {row['strength']:g}, where the study has "
                f"{row['balanced']:.4g}."
            )
    return replace(study, table=joined.drop(columns="again"))
