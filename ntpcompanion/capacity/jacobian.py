"""The Jacobian of a network with one hidden layer: how many logits can parameters move at once?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import erf

from ntpcompanion.checks import Is, Range, Size, checked
from ntpcompanion.validation import as_array

Function = Callable[[np.ndarray], np.ndarray]
Activation = Literal["tanh", "gelu", "sine", "relu", "cube"]


def _gelu_slope(a: np.ndarray) -> np.ndarray:
    density = np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray((1 + erf(a / np.sqrt(2))) / 2 + a * density)


# name → (function, derivative); those of the last two scale with their argument, which costs rank
ACTIVATIONS: dict[Activation, tuple[Function, Function]] = {
    "tanh": (np.tanh, lambda a: 1 - np.tanh(a) ** 2),
    "gelu": (lambda a: a * (1 + erf(a / np.sqrt(2))) / 2, _gelu_slope),
    "sine": (np.sin, np.cos),
    "relu": (lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0),
    "cube": (lambda a: a**3, lambda a: 3 * a**2),
}


@checked
def logit_jacobian(
    inputs: Float[np.ndarray, "N d"],
    weights: Float[np.ndarray, "m d"],
    thresholds: Float[np.ndarray, " m"],
    decoder: Annotated[
        Float[np.ndarray, "V m"],
        Is(lambda decoder: len(decoder) > 1, "have at least two rows, one a token"),
    ],
    activation: Activation = "gelu",
) -> Float[np.ndarray, "N*(V-1) k"]:
    """Derivatives of the logits U φ(W x + b) of N inputs by all parameters (U, W, b).

    Logits matter up to a shift in each row, so that the last logit is subtracted from the others.

    Parameters
    ----------
    inputs
        (N, d), one x a row.
    weights, thresholds
        W (m, d) and b (m,).
    decoder
        U (V, m), V ≥ 2; the output has no bias.
    activation
        φ: "tanh", "gelu", "sine", "relu" or "cube".

    Returns
    -------
    array
        (N (V − 1), k) with k = m (V + d + 1). Adding one vector to all rows of U changes no
        difference, so the rank is at most k − m.

    Raises
    ------
    ValueError
        shapes that do not agree, an unknown activation, fewer than two tokens.

    Notes
    -----
    Cost O(N V k) in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import logit_jacobian
    >>> rng = np.random.default_rng(0)
    >>> shapes = (5, 2), (3, 2), (3,), (4, 3)
    >>> logit_jacobian(*(rng.standard_normal(shape) for shape in shapes)).shape
    (15, 21)
    """
    x, W = as_array("inputs", inputs), as_array("weights", weights)
    b, U = as_array("thresholds", thresholds), as_array("decoder", decoder)
    function, slope = ACTIVATIONS[activation]
    before = x @ W.T + b
    return jacobian_from(function(before), slope(before), x, U)


def jacobian_from(
    hidden: np.ndarray, slope: np.ndarray, x: np.ndarray, U: np.ndarray
) -> np.ndarray:
    """The same from the hidden units φ(a) and slopes φ′(a), both (N, m): sums and products only, so
    that integers of any size stay exact.
    """
    (N, m), (V, _) = hidden.shape, U.shape
    by_decoder = np.zeros((N, V - 1, V, m), dtype=hidden.dtype)
    for z in range(V - 1):
        by_decoder[:, z, z] = hidden
        by_decoder[:, z, V - 1] = -hidden
    through = (U[:-1] - U[-1])[None] * slope[:, None]  # (N, V − 1, m), also by the thresholds
    by_weights = through[..., None] * x[:, None, None, :]
    parts = [by_decoder, by_weights, through]
    return np.concatenate([part.reshape(N * (V - 1), -1) for part in parts], axis=1)


@dataclass(frozen=True)
class Rank:
    """A rank, and how clearly the singular values show it.

    Fields
    ------
    rank
        how many singular values are not zero up to rounding.
    above_cut, below_cut
        the smallest of those and the largest other one, relative to the largest of all; the latter
        is 0 where the matrix has full rank.
    """

    rank: int
    above_cut: float
    below_cut: float


# rounding leaves singular values of about 1e-16 times the largest
ROUNDING = 1e-12


@checked
def rank_by_gap(
    matrix: Annotated[
        Float[np.ndarray, "rows columns"],
        Is(lambda matrix: np.any(np.asarray(matrix)), "not be 0, which has no singular values"),
    ],
) -> Rank:
    """The rank of a matrix from its singular values, with the two values next to the cut.

    Parameters
    ----------
    matrix
        finite, not zero.

    Returns
    -------
    Rank
        the number of singular values above 1e-12 of the largest. Whether that decides is for the
        reader of both values.

    Raises
    ------
    ValueError
        not a finite matrix, or zero.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import rank_by_gap
    >>> rank_by_gap(np.outer([1.0, 2.0], [3.0, 1.0])).rank
    1
    """
    values = np.linalg.svd(as_array("matrix", matrix), compute_uv=False)
    relative = values / values[0]
    rank = int((relative > ROUNDING).sum())
    dropped = float(relative[rank]) if rank < len(relative) else 0.0
    return Rank(rank, float(relative[rank - 1]), dropped)


@checked
def generic_rank(
    num_contexts: Size, vocab_size: Annotated[int, Range(2)], dim: Size, width: Size
) -> int:
    """min(N (V − 1), k − m) with k = m (V + d + 1): the largest rank that the count of parameters
    allows, whatever the activation.

    Random networks of tanh, GELU and sine units attain it. A power and the exponential function do
    not: a factor of the hidden unit can be undone in the decoder.

    Parameters
    ----------
    num_contexts, vocab_size, dim, width
        N, V, d and m.

    Returns
    -------
    int
        the rank.

    Raises
    ------
    ValueError
        a size below 1, or fewer than two tokens.

    Examples
    --------
    >>> from ntpcompanion.capacity import generic_rank
    >>> generic_rank(17, 7, dim=6, width=8), generic_rank(18, 7, dim=6, width=8)
    (102, 104)
    """
    return min(num_contexts * (vocab_size - 1), width * (vocab_size + dim))
