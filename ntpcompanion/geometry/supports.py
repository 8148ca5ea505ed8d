"""Which token can follow which context, as a matrix, and what the logits of a model at the floor
are on the supports.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import checked
from ntpcompanion.linear.separability.ties import centre
from ntpcompanion.linear.tables.contexts import as_distributions
from ntpcompanion.linear.thresholds.kinematic import Support, Vocabulary
from ntpcompanion.validation import as_matrix

# Entries of the polar factor up to this are zero: multipliers of 1e-12 would not move an optimum.
ROUNDING = 1e-12
# singular values below this share of the largest are zero
RANK_TOLERANCE = 1e-10
MAX_SUPPORTS = 100_000


@dataclass(frozen=True, eq=False)
class PolarCertificate:
    """What proves, or fails to prove, that the centred support matrix solves the nuclear-norm SVM
    (Zhao et al. 2024, proposition 3).

    Fields
    ------
    polar
        A = U Vᵀ (m, V) from the singular value decomposition U Σ Vᵀ of the centred support matrix:
        ‖A‖₂ = 1, rows of sum zero, and ⟨A, S̃⟩ = ‖S̃‖_*.
    largest
        the largest entry of A off the supports.
    negative_share
        the share of the entries off the supports that are negative.
    holds
        all of them are: A is dual feasible, and S̃ is the only solution.
    """

    polar: Float[np.ndarray, "m V"]
    largest: float
    negative_share: float

    @property
    def holds(self) -> bool:
        """No entry off the supports is positive or zero."""
        return self.largest < -ROUNDING


def as_support(name: str, value: ArrayLike) -> Bool[np.ndarray, "m V"]:
    """A support matrix (m, V) of zeros and ones (or truth values), with a token inside and one
    outside in each row; ValueError otherwise.
    """
    array = np.asarray(value)
    entries = array.astype(float) if array.dtype == bool else value
    matrix = as_matrix(name, entries, (None, None))
    if not np.isin(matrix, (0, 1)).all():
        stray = matrix[~np.isin(matrix, (0, 1))][0]
        raise ValueError(
            f"`{name}` must consist of 0 and 1 (1 where a token can follow), got {stray:g}. For "
            f"probabilities p pass p > 0."
        )
    support = matrix == 1
    sizes = support.sum(axis=1)
    for wrong, description in (
        (sizes == 0, "no token"),
        (sizes == support.shape[1], "every token"),
    ):
        if wrong.any():
            raise ValueError(
                f"`{name}` must have a token inside and one outside each support, got "
                f"{description} in row {int(wrong.argmax())}. Leave such contexts out."
            )
    return support


def as_next_token(name: str, value: ArrayLike) -> Float[np.ndarray, "m V"]:
    """Next-token distributions (m, V), one a row, at least one of them with a zero; ValueError
    otherwise.
    """
    rows = np.asarray(value)
    return as_distributions(name, value, len(rows) if rows.ndim else 0)


def centred_support(support: ArrayLike) -> Float[np.ndarray, "m V"]:
    """S̃: row j is 1 − S_j / V on the support of context j and −S_j / V off it.

    Logits of margin 1 with the least Frobenius norm; the paper's proxy for the solution of the
    nuclear-norm SVM. Contexts are rows (the paper has them as columns).

    Parameters
    ----------
    support
        (m, V) of zeros and ones or truth values; each row has both.

    Returns
    -------
    (m, V) array
        rows have sum zero.

    Raises
    ------
    ValueError
        other entries, or a row with an empty or a full support.

    Examples
    --------
    >>> from ntpcompanion.geometry import centred_support
    >>> centred_support([[1, 1, 0, 0], [0, 0, 0, 1]]).tolist()
    [[0.5, 0.5, -0.5, -0.5], [-0.25, -0.25, -0.25, 0.75]]
    """
    inside = as_support("support", support).astype(float)
    return inside - inside.mean(axis=1, keepdims=True)


@checked
def all_supports(vocab_size: Vocabulary, support_size: Support) -> Bool[np.ndarray, "m V"]:
    """Every support of `support_size` among `vocab_size` tokens once, in lexicographic order.

    Parameters
    ----------
    vocab_size
        V, at least 2.
    support_size
        k, from 1 to V − 1.

    Returns
    -------
    (m, V) array of truth values
        m = V! / (k! (V − k)!) rows.

    Raises
    ------
    ValueError
        sizes out of range, or more than 100,000 supports.

    Notes
    -----
    Cost O(m V).

    Examples
    --------
    >>> from ntpcompanion.geometry import all_supports
    >>> all_supports(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    rows: list[tuple[int, ...]] = []
    for chosen in combinations(range(vocab_size), support_size):
        rows.append(chosen)
        if len(rows) > MAX_SUPPORTS:
            raise ValueError(
                f"`support_size`: there are more than {MAX_SUPPORTS:,} supports of "
                f"{support_size} among {vocab_size} tokens. Take fewer tokens."
            )
    support = np.zeros((len(rows), vocab_size), dtype=bool)
    np.put_along_axis(support, np.array(rows), True, axis=1)
    return support


def in_support_logits(next_token: ArrayLike) -> Float[np.ndarray, "m V"]:
    """L^in: log p_jz minus its mean over the support on each support, 0 off it. The component of
    the logits in F that a model at the floor has (Zhao et al. 2024, section 3).

    Parameters
    ----------
    next_token
        (m, V), rows of sum one; the support of row j is where it is positive.

    Returns
    -------
    (m, V) array
        differences on a support are log-odds; sums over a support are zero.

    Raises
    ------
    ValueError
        rows that are not distributions, or no zero at all.

    Examples
    --------
    >>> from ntpcompanion.geometry import in_support_logits
    >>> in_support_logits([[0.8, 0.2, 0.0]]).round(4).tolist()  # log-odds log 4
    [[0.6931, -0.6931, 0.0]]
    """
    probabilities = as_next_token("next_token", next_token)
    inside = probabilities > 0
    return centre(np.log(np.where(inside, probabilities, 1.0)), inside)


def project_in_support(logits: ArrayLike, support: ArrayLike) -> Float[np.ndarray, "m V"]:
    """P_F of logits (m, V): on each support the logits minus their mean there, 0 off it.

    The rest, logits − P_F, is tied within supports.

    Parameters
    ----------
    logits
        (m, V), finite.
    support
        (m, V) of zeros and ones or truth values; each row has both.

    Returns
    -------
    (m, V) array
        rows have sum zero.

    Raises
    ------
    ValueError
        logits that are not finite or not of the shape of `support`.

    Examples
    --------
    >>> from ntpcompanion.geometry import project_in_support
    >>> project_in_support([[3.0, 1.0, 5.0]], [[1, 1, 0]]).tolist()
    [[1.0, -1.0, 0.0]]
    """
    inside = as_support("support", support)
    return centre(as_matrix("logits", logits, inside.shape), inside)


def polar_certificate(support: ArrayLike) -> PolarCertificate:
    """Try to prove that the centred support matrix S̃ is the solution of the nuclear-norm SVM (Zhao
    et al. 2024, proposition 3).

    Parameters
    ----------
    support
        (m, V) of zeros and ones or truth values; each row has both.

    Returns
    -------
    PolarCertificate
        S̃ is the only solution if it holds. If an entry off a support is positive, S̃ may still be a
        solution where singular values vanish; `solve_nuclear_svm` decides.

    Raises
    ------
    ValueError
        other entries, or a row with an empty or a full support.

    Notes
    -----
    One singular value decomposition, O(m V min(m, V)).

    Examples
    --------
    >>> from ntpcompanion.geometry import all_supports, polar_certificate
    >>> found = polar_certificate(all_supports(5, 2))
    >>> found.holds, round(found.largest, 6)
    (True, -0.23094)
    """
    inside = as_support("support", support)
    left, values, right = np.linalg.svd(centred_support(inside), full_matrices=False)
    nonzero = values > RANK_TOLERANCE * values[0]
    polar = left[:, nonzero] @ right[nonzero]
    outside = polar[~inside]
    return PolarCertificate(polar, float(outside.max()), float((outside < -ROUNDING).mean()))
