"""The next-token SVM: the decoder of least norm that ties in-support logits and beats the rest by 1
(Thrampoulidis 2024, definition 3).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float

from ntpcompanion.checks import Between, Device, Is, Positive, Size, checked
from ntpcompanion.linear.separability.certificates import check_weights
from ntpcompanion.linear.separability.decision import Separability, Verdict, check_separability
from ntpcompanion.linear.separability.feasibility_search import certificate_of_zero_rows
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.dual_ascent import ascend, polish
from ntpcompanion.linear.svm.dual_problem import best_multiple, project_, start
from ntpcompanion.linear.svm.margin_programs import least_frobenius_norm, least_max_norm
from ntpcompanion.linear.svm.primal_recovery import (
    FeasibleDecoder,
    UnitTable,
    recover_certificate,
    recover_decoder,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.numerics.progress import OutOfTimeError, Progress, Round
from ntpcompanion.numerics.threads import SMALL_PRODUCT, one_thread_if
from ntpcompanion.validation import as_matrix

__all__ = ["NTPSVMSolution", "Verdict", "certified_gap", "solve_ntp_svm"]

# A round: so many steps of accelerated ascent, then at most as many on the face; rounds grow
FIRST_ROUND, GROWTH = 50, 1.5
DEFAULT_PRODUCTS = 20_000
DENSE_ARRAYS = 16  # (m, V) at a time
# Embeddings longer than this, or shorter than one over it, leave the range of a dtype.
LONGEST = {torch.float64: 1e70, torch.float32: 1e7}
Dtype = Annotated[
    torch.dtype, Is(lambda dtype: dtype in LONGEST, "be torch.float32 or torch.float64")
]


@dataclass(frozen=True, eq=False)
class NTPSVMSolution:
    """The answer to `solve_ntp_svm`, with its proof.

    Fields
    ------
    verdict
        SEPARABLE: solved to `tol`. NOT_SEPARABLE: none is feasible. UNDECIDED: the budget ran out.
    weights
        W (V, d), feasible to rounding: ties to `tie_violation`, margins of at least `margin`. None
        if no feasible decoder was found.
    dual
        Γ (m, V): Γ1 = 0, Γ ≤ 0 off support. When SEPARABLE, ΓᵀE is W up to the clean-up, and −Γ_jv
        is the multiplier of the margin of v in context j. When NOT_SEPARABLE, a Farkas certificate:
        EᵀΓ = 0 as well, and not all Γ_jv off support are zero.
    margin
        the smallest margin of `weights`: 1 to rounding; NaN without weights.
    tie_violation
        the largest difference of two in-support logits under `weights`; NaN without weights.
    duality_gap
        (P − D) / P for the objective P of `weights` and the best multiple D of `dual`: P is within
        this share of the optimum. Infinite without weights.
    iterations
        products of K with an (m, V) matrix; what the general solver counted, for the other methods.
    """

    verdict: Verdict
    weights: Float[np.ndarray, "V d"] | None
    dual: Float[np.ndarray, "m V"] | None
    margin: float
    tie_violation: float
    duality_gap: float
    iterations: int


@checked
def solve_ntp_svm(
    table: ContextTable,
    *,
    tol: Annotated[float, Between(0, 1, "a relative duality gap")] = 1e-6,
    method: Literal["dual", "cvxpy"] = "dual",
    norm: Literal["frobenius", "max"] = "frobenius",
    dtype: Dtype | None = None,
    device: Device | None = None,
    max_iterations: Size | None = None,
    time_limit: Positive | None = None,
    callback: Callable[[Round], object] | None = None,
) -> NTPSVMSolution:
    """Minimize ‖W‖ subject to ties within supports and margins of at least 1 (Thrampoulidis 2024,
    definition 3).

        (e_z − e_z')ᵀ W h_j = 0    z, z' in the support of context j
        (e_z − e_v)ᵀ W h_j ≥ 1     z in the support, v outside

    Parameters
    ----------
    table
        the contexts.
    tol
        the relative duality gap at which the dual method stops.
    method
        "dual": ascent on the Gram matrix, for any d. "cvxpy": the program as it is written above,
        in V·d unknowns, for small tables.
    norm
        "frobenius", or "max" for the largest absolute entry: a linear program for HiGHS.
    dtype, device
        of the ascent; float64 on the CPU by default. float32 halves the time of a product and is
        for a `tol` of 1e-4 or more. The clean-up and the proof are always float64.
    max_iterations
        products of K with an (m, V) matrix that the dual method may spend, 20,000 by default.
    time_limit
        seconds until the dual method ends UNDECIDED, looked at between rounds; none by default.
    callback
        called with a `Round` after each round of the dual method.

    Returns
    -------
    NTPSVMSolution
        A solution and its duality gap, NOT_SEPARABLE and a certificate, or UNDECIDED and the gap.
        The direction of training on a table that is not separable is the solution for
        `implied_table(table).table`.

    Raises
    ------
    ValueError
        `tol` not in (0, 1), an unknown method or norm, a dtype other than float32 and float64,
        `max_iterations` below 1, a `time_limit` that is not positive; a separable table whose
        embeddings are shorter than 1e-70 or longer than 1e70 (1e-7 and 1e7 in float32); a table
        whose dense arrays exceed the memory of the machine.

    Notes
    -----
    dual: maximize −Σ_j Σ_{v ∉ S_j} Γ_jv − ½ tr(Γᵀ K Γ) over Γ1 = 0, Γ ≤ 0 off support, with K = E
    Eᵀ and W = ΓᵀE. Embeddings are scaled to length 1 first. A round is accelerated ascent, then
    conjugate gradients on the face it found (`ntpcompanion.linear.svm.dual_ascent`), then a
    clean-up that makes W feasible: its part in F is removed and W is divided by its smallest
    margin. That W against Γ is the certificate. While no feasible W is known, the normalized Γ of
    an unbounded dual is finished into a Farkas certificate. Cost: m² V multiplications an
    iteration; 70 to 300 iterations far from the threshold of separability, thousands near it; m² +
    16 m V numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> answer = solve_ntp_svm(table)
    >>> answer.verdict.name, bool(answer.duality_gap < 1e-6)
    ('SEPARABLE', True)
    >>> (table.embeddings @ answer.weights.T).round(3).tolist()  # logits: ties, and margins of 1
    [[0.333, 0.333, -0.667], [-0.333, -0.333, 0.667]]
    """
    check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    progress = Progress(time_limit, callback)
    dtype = dtype or torch.float64
    if (known := refuted_or_refused(table, LONGEST[dtype], time_limit)) is not None:
        return NTPSVMSolution(known.verdict, None, known.certificate, np.nan, np.nan, np.inf, 0)
    if norm == "max":
        return _by_program(
            table,
            least_max_norm,
            lambda W: float(np.abs(W).max()),
            lambda W: float(np.abs(W).sum()),
            tol,
        )
    if method == "cvxpy":
        return _by_program(table, least_frobenius_norm, _frobenius, _frobenius, tol)
    with one_thread_if(table.num_contexts**2 * table.vocab_size < SMALL_PRODUCT):
        scaled = UnitTable(table, dtype, torch.device(device or "cpu"))
        return _by_ascent(scaled, tol, max_iterations or DEFAULT_PRODUCTS, progress)


@checked
def certified_gap(table: ContextTable, dual: Float[np.ndarray, "m V"]) -> float:
    """The relative duality gap that any Γ (m, V) proves: of its projection onto the dual cone
    against the decoder made feasible from it.

    Infinite if that decoder is not feasible. Raises ValueError unless Γ is a finite (m, V) matrix.
    Cost O(m² V).

    Parameters
    ----------
    table
        the contexts.
    dual
        Γ, (m, V), finite: any guess of a dual solution.

    Returns
    -------
    float
        the gap, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, certified_gap, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> answer = solve_ntp_svm(table)
    >>> bool(certified_gap(table, answer.dual) < 1e-6)
    True
    """
    dual = as_matrix("dual", dual, (table.num_contexts, table.vocab_size))
    scaled = UnitTable(table, torch.float64, torch.device("cpu"))
    gamma = torch.tensor(np.ascontiguousarray(dual * scaled.lengths[:, None]))
    projected = torch.empty_like(gamma)
    project_(scaled.problem, gamma, torch.zeros_like(scaled.threshold), out=projected)
    proof = recover_decoder(scaled, projected, np.inf)
    return np.inf if proof is None else proof.gap


def _frobenius(W: Float[np.ndarray, "V d"]) -> float:
    return float(np.linalg.norm(W))


def _by_ascent(scaled: UnitTable, tol: float, budget: int, progress: Progress) -> NTPSVMSolution:
    """Rounds of ascent until the gap is proved, a certificate is found, or the budget or the time
    is spent.
    """
    problem, best, products, steps = scaled.problem, None, 0, FIRST_ROUND
    state = start(problem)
    while (left := budget - products) > 0:
        state, climbed = ascend(problem, state, min(steps, left))
        state = best_multiple(problem, state)
        state, polished = polish(problem, state, min(steps, left), 0.1 * tol)
        state = best_multiple(problem, state)
        products += climbed.products + polished.products
        steps = int(GROWTH * steps)
        best = recover_decoder(scaled, state.gamma, np.inf if best is None else best.gap) or best
        if best is not None:
            if best.gap <= tol:
                return _solution(Verdict.SEPARABLE, best, products)
        elif (certificate := recover_certificate(scaled, state.gamma)) is not None:
            return _solution(Verdict.NOT_SEPARABLE, None, products, certificate)
        try:
            progress.report(products, np.inf if best is None else best.gap)
        except OutOfTimeError:
            break
    return _solution(Verdict.UNDECIDED, best, products)


def _solution(
    verdict: Verdict,
    proof: FeasibleDecoder | None,
    iterations: int,
    certificate: Float[np.ndarray, "m V"] | None = None,
) -> NTPSVMSolution:
    if proof is None:
        return NTPSVMSolution(verdict, None, certificate, np.nan, np.nan, np.inf, iterations)
    fields = proof.weights, proof.dual, proof.margin, proof.tie_violation, max(proof.gap, 0.0)
    return NTPSVMSolution(verdict, *fields, iterations)


def _by_program(
    table: ContextTable,
    program: Callable[..., Any],
    norm: Callable[..., float],
    dual_norm: Callable[..., float],
    tol: float,
) -> NTPSVMSolution:
    """By a general solver; the bound comes from its multipliers."""
    answer = program(table)
    if answer is None:
        result = check_separability(table)
        verdict = result.verdict if result.certificate is not None else Verdict.UNDECIDED
        return _solution(verdict, None, 0, result.certificate)
    proof = check_weights(table, answer.weights)
    weights = answer.weights / proof.smallest_margin
    size = dual_norm(answer.dual.T @ table.embeddings)
    linear = -float(answer.dual[~table.support.toarray()].sum())
    gap = 1 - linear / size / norm(weights)
    proof = check_weights(table, weights)
    verdict = Verdict.SEPARABLE if gap <= tol and proof.holds else Verdict.UNDECIDED
    result = FeasibleDecoder(weights, answer.dual, proof.smallest_margin, proof.tie_error, gap)  # type: ignore[assignment]  # another `result`
    return _solution(verdict, result, answer.iterations)  # type: ignore[arg-type]  # likewise


def refuted_or_refused(
    table: ContextTable, longest: float, time_limit: float | None = None
) -> Separability | None:
    """The verdict without an ascent, NOT_SEPARABLE with a certificate or UNDECIDED; None for an
    ordinary table.

    Embeddings whose length leaves 1 / longest … longest are out of range: the objective of the
    dual, of the order of 1 / length⁴, would overflow. `check_separability` needs no lengths and
    decides there. Raises `ValueError` for a separable table whose embeddings are out of range.
    """
    certificate = certificate_of_zero_rows(table.embeddings, table.support.toarray())
    if certificate is not None:
        return Separability(Verdict.NOT_SEPARABLE, certificate=certificate)
    lengths = unit_rows(table.embeddings)[1]
    if 1 / longest <= lengths.min() and lengths.max() <= longest:
        return None
    result = check_separability(table, time_limit=time_limit)
    if result.verdict is Verdict.SEPARABLE:
        raise ValueError(
            f"`table` has embeddings of lengths {lengths.min():.3g} … {lengths.max():.3g}, outside "
            f"of {1 / longest:g} … {longest:g}, where powers of its multipliers stay finite. "
            "Multiply all embeddings by one number; the decoder is divided by it."
        )
    return result
