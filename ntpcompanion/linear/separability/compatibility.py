"""Can a decoder match all in-support log-odds? The finite part W*, or a proof that none can
(Thrampoulidis 2024, equations 4 and 5).
"""

import enum
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Size, checked
from ntpcompanion.linear.separability.certificates import CANCELLATION_TOLERANCE, orthogonality
from ntpcompanion.linear.separability.ties import DENSE_ARRAYS, least_squares, unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_matrix

# Largest violation of an equation (4), in nats, that still counts as compatible.
EQUATION_TOLERANCE = 1e-8
# Λ proves that no decoder is compatible when ⟨Λ, log p⟩ is at least this share of what cancels in
# it.
PAIRING_TOLERANCE = 1e-7
# What EᵀΛ and Λ1 may miss of that.
VANISHING = 1e-9


class CompatibilityVerdict(enum.Enum):
    """What `check_compatibility` found."""

    COMPATIBLE = "some decoder has the log-odds of the data on every support"
    NOT_COMPATIBLE = "no decoder does: the least-squares residual proves it"
    UNDECIDED = "the equations are neither solved nor contradicted to the tolerances"


@dataclass(frozen=True, eq=False)
class Compatibility:
    """The answer to `check_compatibility`.

    Fields
    ------
    verdict
        COMPATIBLE, NOT_COMPATIBLE or UNDECIDED.
    finite_part
        (V, d). If compatible, W*: the only solution of (4) in F, and the one of least norm.
        Otherwise the least-squares solution in F for embeddings scaled to length 1.
    residual
        the largest error of a log-odds: the largest (e_z − e_z')ᵀ W h_j − log(p_jz / p_jz') over z,
        z' in S_j, in nats.
    certificate
        Λ (m, V), when not compatible: EᵀΛ = 0, Λ1 = 0, zero off support, and ⟨Λ, log p⟩ > 0 where a
        compatible decoder would make it 0.
    """

    verdict: CompatibilityVerdict
    finite_part: Float[np.ndarray, "V d"]
    residual: float
    certificate: Float[np.ndarray, "m V"] | None = None


@checked
def check_compatibility(table: ContextTable, *, max_iterations: Size = 10_000) -> Compatibility:
    """Solve (e_z − e_z')ᵀ W h_j = log(p_jz / p_jz') for all j and z, z' ∈ S_j by least squares, or
    prove that there is no solution.

    The residual of least squares is orthogonal to all that decoders can do. If it is not zero it is
    itself the proof (Fredholm's alternative).

    Parameters
    ----------
    table
        the contexts.
    max_iterations
        LSQR steps, O(m V d) each; matrix-free. Fewer than Σ (S_j − 1) suffice if the embeddings are
        well conditioned.

    Returns
    -------
    Compatibility
        the verdict; with the decoder W* of least norm that meets the equations, or with a
        certificate that none does.

    Raises
    ------
    ValueError
        `max_iterations` below 1, or a table whose dense arrays exceed the memory of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, check_compatibility
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> answer = check_compatibility(table)
    >>> answer.verdict.name
    'COMPATIBLE'
    >>> bool(abs(answer.finite_part).max() < 1e-12)  # ties alone: W* = 0
    True
    """
    check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    support = table.support.toarray()
    rows, lengths = unit_rows(table.embeddings)
    log_probabilities = np.zeros(support.shape)
    log_probabilities[support] = np.log(table.distributions.data)
    solution, rest = least_squares(
        rows, support, log_probabilities / lengths[:, None], max_iterations
    )
    errors = log_probabilities - table.embeddings @ solution
    residual = float(
        (
            np.where(support, errors, -np.inf).max(axis=1)
            - np.where(support, errors, np.inf).min(axis=1)
        ).max()
    )
    if residual <= EQUATION_TOLERANCE:
        return Compatibility(CompatibilityVerdict.COMPATIBLE, solution.T, residual)
    certificate = rest / lengths[:, None]
    if contradicts(table, certificate):
        return Compatibility(CompatibilityVerdict.NOT_COMPATIBLE, solution.T, residual, certificate)
    return Compatibility(CompatibilityVerdict.UNDECIDED, solution.T, residual)


def require_compatible(table: ContextTable) -> Compatibility:
    """W*, with its proof, of a table that must have one. Raises ValueError if it is not proved."""
    matched = check_compatibility(table)
    if matched.verdict is not CompatibilityVerdict.COMPATIBLE:
        raise ValueError(
            "`table` must be compatible, for W* to exist; `check_compatibility` says "
            f"{matched.verdict.name} (log-odds missed by {matched.residual:.2g}). More dimensions "
            "help: any table with d ≥ m and independent embeddings is."
        )
    return matched


@checked
def contradicts(table: ContextTable, certificate: Float[np.ndarray, "m V"]) -> bool:
    """Whether Λ proves that the table is not compatible: a decoder with the log-odds of the data
    would give 0 = ⟨EWᵀ, Λ⟩ = ⟨log p, Λ⟩ > 0.

    EᵀΛ = 0 and Λ1 = 0 are asked for relative to the largest entries that cancel (1e-10, as for
    certificates of separability), zeros off support exactly, and ⟨log p, Λ⟩ as a share of the sum
    of its terms without signs (1e-7). What EᵀΛ and Λ1 miss must be 1e-9 of that share besides: of a
    table that is compatible only with logits a billion times as large as its log-odds, it is not
    said that it is not.

    Raises ValueError unless Λ is a finite (m, V) matrix.
    """
    certificate = as_matrix("certificate", certificate, table.next_token.shape)
    rows, lengths = unit_rows(table.embeddings)
    scaled = certificate * lengths[:, None]
    if np.any(scaled[~table.support.toarray()]) or not np.any(scaled):
        return False
    sums = np.abs(scaled.sum(axis=1)).max() / np.abs(scaled).max()
    inside = certificate[table.support.toarray()]
    log_p = np.log(table.distributions.data)
    pairing, terms = log_p @ inside, np.abs(log_p) @ np.abs(inside)
    rest = max(orthogonality(rows, scaled), sums)
    vanishes = rest <= CANCELLATION_TOLERANCE and rest * terms <= VANISHING * pairing
    return bool(vanishes and pairing > PAIRING_TOLERANCE * terms)
