"""Reading a proof: every condition is computed anew from the table, never taken from a solver."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import checked
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_matrix

# Ties and margins of a separating decoder, in logits.
TIE_TOLERANCE = MARGIN_TOLERANCE = 1e-8
# Margins of 1 made of logits so large that rounding alone may reach this are not a proof.
ROUNDING_TOLERANCE = 1e-4
# EᵀΓ and Γ1, relative to the largest entries that cancel in them.
CANCELLATION_TOLERANCE = 1e-10
# A certificate must lean on pairs off support by at least this share of its largest entry.
MASS_TOLERANCE = 1e-6


@dataclass(frozen=True)
class WeightsProof:
    """How well a decoder separates: the largest difference of two in-support logits of a context,
    the smallest of an in-support logit minus one off support, over all contexts, and a bound on the
    rounding error of a difference of two logits.
    """

    tie_error: float
    smallest_margin: float
    rounding: float

    @property
    def holds(self) -> bool:
        """Ties to 1e-8, margins of at least 1 − 1e-8, and logits that are rounded to better than
        1e-4.
        """
        within = self.tie_error <= TIE_TOLERANCE and self.rounding <= ROUNDING_TOLERANCE
        return within and self.smallest_margin >= 1 - MARGIN_TOLERANCE


@dataclass(frozen=True)
class CertificateProof:
    """How well Γ proves that no decoder separates. Row j of Γ is first multiplied by ‖h_j‖, so that
    nothing depends on the lengths of embeddings.

    `orthogonality` is the largest entry of EᵀΓ for a column of E, relative to the largest of Γ
    times that of the column; the worst column counts. The others are relative to the largest entry
    of Γ: `row_sum` is the largest entry of Γ1, `largest_off_support` must not be positive, and
    `mass` is the most negative entry off support with its sign turned.
    """

    orthogonality: float
    row_sum: float
    largest_off_support: float
    mass: float

    @property
    def holds(self) -> bool:
        """EᵀΓ and Γ1 vanish to 1e-10, signs are exact, and the mass is at least 1e-6.

        What a residual of EᵀΓ leaves open: for unit embeddings, any W with margins of at least 1
        has ⟨W, ΓᵀE⟩ ≥ Σ −Γ_jv (v off support), hence ‖W‖ ≥ Σ −Γ_jv / ‖EᵀΓ‖, which is huge.
        """
        cancels = max(self.orthogonality, self.row_sum) <= CANCELLATION_TOLERANCE
        return cancels and self.largest_off_support <= 0 and self.mass >= MASS_TOLERANCE


@checked
def check_weights(table: ContextTable, W: Float[np.ndarray, "V d"]) -> WeightsProof:
    """Ties and margins of W on the table. Raises ValueError unless W is a finite (V, d) matrix.
    Cost O(m V d).
    """
    W = as_matrix("W", W, (table.vocab_size, table.dim))
    support = table.support.toarray()
    # logits beyond 1e308 prove nothing: infinities and NaN fail every comparison
    with np.errstate(over="ignore", invalid="ignore"):
        logits = table.embeddings @ W.T
        rounding = (
            2 * table.dim * np.finfo(float).eps * (np.abs(table.embeddings) @ np.abs(W).T).max()
        )
        lowest = np.where(support, logits, np.inf).min(axis=1)
        tie_error = (np.where(support, logits, -np.inf).max(axis=1) - lowest).max()
        margins = lowest - np.where(support, -np.inf, logits).max(axis=1)
    return WeightsProof(float(tie_error), float(margins.min()), float(rounding))


@checked
def check_certificate(
    table: ContextTable, certificate: Float[np.ndarray, "m V"]
) -> CertificateProof:
    """The four conditions on Γ. Raises ValueError unless Γ is a finite (m, V) matrix; Γ = 0 proves
    nothing (mass 0). Cost O(m V d).
    """
    gamma = as_matrix("certificate", certificate, (table.num_contexts, table.vocab_size))
    rows, lengths = unit_rows(table.embeddings)
    gamma = gamma * lengths[:, None]
    largest = np.abs(gamma).max()
    if largest == 0:
        return CertificateProof(0.0, 0.0, 0.0, 0.0)
    gamma = gamma / largest
    off = gamma[~table.support.toarray()]
    return CertificateProof(
        orthogonality(rows, gamma),
        float(np.abs(gamma.sum(axis=1)).max()),
        float(off.max()),
        float(max(0.0, -off.min())),
    )


def orthogonality(rows: Float[np.ndarray, "m d"], gamma: Float[np.ndarray, "m V"]) -> float:
    """The largest entry of rowsᵀ Γ for a column of `rows`, relative to the largest of Γ times that
    of the column; the worst one.
    """
    scale = np.abs(rows).max(axis=0) * np.abs(gamma).max()
    remains = np.abs(rows.T @ gamma).max(axis=1)
    return float(np.divide(remains, scale, out=np.zeros_like(scale), where=scale > 0).max())
