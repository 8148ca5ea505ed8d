"""What every model of a study is measured with: distance from the floor, plain and balanced trace,
and converged probes of each task.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor
from torch.func import vmap

from ntpcompanion.experiments.interventions import Arm
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.converged_probe import ConvergedProbe, full_probe, probe_stack
from ntpcompanion.mlm.evaluate import TestSet, draw_test_set
from ntpcompanion.mlm.lookup import lookup_features
from ntpcompanion.mlm.tasks import Task, draw_task
from ntpcompanion.mlm.tokens import masked_at, padded_to
from ntpcompanion.mlm.traces import measured_traces
from ntpcompanion.networks.stack import Stack, functional_logits, join_stacks
from ntpcompanion.randomness import torch_stream

AT_ONCE = 500  # sentences whose posteriors are computed together
# models that are measured together, and examples of each whose gradients are: a GPU has the memory
# and waits for fewer calls, the caches of a CPU hold no more
TOGETHER = {"cpu": (4, 128), "cuda": (80, 1024)}


@dataclass(frozen=True)
class SuitePlan:
    """How much is drawn for each measurement.

    Fields
    ------
    places, examples
        positions of the tasks, see `draw_task`; how many of each to train on and to test on.
    sentences
        for the distance from the floor.
    inputs, labels
        of the traces: so many of these sentences, and labels drawn for each.
    probe
        how features are probed.
    """

    places: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    examples: tuple[Annotated[int, Field(ge=20)], Annotated[int, Field(ge=20)]] = (8000, 8000)
    sentences: Annotated[int, Field(ge=100)] = 10_000
    inputs: Annotated[int, Field(ge=2)] = 2000
    labels: Annotated[int, Field(ge=1)] = 2
    probe: ConvergedProbe = field(default_factory=ConvergedProbe)

    def __post_init__(self) -> None:
        if self.inputs > self.sentences:
            raise ValueError(
                f"`inputs` must be at most the {self.sentences} `sentences`, got {self.inputs}."
            )


@dataclass(frozen=True)
class TaskAccuracies:
    """Accuracies of converged probes on one task: the mean exact posterior of the guessed class.

    Fields
    ------
    full, projected, few_shot
        on the features of the sentence, see `ProbeAccuracies`.
    masked
        as `full`, on the vectors that the network computes at each position when the word there is
        masked; None where that was not measured.
    """

    full: float
    projected: float
    few_shot: float
    masked: float | None = None


@dataclass(frozen=True)
class StudyModel:
    """Measurements of one model.

    Fields
    ------
    kind, strength
        what was done to it, and how much of it.
    seed, width
        of the pre-training; width of its vectors.
    excess, excess_stderr
        loss above the floor in nats, E KL(Pr ‖ f), and its standard error over sentences.
    trace, balanced
        of the Hessian, estimated by labels that the model draws; and at its minimum over rescalings
        that do not change the function.
    tasks
        accuracies by position; empty where none was measured.
    """

    kind: str
    strength: float
    seed: int
    width: int
    excess: float
    excess_stderr: float
    trace: float
    balanced: float
    tasks: dict[int, TaskAccuracies]


@dataclass(frozen=True)
class TaskReferences:
    """What the accuracies on one task are compared with.

    Fields
    ------
    chance, bayes
        of the best constant guess, and of the exact posterior.
    lookup, words
        of the same probes on the exact conditional distributions and on the words.
    """

    chance: float
    bayes: float
    lookup: TaskAccuracies
    words: TaskAccuracies


@dataclass(frozen=True, eq=False)
class StudySuite:
    """The sentences that all models of a study share."""

    plan: SuitePlan
    positions: int
    test: TestSet
    uniforms: Float[Tensor, "inputs labels"]
    tasks: Mapping[int, Task]
    posteriors: Mapping[int, Float[Tensor, "examples classes"]]
    seed: int


def draw_study_suite(
    language: HMM | PCFG, positions: int, plan: SuitePlan, seed: int, device: torch.device
) -> StudySuite:
    """Draw the test set and the tasks, on `device`. Raises ValueError as `draw_task`."""
    tasks = {
        place: draw_task(
            language, place, *plan.examples, positions, torch_stream(seed, f"task {place}", device)
        )
        for place in plan.places
    }
    generator = torch_stream(seed, "labels of traces", device)
    return StudySuite(
        plan,
        positions,
        draw_test_set(language, plan.sentences, positions, seed, device),
        torch.rand(plan.inputs, plan.labels, generator=generator, device=device),
        tasks,
        {place: _posterior(language, place, task) for place, task in tasks.items()},
        seed,
    )


def _posterior(language: HMM | PCFG, place: int, task: Task) -> Tensor:
    """Pr(label | sentence) of the test sentences; the label of a grammar's sentence is certain."""
    if isinstance(language, PCFG):
        return F.one_hot(task.test.labels, task.test.classes).double()
    parts = task.test.inputs.split(AT_ONCE)
    return torch.cat([language.latent_posterior(part)[:, place - 1] for part in parts])


def measure_arms(arms: Sequence[Arm], suite: StudySuite) -> list[StudyModel]:
    """Measure the networks of all arms, which have one shape; as many at a time as the device
    holds.
    """
    if not arms:
        return []
    stack = join_stacks([arm.stack for arm in arms])
    labels = [
        {"kind": arm.kind, "strength": strength, "seed": seed, "width": stack.plan.width}
        for arm in arms
        for strength, seed in zip(arm.strengths, arm.seeds, strict=True)
    ]
    probed = [arm.probed for arm in arms for _ in arm.seeds]
    return [
        StudyModel(**labels[row], **found)
        for rows in _groups(probed, TOGETHER[stack.device.type][0])
        for row, found in zip(
            rows, _measured(stack.take(rows), suite, probed=probed[rows[0]]), strict=True
        )
    ]


def _groups(probed: Sequence[bool], most: int) -> Iterator[list[int]]:
    """Rows that are measured together: at most so many, all with probes or all without."""
    for kind in (True, False):
        rows = [row for row, own in enumerate(probed) if own is kind]
        yield from (rows[first : first + most] for first in range(0, len(rows), most))


def _measured(stack: Stack, suite: StudySuite, *, probed: bool) -> list[dict[str, Any]]:
    """The fields of a `StudyModel` that are measured, for each network."""
    excess, at = _divergences(stack, suite.test), suite.plan.inputs
    tokens, positions = suite.test.tokens[:at], suite.test.at[:at]
    traces = measured_traces(
        stack.network,
        stack.parameters,
        tokens,
        positions,
        suite.uniforms,
        chunk=TOGETHER[stack.device.type][1],
    )
    tasks = {place: _probed(stack, place, suite) for place in suite.plan.places if probed}
    columns = {
        "excess": excess.mean(1).tolist(),
        "excess_stderr": (excess.std(1) / excess.shape[1] ** 0.5).tolist(),
        "trace": traces.plain.tolist(),
        "balanced": traces.balanced.tolist(),
        "tasks": [{place: found[i] for place, found in tasks.items()} for i in range(len(stack))],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@torch.no_grad()
def _divergences(stack: Stack, test: TestSet) -> Float[Tensor, "models sentences"]:
    mapped = vmap(partial(functional_logits, stack.network), (0, None, None))
    parts = []
    for rows in torch.arange(len(test.at), device=test.at.device).split(1024):
        true = test.conditional[rows]
        logits = mapped(stack.parameters, test.tokens[rows], test.at[rows])[:, :, 0]
        log_model = logits.double().log_softmax(-1)
        cross = torch.where(true > 0, true * log_model, 0.0)
        parts.append((torch.special.xlogy(true, true) - cross).sum(-1))
    return torch.cat(parts, 1)


def _probed(stack: Stack, place: int, suite: StudySuite) -> list[TaskAccuracies]:
    """Accuracies of all probes for each network."""
    plain = _accuracies(partial(_flat_features, stack), place, suite)
    masked = full_probe(**_inputs(partial(masked_features, stack), place, suite))
    columns = (plain["full"], plain["projected"], plain["few_shot"], masked.tolist())
    return [TaskAccuracies(*row) for row in zip(*columns, strict=True)]


def _accuracies(
    features_of: Callable[[Tensor], Tensor], place: int, suite: StudySuite
) -> dict[str, list[float]]:
    found = probe_stack(**_inputs(features_of, place, suite))
    return {name: getattr(found, name).tolist() for name in ("full", "projected", "few_shot")}


def _inputs(
    features_of: Callable[[Tensor], Tensor], place: int, suite: StudySuite
) -> dict[str, Any]:
    """The arguments of a probe."""
    task, posterior = suite.tasks[place], suite.posteriors[place]
    return {
        "train": features_of(task.train.inputs),
        "labels": task.train.labels,
        "test": features_of(task.test.inputs),
        "posterior": posterior,
        "plan": suite.plan.probe,
        "generator": torch_stream(suite.seed, f"probes {place}"),  # the same for every model
        "models": TOGETHER[posterior.device.type][0],
    }


def _flat_features(stack: Stack, tokens: Tensor) -> Float[Tensor, "models n columns"]:
    padded = padded_to(tokens, stack.plan.positions)
    return stack.features(padded)[:, :, -stack.plan.positions :].flatten(2)


def masked_features(stack: Stack, tokens: Tensor) -> Float[Tensor, "models n columns"]:
    """The vectors from which each network predicts each word of a sentence when that word is
    masked: what the pre-training loss depends on.
    """
    positions = stack.plan.positions
    padded = padded_to(tokens, positions)
    columns = [stack.features(masked_at(padded, t))[:, :, t - positions] for t in range(positions)]
    return torch.cat(columns, -1)


def study_references(language: HMM | PCFG, suite: StudySuite) -> dict[int, TaskReferences]:
    """What the accuracies on each task are compared with."""
    return {place: _references(language, place, suite) for place in suite.plan.places}


def _references(language: HMM | PCFG, place: int, suite: StudySuite) -> TaskReferences:
    posterior = suite.posteriors[place]

    def lookup(tokens: Tensor) -> Tensor:
        return lookup_features(language, tokens, suite.positions)[None]

    def words(tokens: Tensor) -> Tensor:
        ids = padded_to(tokens, suite.positions) + 1  # padding is a symbol as well
        return F.one_hot(ids, language.vocab_size + 1).flatten(1).float()[None]

    lookup_table, raw = (
        {name: found[0] for name, found in _accuracies(features, place, suite).items()}
        for features in (lookup, words)
    )
    return TaskReferences(
        chance=float(posterior.mean(0).max()),
        bayes=float(posterior.amax(1).mean()),
        lookup=TaskAccuracies(**lookup_table),
        words=TaskAccuracies(**raw),
    )
