"""Networks that learn what a real language model writes: at one loss, do a smaller trace or more
width come with better features?
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.continued_texts import ContinuationPlan
from ntpcompanion.experiments.same_loss.downstream import CheckpointStore, Seed
from ntpcompanion.experiments.same_loss.interventions import PRETRAINING, Arm, Measured
from ntpcompanion.experiments.same_loss.lookup_columns import probed_columns
from ntpcompanion.experiments.same_loss.measure_models import measure_arm
from ntpcompanion.experiments.same_loss.study_model import StudyModel
from ntpcompanion.experiments.same_loss.study_suite import StudySuite, SuitePlan
from ntpcompanion.languages.pretrained.continuations import Continuations
from ntpcompanion.mlm.curvature.function_trace import function_traces
from ntpcompanion.mlm.data.downstream_tasks import PosteriorTask
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.task_accuracy import bayes_accuracy
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.held_trace import HeldTracePlan, hold_trace
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.networks.stack import Stack, initial_stack
from ntpcompanion.randomness import torch_stream

TASK = 1  # the key of the only task: which text does the sentence follow?


class Plan(experiment.Plan):
    """Networks of one shape that learn the continuations of some texts, for several lengths of
    their pre-training; each is then held at chosen traces.

    `changes` hold 0, the control, or nothing; `suite` has the `places` (1,), for the one task.
    """

    language: ContinuationPlan
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="by AdamW, with each number of steps")]
    steps: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="of the pre-training, in place of those of `training`"),
    ]
    held: Annotated[HeldTracePlan, Field(description="from there on, for each of the changes")]
    changes: Annotated[
        tuple[float, ...],
        Field(description="of the logarithm of the trace; one is 0, the control; empty for none"),
    ]
    seeds: Annotated[
        tuple[Seed, ...],
        Field(min_length=1, description="of parameters and sentences; a network for each change"),
    ]
    suite: Annotated[SuitePlan, Field(description="its only place is 1, as the text is hidden")]
    flattened: Annotated[
        int, Field(ge=20, description="sentences that decide where a trace is smallest")
    ] = 1000
    suite_seed: Annotated[int, Field(ge=0, description="of the test set and the task")] = 0
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Plan":
        if self.changes and 0 not in self.changes:
            raise ValueError(f"`changes` must hold 0, the control, got {self.changes}.")
        if self.suite.places != (TASK,):
            raise ValueError(f"`suite` must have the `places` (1,), got {self.suite.places}.")
        return self


class LearnedNetwork(experiment.Result):
    """One network; `model.kind` is untrained, pretrained or held."""

    model: Annotated[StudyModel, Field(description="its strength is the change of the trace")]
    steps: Annotated[int, Field(ge=0, description="of the pre-training")]
    function: Annotated[
        float | None,
        Field(gt=0, description="trace at its minimum over symmetries; only of held ones"),
    ] = None
    median: Annotated[float | None, Field(gt=0, description="over inputs, after the symmetry")] = (
        None
    )
    largest: Annotated[
        float | None, Field(description="fraction of `function` that one input carries")
    ] = None


class Result(experiment.Result):
    """Every network; the language; and what accuracies are compared with, between 0 and 1."""

    networks: tuple[LearnedNetwork, ...]
    vocabulary: Annotated[tuple[str, ...], Field(description="(V,), as text")]
    sentences: Annotated[tuple[str, ...], Field(description="twenty of the language, as text")]
    coverage: Annotated[float, Field(description="probability of the beginnings that go on")]
    gaps: Annotated[ContextGaps, Field(description="what the context is worth, exact")]
    chance: Annotated[float, Field(description="accuracy of the best constant guess")]
    bayes: Annotated[float, Field(description="accuracy of the exact posterior")]
    columns: Annotated[
        dict[str, float], Field(description="of a converged probe on exact distributions and words")
    ]
    device: Annotated[str, Field(description="cpu or cuda")]


def run(plan: Plan, *, checkpoint: Path | None = None) -> Result:
    """Train a network for each seed and number of steps, train each on at each of the chosen
    traces, and measure all.

    Parameters
    ----------
    plan
        the language, the networks, and how they are measured.
    checkpoint
        a folder: a run that was killed goes on behind the last training, or measurement of one,
        that it had finished.

    Returns
    -------
    Result
        a row for each network.

    Raises
    ------
    ImportError, FileNotFoundError, MemoryError
        as `load_causal_model`.
    ValueError
        as `enumerate_continuations`; a folder of another plan.
    FloatingPointError
        a training loss that is not finite.

    Notes
    -----
    Longer pre-training gives a smaller loss at the same schedule, so that networks of different
    traces or widths can be compared at one loss and all of them annealed: see `at_one_loss`. The
    first run enumerates the language: with SmolLM2, 200 words and eight texts in a quarter of an
    hour on two cores.

    Examples
    --------
    >>> from ntpcompanion.experiments import ContinuationPlan, SuitePlan, real_downstream
    >>> from ntpcompanion.mlm import ConvergedProbe, HeldTracePlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> texts = ("The king had three sons.", "The rice must boil for a while.")
    >>> short = TrainingPlan(20, 32, weight_decay=0.0)
    >>> probe = ConvergedProbe(dims=4, draws=1, shots=20, subsets=1, ridges=(0.01,))
    >>> plan = real_downstream.Plan(
    ...     language=ContinuationPlan(texts, words=10, length=3, beginnings=50, sampled=8),
    ...     shape=TransformerSize(8, 1, 2), training=short, steps=(10, 20),
    ...     held=HeldTracePlan(short, corrected_every=5, flattened_every=5), changes=(0.0, 0.5),
    ...     seeds=(0,), suite=SuitePlan((1,), (60, 60), 100, inputs=60, labels=1, probe=probe),
    ...     flattened=60,
    ... )
    >>> real_downstream.run(plan).bayes  # doctest: +SKIP
    """
    device = checked_device(plan.device)
    store = CheckpointStore(checkpoint, repr(plan))
    texts = plan.language.build(device)
    language, seeds = texts.language, list(plan.seeds)
    shape = plan.shape.for_sentences(language.vocab_size, language.length)
    suite = draw_text_suite(language, plan.suite, plan.suite_seed)
    untrained = initial_stack(shape, seeds, device, deviation=0.1)
    start = Arm("untrained", [0.0] * len(seeds), seeds, untrained)
    networks = _measured(store, "untrained", 0, start, suite)
    for steps in plan.steps:
        name, make = f"pretrained-{steps}", partial(_pretrained, plan, steps, untrained, language)
        (arm,) = store.arms(name, shape, device.type, make)
        networks += _measured(store, name, steps, arm, suite)
        if plan.changes:
            name, make = f"held-{steps}", partial(_held, plan, arm.stack, language, suite)
            (arm,) = store.arms(name, shape, device.type, make)
            networks += _measured(store, name, steps, arm, suite)
    task = suite.tasks[TASK]
    drawn = language.sample(20, torch_stream(plan.suite_seed, "sentences to show", device))
    return Result(
        networks=tuple(networks),
        vocabulary=texts.vocabulary,
        sentences=tuple(texts.spelled(drawn)),
        coverage=texts.coverage,
        gaps=exact_gaps(language),
        chance=float(task.test_posterior.mean(0).max()),
        bayes=task.bayes.value,
        columns=probed_columns(language, suite),
        device=device.type,
    )


def exact_gaps(language: Continuations) -> ContextGaps:
    """What the position, the neighbouring words and all other words tell of a word."""
    every = range(language.length)

    def entropy(t: int, known: Collection[int]) -> float:
        return language.entropy(sorted({t, *known})) - language.entropy(sorted(known))

    def mean(known: Callable[[int], Collection[int]]) -> float:
        return sum(entropy(t, known(t)) for t in every) / language.length

    position = mean(lambda t: ())
    neighbours = mean(lambda t: [s for s in (t - 1, t + 1) if s in every])
    floor = mean(lambda t: [s for s in every if s != t])
    return ContextGaps(floor, 0.0, position, position, neighbours, 0.0)


def draw_text_suite(language: Continuations, plan: SuitePlan, seed: int) -> StudySuite:
    """Draw the test set, and the task: which text does a sentence follow? Labels are drawn from the
    exact posterior.
    """
    device, (train, test) = language.joint.device, plan.examples
    generator = torch_stream(seed, "task of the hidden text", device)
    tokens = language.sample(train + test, generator, device)
    posterior = language.latent_posterior(tokens)
    labels = torch.multinomial(posterior, 1, generator=generator)[:, 0]
    classes = posterior.shape[1]
    task = PosteriorTask(
        LabelledExamples(tokens[:train], labels[:train], classes),
        LabelledExamples(tokens[train:], labels[train:], classes),
        bayes_accuracy(posterior[train:]),
        posterior[:train],
        posterior[train:],
    )
    traced = torch_stream(seed, "labels of traces", device)
    return StudySuite(
        plan,
        language.length,
        draw_test_set(language, plan.sentences, language.length, seed, device),
        torch.rand(plan.inputs, plan.labels, generator=traced, device=device),
        {TASK: task},
        seed,
    )


def _pretrained(plan: Plan, steps: int, untrained: Stack, language: Continuations) -> Iterator[Arm]:
    training, seeds = replace(plan.training, steps=steps), list(plan.seeds)
    stack = trained_stack(untrained, training, language, seeds, PRETRAINING, labels="exact")
    yield Arm("pretrained", [0.0] * len(seeds), seeds, stack, Measured.ALL)


def _held(plan: Plan, start: Stack, language: Continuations, suite: StudySuite) -> Iterator[Arm]:
    rows = list(range(len(plan.seeds))) * len(plan.changes)
    changes, seeds = (list(x) for x in zip(*product(plan.changes, plan.seeds), strict=True))
    inputs = suite.test.tokens[: plan.flattened], suite.test.positions[: plan.flattened]
    *_, state = hold_trace(start.take(rows), plan.held, language, changes, seeds, *inputs)
    yield Arm("held", changes, seeds, state.stack.take(range(len(rows))), Measured.ALL)


def _measured(
    store: CheckpointStore, name: str, steps: int, arm: Arm, suite: StudySuite
) -> list[LearnedNetwork]:
    def measure() -> dict[str, object]:
        models = measure_arm(arm, suite)
        traces: list[dict[str, float]] = [{} for _ in models]
        if arm.kind == "held":
            stack = arm.stack
            minimal = function_traces(
                stack.network, stack.parameters, *suite.traced, suite.uniforms
            )
            names = {
                "function": minimal.value,
                "median": minimal.median,
                "largest": minimal.largest,
            }
            traces = [{n: float(x[row]) for n, x in names.items()} for row in range(len(models))]
        rows = [
            LearnedNetwork(model=model, steps=steps, **trace)
            for model, trace in zip(models, traces, strict=True)
        ]
        return {"networks": [row.to_json() for row in rows]}

    stored = store.state(f"measured-{name}", measure)["networks"]
    return [LearnedNetwork.from_json(row) for row in stored]
