"""How far decoders have come: towards the direction W^mm, towards the finite part W*, and towards
the floor of the loss.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, checked
from ntpcompanion.linear.dynamics.decomposed_loss import split_bases
from ntpcompanion.linear.separability.compatibility import require_compatible
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_matrix, as_shaped

NOT_ZERO = Is(
    lambda decoders: np.any(decoders, axis=(-2, -1)).all(),
    "hold no zero decoder, which has no direction",
    "Leave it out.",
)


@dataclass(frozen=True, eq=False)
class Alignment:
    """What `measure_alignment` finds: one number for each of n decoders.

    Fields
    ------
    distance, distance_rest
        1 − cos(W, W^mm) and 1 − cos(W − W*, W^mm), formed from differences of unit vectors: small
        values keep their digits. The latter is NaN for W = W*, which leaves no direction.
    finite_error
        ‖P_F W − W*‖_F.
    excess
        CE(W) − H, nats.
    norm
        ‖W‖_F.
    rest_norm, rest_largest
        ‖W − P_F W‖_F, and its largest entry without sign.
    margin
        the smallest (e_z − e_v)ᵀ (W − P_F W) h_j over j, z ∈ S_j, v ∉ S_j. Divided by a norm of W −
        P_F W it is at most 1 over that norm of the solution of NTP-SVM in it, and equal to that for
        this solution only.
    """

    distance: Float[np.ndarray, " n"]
    distance_rest: Float[np.ndarray, " n"]
    finite_error: Float[np.ndarray, " n"]
    excess: Float[np.ndarray, " n"]
    norm: Float[np.ndarray, " n"]
    rest_norm: Float[np.ndarray, " n"]
    rest_largest: Float[np.ndarray, " n"]
    margin: Float[np.ndarray, " n"]

    @property
    def cosine(self) -> Float[np.ndarray, " n"]:
        """The cosine of W and W^mm."""
        return 1 - self.distance

    @property
    def cosine_rest(self) -> Float[np.ndarray, " n"]:
        """The cosine of W − W* and W^mm."""
        return 1 - self.distance_rest


@checked
def measure_alignment(
    table: ContextTable, weights: ArrayLike, w_mm: Float[np.ndarray, "V d"]
) -> Alignment:
    """Compare decoders with the limits that the paper proves (Thrampoulidis 2024, Theorems 1 and
    2).

    Parameters
    ----------
    table
        the contexts.
    weights
        (n, V, d), or (V, d) for a single one (n = 1).
    w_mm
        W^mm, or another direction to compare with.

    Returns
    -------
    Alignment
        for each decoder its cosine with `w_mm`, the distance of its part in F from W*, its excess
        loss, norm and smallest margin.

    Raises
    ------
    ValueError
        decoders that are not finite or of another shape, a zero decoder (it has no direction), a
        table that is not compatible (there is no W*).

    Notes
    -----
    One basis of F serves all decoders: `split_bases` once, then O(V d (f + m)) a decoder, with f
    the dimension of F.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, measure_alignment, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> limit = solve_ntp_svm(table).weights
    >>> found = measure_alignment(table, np.stack([limit, 10 * limit]), limit)
    >>> found.cosine.round(6).tolist(), found.margin.round(6).tolist()
    ([1.0, 1.0], [1.0, 10.0])
    """
    w_mm = as_matrix("w_mm", w_mm, (table.vocab_size, table.dim))
    W = _as_decoders(weights, w_mm.shape)
    matched = require_compatible(table)
    basis = split_bases(table).finite
    inside = np.tensordot(np.tensordot(W, basis, ([1, 2], [1, 2])), basis, 1)
    rest, beyond = W - inside, W - matched.finite_part
    moved, distance_rest = beyond.any(axis=(1, 2)), np.full(len(W), np.nan)
    distance_rest[moved] = cosine_distance(beyond[moved], w_mm)
    return Alignment(
        distance=cosine_distance(W, w_mm),
        distance_rest=distance_rest,
        finite_error=_norms(inside - matched.finite_part),
        excess=np.array([table.excess(one) for one in W]),
        norm=_norms(W),
        rest_norm=_norms(rest),
        rest_largest=np.abs(rest).max(axis=(1, 2)),
        margin=smallest_margins(table, rest),
    )


def _as_decoders(weights: ArrayLike, shape: tuple[int, int]) -> Float[np.ndarray, "n V d"]:
    W = as_array("weights", weights)
    if W.shape[-2:] != shape or W.ndim not in (2, 3) or not W.size:
        raise ValueError(f"`weights` must be decoders of shape {shape}, got shape {W.shape}.")
    return as_matrix("weights", W.reshape(-1, shape[1]), (None, shape[1])).reshape(-1, *shape)


@checked
def cosine_distance(
    weights: Annotated[Float[np.ndarray, "n V d"], NOT_ZERO],
    direction: Annotated[Float[np.ndarray, "V d"], NOT_ZERO],
) -> Float[np.ndarray, " n"]:
    """1 − cos(W, direction) of each decoder in the Frobenius inner product, as half the square of
    the difference of unit vectors.

    Raises ValueError if one of them is zero.

    Parameters
    ----------
    weights
        (n, V, d), the decoders.
    direction
        (V, d), what they are compared with.

    Returns
    -------
    (n,) array
        from 0 (same direction) to 2 (opposite).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import cosine_distance
    >>> W = np.array([[3.0, 0.0], [0.0, 4.0]])
    >>> cosine_distance(np.stack([2 * W, -W]), W).round(6).tolist()
    [0.0, 2.0]
    """
    direction = as_matrix("direction", direction, (None, None))
    weights = _near_one(as_shaped("weights", weights, (None, *direction.shape)))
    direction = _near_one(direction)
    norms, norm = _norms(weights), np.linalg.norm(direction)
    return _norms(weights / norms[:, None, None] - direction / norm) ** 2 / 2


def smallest_margins(
    table: ContextTable, weights: Float[np.ndarray, "n V d"]
) -> Float[np.ndarray, " n"]:
    """The smallest (e_z − e_v)ᵀ W h_j over j, z ∈ S_j, v ∉ S_j, of each decoder. Cost O(n m V
    d).
    """
    logits = table.embeddings @ np.swapaxes(weights, 1, 2)
    support = table.support.toarray()
    return (
        np.where(support, logits, np.inf).min(axis=2)
        - np.where(support, -np.inf, logits).max(axis=2)
    ).min(axis=1)


def _near_one(matrices: Float[np.ndarray, "... V d"]) -> Float[np.ndarray, "... V d"]:
    """Matrices times powers of two that bring their largest entries to ½ … 1: this rounds nothing,
    and no square of an entry overflows.
    """
    exponents = np.frexp(np.abs(matrices).max(axis=(-2, -1), keepdims=True))[1]
    return np.ldexp(matrices, -exponents)


def _norms(weights: Float[np.ndarray, "n V d"]) -> Float[np.ndarray, " n"]:
    return np.linalg.norm(weights, axis=(1, 2))
