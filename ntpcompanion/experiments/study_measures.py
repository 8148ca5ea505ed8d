"""What is measured of every model of a study: distance from the floor, plain and balanced trace, and
probes of each task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

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
    tasks = {place: task_accuracies(stack, place, suite) for place in suite.plan.places if probed}
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
