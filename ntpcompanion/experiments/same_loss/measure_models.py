"""What is measured of every model of a study: distance from the floor, plain and balanced trace,
and probes of each task.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.experiments.same_loss.interventions import Arm
from ntpcompanion.experiments.same_loss.study_model import StudyModel
from ntpcompanion.experiments.same_loss.study_probes import task_accuracies
from ntpcompanion.experiments.same_loss.study_suite import MODELS_PER_BATCH, StudySuite
from ntpcompanion.mlm.curvature.traces import measured_traces, trace_slope
from ntpcompanion.mlm.evaluation.evaluate import TestSet, divergence
from ntpcompanion.networks.stack import Stack

SENTENCES_PER_CHUNK = 1024  # sentences: divergences of all networks at all of them would not fit


def measure_arm(arm: Arm, suite: StudySuite) -> list[StudyModel]:
    """Measure the networks of an arm, as many at a time as the device holds."""
    batch_size = MODELS_PER_BATCH[arm.stack.device.type][0]
    return [
        model
        for rows in torch.arange(len(arm.seeds)).split(batch_size)
        for model in _measured(arm, rows.tolist(), suite)
    ]


def with_slopes(stack: Stack, models: Sequence[StudyModel], suite: StudySuite) -> list[StudyModel]:
    """The measurements of the networks of a stack, and how steep their traces are."""
    slopes = trace_slope(
        stack.network,
        stack.parameters,
        *suite.traced,
        suite.uniforms[:, :1],
        chunk=MODELS_PER_BATCH[stack.device.type][1],
    )
    pairs = zip(slopes.square.tolist(), slopes.square_stderr.tolist(), strict=True)
    return [
        replace(model, slope=square, slope_stderr=stderr)
        for model, (square, stderr) in zip(models, pairs, strict=True)
    ]


def _measured(arm: Arm, rows: Sequence[int], suite: StudySuite) -> list[StudyModel]:
    stack = arm.stack.take(rows)
    excess = divergences(stack, suite.test)
    traces = measured_traces(
        stack.network,
        stack.parameters,
        *suite.traced,
        suite.uniforms,
        chunk=MODELS_PER_BATCH[stack.device.type][1],
    )
    tasks = {
        position: task_accuracies(stack, position, suite, protocols=arm.measured.protocols)
        for position in arm.measured.tasks(suite.plan.places)
    }
    return [
        StudyModel(
            arm.kind,
            arm.strengths[row],
            arm.seeds[row],
            width=stack.plan.width,
            excess=float(excess[i].mean()),
            excess_stderr=float(excess[i].std() / excess.shape[1] ** 0.5),
            trace=float(traces.plain[i]),
            balanced=float(traces.balanced[i]),
            tasks={position: accuracies[i] for position, accuracies in tasks.items()},
        )
        for i, row in enumerate(rows)
    ]


def divergences(stack: Stack, test: TestSet) -> Float[Tensor, "models sentences"]:
    """KL(Pr(· | x₋ₜ) ‖ f) in nats of each network at each test sentence, in float64."""
    parts = []
    for rows in torch.arange(len(test.positions), device=test.positions.device).split(
        SENTENCES_PER_CHUNK
    ):
        logits = stack.logits(test.tokens[rows], test.positions[rows])[:, :, 0]
        parts.append(divergence(test.conditional[rows], logits))
    return torch.cat(parts, 1)
