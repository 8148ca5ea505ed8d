"""The next-token SVM for tables of the size of a real vocabulary: a working set of pairs, and a
certificate over all of them (Thrampoulidis 2024, definition 3).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from ntpcompanion.checks import Between, Positive, Size, checked
from ntpcompanion.linear.separability.decision import Verdict
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.block_margins import Scan, remove_ties, scan_pairs, unit_spread
from ntpcompanion.linear.svm.pair_ascent import (
    Restricted,
    State,
    ascend,
    best_multiple,
    polish,
)
from ntpcompanion.linear.svm.pairs import Pairs
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.progress import OutOfTimeError, Progress, Round

# In-support logits are tied to a fraction of the largest that falls from scan to scan, as far as to
# a share of `tol`: more would be lost on a decoder that is not the last.
FIRST_TIES, FALLS_BY, LAST_TIES = 1e-4, 0.1, 1e-4
# Between two scans: steps of ascent, then at most as many of conjugate gradients.
STEPS = 25
# Pairs that enter with the first scan, and at most with a later one, for each context.
FIRST_PAIRS, NEXT_PAIRS = 8, 16
# Pairs leave where Γ is zero and the margin is above 1 by this fraction.
SLACK = 0.02


@dataclass(frozen=True, eq=False)
class LargeSolution:
    """The answer to `solve_large_svm`, with its proof.

    Fields
    ------
    verdict
        SEPARABLE: solved to the tolerance. UNDECIDED: the budget or the time ran out.
    weights
        W (V, d): all m V margins at least `margin`, ties up to `tie_violation`.
        None if no feasible decoder was found.
    dual
        Γ (m, V), sparse: Γ1 = 0, Γ ≤ 0 off support. Its objective bounds the norm from below.
    margin
        the smallest margin of `weights` over all pairs, 1 to rounding; NaN without weights.
    tie_violation
        the largest difference of two in-support logits under `weights`; NaN without weights.
    duality_gap
        (P − D) / P, the relative duality gap of `weights` and `dual`, both proved over all pairs.
        Infinite without weights.
    scans
        how often all m V margins were computed.
    products
        products of U Uᵀ with Γ on the working set, without the last one of each ascent, which is
        in double precision.
    working_set
        pairs off the supports after the last scan.
    operations
        multiplications of scans and products.
    """

    verdict: Verdict
    weights: Float[np.ndarray, "V d"] | None
    dual: csr_array
    margin: float
    tie_violation: float
    duality_gap: float
    scans: int
    products: int
    working_set: int
    operations: int


@checked
def solve_large_svm(
    table: ContextTable,
    *,
    tol: Annotated[float, Between(0, 1, "a relative duality gap")] = 1e-6,
    max_products: Size = 20_000,
    time_limit: Positive | None = None,
    callback: Callable[[Round], object] | None = None,
) -> LargeSolution:
    """Minimize ‖W‖_F subject to ties within supports and margins of at least 1, without an (m, m)
    or (m, V) array.

        (e_z − e_z')ᵀ W h_j = 0    z, z' in the support of context j
        (e_z − e_v)ᵀ W h_j ≥ 1     z in the support, v outside

    Parameters
    ----------
    table
        the contexts, no embedding zero; `next_token` should be sparse.
    tol
        the relative duality gap at which to stop.
    max_products
        products on the working set at most, looked at between scans.
    time_limit
        seconds after which the search ends UNDECIDED with the gap reached, looked at after each
        scan; none by default.
    callback
        called with a `Round` after each scan: products so far, seconds, and the gap.

    Returns
    -------
    LargeSolution
        a solution with its duality gap, or UNDECIDED with the gap reached. A table that is not
        separable ends UNDECIDED: `ntpcompanion.linear.separability.pair_certificate` proves it. So
        does one for which single precision is too coarse: (d + 3) 1.2e-7 max ‖w_v‖ max ‖h_j‖ must
        be below 0.02, which lengths that differ by 1e5 and nearly equal contexts do not meet; for
        these take `solve_ntp_svm`.

    Raises
    ------
    ValueError
        `tol` not in (0, 1), `max_products` below 1, a `time_limit` that is not positive, a zero
        embedding.

    Notes
    -----
    The dual is maximized over Γ on a working set of pairs (j, v), as `solve_ntp_svm` does over all,
    with W = Γᵀ U for unit embeddings U instead of a Gram matrix. A scan then computes all logits in
    blocks of 32 MiB and adds the pairs with margins below 1. It runs in single precision with a
    bound on its rounding; margins near 1 are computed again in double precision. Γ on the working
    set is feasible for the whole dual, and the scan proves a multiple of W without its part in F
    feasible, so the gap is one of the whole problem. Cost: m V d multiplications a scan and 2 n d a
    product with n pairs; memory 8 (2 m d + 3 V d + 15 n) bytes and 64 MiB.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import solve_ntp_svm
    >>> from ntpcompanion.linear.svm.working_set import solve_large_svm
    >>> from ntpcompanion.linear.tables.large_tables import planted_table
    >>> table = planted_table(40, 12, 3, 16, np.random.default_rng(0))
    >>> large, dense = solve_large_svm(table), solve_ntp_svm(table)
    >>> large.verdict.name, bool(large.duality_gap < 1e-6)
    ('SEPARABLE', True)
    >>> norms = [np.linalg.norm(found.weights) for found in (large, dense)]
    >>> bool(abs(norms[0] / norms[1] - 1) < 1e-6)
    True
    """
    progress = Progress(time_limit, callback)
    empty = ~np.any(table.embeddings, axis=1)
    if empty.any():
        raise ValueError(
            f"`table` must have no zero embedding, got one for context {int(empty.argmax())}: its "
            "margins are zero under every decoder."
        )
    search = _Search(table)
    for tolerance in _tie_tolerances(tol):
        search.climb()
        search.scan(tolerance)
        try:
            progress.report(search.state.products, search.gap)
        except OutOfTimeError:
            break
        if search.gap <= tol or search.state.products >= max_products:
            break
    return search.answer(tol)


def _tie_tolerances(tol: float) -> Iterator[float]:
    tolerance = FIRST_TIES
    while True:
        yield tolerance
        tolerance = max(FALLS_BY * tolerance, LAST_TIES * tol)


class _Search:
    """The working set, Γ on it, and the best proof so far."""

    def __init__(self, table: ContextTable) -> None:
        self.table = table
        rows, lengths = unit_rows(table.embeddings)
        self.rows, self.single, self.lengths = rows, rows.astype(np.float32), lengths
        self.threshold, self.scans, self.operations = 1 / lengths, 0, 0
        self.gap = np.inf
        # decoder, dual and tie error that prove the gap
        self.best: tuple[Float[np.ndarray, "V d"], csr_array, float] | None = None
        centroids = np.ascontiguousarray(unit_spread(table.support).T @ rows)
        first = self._scan(centroids, np.inf, FIRST_PAIRS)
        self.pairs = Pairs(table.support, first.context, first.token)
        zero = np.zeros(len(self.pairs))
        self.state = State(zero, zero, np.zeros(len(rows)), 1.0, 0)

    @property
    def problem(self) -> Restricted:
        return Restricted(self.pairs, self.rows, self.single, self.threshold)

    def climb(self) -> None:
        """Ascent and conjugate gradients on the working set."""
        problem, before = self.problem, self.state.products
        self.state = best_multiple(problem, ascend(problem, self.state, STEPS))
        self.state = best_multiple(problem, polish(problem, self.state, STEPS))
        made = self.state.products - before
        self.operations += 2 * made * len(self.pairs) * self.table.dim

    def scan(self, tie_tolerance: float) -> None:
        """Prove what the present Γ is worth, and change the working set by what the scan found."""
        raw = self.pairs.decoder(self.state.gamma, self.rows)
        W, tie_steps = remove_ties(self.table.support, self.rows, raw, tie_tolerance)
        self.operations += 2 * tie_steps * self.table.support.nnz * self.table.dim
        limit = NEXT_PAIRS if np.isinf(self.gap) else self.table.vocab_size
        result = self._scan(W, 1 + SLACK, limit)
        entering = np.setdiff1d(result.keys, self.pairs.keys, assume_unique=True)
        keys = np.concatenate([self.pairs.keys[self.pairs.off], entering])
        everything = Pairs(self.table.support, *np.divmod(keys, self.table.vocab_size))
        margins, tie_error = everything.margins(W, self.rows, self.threshold)
        margin = min(result.rest, float(margins.min(initial=np.inf)))
        self._prove(raw, W, margin, tie_error)
        gamma = everything.moved(self.pairs, self.state.gamma)
        retained = everything.off[(gamma[everything.off] < 0) | (margins < 1 + SLACK)]
        pairs = Pairs(self.table.support, everything.row[retained], everything.token[retained])
        gamma = pairs.moved(everything, gamma)
        product = pairs.logits(raw, self.rows)
        self.pairs = pairs
        self.state = State(
            gamma, product, self.state.level, self.state.lipschitz, self.state.products
        )

    def _scan(self, W: Float[np.ndarray, "V d"], bound: float, limit: int) -> Scan:
        self.scans += 1
        self.operations += self.table.num_contexts * W.size
        return scan_pairs(self.table.support, self.rows, self.threshold, W, bound, limit)

    def _prove(
        self,
        raw: Float[np.ndarray, "V d"],
        W: Float[np.ndarray, "V d"],
        margin: float,
        tie_error: float,
    ) -> None:
        linear, square = self.problem.linear(self.state.gamma), float(np.vdot(raw, raw))
        if margin <= 0 or linear <= 0:
            return
        gap = 1 - linear**2 / square / (float(np.vdot(W, W)) / margin**2)
        if gap < self.gap:
            dual = self.pairs.matrix(self.state.gamma * (linear / square))
            self.gap, self.best = gap, (W / margin, dual, tie_error / margin)

    def answer(self, tol: float) -> LargeSolution:
        """What was proved."""
        counts = self.scans, self.state.products, len(self.pairs.off), self.operations
        if self.best is None:
            dual = csr_array(self.table.next_token.shape)
            return LargeSolution(Verdict.UNDECIDED, None, dual, np.nan, np.nan, np.inf, *counts)
        weights, dual, tie_error = self.best
        verdict = Verdict.SEPARABLE if self.gap <= tol else Verdict.UNDECIDED
        dual.data /= np.repeat(self.lengths, np.diff(dual.indptr))
        dual.eliminate_zeros()
        return LargeSolution(verdict, weights, dual, 1.0, tie_error, max(self.gap, 0.0), *counts)
