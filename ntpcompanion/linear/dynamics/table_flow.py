"""Gradient flow for every table: on its implied table, or to the minimizer of its loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp

from ntpcompanion.checks import INCREASING, Range, Shape, checked
from ntpcompanion.linear.dynamics import flow
from ntpcompanion.linear.dynamics.decomposed_loss import UnevenLoss
from ntpcompanion.linear.separability.implied_table import Case, ImpliedTable, implied_table
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_matrix


@dataclass(frozen=True, eq=False)
class TableFlow:
    """Gradient flow at n times.

    Fields
    ------
    log_times, weights
        (n,), (n, V, d): log t and W(t).
    finite_error
        (n,), ‖P_F W(t) − W*‖_F with full relative precision, F and W* those of the implied table.
        If the loss has a minimizer, the distance from it, and 0 when nearer than `tol`.
    log_excess
        (n,), log (CE(W(t)) − `implied.entropy`).
    implied
        its `case` says in which case the table is; W grows along the next-token SVM of its `table`.
    """

    log_times: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, "n V d"]
    finite_error: Float[np.ndarray, " n"]
    log_excess: Float[np.ndarray, " n"]
    implied: ImpliedTable


@checked
def gradient_flow(
    table: ContextTable,
    log_times: Annotated[
        Sequence[float] | np.ndarray, Shape("n"), Range(flow.EARLIEST), INCREASING
    ],
    *,
    start: Float[np.ndarray, "V d"] | None = None,
    tol: Annotated[float, Range(1e-12, 1e-2)] = 1e-6,
) -> TableFlow:
    """dW/dt = −∇CE(W) from W(0) = `start` (default 0), at t = e^τ for every τ of `log_times`.

    Integrated in σ = log(1 + t), by SciPy's BDF with the exact Jacobian, in the coordinates of
    `DecomposedLoss` with s = e^{−σ}: growing logits and (1 + t)(P_F W − W*), which both move
    slowly, so that no time is too late: log t = 10^6 takes a second more than log t = 30. The part
    in F is set to its quasi-steady value once it relaxes much faster. F and W* are those of the
    implied table, which has the same flow. If the loss has a minimizer, W(t) tends to the one
    nearest to `start`, never moves away from it, and is set to it when nearer than `tol`.

    Parameters
    ----------
    table
        the contexts, any.
    log_times
        increasing, natural logarithms of times, from −700 on.
    start
        W(0), (V, d); 0 by default.
    tol
        relative and absolute tolerance of the integrator in these coordinates.

    Returns
    -------
    TableFlow
        decoders, log excess losses and distances from W* at these times, with `implied.case`.

    Raises
    ------
    ValueError
        times that do not increase, a tolerance outside 1e-12 … 1e-2, a start of another shape.
    RuntimeError
        the integrator gave up, or `implied_table` did.

    Notes
    -----
    Dense linear algebra in V r dimensions, r the rank of the embeddings: 1 to 3 s at V r = 500,
    growing like (V r)³.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, gradient_flow
    >>> from ntpcompanion.linear import measure_alignment, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> flow = gradient_flow(table, [0.0, 5.0, 500.0])
    >>> flow.implied.case.name, flow.log_excess.round(2).tolist()  # the loss falls like 1 / t
    ('ENTROPY', [-0.55, -4.69, -499.71])
    >>> margin_solution = solve_ntp_svm(table).weights
    >>> measure_alignment(table, flow.weights, margin_solution).cosine.round(3).tolist()
    [0.949, 0.99, 1.0]
    """
    shape = table.vocab_size, table.dim
    W = as_matrix("start", np.zeros(shape) if start is None else start, shape)
    implied = implied_table(table)
    if implied.case is Case.MINIMIZER:
        return _to_minimizer(implied, as_array("log_times", log_times), W, tol)
    course = flow.integrate(UnevenLoss(implied.table), W, as_array("log_times", log_times), tol)
    return TableFlow(
        course.log_times, course.weights, course.finite_error, course.log_excess, implied
    )


def _to_minimizer(
    implied: ImpliedTable,
    log_times: Float[np.ndarray, " n"],
    W: Float[np.ndarray, "V d"],
    tol: float,
) -> TableFlow:
    table, E = implied.reduced(), implied.original.embeddings
    limit = W - (W - W.mean(axis=0)) @ np.linalg.pinv(E) @ E + implied.finite_part
    weights = np.repeat(limit[None], len(log_times), axis=0)

    def velocity(sigma: float, w: np.ndarray) -> np.ndarray:
        return -np.exp(sigma) * table.gradient(w.reshape(W.shape)).ravel()

    def near(sigma: float, w: np.ndarray) -> float:
        return float(np.linalg.norm(w - limit.ravel())) - tol

    near.terminal = True  # type: ignore[attr-defined]  # as `solve_ivp` asks for
    if near(0.0, W.ravel()) > 0:
        ends, tols = np.logaddexp(0, log_times), {"rtol": tol, "atol": tol}
        solved = solve_ivp(velocity, (0, ends[-1]), W.ravel(), "BDF", ends, events=near, **tols)
        if not solved.success:
            raise RuntimeError(f"`gradient_flow` did not reach the minimizer: {solved.message}")
        weights[: len(solved.t)] = solved.y.T.reshape(-1, *W.shape)
    error = np.linalg.norm(weights - limit, axis=(1, 2))
    with np.errstate(divide="ignore"):
        excess = np.log([table.excess(each) for each in weights])
    return TableFlow(log_times, weights, error, np.where(error > 0, excess, -np.inf), implied)
