"""Ascent on the dual of the next-token SVM restricted to chosen pairs: the two climbs of
`ntpcompanion.linear.svm.dual_ascent`, with Γ on pairs and products through the embeddings.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.linear.svm.pairs import Pairs

# Where a step was too long, its inverse grows by this factor.
STEEPER = 1.5
# Projected candidates shrink by this factor, down to the smallest fraction of the step.
SHRINK, SMALLEST_STEP = 4, 0.05


@dataclass(frozen=True, eq=False)
class Restricted:
    """maximize −Σ c_j |Γ_jv| (v off the support) − ½ ‖Γᵀ U‖² over Γ on the pairs with Γ1 = 0 and Γ
    ≤ 0 off the supports.

    `rows` are the unit embeddings U, `single` the same in float32. `threshold` c are the inverse
    lengths of the embeddings.
    """

    pairs: Pairs
    rows: Float[np.ndarray, "m d"]
    single: Float[np.ndarray, "m d"]
    threshold: Float[np.ndarray, " m"]

    def linear(self, gamma: Float[np.ndarray, " n"]) -> float:
        """Σ c_j |Γ_jv| over the pairs off the supports."""
        off = self.pairs.off
        return -float(self.threshold[self.pairs.row[off]] @ gamma[off])

    def gradient(self, product: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The gradient of the objective where U Uᵀ Γ is `product`."""
        thresholds = self.threshold[self.pairs.row]
        return np.where(self.pairs.inside, 0.0, -thresholds) - product

    def objective(self, state: "State") -> float:
        """The dual objective."""
        return self.linear(state.gamma) - 0.5 * float(state.gamma @ state.product)


@dataclass(frozen=True, eq=False)
class State:
    """Where the ascent stands: Γ and U Uᵀ Γ on the pairs, the level of the last projection, an
    estimate of the largest curvature, and how many products it took so far.
    """

    gamma: Float[np.ndarray, " n"]
    product: Float[np.ndarray, " n"]
    level: Float[np.ndarray, " m"]
    lipschitz: float
    products: int


def ascend(problem: Restricted, state: State, steps: int) -> State:
    """Accelerated projected gradients with restarts; a step that proves too long is repeated with a
    larger curvature. One product a step or repetition.
    """
    pairs, momentum = problem.pairs, 1.0
    ahead = state
    for _ in range(steps):
        new = _forward(problem, ahead, state.level)
        while _too_long(ahead, new):
            ahead = replace(ahead, lipschitz=STEEPER * ahead.lipschitz, products=new.products)
            new = _forward(problem, ahead, new.level)
        if float((ahead.gamma - new.gamma) @ (new.gamma - state.gamma)) > 0:
            momentum, weight = 1.0, 0.0
        else:
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            momentum, weight = following, (momentum - 1) / following
        ahead = replace(
            new,
            gamma=(1 + weight) * new.gamma - weight * state.gamma,
            product=(1 + weight) * new.product - weight * state.product,
        )
        state = new
    return replace(state, product=pairs.product(state.gamma, problem.rows))


def _forward(problem: Restricted, ahead: State, level: Float[np.ndarray, " m"]) -> State:
    uphill = ahead.gamma + problem.gradient(ahead.product) / ahead.lipschitz
    gamma, level = problem.pairs.project(uphill, level)
    product = problem.pairs.product(gamma, problem.single)
    return State(gamma, product, level, ahead.lipschitz, ahead.products + 1)


def _too_long(ahead: State, new: State) -> bool:
    move = new.gamma - ahead.gamma
    # what single precision cannot tell is not steep
    return float(move @ (new.product - ahead.product)) > 1.001 * ahead.lipschitz * float(
        move @ move
    ) + 1e-6 * float(np.abs(move) @ np.abs(new.product))


def best_multiple(problem: Restricted, state: State) -> State:
    """The state at the multiple of Γ with the largest objective; the same where there is none."""
    linear, square = problem.linear(state.gamma), float(state.gamma @ state.product)
    if square <= 0 or linear <= 0:
        return state
    factor = linear / square
    return replace(state, gamma=factor * state.gamma, product=factor * state.product)


def polish(problem: Restricted, state: State, steps: int) -> State:
    """Towards the maximum over the face of Γ by conjugate gradients, as far as it is feasible or
    its projection has a larger objective (Moré and Toraldo 1991).

    Their products are in single precision, the gradient that they start from in double.
    """
    pairs = problem.pairs
    face = pairs.inside | (state.gamma < 0)
    uphill = pairs.centred(problem.gradient(state.product), face)
    move, products = pairs.solve(uphill, face, problem.single, steps)
    state = replace(state, products=state.products + products)
    shrinking = ~pairs.inside & (move > 0)
    ratios = -state.gamma[shrinking] / move[shrinking]
    fraction, full_step = 1.0, min(1.0, float(ratios.min(initial=math.inf)))
    along = replace(state, gamma=state.gamma + full_step * move)
    best = _evaluated(problem, along, pairs.inside)
    while fraction > full_step and fraction > SMALLEST_STEP:
        gamma, level = pairs.project(state.gamma + fraction * move, state.level)
        tried = replace(best, gamma=gamma, level=level)
        tried = _evaluated(problem, tried, pairs.inside)
        if problem.objective(tried) > problem.objective(best):
            return tried
        best, fraction = replace(best, products=tried.products), fraction / SHRINK
    return best


def _evaluated(problem: Restricted, state: State, inside: Bool[np.ndarray, " n"]) -> State:
    gamma = np.where(inside, state.gamma, np.minimum(state.gamma, 0.0))
    product = problem.pairs.product(gamma, problem.rows)
    return replace(state, gamma=gamma, product=product, products=state.products + 1)
