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
from ntpcompanion.mlm.tokens import masked_at, padded_to
from ntpcompanion.networks.stack import Stack
from ntpcompanion.randomness import torch_stream


def task_accuracies(stack: Stack, place: int, suite: StudySuite) -> list[TaskAccuracies]:
    """Accuracies of all probes for each network."""
    masked = full_probe(**_inputs(partial(masked_features, stack), place, suite)).tolist()
    plain = _accuracies(partial(token_features, stack), place, suite)
    return [replace(found, masked=own) for found, own in zip(plain, masked, strict=True)]


def _accuracies(
    features_of: Callable[[Tensor], Tensor], place: int, suite: StudySuite
) -> list[TaskAccuracies]:
    found = probe_stack(**_inputs(features_of, place, suite))
    columns = (found.full, found.projected, found.few_shot, found.gradient_norm.amax(1))
    return [TaskAccuracies(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]


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

    def lookup(tokens: Tensor) -> Tensor:
        return lookup_features(language, tokens, suite.positions)[None]

    def words(tokens: Tensor) -> Tensor:
        ids = padded_to(tokens, suite.positions) + 1  # padding is a symbol as well
        return F.one_hot(ids, language.vocab_size + 1).flatten(1).float()[None]

    return TaskReferences(
        chance=float(posterior.mean(0).max()),
        bayes=float(posterior.amax(1).mean()),
        lookup=_accuracies(lookup, place, suite)[0],
        words=_accuracies(words, place, suite)[0],
    )
