"""Probes of the features of every model of a study, and what their accuracies are compared with."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.experiments.study_results import TaskAccuracies, TaskReferences
from ntpcompanion.experiments.study_suite import TOGETHER, StudySuite
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.converged_probe import full_probe, probe_stack
from ntpcompanion.mlm.lookup import lookup_features
from ntpcompanion.mlm.probe import ProbePlan
from ntpcompanion.mlm.stacked_heads import trained_heads
from ntpcompanion.mlm.stacked_tuning import fine_tuned_stack
from ntpcompanion.mlm.tokens import masked_at, padded_to
from ntpcompanion.networks.stack import Stack
from ntpcompanion.randomness import torch_stream


def task_accuracies(
    stack: Stack, place: int, suite: StudySuite, *, protocols: bool
) -> list[TaskAccuracies]:
    """Accuracies of converged probes for each network, on the first task also by the `protocols` of
    the paper.
    """
    masked = full_probe(**_inputs(partial(masked_features, stack), place, suite)).tolist()
    columns = {"masked": masked}
    protocols = protocols and place == suite.plan.places[0]
    if protocols and suite.plan.tuning:
        columns |= _tuned(stack, place, suite, suite.plan.tuning)
    features = partial(token_features, stack)
    plain = _accuracies(features, place, suite, heads=suite.plan.heads if protocols else None)
    rows = zip(*columns.values(), strict=True)
    return [
        replace(found, **dict(zip(columns, row, strict=True)))
        for found, row in zip(plain, rows, strict=True)
    ]


def _tuned(stack: Stack, place: int, suite: StudySuite, plan: ProbePlan) -> dict[str, list[float]]:
    task, generator = suite.tasks[place], torch_stream(suite.seed, f"fine-tuning {place}")
    found = fine_tuned_stack(
        stack,
        task.train.inputs,
        task.train.labels,
        task.test.inputs,
        suite.posteriors[place],
        plan,
        generator,
    )
    return {"halfway": found.halfway.tolist(), "tuned": found.final.tolist()}


def _accuracies(
    features_of: Callable[[Tensor], Tensor],
    place: int,
    suite: StudySuite,
    *,
    heads: ProbePlan | None,
) -> list[TaskAccuracies]:
    inputs = _inputs(features_of, place, suite)
    found = probe_stack(**inputs)
    columns = (found.full, found.projected, found.few_shot, found.gradient_norm.amax(1))
    rows = zip(*(x.tolist() for x in columns), strict=True)
    accuracies = [TaskAccuracies(*row) for row in rows]
    if not heads:
        return accuracies
    del inputs["models"]
    generator = torch_stream(suite.seed, f"heads {place}")
    trained = trained_heads(**{**inputs, "plan": heads, "generator": generator}).tolist()
    return [replace(own, heads=head) for own, head in zip(accuracies, trained, strict=True)]


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


def token_features(stack: Stack, tokens: Tensor) -> Float[Tensor, "models n columns"]:
    """The vectors of all positions of a sentence, without CLS, in one row for each sentence."""
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
    heads = suite.plan.heads if place == suite.plan.places[0] else None

    def lookup(tokens: Tensor) -> Tensor:
        return lookup_features(language, tokens, suite.positions)[None]

    def words(tokens: Tensor) -> Tensor:
        ids = padded_to(tokens, suite.positions) + 1  # padding is a symbol as well
        return F.one_hot(ids, language.vocab_size + 1).flatten(1).float()[None]

    return TaskReferences(
        chance=float(posterior.mean(0).max()),
        bayes=float(posterior.amax(1).mean()),
        lookup=_accuracies(lookup, place, suite, heads=heads)[0],
        words=_accuracies(words, place, suite, heads=heads)[0],
    )
