"""The last layer alone: a convex problem, solved with a proof of how far it is from its minimum."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeResult, minimize
from scipy.special import entr, logsumexp, softmax

from ntpcompanion.checks import Between, NotNegative, Positive, checked
from ntpcompanion.validation import as_array, check_probabilities

Weight = Annotated[Float[np.ndarray, " N"], Between(0, np.inf)]
LBFGS = {"maxiter": 2000, "maxfun": 4000, "maxcor": 40, "ftol": 0.0, "gtol": 1e-11}


@dataclass(frozen=True, eq=False)
class LastLayerFit:
    """The loss of a decoder on fixed features.

    Fields
    ------
    loss
        of the decoder that was found, in nats.
    bound
        no decoder on these features has a smaller loss.
    entropy
        no model at all has a smaller loss.
    """

    loss: float
    bound: float
    entropy: float


@checked
def fit_last_layer(
    features: Float[np.ndarray, "N m"],
    next_token: Float[np.ndarray, "N V"],
    weight: Weight,
    *,
    enough: NotNegative = 0.0,
) -> LastLayerFit:
    """Minimize the cross entropy Σ_j π_j CE(p_j, softmax(U h_j)) over U.

    Parameters
    ----------
    features
        h_j, (N, m), one context a row.
    next_token
        p_j, (N, V). Where one is zero, the least loss may belong to infinite logits.
    weight
        π_j, (N,), positive, of sum one.
    enough
        the search stops at this excess loss over the entropy, in nats, and where a step gains less
        than a thousandth of it.

    Returns
    -------
    LastLayerFit
        loss, and a lower bound for all decoders.

    Raises
    ------
    ValueError
        shapes that do not agree, rows or weights that are not distributions, weights of zero.

    Notes
    -----
    L-BFGS in coordinates in which the weighted features are orthonormal. The bound: distributions
    q_j with Σ π_j q_j h_jᵀ = Σ π_j p_j h_jᵀ give every decoder the same loss as p, so none has less
    than their entropy. At a minimum, softmax(U h_j) is such a q; near it, a small correction makes
    it one. Cost O(N V m) a step.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import fit_last_layer
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> fit = fit_last_layer(np.eye(2), p, np.array([0.5, 0.5]))
    >>> abs(fit.loss - fit.entropy) < 1e-9, fit.loss - fit.bound < 1e-9
    (True, True)
    """
    H, p = as_array("features", features), as_array("next_token", next_token)
    pi = as_array("weight", weight)[:, None]
    check_probabilities("next_token", p, p.sum(axis=1))
    check_probabilities("weight", pi, pi.sum())
    root = np.sqrt(pi)
    basis = np.linalg.svd(root * H, full_matrices=False)[0]  # orthonormal columns

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logits = basis @ flat.reshape(basis.shape[1], -1) / root
        value = pi[:, 0] @ (logsumexp(logits, axis=1) - (p * logits).sum(axis=1))
        return float(value), (basis.T @ (root * (softmax(logits, axis=1) - p))).ravel()

    target = _entropy(pi, p) + enough

    def stop_at_target(intermediate_result: OptimizeResult) -> None:
        if enough and intermediate_result.fun <= target:
            raise StopIteration

    start = np.zeros(basis.shape[1] * p.shape[1])
    options = LBFGS | {"ftol": 1e-3 * enough}
    optimum = minimize(
        loss, start, jac=True, method="L-BFGS-B", options=options, callback=stop_at_target
    )
    q = softmax(basis @ optimum.x.reshape(basis.shape[1], -1) / root, axis=1)
    # now Σ π q h = Σ π p h, and rows keep their sum of one
    q = q - basis @ (basis.T @ (root * (q - p))) / root
    low = q < 0  # p has the same sums: a mixture with a little of p has them, too, and is positive
    fraction = float((q[low] / (q[low] - p[low])).max(initial=0.0))
    q = np.maximum(q + fraction * (p - q), 0.0)
    return LastLayerFit(float(optimum.fun), _entropy(pi, q), _entropy(pi, p))


def _entropy(pi: np.ndarray, q: np.ndarray) -> float:
    return float((pi * entr(q)).sum())


@checked
def least_last_width(
    features: Float[np.ndarray, "N m"],
    next_token: Float[np.ndarray, "N V"],
    weight: Weight,
    criterion: Positive,
) -> int:
    """The least number of leading features on which a decoder comes within a fraction of the
    entropy.

    More features never hurt at the minimum of a convex loss, so that bisection finds it.

    Parameters
    ----------
    features, next_token, weight
        as of `fit_last_layer`; the first 1, 2, …, m columns are tried.
    criterion
        the largest excess loss, in units of the entropy.

    Returns
    -------
    int
        the least width.

    Raises
    ------
    ValueError
        as `fit_last_layer`; a criterion that is not positive; all features are not enough.

    Notes
    -----
    A width counts as too small where the search ends above the criterion; the `bound` of
    `fit_last_layer` proves it where it lies above, too. Cost about log₂ m fits.

    Examples
    --------
    Full support and contexts in general position need as many features as contexts:

    >>> import numpy as np
    >>> from ntpcompanion.capacity import least_last_width
    >>> rng = np.random.default_rng(0)
    >>> features, p = rng.standard_normal((8, 12)), rng.dirichlet(np.ones(4), size=8)
    >>> least_last_width(features, p, np.full(8, 1 / 8), criterion=1e-6)
    8
    """
    H, p = as_array("features", features), as_array("next_token", next_token)
    enough = criterion * _entropy(as_array("weight", weight)[:, None], p)

    def reaches(width: int) -> bool:
        fit = fit_last_layer(H[:, :width], next_token, weight, enough=enough)
        return fit.loss - fit.entropy <= enough

    low, high = 0, H.shape[1]  # `low` does not reach, `high` does
    if not reaches(high):
        raise ValueError(
            f"`features`: not even all {high} come within {criterion:g} of the entropy."
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
