"""Training of several networks as one program: a stack goes through the steps that each of its
networks would take alone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vmap

from ntpcompanion.checks import Count, Length, checked, need
from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.data.stacked_sentences import STEPS_AT_ONCE, Labels, draw_steps
from ntpcompanion.mlm.training.cuda_graph import as_cuda_graph
from ntpcompanion.mlm.training.optimizer import contiguous_gradients, optimizer_of
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.stack import Parameters, Stack, functional_logits


@dataclass(frozen=True, eq=False)
class StackedTerm:
    """What is minimized beside the loss: weights · value, a negative weight (models,) maximizes.
    `draw(step)` makes tensors (models, …); `value` takes the shape and parameters of one network,
    its sentences, masked positions and part of the draw.
    """

    weights: Float[Tensor, " models"]
    draw: Callable[[int], tuple[Tensor, ...]]
    value: Callable[..., Tensor]


@dataclass(frozen=True, eq=False)
class StackedState:
    """Where a stack is after `step` updates; the next state changes `stack`. `loss` (nats) and
    `term` are means (models,) since the state before; NaN if there was no step since.
    """

    step: int
    stack: Stack
    loss: Float[Tensor, " models"]
    term: Float[Tensor, " models"]


@checked(
    need("seeds", "len(seeds) == len(start)", "hold one for each network"),
    need("rates", "rates is None or len(rates) == len(start)", "hold one for each network"),
    need(
        "rates",
        "rates is None or plan.optimizer == 'sgd'",
        "be None for AdamW, which does not notice the scale of a gradient",
    ),
    need(
        "start",
        "start.plan.words == language.vocab_size",
        "have the {language.vocab_size} `words` of the language",
    ),
    need("plan", "not plan.mask_share", "have `mask_share` 0: one mask a sentence"),
)
def train_stack(
    start: Stack,
    plan: TrainingPlan,
    language: Language,
    seeds: Sequence[Count],
    name: str,
    *,
    labels: Labels = "drawn",
    rates: Annotated[Sequence[float], Length(1)] | None = None,
    term: StackedTerm | None = None,
    eval_steps: Collection[int] = (),
) -> Iterator[StackedState]:
    """Train all networks of a stack, each on the sentences of its own seed (equal seeds: equal
    sentences), and yield at the `eval_steps` and the last step. `name` is the phase: another one,
    other sentences; `rates` are factors, for SGD only. Raises ValueError for not one seed or rate a
    network, rates for AdamW, another vocabulary, stops outside, several masks; FloatingPointError
    for an infinite loss.
    """
    eval_steps = plan.with_last(eval_steps)
    stack = Stack(start.plan, {n: p.clone().requires_grad_() for n, p in start.parameters.items()})
    optimizer = optimizer_of(stack.parameters, plan, leading=1)
    runs = list(dict.fromkeys(seeds))
    rows = torch.tensor([runs.index(seed) for seed in seeds], device=stack.device)
    scale = None if rates is None else torch.tensor(rates, device=stack.device)
    draw = partial(
        draw_steps,
        language,
        runs,
        name,
        batch_size=plan.batch_size,
        positions=start.plan.positions,
        labels=labels,
        device=stack.device,
    )
    step_of = as_cuda_graph(partial(_gradients, stack, term), stack.device)
    sums, since = torch.zeros(2, len(stack), device=stack.device), 0
    for step in range(plan.steps + 1):
        if step in eval_steps:
            yield _state(step, stack, sums, step - since, plan)
            sums, since = torch.zeros_like(sums), step
        if step == plan.steps:
            return
        if step % STEPS_AT_ONCE == 0:
            batches = draw(step // STEPS_AT_ONCE)
        batch = batches[step % STEPS_AT_ONCE].of_runs(rows)
        for group in optimizer.param_groups:
            group["lr"] = plan.rate_at(step)
        extra = term.draw(step) if term else ()
        values, gradients = step_of(batch.tokens, batch.positions, batch.targets, *extra)
        sums += values
        for p, gradient in zip(stack.parameters.values(), gradients, strict=True):
            p.grad = gradient if scale is None else gradient * _per_model(scale, p)
        optimizer.step()


def trained_stack(
    start: Stack,
    plan: TrainingPlan,
    language: Language,
    seeds: Sequence[int],
    name: str,
    *,
    labels: Labels = "drawn",
    rates: Sequence[float] | None = None,
    term: StackedTerm | None = None,
) -> Stack:
    """The networks at the end of `train_stack`: all of a stack trained together, each on the
    sentences of its own seed.

    Parameters
    ----------
    start, plan, language, seeds, name, labels, rates, term
        as for `train_stack`; `name` is that of the phase, another name draws other sentences.

    Returns
    -------
    Stack
        new networks; `start` is not changed.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan, trained_stack
    >>> from ntpcompanion.networks import TransformerSize, initial_stack
    >>> language = HMMPlan(states=2, words=6, length=4).build()
    >>> shape = TransformerSize(8, layers=1, heads=1).for_sentences(words=6, positions=4)
    >>> start, plan = initial_stack(shape, seeds=[0, 1]), TrainingPlan(steps=10, batch_size=32)
    >>> len(trained_stack(start, plan, language, [0, 1], "pretraining", labels="exact"))
    2
    """
    *_, state = train_stack(
        start, plan, language, seeds, name, labels=labels, rates=rates, term=term
    )
    return state.stack.take(range(len(start)))


def _gradients(
    stack: Stack,
    term: StackedTerm | None,
    tokens: Tensor,
    positions: Tensor,
    targets: Tensor,
    *extra: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Loss and term of each network, (2, models), and the gradients of their weighted sum."""
    losses = vmap(partial(cross_entropy, stack.network))(
        stack.parameters, tokens, positions, targets
    )
    values, total = torch.zeros_like(losses), losses.sum()
    if term:
        values = vmap(partial(term.value, stack.network))(
            stack.parameters, tokens, positions, *extra
        )
        total = total + (term.weights * values).sum()
    gradients = contiguous_gradients(total, list(stack.parameters.values()))
    return torch.stack([losses.detach(), values.detach().float()]), gradients


def _per_model(numbers: Tensor, reference: Tensor) -> Tensor:
    return numbers.view(-1, *[1] * (reference.ndim - 1))


def cross_entropy(
    network: LanguageModel,
    parameters: Parameters,
    tokens: Tensor,
    positions: Tensor,
    targets: Tensor,
) -> Tensor:
    """Mean over sentences of −Σ_v target_v log f(v | x₋ₜ) in nats, of one network."""
    logits = functional_logits(network, parameters, tokens, positions)[:, 0]
    return -(targets * logits.log_softmax(-1)).sum(-1).mean()


def _state(step: int, stack: Stack, sums: Tensor, steps: int, plan: TrainingPlan) -> StackedState:
    means = sums / steps if steps else torch.full_like(sums, torch.nan)
    if steps and not means.isfinite().all():
        row = int((~means.isfinite()).any(0).nonzero()[0])
        raise FloatingPointError(
            f"The training loss of network {row} is {float(means[0, row])} and its second term "
            f"{float(means[1, row])} over the last {steps} steps. Lower `learning_rate` = "
            f"{plan.learning_rate}, its factor, or the weight of the term."
        )
    return StackedState(step, replace(stack), *means)
