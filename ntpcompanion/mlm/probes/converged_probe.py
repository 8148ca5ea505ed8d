"""Linear probes that have converged: on full features, random projections, and few examples."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Between, Length, Positive, Size, checked, need
from ntpcompanion.mlm.probes.feature_scaling import scaled_stack
from ntpcompanion.mlm.probes.logistic import fit_logistic
from ntpcompanion.mlm.probes.probe_inputs import (
    Posterior,
    TestFeatures,
    TrainFeatures,
    TrainLabels,
    accuracy_by_posterior,
)
from ntpcompanion.mlm.probes.ridge_choice import (
    Criterion,
    RidgeChoice,
    choose_ridge,
    grouped_logits,
)

HELD_OUT = 5  # one training example of so many chooses the ridge


@dataclass(frozen=True)
@checked
class ConvergedProbe:
    """How features are probed by multinomial logistic regression on whitened features.

    Fields
    ------
    dims, draws
        of the random projections, and how many of them are averaged over.
    shots, subsets
        examples of a few-shot probe, and how many disjoint sets of them are averaged over.
    ridges, criterion
        the candidates (see `scaled_stack` for what a ridge penalizes), of which held-out training
        examples choose one by "accuracy" or "loss" (see `choose_ridge`).
    tolerance, max_iterations
        of the solver (see `fit_logistic`).

    Raises
    ------
    ValueError
        a number out of its range, or an unknown criterion.
    """

    dims: Size = 64
    draws: Size = 8
    shots: Size = 400
    subsets: Size = 10
    ridges: Annotated[tuple[float, ...], Length(), Between(0, torch.inf)] = (
        1e-5,
        1e-4,
        1e-3,
        1e-2,
        1e-1,
        1.0,
    )
    criterion: Criterion = "accuracy"
    tolerance: Positive = 1e-5
    max_iterations: Size = 500


@dataclass(frozen=True)
class ProbeAccuracies:
    """What the probes of k models reach.

    Fields
    ------
    full, projected, few_shot
        accuracy by the exact posterior of the guessed class; means over draws and over subsets.
    ridge, gradient_norm
        per model the ridge chosen for the three probes, in this order, and the largest norm of the
        gradient among the fits behind each accuracy.
    """

    full: Float[Tensor, "k"]
    projected: Float[Tensor, "k"]
    few_shot: Float[Tensor, "k"]
    ridge: Float[Tensor, "k 3"]
    gradient_norm: Float[Tensor, "k 3"]


@dataclass(frozen=True)
class _Draws:
    """What is random, the same for all models: rows of the training examples and projections."""

    fitted: Int[Tensor, "most"]
    held_out: Int[Tensor, "fifth"]
    subsets: Int[Tensor, "subsets shots"]
    projections: Float[Tensor, "draws d dims"]


@dataclass(frozen=True)
class _Task:
    """Labels of the training examples and posterior of the test sentences."""

    labels: Int[Tensor, "n"]
    posterior: Float[Tensor, "m classes"]
    plan: ConvergedProbe
    draws: _Draws


@dataclass(frozen=True)
class _Probe:
    """Accuracy, ridge and gradient's norm of one kind of probe, for k models."""

    accuracy: Float[Tensor, "k"]
    ridge: Float[Tensor, "k"]
    gradient_norm: Float[Tensor, "k"]


@torch.no_grad()
@checked
def probe_stack(
    train: TrainFeatures,
    labels: TrainLabels,
    test: TestFeatures,
    posterior: Posterior,
    plan: ConvergedProbe,
    generator: torch.Generator,
    *,
    models: Size = 8,
) -> ProbeAccuracies:
    """Probe the features of k models on the same sentences.

    Parameters
    ----------
    train, test
        features of the training and the test sentences.
    labels
        classes of the training sentences.
    posterior
        exact probabilities of the classes given each test sentence.
    generator
        draws the split, the subsets and the projections: the same for all models and devices.
    models
        how many are probed at a time: with 8000 examples of 256 features each takes 120 MB and 3 s.

    Returns
    -------
    ProbeAccuracies
        of three kinds of probes, one number for each model.

    Raises
    ------
    ValueError
        shapes that do not fit, or too few training examples for the plan.

    Notes
    -----
    Features are whitened by all training sentences. *Full*: the ridge is chosen with a fifth of the
    training examples held out, then all are fitted. *Projected*: standardized features times
    Gaussian projections, each whitened and fitted alike; one ridge for all draws of a model.
    *Few-shot*: disjoint subsets of the examples that are not held out, one ridge for all of them.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe, probe_stack
    >>> labels, plan = torch.arange(60) % 2, ConvergedProbe(dims=1, draws=1, shots=20, subsets=1)
    >>> x, posterior = labels.double().expand(3, 60)[..., None], torch.eye(2)[labels] * 0.8 + 0.1
    >>> probe_stack(x, labels, x, posterior, plan, torch.Generator().manual_seed(0)).full.float()
    tensor([0.9000, 0.9000, 0.9000])
    """
    task = _task(train, labels, posterior, plan, generator)
    parts = []
    for some, others in _few_at_a_time(train, test, models):
        white = scaled_stack(some, others, "whitened")
        parts.append(
            [
                _refitted(*white, len(some), task),
                _projected(some, others, task),
                _few_shot(*white, task),
            ]
        )
    accuracy, ridge, gradient_norm = (
        torch.cat([torch.stack([getattr(kind, name) for kind in part], 1) for part in parts])
        for name in ("accuracy", "ridge", "gradient_norm")
    )
    full, projected, few_shot = accuracy.unbind(1)
    return ProbeAccuracies(full, projected, few_shot, ridge, gradient_norm)


@checked
def full_probe(
    train: TrainFeatures,
    labels: TrainLabels,
    test: TestFeatures,
    posterior: Posterior,
    plan: ConvergedProbe,
    generator: torch.Generator,
    *,
    models: Size = 8,
) -> Float[Tensor, "k"]:
    """The accuracy `full` of `probe_stack` alone, with the same arguments and the same split."""
    task = _task(train, labels, posterior, plan, generator)
    parts = [
        _refitted(*scaled_stack(some, others, "whitened"), len(some), task).accuracy
        for some, others in _few_at_a_time(train, test, models)
    ]
    return torch.cat(parts)


def _few_at_a_time(train: Tensor, test: Tensor, models: int) -> Iterator[tuple[Tensor, Tensor]]:
    yield from zip(train.split(models), test.split(models), strict=True)


@checked(
    need(
        "train",
        "n >= HELD_OUT and plan.subsets * plan.shots <= n - n // HELD_OUT",
        "have {plan.subsets} · {plan.shots} examples beside the fifth that is held out",
        "Take fewer `subsets` or `shots`.",
    )
)
def _task(
    train: Float[Tensor, "k n d"],
    labels: Tensor,
    posterior: Tensor,
    plan: ConvergedProbe,
    generator: torch.Generator,
) -> _Task:
    """What all models share."""
    draws = _drawn(train, plan, generator)
    return _Task(labels.to(train.device), posterior.to(train.device), plan, draws)


def _drawn(train: Tensor, plan: ConvergedProbe, generator: torch.Generator) -> _Draws:
    n, d = train.shape[1:]
    order = torch.randperm(n, generator=generator, device=generator.device).to(train.device)
    held_out, fitted = order.split([n // HELD_OUT, n - n // HELD_OUT])
    subsets = fitted[: plan.subsets * plan.shots].view(plan.subsets, plan.shots)
    matrices = [gaussian_projection(d, plan.dims, generator) for _ in range(plan.draws)]
    return _Draws(fitted, held_out, subsets, torch.stack(matrices).to(train))


def _projected(train: Tensor, test: Tensor, task: _Task) -> _Probe:
    rows, others = (
        torch.einsum("knd,rde->krne", features, task.draws.projections).flatten(0, 1)
        for features in scaled_stack(train, test, "standardized")
    )
    return _refitted(*scaled_stack(rows, others, "whitened"), len(train), task)


def _refitted(train: Tensor, test: Tensor, models: int, task: _Task) -> _Probe:
    """Choose a ridge for each model without the held-out examples, then fit all of them."""
    plan, labels, fitted = task.plan, task.labels, task.draws.fitted
    choice = _chosen(train[:, fitted], labels[fitted], train, models, task)
    fit = fit_logistic(
        train,
        labels,
        task.posterior.shape[1],
        choice.ridge.repeat_interleave(len(train) // models),
        tolerance=plan.tolerance,
        max_iterations=plan.max_iterations,
        start=choice.fit,
    )
    return _probe(replace(choice, fit=fit), test, task)


def _few_shot(train: Tensor, test: Tensor, task: _Task) -> _Probe:
    rows = task.draws.subsets
    labels = task.labels[rows].repeat(len(train), 1)
    return _probe(
        _chosen(train[:, rows].flatten(0, 1), labels, train, len(train), task), test, task
    )


def _chosen(
    features: Tensor, labels: Tensor, train: Tensor, models: int, task: _Task
) -> RidgeChoice:
    held_out, plan = task.draws.held_out, task.plan
    return choose_ridge(
        features,
        labels,
        train[:, held_out],
        task.labels[held_out],
        task.posterior.shape[1],
        plan.ridges,
        models=models,
        criterion=plan.criterion,
        tolerance=plan.tolerance,
        max_iterations=plan.max_iterations,
    )


def _probe(choice: RidgeChoice, test: Tensor, task: _Task) -> _Probe:
    models = len(choice.ridge)
    logits = grouped_logits(choice.fit, test, models)  # (models, fits, m, classes)
    right = accuracy_by_posterior(logits.flatten(0, 1), task.posterior).unflatten(0, (models, -1))
    norms = choice.fit.gradient_norm.unflatten(0, (models, -1))
    return _Probe(right.mean(1), choice.ridge, norms.amax(1))


def gaussian_projection(
    dims: int, fewer: int, generator: torch.Generator
) -> Float[Tensor, "dims fewer"]:
    """A matrix of N(0, 1/fewer) entries: it keeps squared lengths on average. Liu et al. 2023, A.3,
    goes to 512 dimensions.
    """
    return torch.randn(dims, fewer, generator=generator, device=generator.device) / fewer**0.5
