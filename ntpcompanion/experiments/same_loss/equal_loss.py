"""What equal loss makes equal in networks, and what the trace of the Hessian predicts: features of
sentences with and without masks compared; the loss after noise, rounding and other training.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.same_loss import penalized_traces
from ntpcompanion.experiments.same_loss.downstream import CheckpointStore
from ntpcompanion.experiments.same_loss.measure_models import divergences
from ntpcompanion.experiments.same_loss.plan_fields import OneLanguage
from ntpcompanion.experiments.same_loss.study_probes import token_features
from ntpcompanion.mlm.curvature.perturbed_loss import noisy_pairs, predicted_by_rounding, rounded
from ntpcompanion.mlm.curvature.traces import measured_traces
from ntpcompanion.mlm.data.downstream_tasks import draw_task, with_posteriors
from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.mlm.evaluation.evaluate import TestSet, divergence, draw_test_set
from ntpcompanion.mlm.evaluation.feature_agreement import (
    canonical_correlations,
    explained_variance,
    logit_agreement,
)
from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe, full_probe
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.silent_unit import above_gate, separating_gate, with_silent_unit
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.stack import Stack, stack_models
from ntpcompanion.networks.transformer import Transformer
from ntpcompanion.randomness import torch_stream
from ntpcompanion.recorded import Run

R2 = Annotated[float, Field(le=1)]
Rises = Annotated[tuple[float, ...], Field(description="nats, in the order of the plan")]


class Plan(penalized_traces.Plan):
    """Networks of nearly equal loss, and how they are disturbed."""

    noise: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...], Field(description="σ, added to every parameter")
    ]
    pairs: Annotated[int, Field(ge=1, description="of noise, θ + σξ and θ − σξ")] = 8
    bits: Annotated[
        tuple[Annotated[int, Field(ge=2, le=16)], ...], Field(description="of rounded matrices")
    ]
    other_language: Annotated[
        OneLanguage, Field(description="of as many words, on which training goes on")
    ]
    other_training: TrainingPlan
    examples: Annotated[
        int, Field(ge=100, description="of the first task, to train a probe and to test it")
    ] = 4000


class DisturbedNetwork(experiment.Result):
    """What the loss of one network does."""

    seed: int
    weight: Annotated[float, Field(description="of the penalty of the trace")]
    excess: Annotated[float, Field(description="loss above the floor, nats")]
    excess_stderr: Annotated[float, Field(description="over sentences")]
    plain: Annotated[float, Field(description="trace of the Fisher information")]
    function: Annotated[float, Field(description="at its minimum over all symmetries")]
    noise: Rises
    rounding: Rises
    rounding_predicted: Rises
    forgotten: Annotated[float, Field(description="rise by training on the other language, nats")]
    learned: Annotated[float, Field(description="fall of the loss on that language, nats")]
    moved: Annotated[float, Field(description="mean square change of a parameter in it")]


class FeaturePair(experiment.Result):
    """How far the features of two networks are one up to an affine map."""

    kind: Annotated[Literal["seeds", "weights"], Field(description="what they differ in")]
    seeds: tuple[int, int]
    weights: tuple[float, float]
    log_probabilities: Annotated[
        R2, Field(description="explained at masks, with the weights of the loss")
    ]
    predicted: Annotated[float, Field(description="the same, at least, by the two losses alone")]
    masked: Annotated[R2, Field(description="mean squared canonical correlation at masks")]
    unmasked: Annotated[R2, Field(description="of sentences without a mask, at the same words")]
    truth: Annotated[R2, Field(description="as `log_probabilities`, by those of the language")]
    masked_variance: Annotated[
        R2, Field(description="of the features at masks, by an affine map, not whitened")
    ]
    unmasked_variance: Annotated[R2, Field(description="of sentences without a mask")]


class SilentUnit(experiment.Result):
    """One network before and after a hidden unit that no mask activates."""

    seed: int
    words: Annotated[float, Field(description="fraction of the words of fresh sentences")]
    activated: Annotated[int, Field(description="of the plan's masked sentences, fresh ones")]
    logit_change: Annotated[float, Field(description="largest at these masks")]
    trace_change: Annotated[float, Field(description="relative, of the Fisher information")]
    before: Annotated[float, Field(description="accuracy of a probe on unmasked sentences")]
    after: float
    majority: Annotated[float, Field(description="accuracy of the most frequent label")]


class Result(experiment.Result):
    """By network, by pair, and with a silent unit in each network without a penalty."""

    networks: tuple[DisturbedNetwork, ...]
    pairs: tuple[FeaturePair, ...]
    silent: tuple[SilentUnit, ...]


def run(plan: Plan, *, checkpoint: Path | None = None) -> Result:
    """Train networks of nearly equal loss, compare their features, and disturb their parameters.

    Parameters
    ----------
    plan
        the networks, and what is done to them.
    checkpoint
        a folder in which trained networks are kept, as for `penalized_traces`.

    Returns
    -------
    Result
        pairs of networks of one weight and different seeds, and of one seed and different weights.

    Raises
    ------
    ValueError
        a plan of another experiment, what `penalized_traces` rejects, another vocabulary, a network
        whose last layer does not tell masks from words.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss import equal_loss
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> short, language = TrainingPlan(40, 32, weight_decay=0.0), HMMPlan(2, 6, 4)
    >>> plan = equal_loss.Plan(
    ...     language=language, shape=TransformerSize(8, 1, 2), training=short, penalty=short,
    ...     weights=(0.0,), seeds=(0, 1), sentences=100, inputs=60, labels=1, noise=(0.01,),
    ...     pairs=1, bits=(6,), other_language=HMMPlan(2, 6, 4, seed=1), other_training=short,
    ...     examples=100,
    ... )
    >>> equal_loss.run(plan).pairs[0].kind
    'seeds'
    """
    if checkpoint is None:
        with TemporaryDirectory() as folder:
            return run(plan, checkpoint=Path(folder))
    traced = penalized_traces.run(plan, checkpoint=checkpoint)
    device = checked_device(plan.device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    store = CheckpointStore(checkpoint, repr(plan))
    stacks = [
        store.arms(f"{number}", shape, device.type, list)[0].stack
        for number in range(len(plan.weights))
    ]
    language = plan.language.build(device)
    test = draw_test_set(language, plan.sentences, shape.positions, plan.test_seed, device)
    rows = iter(traced.networks)
    networks = [
        DisturbedNetwork(
            **{name: getattr(row, name) for name in ("seed", "weight", "function")},
            **measurements,
        )
        for stack in stacks
        for measurements in _disturbed(stack, plan, test)
        for row in [next(rows)]
    ]
    return Result(
        networks=tuple(networks),
        pairs=tuple(_pairs(stacks, plan, test)),
        silent=tuple(
            _silent(stacks[0].model(row), seed, plan, test) for row, seed in enumerate(plan.seeds)
        ),
    )


def read_tasks(tasks: Sequence[Run[Plan, Result]]) -> tuple[Plan, Result]:
    """The tasks of a record as one study.

    Parameters
    ----------
    tasks
        with plans that differ in their seeds only.

    Returns
    -------
    tuple of Plan and Result
        with the seeds, networks and pairs of all.

    Raises
    ------
    ValueError
        plans that differ in more than their seeds.
    """
    plans, results = [task.plan for task in tasks], [task.result for task in tasks]
    seeds = tuple(seed for plan in plans for seed in plan.seeds)
    together = {plan.model_copy(update={"seeds": seeds}) for plan in plans}
    if len(together) != 1:
        raise ValueError(
            f"`tasks` must have plans that differ in `seeds` only, got {len(together)} plans."
        )
    columns = {
        name: tuple(row for result in results for row in getattr(result, name))
        for name in Result.model_fields
    }
    return together.pop(), Result(**columns)


def disturbance_table(networks: Iterable[DisturbedNetwork], plan: Plan) -> pd.DataFrame:
    """The loss of every network after noise ("noise 0.01") and rounding ("5 bits"): its rise in
    nats, `predicted` (½ σ² tr H, or by `predicted_by_rounding`) and `measured`.
    """
    names = [f"noise {scale:g}" for scale in plan.noise] + [f"{bits} bits" for bits in plan.bits]
    rows = []
    for network in networks:
        by_noise = [scale**2 / 2 * network.plain for scale in plan.noise]
        predicted = [*by_noise, *network.rounding_predicted]
        measured = [*network.noise, *network.rounding]
        same = network.seed, network.weight, network.plain
        rows += [(*same, *rest) for rest in zip(names, predicted, measured, strict=True)]
    columns = ["seed", "weight", "trace", "disturbance", "predicted", "measured"]
    return pd.DataFrame(rows, columns=columns)


def _disturbed(stack: Stack, plan: Plan, test: TestSet) -> list[dict[str, Any]]:
    each = divergences(stack, test)
    before = each.mean(1)

    def rise(other: Stack) -> Tensor:
        return divergences(other, test).mean(1) - before

    noise = [
        torch.stack([rise(copy) for copy in noisy_pairs(stack, s, plan.pairs, plan.seeds)])
        for s in plan.noise
    ]
    # on the sentences of the loss, so that their choice adds no error to the comparison
    traces = measured_traces(stack.network, stack.parameters, *_traced(plan, test))
    language = plan.other_language.build(stack.device)
    other = trained_stack(
        stack,
        plan.other_training,
        language,
        list(plan.seeds),
        "another language",
        labels="exact",
    )
    of_other = draw_test_set(
        language, plan.sentences, stack.plan.positions, plan.test_seed, stack.device
    )
    squares = sum(
        (other.parameters[n] - p).double().square().flatten(1).sum(1)
        for n, p in stack.parameters.items()
    )
    count = sum(p[0].numel() for p in stack.parameters.values())
    columns = {
        "excess": before,
        "excess_stderr": each.std(1) / each.shape[1] ** 0.5,
        "plain": traces.plain,
        "noise": torch.stack([x.mean(0) for x in noise], 1),
        "rounding": torch.stack([rise(rounded(stack, bits)) for bits in plan.bits], 1),
        "rounding_predicted": torch.stack(
            [predicted_by_rounding(stack, traces, bits) for bits in plan.bits], 1
        ),
        "forgotten": rise(other),
        "learned": (divergences(stack, of_other) - divergences(other, of_other)).mean(1),
        "moved": squares / count,
    }
    return [{name: x[row].tolist() for name, x in columns.items()} for row in range(len(stack))]


def _traced(plan: Plan, test: TestSet) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs of the traces, and the random numbers of their labels."""
    generator = torch_stream(plan.test_seed, "labels of all traces", test.tokens.device)
    size = (len(test.tokens), plan.labels)
    return (
        test.tokens,
        test.positions,
        torch.rand(size, generator=generator, device=test.tokens.device),
    )


def _pairs(stacks: list[Stack], plan: Plan, test: TestSet) -> list[FeaturePair]:
    sentences = padded_to(
        plan.language.build(test.tokens.device).sample(
            plan.sentences,
            torch_stream(plan.test_seed, "sentences without a mask", test.tokens.device),
            test.tokens.device,
        ),
        test.tokens.shape[1],
    )
    logits, masked, unmasked = [], [], []
    for stack in stacks:
        index = (test.positions + 1)[None, ..., None].expand(len(stack), -1, -1, stack.plan.width)
        logits += list(stack.logits(test.tokens, test.positions)[:, :, 0])
        masked += list(stack.features(test.tokens).gather(2, index)[:, :, 0])
        unmasked += list(stack.features(sentences).gather(2, index)[:, :, 0])
    losses = [float(divergence(test.conditional, x).mean()) for x in logits]
    keys = [(weight, seed) for weight in plan.weights for seed in plan.seeds]
    truth = test.conditional.clamp_min(1e-300).log()
    pairs = []
    for i, j in combinations(range(len(keys)), 2):
        same_weight, same_seed = (x == y for x, y in zip(keys[i], keys[j], strict=True))
        if same_weight == same_seed:
            continue
        agreement = logit_agreement(test.conditional, logits[i], logits[j])
        pairs.append(
            FeaturePair(
                kind="seeds" if same_weight else "weights",
                seeds=(keys[i][1], keys[j][1]),
                weights=(keys[i][0], keys[j][0]),
                log_probabilities=agreement.explained,
                predicted=agreement.at_least(losses[i], losses[j]),
                masked=float(canonical_correlations(masked[i], masked[j]).square().mean()),
                unmasked=float(canonical_correlations(unmasked[i], unmasked[j]).square().mean()),
                truth=logit_agreement(test.conditional, logits[i], truth).explained,
                masked_variance=explained_variance(masked[j], masked[i]),
                unmasked_variance=explained_variance(unmasked[j], unmasked[i]),
            )
        )
    return pairs


def _silent(network: Transformer, seed: int, plan: Plan, test: TestSet) -> SilentUnit:
    network = network.double()
    device, positions = test.tokens.device, network.plan.positions
    language = plan.language.build(device)
    generator = torch_stream(plan.test_seed, "task for a silent unit", device)
    task = with_posteriors(
        draw_task(
            language, 1, plan.examples, plan.examples, positions=positions, generator=generator
        ),
        language,
        1,
    )
    sentences = padded_to(task.train.inputs, positions)
    masked = draw_test_set(language, 4 * plan.sentences, positions, plan.test_seed + 1, device)
    gate = separating_gate(network, masked.tokens, masked.positions, sentences)
    constant = torch.zeros(network.plan.width).to(network.bias)
    constant[0] = 1.0
    silent = with_silent_unit(network, gate, constant)
    stacks = [stack_models([model]) for model in (network, silent)]
    logits = [stack.logits(test.tokens, test.positions) for stack in stacks]
    fresh = padded_to(task.test.inputs, positions)
    traced = _traced(plan, test)
    inputs = traced[0], traced[1], traced[2].double()
    traces = [float(measured_traces(s.network, s.parameters, *inputs).plain) for s in stacks]
    accuracies = [
        float(
            full_probe(
                token_features(stack, task.train.inputs).float(),
                task.train.labels,
                token_features(stack, task.test.inputs).float(),
                task.test_posterior,
                ConvergedProbe(shots=20, subsets=1),  # of which the full probe makes no use
                torch_stream(plan.test_seed, "probes of a silent unit", device),
            )
        )
        for stack in stacks
    ]
    return SilentUnit(
        seed=seed,
        words=float(above_gate(network, gate, fresh).double().mean()),
        activated=int(above_gate(network, gate, test.tokens).gather(1, test.positions).sum()),
        logit_change=float((logits[0] - logits[1]).abs().max()),
        trace_change=abs(traces[1] / traces[0] - 1),
        before=accuracies[0],
        after=accuracies[1],
        majority=float(task.test_posterior.mean(0).max()),
    )
