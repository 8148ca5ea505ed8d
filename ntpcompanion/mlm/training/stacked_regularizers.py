"""What can be minimized beside the loss of the masked words, for a stack of networks: the trace
as a penalty, and an adversary of a downstream task.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.mlm.curvature.example_gradients import log_trace
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.stacked_sentences import STEPS_AT_ONCE
from ntpcompanion.mlm.probes.ridge import solved_head
from ntpcompanion.mlm.training.adversarial import AdversarialPlan, refuse_few
from ntpcompanion.mlm.training.stacked_training import StackedTerm
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.stack import Parameters, functional_features
from ntpcompanion.randomness import torch_stream


def trace_penalty(
    weights: Float[Tensor, " models"], seeds: Sequence[int], batch_size: int
) -> StackedTerm:
    """μ · log tr: towards flat minima for positive weights μ, towards sharp ones for negative.

    The trace is estimated on the sentences of the step with one label for each, drawn from the
    model by the same uniform numbers for networks of one seed; see `log_trace`.
    """

    def uniforms(seed: int, chunk: int) -> Tensor:
        generator = torch_stream(seed, f"labels of a penalty {chunk}", weights.device)
        return torch.rand(STEPS_AT_ONCE, batch_size, generator=generator, device=generator.device)

    return StackedTerm(weights, _drawn_in_chunks(seeds, lambda s, c: (uniforms(s, c),)), log_trace)


def adversary(
    plans: Sequence[AdversarialPlan], seeds: Sequence[int], downstream: LabelledExamples
) -> StackedTerm:
    """−λ · L̂_D₂(φ̂(ψ), ψ), see `adversarial_term`, for one plan a network; the plans differ in
    their weights only.

    Each step draws disjoint D₁ and D₂ from the downstream training examples, the same for networks
    of one seed.

    Raises
    ------
    ValueError
        plans that differ in more than the weight, or that project; more examples than there are.
    """
    first, second, ridge = _common(plans, len(downstream.labels))
    device = downstream.inputs.device
    weights = torch.tensor([-plan.weight for plan in plans], device=device)
    onehot = F.one_hot(downstream.labels, downstream.classes).double()

    def rows(seed: int, chunk: int) -> tuple[Tensor, ...]:
        generator = torch_stream(seed, f"examples of an adversary {chunk}", device)
        keys = torch.rand(STEPS_AT_ONCE, len(downstream.labels), generator=generator, device=device)
        chosen = keys.topk(first + second, 1).indices  # a uniform subset in a uniform order
        return downstream.inputs[chosen], onehot[chosen]

    def value(
        network: LanguageModel, parameters: Parameters, _: Tensor, __: Tensor, *examples: Tensor
    ) -> Tensor:
        return _validation_loss(network, parameters, *examples, first=first, ridge=ridge)

    return StackedTerm(weights, _drawn_in_chunks(seeds, rows), value)


def _common(plans: Sequence[AdversarialPlan], examples: int) -> tuple[int, int, float]:
    kinds = {(plan.first, plan.second, plan.ridge, plan.dims) for plan in plans}
    if len(kinds) != 1 or plans[0].dims:
        raise ValueError(
            f"`plans` must differ in `weight` only, with `dims` = 0, got (first, second, ridge, "
            f"dims) = {sorted(kinds)}."
        )
    first, second, ridge, _ = kinds.pop()
    refuse_few(examples, first, second)
    return first, second, ridge


def _validation_loss(
    network: LanguageModel,
    parameters: Parameters,
    tokens: Tensor,
    onehot: Tensor,
    *,
    first: int,
    ridge: float,
) -> Tensor:
    """That of `ridge.validation_loss`, by calls that can be mapped over networks."""
    vectors = functional_features(network, parameters, tokens)
    features = vectors[:, -network.plan.positions :].flatten(1).double()
    fitted, kept = features[:first], features[first:]
    head, _ = solved_head(fitted, onehot[:first], ridge)
    return (kept @ head - onehot[first:]).square().sum(1).mean().float()


def _drawn_in_chunks(
    seeds: Sequence[int], draw: Callable[[int, int], tuple[Tensor, ...]]
) -> Callable[[int], tuple[Tensor, ...]]:
    """What `draw(seed, chunk)` gives for `STEPS_AT_ONCE` steps of one seed, for one step of all
    networks.
    """
    runs = list(dict.fromkeys(seeds))
    rows = [runs.index(seed) for seed in seeds]

    @lru_cache(maxsize=1)
    def chunk_of(chunk: int) -> tuple[Tensor, ...]:
        drawn = zip(*(draw(seed, chunk) for seed in runs), strict=True)
        return tuple(torch.stack(column, 1) for column in drawn)  # (steps, runs, …)

    def of_step(step: int) -> tuple[Tensor, ...]:
        return tuple(x[step % STEPS_AT_ONCE][rows] for x in chunk_of(step // STEPS_AT_ONCE))

    return of_step
