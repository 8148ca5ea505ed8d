"""The nearest logits that one context allows, in a metric that couples tokens."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

# A multiplier or a margin of the wrong sign by less than this is rounding: logits are of order 1.
SIGN_TOLERANCE = 1e-11
# After this many exchanges of whole blocks only one token is exchanged at a time, which ends.
BLOCK_EXCHANGES = 10
MAX_EXCHANGES = 2_000


@dataclass(frozen=True, eq=False)
class Pooling:
    """The projections x = ω − Λγ of points ω onto their cones. The `multipliers` γ have rows of sum
    0, not negative off support, 0 where not pooled. The `pooled` tokens are those whose logits
    equal the largest, the support among them.
    """

    multipliers: Float[np.ndarray, "n V"]
    pooled: Bool[np.ndarray, "n V"]


def pool(
    response: Float[np.ndarray, "V V"],
    points: Float[np.ndarray, "n V"],
    supports: Bool[np.ndarray, "n V"],
    start: Bool[np.ndarray, "n V"] | None = None,
) -> Pooling:
    """Project each ω of `points` onto C_S = {x : x is largest on all of S} in the norm x ↦ xᵀ Λ⁻¹
    x, for a symmetric and positive definite `response` Λ. `start` is a guess of the pooled tokens,
    the supports by default.

    A linear complementarity problem: the tokens off support have either γ = 0 or a logit equal to
    the largest. The set of pooled tokens is exchanged until all signs are right: whole blocks at
    first, then the last wrong token alone, which ends after finitely many exchanges (Murty 1974).
    Cost O(n (t³ + V²)) an exchange with t pooled tokens; mostly fewer than ten exchanges. Raises
    `RuntimeError` where they do not end: Λ is too far from positive definite for floating point.
    """
    pooled = supports.copy() if start is None else supports | start
    multipliers = np.zeros_like(points)
    todo = np.arange(len(points))
    for exchange in range(MAX_EXCHANGES):
        gamma, level = _on_face(response, points[todo], pooled[todo])
        multipliers[todo] = gamma
        wrong = _wrong_tokens(points[todo] - gamma @ response - level, gamma, pooled[todo])
        wrong &= ~supports[todo]
        left = wrong.any(axis=1)
        if not left.any():
            return Pooling(multipliers, pooled)
        todo, wrong = todo[left], wrong[left]
        pooled[todo] ^= wrong if exchange < BLOCK_EXCHANGES else _last(wrong)
    raise RuntimeError(
        f"{len(todo)} of {len(points)} projections did not end after {MAX_EXCHANGES} exchanges: "
        "the response matrix is numerically singular."
    )


def mean_stiffness(
    response: Float[np.ndarray, "V V"],
    pooled: Bool[np.ndarray, "n V"],
    weight: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "V V"]:
    """E J, where γ = J ω near each point: J = B (Bᵀ Λ B)⁻¹ Bᵀ with B a basis of the vectors of sum
    0 on the pooled tokens.

    `weight` (n,) are the odds of the points. Cost O(n t³).
    """
    total = np.zeros_like(response)
    for rows, tokens in _by_size(pooled):
        inverse = np.linalg.inv(response[tokens[:, :, None], tokens[:, None, :]])
        ones = inverse.sum(axis=2)
        inverse -= ones[:, :, None] * ones[:, None, :] / ones.sum(axis=1)[:, None, None]
        inverse *= weight[rows, None, None]
        np.add.at(total, (tokens[:, :, None], tokens[:, None, :]), inverse)
    return (total + total.T) / 2


def _on_face(
    response: Float[np.ndarray, "V V"],
    points: Float[np.ndarray, "n V"],
    pooled: Bool[np.ndarray, "n V"],
) -> tuple[Float[np.ndarray, "n V"], Float[np.ndarray, "n 1"]]:
    """The multipliers on the pooled tokens that tie their logits, and the common level."""
    gamma, level = np.zeros_like(points), np.zeros((len(points), 1))
    for rows, tokens in _by_size(pooled):
        pooled_points = points[rows[:, None], tokens]
        right = np.stack([pooled_points, np.ones_like(pooled_points)], axis=-1)
        solved = np.linalg.solve(response[tokens[:, :, None], tokens[:, None, :]], right)
        above, one = solved[..., 0], solved[..., 1]
        level[rows] = (above.sum(axis=1) / one.sum(axis=1))[:, None]
        gamma[rows[:, None], tokens] = above - level[rows] * one
    return gamma, level


def _wrong_tokens(
    margin: Float[np.ndarray, "n V"],
    gamma: Float[np.ndarray, "n V"],
    pooled: Bool[np.ndarray, "n V"],
) -> Bool[np.ndarray, "n V"]:
    return np.where(pooled, gamma < -SIGN_TOLERANCE, margin > SIGN_TOLERANCE)


def _last(wrong: Bool[np.ndarray, "n V"]) -> Bool[np.ndarray, "n V"]:
    """The last wrong token of each row alone."""
    last = wrong.shape[1] - 1 - np.argmax(wrong[:, ::-1], axis=1)
    return np.arange(wrong.shape[1]) == last[:, None]


def _by_size(
    pooled: Bool[np.ndarray, "n V"],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows with t pooled tokens, and those tokens (rows, t), for each t."""
    sizes = pooled.sum(axis=1)
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    return [
        (rows, np.nonzero(pooled[rows])[1].reshape(len(rows), sizes[rows[0]])) for rows in groups
    ]
