"""The loss of one layer of self-attention as a function of its attention logits, with a gradient
that keeps its digits when attention saturates.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.attention.planted_data import check_leading
from ntpcompanion.checks import Shape, checked
from ntpcompanion.validation import as_array, check_finite

TINY = 1e-12  # below it log1p(expm1(D) σ) / D is σ to rounding


@dataclass(frozen=True, eq=False)
class LogitGradient:
    """∂L/∂a = `scaled` · exp(`log_scale`). Leading axes are data sets.

    Fields
    ------
    scaled
        (..., n, T), entries of about 1/n where they are largest.
    log_scale
        (...), −∞ where the gradient is zero.
    """

    scaled: Float[np.ndarray, "*sets n T"]
    log_scale: Float[np.ndarray, "*sets"]


@checked
def attention_map(logits: Annotated[ArrayLike, Shape("...")]) -> Float[np.ndarray, "*sets T"]:
    """Softmax of attention logits over the tokens.

    Parameters
    ----------
    logits
        (..., T).

    Returns
    -------
    array
        of the same shape, sums of 1 over the last axis.

    Raises
    ------
    ValueError
        logits that are not finite.

    Examples
    --------
    >>> from ntpcompanion.attention import attention_map
    >>> attention_map([0.0, 0.0, 800.0]).tolist()
    [0.0, 0.0, 1.0]
    """
    return np.exp(log_softmax(as_array("logits", logits)))


def logit_gradient(logits: ArrayLike, scores: ArrayLike) -> LogitGradient:
    """The gradient of the logistic loss in the attention logits, without cancellation.

        L = 1/n Σ_i log(1 + exp(−m_i)),   m_i = Σ_τ s_iτ γ_iτ,   s_i = softmax(a_i)
        ∂L/∂a_iτ = −1/n σ(−m_i) s_iτ (γ_iτ − m_i)

    Parameters
    ----------
    logits
        a, (..., n, T).
    scores
        γ, (..., n, T).

    Returns
    -------
    LogitGradient
        accurate to rounding however small the gradient is.

    Raises
    ------
    ValueError
        arrays that are not finite or of different sequences.

    Notes
    -----
    For the token r that has nearly all the attention, γ_r − m is a difference of nearly equal
    numbers: rounding as soon as 1 − s_r < 1e-16. Measured from γ_r instead, with δ_τ = γ_τ − γ_r,
    it is −Σ_τ s_τ δ_τ, a sum in which r does not occur; and exponentials are taken after division
    by the largest. Cost O(n T).

    Examples
    --------
    >>> from ntpcompanion.attention import logit_gradient
    >>> found = logit_gradient([[800.0, 0.0]], [[1.0, 0.0]])  # softmax gives 1 and 0 in floats
    >>> found.scaled.round(3).tolist(), round(float(found.log_scale), 3)
    ([[-1.0, 1.0]], -801.313)
    """
    a, gamma = _fitting(logits, scores)
    log_s = log_softmax(a)
    s, top = np.exp(log_s), a.argmax(axis=-1)[..., None]
    delta = gamma - np.take_along_axis(np.broadcast_to(gamma, s.shape), top, axis=-1)
    lead = (s * delta).sum(axis=-1, keepdims=True)  # m − γ_r
    slope = -np.logaddexp(0, (s * gamma).sum(axis=-1, keepdims=True))  # log σ(−m)
    differs = delta != 0
    size = np.where(differs, log_s + slope, -np.inf)
    scale = size.max(axis=(-2, -1))
    small = np.exp(size - np.where(np.isfinite(scale), scale, 0)[..., None, None])
    scaled_lead = (small * delta).sum(axis=-1, keepdims=True)
    scaled = np.where(differs, small * (lead - delta), s * scaled_lead) / gamma.shape[-2]
    return LogitGradient(scaled, np.asarray(scale))


def plain_logit_gradient(logits: ArrayLike, scores: ArrayLike) -> LogitGradient:
    """The same by the usual formula, s_τ (γ_τ − m).

    Parameters
    ----------
    logits, scores
        as of `logit_gradient`.

    Returns
    -------
    LogitGradient
        with `log_scale` 0. Nothing but rounding is left of it once 1 − s is below 1e-16.

    Raises
    ------
    ValueError
        as `logit_gradient`.

    Examples
    --------
    >>> from ntpcompanion.attention import plain_logit_gradient
    >>> plain_logit_gradient([[40.0, 0.0]], [[1.0, 0.0]]).scaled.round(20).tolist()  # not −1.14e-18
    [[-0.0, 1.14e-18]]
    """
    a, gamma = _fitting(logits, scores)
    s = np.exp(log_softmax(a))
    margin = (s * gamma).sum(axis=-1, keepdims=True)
    scaled = -s * (gamma - margin) / (1 + np.exp(margin)) / gamma.shape[-2]
    return LogitGradient(scaled, np.zeros(scaled.shape[:-2]))


def log_excess(logits: ArrayLike, scores: ArrayLike) -> Float[np.ndarray, "*sets"]:
    """log(L − L*), where L* is the loss with all attention on the tokens of the largest score.

    Parameters
    ----------
    logits, scores
        as of `logit_gradient`.

    Returns
    -------
    array
        (...), accurate where L − L* is far below the rounding of L; −∞ where it is zero.

    Raises
    ------
    ValueError
        as `logit_gradient`.

    Examples
    --------
    >>> from ntpcompanion.attention import log_excess
    >>> round(float(log_excess([[800.0, 0.0]], [[1.0, 0.0]])), 3)  # σ(−1) e^−800
    -801.313
    """
    a, gamma = _fitting(logits, scores)
    best = gamma.max(axis=-1)
    with np.errstate(divide="ignore"):
        lost = log_sum_exp(log_softmax(a) + np.log(best[..., None] - gamma))
        D, rest = np.exp(lost), 1 / (1 + np.exp(best))
        ratio = np.where(D > TINY, np.log1p(np.expm1(D) * rest) / np.maximum(D, TINY), rest)
        return np.asarray(log_sum_exp(lost + np.log(ratio)) - np.log(gamma.shape[-2]))


def log_softmax(logits: Float[np.ndarray, "*sets T"]) -> Float[np.ndarray, "*sets T"]:
    """Logarithms of the softmax over the last axis: what scipy's gives, quicker on small arrays."""
    below = logits - logits.max(axis=-1, keepdims=True)
    return below - np.log(np.exp(below).sum(axis=-1, keepdims=True))


def log_sum_exp(values: Float[np.ndarray, "*sets n"]) -> Float[np.ndarray, "*sets"]:
    """The logarithm of Σ exp over the last axis, −∞ where all are −∞; quicker here than scipy's."""
    top = values.max(axis=-1)
    shift = np.asarray(np.where(np.isfinite(top), top, 0))
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(values - shift[..., None]).sum(axis=-1)))


def _fitting(logits: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, gamma = as_array("logits", logits), as_array("scores", scores)
    for name, value in (("logits", a), ("scores", gamma)):
        check_finite(name, value)
        if value.ndim < 2:
            raise ValueError(f"`{name}` must have axes (..., n, T), got shape {value.shape}.")
    check_leading("scores", gamma, a.shape[-2:], a.shape[:-2])
    return a, gamma
