"""What is measured of every model of a study: distance from the floor, plain and balanced trace,
and probes of each task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vmap

from ntpcompanion.experiments.interventions import Arm
from ntpcompanion.experiments.study_probes import task_accuracies
from ntpcompanion.experiments.study_results import StudyModel
from ntpcompanion.experiments.study_suite import TOGETHER, StudySuite
from ntpcompanion.mlm.evaluate import TestSet
from ntpcompanion.mlm.traces import measured_traces, trace_slope
from ntpcompanion.networks.stack import Stack, functional_logits, join_stacks

AT_ONCE = 1024  # sentences


@dataclass(frozen=True)
class _Label:
    kind: str
    strength: float
    seed: int
    probed: bool


def measure_arms(arms: Sequence[Arm], suite: StudySuite) -> list[StudyModel]:
    """Measure the networks of all arms, which have one shape; as many at a time as the device
    holds.
    """
    if not arms:
        return []
    stack = join_stacks([arm.stack for arm in arms])
    labels = [
        _Label(arm.kind, strength, seed, arm.probed)
        for arm in arms
        for strength, seed in zip(arm.strengths, arm.seeds, strict=True)
    ]
    return [
        model
        for rows in _groups(labels, TOGETHER[stack.device.type][0])
        for model in _measured(stack.take(rows), [labels[row] for row in rows], suite)
    ]


def with_slopes(stack: Stack, models: Sequence[StudyModel], suite: StudySuite) -> list[StudyModel]:
    """The measurements of the networks of a stack, and how steep their traces are."""
    at = suite.plan.inputs
    found = trace_slope(
        stack.network,
        stack.parameters,
        suite.test.tokens[:at],
        suite.test.at[:at],
        suite.uniforms[:, :1],
        chunk=TOGETHER[stack.device.type][1],
    )
    pairs = zip(found.square.tolist(), found.square_stderr.tolist(), strict=True)
    return [
        replace(model, slope=square, slope_stderr=stderr)
        for model, (square, stderr) in zip(models, pairs, strict=True)
    ]


def _groups(labels: Sequence[_Label], most: int) -> Iterator[list[int]]:
    """Rows that are measured together: at most so many, all with probes or all without."""
    for probed in (True, False):
        rows = [row for row, label in enumerate(labels) if label.probed is probed]
        yield from (rows[first : first + most] for first in range(0, len(rows), most))


def _measured(stack: Stack, labels: Sequence[_Label], suite: StudySuite) -> list[StudyModel]:
    excess, at = divergences(stack, suite.test), suite.plan.inputs
    traces = measured_traces(
        stack.network,
        stack.parameters,
        suite.test.tokens[:at],
        suite.test.at[:at],
        suite.uniforms,
        chunk=TOGETHER[stack.device.type][1],
    )
    places = suite.plan.places if labels[0].probed else ()
    tasks = {place: task_accuracies(stack, place, suite) for place in places}
    return [
        StudyModel(
            label.kind,
            label.strength,
            label.seed,
            width=stack.plan.width,
            excess=float(excess[row].mean()),
            excess_stderr=float(excess[row].std() / excess.shape[1] ** 0.5),
            trace=float(traces.plain[row]),
            balanced=float(traces.balanced[row]),
            tasks={place: found[row] for place, found in tasks.items()},
        )
        for row, label in enumerate(labels)
    ]


def divergences(stack: Stack, test: TestSet) -> Float[Tensor, "models sentences"]:
    """KL(Pr(· | x₋ₜ) ‖ f) in nats of each network at each test sentence, in float64."""
    mapped = vmap(partial(functional_logits, stack.network), (0, None, None))
    parts = []
    for rows in torch.arange(len(test.at), device=test.at.device).split(AT_ONCE):
        true = test.conditional[rows]
        with torch.no_grad():
            logits = mapped(stack.parameters, test.tokens[rows], test.at[rows])[:, :, 0]
        log_model = logits.double().log_softmax(-1)
        cross = torch.where(true > 0, true * log_model, 0.0)
        parts.append((torch.special.xlogy(true, true) - cross).sum(-1))
    return torch.cat(parts, 1)
