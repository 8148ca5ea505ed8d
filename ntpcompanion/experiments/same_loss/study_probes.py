"""Probes of the features of every model of a study, and what their accuracies are compared with."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.experiments.same_loss.study_model import TaskAccuracies, TaskReferences
from ntpcompanion.experiments.same_loss.study_suite import MODELS_PER_BATCH, StudySuite
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.mlm.data.downstream_tasks import PosteriorTask
from ntpcompanion.mlm.data.special_tokens import masked_at, padded_to
from ntpcompanion.mlm.evaluation.lookup_table import lookup_features
from ntpcompanion.mlm.probes.converged_probe import full_probe, probe_stack
from ntpcompanion.mlm.probes.fine_tuned_networks import fine_tuned_stack
from ntpcompanion.mlm.probes.trained_heads import trained_heads
from ntpcompanion.networks.stack import Stack
from ntpcompanion.randomness import torch_stream


def task_accuracies(
    stack: Stack, position: int, suite: StudySuite, *, protocols: bool
) -> list[TaskAccuracies]:
    """Accuracies of converged probes for each network, on the first task also by the `protocols` of
    the paper.
    """
    task = suite.tasks[position]
    protocols = protocols and position == suite.plan.places[0]
    accuracies = _probed(partial(token_features, stack), position, suite, heads=protocols)
    masked = full_probe(
        *_inputs(partial(masked_features, stack), task),
        suite.plan.probe,
        _generator(position, suite),
        models=_together(task),
    )
    accuracies = _with("masked", masked, accuracies)
    if not (protocols and suite.plan.tuning):
        return accuracies
    tuned = fine_tuned_stack(
        stack,
        *_inputs(lambda tokens: tokens, task),
        suite.plan.tuning,
        torch_stream(suite.seed, f"fine-tuning {position}"),
    )
    return _with("tuned", tuned.final, _with("halfway", tuned.halfway, accuracies))


def _probed(
    features_of: Callable[[Tensor], Tensor], position: int, suite: StudySuite, *, heads: bool
) -> list[TaskAccuracies]:
    task = suite.tasks[position]
    inputs, generator = _inputs(features_of, task), _generator(position, suite)
    probes = probe_stack(*inputs, suite.plan.probe, generator, models=_together(task))
    columns = (probes.full, probes.projected, probes.few_shot, probes.gradient_norm.amax(1))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    accuracies = [TaskAccuracies(*row) for row in rows]
    if not (heads and suite.plan.heads):
        return accuracies
    trained = trained_heads(
        *inputs, suite.plan.heads, torch_stream(suite.seed, f"heads {position}")
    )
    return _with("heads", trained, accuracies)


def _with(
    name: str, values: Float[Tensor, " models"], accuracies: Sequence[TaskAccuracies]
) -> list[TaskAccuracies]:
    """The accuracies of each network with one more."""
    return [replace(row, **{name: x}) for row, x in zip(accuracies, values.tolist(), strict=True)]


def _inputs(
    inputs_of: Callable[[Tensor], Tensor], task: PosteriorTask
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What a probe learns from and is judged on, in the order in which all of them take it."""
    train, test = inputs_of(task.train.inputs), inputs_of(task.test.inputs)
    return train, task.train.labels, test, task.test_posterior


def _generator(position: int, suite: StudySuite) -> torch.Generator:
    """Of the split, the subsets and the projections, the same for every model."""
    return torch_stream(suite.seed, f"probes {position}")


def _together(task: PosteriorTask) -> int:
    return MODELS_PER_BATCH[task.test_posterior.device.type][0]


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
    return {position: _references(language, position, suite) for position in suite.plan.places}


def _references(language: HMM | PCFG, position: int, suite: StudySuite) -> TaskReferences:
    task, first = suite.tasks[position], position == suite.plan.places[0]

    def lookup(tokens: Tensor) -> Tensor:
        return lookup_features(language, tokens, suite.positions)[None]

    def words(tokens: Tensor) -> Tensor:
        ids = padded_to(tokens, suite.positions) + 1  # padding is a symbol as well
        return F.one_hot(ids, language.vocab_size + 1).flatten(1).float()[None]

    return TaskReferences(
        chance=float(task.test_posterior.mean(0).max()),
        bayes=task.bayes.value,
        lookup=_probed(lookup, position, suite, heads=first)[0],
        words=_probed(words, position, suite, heads=first)[0],
    )
