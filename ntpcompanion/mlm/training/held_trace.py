"""Training at a chosen trace: the weight of the penalty follows the error, and parameters are
replaced again and again by those of the same function whose trace is smallest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import vmap

from ntpcompanion.checks import Count, Fraction, NotNegative, Size, checked, need
from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.curvature.example_gradients import sampled_labels
from ntpcompanion.mlm.curvature.invariant_trace import gradient_moments, invariant_trace
from ntpcompanion.mlm.curvature.symmetries import normal_form, transform
from ntpcompanion.mlm.training.regularizers import trace_penalty
from ntpcompanion.mlm.training.stacked_training import StackedState, train_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.stack import Stack, functional_logits
from ntpcompanion.randomness import torch_stream


@dataclass(frozen=True)
@checked(
    need(
        "flattened_every",
        "flattened_every % corrected_every == 0",
        "be a multiple of `corrected_every` = {corrected_every}",
    ),
)
class HeldTracePlan:
    """How networks are trained at a chosen trace.

    Fields
    ------
    training
        by AdamW, on exact labels.
    corrected_every
        steps between two corrections of the weights of the penalty.
    flattened_every
        steps between two moves to the parameters of the same function with the smallest trace.
    proportional, integral
        the weight of log tr is `proportional` times the error of log tr, plus `integral` times the
        sum of the errors at all corrections so far.
    ramp
        fraction of the steps over which the chosen trace is approached.

    Raises
    ------
    ValueError
        a number out of its range; `flattened_every` that is not a multiple of `corrected_every`.

    Examples
    --------
    >>> from ntpcompanion.mlm import HeldTracePlan, TrainingPlan
    >>> plan = HeldTracePlan(TrainingPlan(steps=2000, batch_size=64, learning_rate=5e-3))
    >>> plan.corrected_every, plan.flattened_every
    (25, 100)
    """

    training: TrainingPlan
    corrected_every: Size = 25
    flattened_every: Size = 100
    proportional: NotNegative = 0.05
    integral: NotNegative = 0.01
    ramp: Fraction = 0.5


@checked(
    need("changes", "len(changes) == len(start)", "hold one for each network"),
    need("seeds", "len(seeds) == len(start)", "hold one for each network"),
)
def hold_trace(
    start: Stack,
    plan: HeldTracePlan,
    language: Language,
    changes: Sequence[float],
    seeds: Sequence[Count],
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
) -> Iterator[StackedState]:
    """Train networks while the logarithm of each one's trace moves by one of the `changes` and
    stays there.

    A reward of the trace mostly finds parameters, not functions: symmetries make any trace as large
    as one likes. Where parameters have the smallest trace of their function, a step along a
    symmetry gains nothing to first order; so networks are moved there again and again, and the
    penalty works on the function. Its weight is set by proportional and integral control.

    Parameters
    ----------
    start
        saturated networks.
    plan
        how they are trained and corrected.
    language
        whose sentences they see.
    changes
        of log tr, one for each network; 0 is a control.
    seeds
        of the sentences, one for each network.
    tokens, positions
        masked sentences that decide where the trace of a function is smallest.

    Yields
    ------
    StackedState
        at each correction, as `train_stack`; the next state changes it. Its `term` is the mean of
        log tr since the one before.

    Raises
    ------
    ValueError
        as `train_stack`; not one change for each network; a trace that has no minimum.
    FloatingPointError
        as `train_stack`.
    """
    generator = torch_stream(0, "labels of flattest parameters", start.device)
    uniforms = torch.rand(len(tokens), generator=generator, device=start.device)
    weights = torch.zeros(len(start), device=start.device)
    wanted = torch.tensor(list(changes), device=start.device)
    steps, every = plan.training.steps, plan.corrected_every
    total, before = torch.zeros_like(weights), torch.zeros_like(weights)
    for state in train_stack(
        _copied(start, flattest(start, tokens, positions, uniforms)),
        plan.training,
        language,
        seeds,
        "penalty",
        labels="exact",
        term=trace_penalty(weights, seeds, plan.training.batch_size),
        eval_steps=range(every, steps, every),
    ):
        if state.step == every:
            before = state.term
        error = state.term - before - wanted * min(1.0, state.step / max(1, plan.ramp * steps))
        total += plan.integral * error
        weights.copy_(total + plan.proportional * error)
        if state.step % plan.flattened_every == 0 and state.step < steps:
            moved = flattest(state.stack, tokens, positions, uniforms)
            with torch.no_grad():
                for name, p in state.stack.parameters.items():
                    p.copy_(moved[name])
        yield state


def flattest(
    stack: Stack,
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    uniforms: Float[Tensor, " n"],
) -> dict[str, Tensor]:
    """Parameters of the same functions, in float64, whose trace is smallest on these inputs with
    one label for each, which the networks draw by `uniforms`. Raises ValueError for a trace that
    has no minimum.
    """
    normal = normal_form(stack.parameters, stack.plan.heads)
    logits = vmap(functional_logits, (None, 0, None, None))(
        stack.network, normal, tokens, positions
    )[:, :, 0]
    labels = sampled_labels(logits, uniforms.expand(logits.shape[:-1]))
    moments = gradient_moments(stack.network, normal, tokens, positions, labels)
    return transform(normal, invariant_trace(moments, normal).symmetry)


def stops_of_equal_loss(
    excess: Float[np.ndarray, "networks stops"], groups: Sequence[int]
) -> Int[np.ndarray, " networks"]:
    """For each network the stop at which its excess loss crosses, for the last time, the largest of
    the excesses that networks of its group have at the last stop: of the last stop not below that
    level and the one behind it the nearer one. Where it is never so large, its largest.
    """
    numbers = np.array(groups)
    chosen = []
    for course, group in zip(excess, numbers, strict=True):
        level = excess[numbers == group, -1].max()
        above = np.flatnonzero(course >= level)
        first = above[-1] if len(above) else int(course.argmax())
        chosen.append(first + int(np.abs(course[first : first + 2] - level).argmin()))
    return np.array(chosen)


def _copied(start: Stack, parameters: dict[str, Tensor]) -> Stack:
    return Stack(start.plan, {n: parameters[n].to(p) for n, p in start.parameters.items()})
