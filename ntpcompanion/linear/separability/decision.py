"""Is there a decoder that ties in-support logits and beats the rest? A decision with its proof
(Thrampoulidis 2024, equation 6).
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.checks import Positive, Size, checked
from ntpcompanion.linear.separability.certificates import (
    CertificateProof,
    WeightsProof,
    check_certificate,
    check_weights,
)
from ntpcompanion.linear.separability.compatibility import (
    Compatibility,
    CompatibilityVerdict,
    check_compatibility,
)
from ntpcompanion.linear.separability.exact_certificates import (
    MAX_UNKNOWNS,
    FractionMatrix,
    exact_certificate,
    exact_embeddings,
    exact_weights,
)
from ntpcompanion.linear.separability.feasibility_search import (
    finish_certificate,
    finish_strict_certificate,
    finish_weights,
    minimize_to_certificate,
    minimize_to_decoder,
    project_signs,
)
from ntpcompanion.linear.separability.ties import least_squares, project_onto_F, unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.numerics.progress import OutOfTimeError, Progress, Round, no_tick
from ntpcompanion.numerics.threads import SMALL_STEP, one_thread_if

__all__ = [
    "Compatibility",
    "CompatibilityVerdict",
    "Round",
    "Separability",
    "Verdict",
    "Verification",
    "check_compatibility",
    "check_separability",
    "project_onto_F",
]

FIRST_ROUND = 100  # steps; each further round has twice as many
# (m, V) arrays at a time: the ten pairs of L-BFGS-B and its work space, 25, and what a step makes
DENSE_ARRAYS = 32


class Verdict(enum.Enum):
    """What `check_separability` found."""

    SEPARABLE = "some decoder ties in-support logits and has all margins at least 1"
    NOT_SEPARABLE = "no decoder does: the certificate proves it"
    UNDECIDED = "the search ended before it found either proof"


@dataclass(frozen=True, eq=False)
class Verification:
    """What remains of a verdict when its proof is read again.

    Fields
    ------
    holds
        the proof is valid: within the tolerances of `ntpcompanion.linear.separability.certificates`
        and, if the embeddings are integers, over fractions too.
    floats
        ties and margins, or the conditions on Γ, recomputed from the table; None when UNDECIDED.
    exact
        the decoder (V, d) or certificate (m, V) as fractions that satisfy every condition exactly.
        None if the embeddings are not integers, if there are more than MAX_UNKNOWNS unknowns (then
        floats alone decide), or if no exact solution was found near the floats.
    """

    holds: bool
    floats: WeightsProof | CertificateProof | None = None
    exact: FractionMatrix | None = None


@dataclass(frozen=True, eq=False)
class Separability:
    """The answer to `check_separability`.

    Fields
    ------
    verdict
        SEPARABLE, NOT_SEPARABLE or UNDECIDED.
    weights
        (V, d), when separable: ties to 1e-8 and margins of at least 1 − 1e-8.
    certificate
        Γ (m, V), when not separable: EᵀΓ = 0, Γ1 = 0, Γ ≤ 0 off support and not all zero there.
    gap
        ‖EᵀΓ‖ / ‖Γ‖ of the last attempt (unit embeddings) when undecided: how far the search was
        from a certificate; infinite if the time was over before. Otherwise 0.
    """

    verdict: Verdict
    weights: Float[np.ndarray, "V d"] | None = None
    certificate: Float[np.ndarray, "m V"] | None = None
    gap: float = 0.0

    @checked
    def verify(self, table: ContextTable) -> Verification:
        """Read the proof again: every condition is recomputed from `table`, and proved over
        fractions if its embeddings are integers.

        For integers the system is solved anew over fractions, with the unknowns that the float
        solution leaves at zero (`ntpcompanion.linear.separability.exact_certificates`). An
        UNDECIDED verdict does not hold. Raises ValueError if the proof does not have the table's
        shape.
        """
        if self.verdict is Verdict.UNDECIDED:
            return Verification(holds=False)
        separable = self.verdict is Verdict.SEPARABLE
        proof: Any
        proof, check, prove = (
            (self.weights, check_weights, exact_weights)
            if separable
            else (self.certificate, check_certificate, exact_certificate)
        )
        floats = check(table, proof)
        integers = exact_embeddings(table.embeddings)
        if integers is None or proof.size > MAX_UNKNOWNS or not floats.holds:
            return Verification(floats.holds, floats)
        exact = prove(integers, table.support.toarray(), proof)
        return Verification(exact is not None, floats, exact)


@checked
def check_separability(
    table: ContextTable,
    *,
    max_iterations: Size = 6_300,
    time_limit: Positive | None = None,
    callback: Callable[[Round], object] | None = None,
) -> Separability:
    """Find W with tied in-support logits and margins of at least 1 (eq. 6), or prove there is none.

        (e_z − e_z')ᵀ W h_j = 0    z, z' in the support of context j
        (e_z − e_v)ᵀ W h_j ≥ 1     z in the support, v outside

    Parameters
    ----------
    table
        the contexts.
    max_iterations
        steps of each of two descents, in rounds of 100, 200, 400, …, each with a proof attempted.
    time_limit
        seconds after which the search ends UNDECIDED, to within a step; none by default.
    callback
        called with a `Round` after each round without a proof, to show progress.

    Returns
    -------
    Separability
        A verdict with its proof. UNDECIDED is an answer too: it comes when the steps or the time
        run out, or when a proof would miss the tolerances of
        `ntpcompanion.linear.separability.certificates` (margins or certificates that hang on the
        tenth digit of the embeddings).

    Raises
    ------
    ValueError
        `max_iterations` below 1, a `time_limit` that is not positive, or a table whose dense
        arrays exceed the memory of the machine.

    Notes
    -----
    The embeddings enter through an orthonormal basis of their column space after rows are scaled to
    length 1; see `minimize_to_decoder` for the idea (Moreau's decomposition makes the two proofs
    the two parts of one vector). Cost: some 4 m r V multiplications a step, with r ≤ min(m, d) the
    rank of E, and memory for about 32 dense arrays (m, V): at m = 2000, V = 50,000, r = 100, two
    seconds a step and 26 GB. A sparse table is searched in dense arrays, as proofs are dense.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, check_separability
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> answer = check_separability(table)
    >>> answer.verdict.name, answer.verify(table).holds
    ('SEPARABLE', True)

    One embedding for both contexts, whose successors differ:

    >>> clash = ContextTable(np.ones((2, 2)), p, np.array([0.5, 0.5]))
    >>> answer = check_separability(clash)
    >>> answer.verdict.name, answer.verify(clash).holds  # the certificate is checked, too
    ('NOT_SEPARABLE', True)
    """
    progress = Progress(time_limit, callback)
    check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    with one_thread_if(
        table.num_contexts * min(table.embeddings.shape) * table.vocab_size < SMALL_STEP
    ):
        return _search(table, max_iterations, progress)


def _search(table: ContextTable, max_iterations: int, progress: Progress) -> Separability:
    search, spent = _Search(table, progress.tick), 0
    try:
        for iterations in _rounds(max_iterations):
            for result in search.attempts(iterations):
                if result is not None:
                    return result
            spent += iterations
            progress.report(spent, search.gap)
    except OutOfTimeError:
        pass  # UNDECIDED, as when the steps run out
    return Separability(Verdict.UNDECIDED, gap=search.gap)


def _rounds(max_iterations: int) -> Iterator[int]:
    size = FIRST_ROUND
    while max_iterations > 0:
        yield min(size, max_iterations)
        max_iterations, size = max_iterations - size, 2 * size


class _Search:
    """The state of the two descents, in an orthonormal basis of the column space of the unit-length
    embeddings.
    """

    def __init__(self, table: ContextTable, tick: Callable[[], None] = no_tick) -> None:
        self.table, self.tick = table, tick
        self.support: Bool[np.ndarray, "m V"] = table.support.toarray()
        self.rows, self.lengths = unit_rows(table.embeddings)
        left, scale, right = np.linalg.svd(self.rows, full_matrices=False)
        rank = int(np.count_nonzero(scale > max(self.rows.shape) * np.finfo(float).eps * scale[0]))
        self.basis, self.to_weights = left[:, :rank], right[:rank] / scale[:rank, None]
        self.X = np.zeros((rank, table.vocab_size))
        self.Y = np.where(self.support, 0.0, -1.0)
        self.gap = np.inf

    def attempts(self, iterations: int) -> Iterator[Separability | None]:
        """One round: each proof in turn, the cheapest first."""
        self.X = minimize_to_decoder(self.basis, self.support, self.X, iterations, self.tick)
        yield self._separable(iterations)
        gamma = project_signs(np.where(self.support, 0.0, -1.0) - self.basis @ self.X, self.support)
        self.gap = float(
            np.linalg.norm(self.basis.T @ gamma) / max(np.linalg.norm(gamma), np.finfo(float).tiny)
        )
        yield self._not_separable(
            finish_certificate(self.basis, self.support, gamma, iterations, self.tick)
        )
        self.Y = minimize_to_certificate(self.basis, self.support, self.Y, iterations, self.tick)
        yield self._not_separable(finish_strict_certificate(self.basis, self.support, self.Y))

    def _separable(self, iterations: int) -> Separability | None:
        logits = self.basis @ self.X
        worst = np.where(self.support, logits, np.inf).min(axis=1) - np.where(
            self.support, -np.inf, logits
        ).max(axis=1)
        if worst.min() <= 0:
            return None
        weights = (
            self.to_weights.T
            @ finish_weights(self.basis, self.support, self.X, iterations, self.tick)
        ).T
        margin = check_weights(self.table, weights).smallest_margin
        if margin <= 0:
            return None
        weights = weights / margin
        result = self._if_it_holds(Separability(Verdict.SEPARABLE, weights=weights))
        if result is not None:
            return result
        # Embeddings of very different lengths blow up the rounding of ties; one correction in W
        # itself removes it.
        logits = self.rows @ weights.T
        slack = least_squares(self.rows, self.support, logits, iterations, self.tick)[0].T
        return self._if_it_holds(Separability(Verdict.SEPARABLE, weights=weights - slack))

    def _not_separable(self, gamma: Float[np.ndarray, "m V"] | None) -> Separability | None:
        if gamma is None:
            return None
        return self._if_it_holds(
            Separability(Verdict.NOT_SEPARABLE, certificate=gamma / self.lengths[:, None])
        )

    def _if_it_holds(self, candidate: Any) -> Separability | None:
        floats = (
            check_weights(self.table, candidate.weights)
            if candidate.verdict is Verdict.SEPARABLE
            else check_certificate(self.table, candidate.certificate)
        )
        return candidate if floats.holds else None
