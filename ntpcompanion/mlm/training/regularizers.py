"""What can be minimized beside the loss of the masked words, for a stack of networks: the trace
as a penalty, and an adversary of a downstream task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import Count, NotNegative, Positive, Size, checked
from ntpcompanion.mlm.curvature.example_gradients import log_trace
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.stacked_sentences import STEPS_AT_ONCE
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


@dataclass(frozen=True)
@checked
class AdversarialPlan:
    """What is added to the pre-training loss: −`weight` times the validation loss of a ridge head.
    The paper states none of these numbers.

    Fields
    ------
    weight
        λ of the validation loss; 0 is the normal training.
    ridge
        ρ of the head, beside a sum (not a mean) over examples.
    first, second
        examples that the head is fitted on, and those it is measured on, disjoint and drawn anew
        for each step.
    dims
        to which features are projected by a fixed Gaussian matrix; 0 takes them as they are.

    Raises
    ------
    ValueError
        a number out of its range.
    """

    weight: NotNegative
    ridge: Positive
    first: Size
    second: Size
    dims: Count = 0


def adversary(
    plans: Sequence[AdversarialPlan], seeds: Sequence[int], downstream: LabelledExamples
) -> StackedTerm:
    """−λ · L̂_D₂(φ̂(ψ), ψ), the second term of adversarial pre-training, for one plan a network; the
    plans differ in their weights only.

    Each step draws disjoint D₁ and D₂ from the downstream training examples, the same for networks
    of one seed, fits the head φ̂ on D₁ in closed form, and goes against its loss on D₂, the
    derivative of φ̂ in the features included (Liu et al. 2023, appendix A.4). With λ = 0 the steps
    are those of normal training; a comparison means something only where both have the same loss.

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
    check_examples(examples, first, second)
    return first, second, ridge


def check_examples(examples: int, first: int, second: int) -> None:
    """Raise ValueError for fewer downstream examples than both sets together."""
    if first + second > examples:
        raise ValueError(
            f"`first` + `second` = {first + second} must be at most the {examples} downstream "
            "examples."
        )


def _validation_loss(
    network: LanguageModel,
    parameters: Parameters,
    tokens: Tensor,
    onehot: Tensor,
    *,
    first: int,
    ridge: float,
) -> Tensor:
    """Mean over the second examples of ‖φᵀh(x) − onehot(y)‖², with φ the ridge head of the first
    and h the vectors of all positions without CLS. A head that predicts 0 has loss 1; as φ
    overfits, it has no bound.
    """
    vectors = functional_features(network, parameters, tokens)
    features = vectors[:, -network.plan.positions :].flatten(1).double()
    fitted, held_out = features[:first], features[first:]
    head, _ = solved_head(fitted, onehot[:first], ridge)
    return (held_out @ head - onehot[first:]).square().sum(1).mean().float()


def solved_head(
    features: Float[Tensor, "n d"], targets: Float[Tensor, "n classes"], ridge: float
) -> tuple[Float[Tensor, "d classes"], Tensor]:
    """The φ that minimizes ‖features φ − targets‖² + ridge ‖φ‖², without an intercept, and whether
    the system was singular, without a look at that: so it can be mapped over networks, and
    captured.

    (HᵀH + ρI)⁻¹ HᵀY = Hᵀ (HHᵀ + ρI)⁻¹ Y: the smaller of the two systems is solved, in O(n d min(n,
    d)) time. Source: Liu et al. 2020 (MeRLin), which Liu et al. 2023, appendix A.4, refers to.
    """
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    shifted = gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    factor, failed = torch.linalg.cholesky_ex(shifted)
    right = features.T @ targets if d <= n else targets
    half = torch.linalg.solve_triangular(factor, right, upper=False)
    solved = torch.linalg.solve_triangular(factor.T, half, upper=True)
    return (solved if d <= n else features.T @ solved), failed


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
