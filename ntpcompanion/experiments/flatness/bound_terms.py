"""Which step of the proof of the bound is strict for which solution of zero loss, and does any
solution fall below?
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from pydantic import Field, field_validator
from torch import Tensor

from ntpcompanion.dyck import balance, bound, bracket_counting, solutions
from ntpcompanion.dyck.bracket_transformer import Parameters, gradients, squared_loss
from ntpcompanion.dyck.network import Network
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import MASK_SIGNS, MaskSign, masked_support
from ntpcompanion.dyck.single_condition import first_position_attention, mask_as_bias, two_values
from ntpcompanion.experiments import experiment
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace_estimators import exact_trace
from ntpcompanion.randomness import stream

STEPS = ("squared_gradient", "value_layer", "per_neuron", "no_cancellation", "bound")
HALF = Fraction(1, 2)
STRINGS, SAMPLES = 8, 400  # of a head whose error `every_choice` estimates


class Plan(experiment.Plan):
    """Solutions of one length, and random ones of lengths 4 and 6."""

    length: Annotated[int, Field(ge=4, le=8, description="T of the named solutions, even")] = 6
    width: Annotated[int, Field(ge=256, description="random features among them")] = 1024
    drawn: Annotated[int, Field(ge=4, description="random solutions against the bound")] = 1000
    seed: Annotated[int, Field(ge=0, description="of features and scales")]

    @field_validator("length")
    @classmethod
    def _even(cls, length: int) -> int:
        if length % 2:
            raise ValueError(f"`length` must be even, got {length}.")
        return length


class Result(experiment.Result):
    """The terms of each solution, and the smallest trace."""

    terms: Annotated[
        dict[str, tuple[float, ...]],
        Field(description="of `STEPS`, multiples of the bound, by solution"),
    ]
    lowest: Annotated[
        float, Field(description="smallest squared gradient of a random solution over the bound")
    ]
    traces: Annotated[
        dict[str, float],
        Field(description="trace of the Hessian over the squared gradient, by solution, T = 4"),
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each solution, a column for each step of the proof."""
        names = ["all parameters", "(6) neurons", "(7) balanced", "(8) same sign", "(9) bound"]
        return pd.DataFrame(self.terms, index=names).T.rename_axis("solution")


def run(plan: Plan) -> Result:
    """Compute each term of the proof of the bound for solutions that violate one of its conditions,
    and the squared gradient of many random solutions.

    Returns the terms, and the smallest squared gradient. Cost 1 ms for each random solution.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import bound_terms
    >>> result = bound_terms.run(bound_terms.Plan(length=4, width=256, drawn=8, seed=0))
    >>> [round(term, 6) for term in result.terms["mask as a bias"]], result.lowest >= 1
    ([2.0, 2.0, 2.0, 1.0, 1.0], True)
    """
    masked = masked_support(plan.length, "random")[0]
    rng = stream(plan.seed, "solutions")
    ratios = [_random_ratio(number, rng) for number in range(plan.drawn)]
    return Result(
        terms={name: _multiples(theta, masked) for name, theta in _named(plan, masked).items()},
        lowest=min(ratios),
        traces=dict(_traces(plan.seed)),
    )


def _named(plan: Plan, masked: Int[np.ndarray, "N T d"]) -> dict[str, Parameters]:
    T, z, counting = plan.length, masked.sum(1), solutions.transferable(plan.length)
    rng = stream(plan.seed, "features")
    features = solutions.random_features(T, plan.width, rng)
    keys = 0.3 * rng.standard_normal(counting.W_K.shape)
    return {
        "counting": counting,
        "not balanced": solutions.transferable(T, balanced=False),
        "two values": two_values(T, HALF).parameters(z),
        "mask as a bias": mask_as_bias(T).parameters(z),
        "half on the first": first_position_attention(T, 0.5),
        "nonzero keys": Parameters(counting.W_Q, keys, counting.W_V, counting.u),
        "random features": balance.balance_neurons(features, masked),
    }


def _multiples(theta: Parameters, masked: Int[np.ndarray, "N T d"]) -> tuple[float, ...]:
    chain = bound.chain(theta, masked)
    return tuple(getattr(chain, step) / chain.bound for step in STEPS)


def _random_ratio(number: int, rng: np.random.Generator) -> float:
    """The squared gradient of a random solution over the bound: random features or attention that
    depends on the brackets, and random scales.
    """
    T = (4, 6)[number % 2]
    if number % 4 < 2:
        width = int(rng.integers(40, 80) if T == 4 else rng.integers(140, 180))
        theta = solutions.random_features(T, width, rng)
    else:
        theta = solutions.tilted_attention(T, rng.uniform(-0.3, 0.3))
    scale = np.exp(rng.normal(size=len(theta.u)))
    theta = Parameters(theta.W_Q, theta.W_K, scale[:, None] * theta.W_V, theta.u / scale)
    masked = masked_support(T, "random")[0]
    return bound.squared_gradient_norm(theta, masked) / bound.lower_bound(T)


def _traces(seed: int) -> Iterator[tuple[str, float]]:
    """Lemma D.4 against the full Hessian, by automatic differentiation."""
    masked, targets = masked_support(4, "random")
    x, y = (torch.tensor(part.astype(float)) for part in (masked, targets))
    small = {
        "transferable": solutions.transferable(4),
        "not balanced": solutions.transferable(4, balanced=False),
        "random features": solutions.random_features(4, 40, stream(seed, "small")),
        "tilted attention": solutions.tilted_attention(4, 0.3),
    }
    for name, parameters in small.items():
        net = FlatModule(Network(parameters))

        def loss(theta: Tensor, f: FlatModule = net) -> Tensor:
            return (f(theta, x) - y).square().mean()

        trace = exact_trace(loss, net.theta).value
        yield name, trace / bound.squared_gradient_norm(parameters, masked)


class Choice(NamedTuple):
    """A solution that the interactive figure offers, for one sign of the mask."""

    solution: Neurons | Parameters
    theta: Parameters  # of integers: at the flattest scale
    masked: Int[np.ndarray, "N T d"]
    targets: Int[np.ndarray, " N"]
    active: Bool[np.ndarray, "N m"] | None  # v·z > 0, of integers: exactly
    kinked: Bool[np.ndarray, "N m"]  # v·z = 0, of neurons that are on somewhere


def choices(T: int, sign: MaskSign, seed: int) -> dict[str, Choice]:
    """The solutions that the interactive figure offers, by name; not all have zero loss for both
    signs of the mask.
    """
    masked, targets = masked_support(T, sign)
    one, counting = np.ones(T, dtype=int), solutions.transferable(T)
    twins = np.array([[*one, *one], [*one, *-one], [*-one, *0 * one]])
    keys = 0.3 * stream(seed, f"keys {T}").normal(size=(2 * T, 2 * T))
    features = solutions.random_features(T, 256, stream(seed, f"{T} {sign}"), sign)
    offered: dict[str, Neurons | Parameters] = {
        "split_by_bracket": solutions.three_neurons(T, "random"),
        "split_by_mask": Neurons(twins, np.array([1, 1, -2]), 2),
        "counting": solutions.transferable_neurons(T),
        "two_values": two_values(T, HALF),
        "mask_as_bias": mask_as_bias(T),
        "first_position": first_position_attention(T, 0.5),
        "nonzero_keys": Parameters(counting.W_Q, keys, counting.W_V, counting.u),
        "fixed_three": solutions.three_neurons(T, "fixed"),
        "dead_neuron": solutions.with_dead_neuron(T, 1 + np.arange(T)),
        "memoriser": solutions.memoriser(T),
        "random_features": balance.balance_neurons(features, masked),
    }
    return {name: _choice(one, masked, targets) for name, one in offered.items()}


def _choice(
    solution: Neurons | Parameters,
    masked: Int[np.ndarray, "N T d"],
    targets: Int[np.ndarray, " N"],
) -> Choice:
    if isinstance(solution, Parameters):
        return Choice(solution, solution, masked, targets, None, np.zeros((1, 1), dtype=bool))
    values = solution.preactivations(masked.sum(1))
    active = values > 0
    kinked = (values == 0) & active.any(0)  # what is always off has u = 0
    theta = solution.parameters(masked.sum(1))
    return Choice(solution, theta, masked, targets, active, kinked)


def choice_rows(seed: int) -> list[dict[str, Any]]:
    """The terms of all `choices` for lengths 4 and 6 and both signs of the mask, with the error of
    the best head and of one that is fitted to eight strings.
    """
    return [
        {"length": T, "mask": sign, "name": name, "strings": STRINGS}
        | _choice_terms(choice, stream(seed, f"strings {T} {sign} {name}"))
        for T in (4, 6)
        for sign in MASK_SIGNS
        for name, choice in choices(T, sign, seed).items()
    ]


def _choice_terms(choice: Choice, rng: np.random.Generator) -> dict[str, float]:
    theta, masked, active = choice.theta, choice.masked, choice.active
    chain = bound.chain(theta, masked, active)
    parts = gradients(theta, masked, active).squared_norms().mean(0)
    strings = bracket_counting.downstream_features(theta)
    best = bracket_counting.minimum_norm_head(*strings)
    curve = bracket_counting.learning_curve(theta, [STRINGS], SAMPLES, rng)
    return {
        "loss": squared_loss(theta, masked, choice.targets),
        "kinked": choice.kinked.any(1).mean(),
        "kinks": np.sum(theta.u**2 * choice.kinked.mean(0)) / masked.shape[2],
        "attention": parts[:2].sum(),
        "values": parts[2],
        "head": parts[3],
        "per_neuron": chain.per_neuron,
        "bound": chain.bound,
        "no_cancellation": chain.no_cancellation,
        "best": bracket_counting.population_error(*strings, best),
        "few": curve.error[0],
        "few_error": curve.error_stderr[0],
    }
