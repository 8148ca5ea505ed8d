"""The norms of Adam from the table alone: that in which it maximizes the margin with all of the
text a step, and that of small batches, with the flow that these follow.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp
from scipy.special import softmax

from ntpcompanion.checks import Between, Fraction, Positive, Range, Size, checked, need
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_matrix, require

# Iterations between two computations of the certificate, which takes all eigenvalues.
CHECK_EVERY = 50
# Relative and absolute errors of a step of the flow.
FLOW_ERRORS = 1e-8, 1e-10


@dataclass(frozen=True, eq=False)
class AdamWeights:
    """The stationary oscillation of Adam within the supports.

    Fields
    ------
    weights
        s, (V, d), positive, in units of the Hessian A: the diagonal of least sum with A ≼ diag s.
        Adam's √v is proportional to it.
    gap
        what Σ s exceeds the minimum by, at most, as a fraction of it.
    oscillation
        (V d, r), rows of length 1. The product of rows i and k is the correlation of the entries i
        and k of the oscillating decoder.
    """

    weights: Float[np.ndarray, "V d"]
    gap: float
    oscillation: Float[np.ndarray, "n r"]

    def root_moments(self, learning_rate: float, beta1: float) -> Float[np.ndarray, "V d"]:
        """The predicted √v, (V, d): the oscillation amplitude times `weights`."""
        return oscillation_amplitude(learning_rate, beta1) * self.weights

    def divergence(self, learning_rate: float, beta1: float) -> float:
        """The predicted divergence within the supports at which Adam stalls, in nats: half the
        square of the oscillation amplitude, times Σ s.
        """
        return float(oscillation_amplitude(learning_rate, beta1) ** 2 / 2 * self.weights.sum())


@dataclass(frozen=True, eq=False)
class DominatingDiagonal:
    """s, (n,), with A ≼ diag s; its relative `gap` in Σ s; the dual solution X = Y Yᵀ as Y,
    `factor`, (n, r), with rows of length 1; and the iterations that it took.
    """

    diagonal: Float[np.ndarray, " n"]
    gap: float
    factor: Float[np.ndarray, "n r"]
    iterations: int


def oscillation_amplitude(learning_rate: float, beta1: float) -> float:
    """The root mean square of each oscillating entry of W: η/2 · (1 − β₁) / (1 + β₁).

    A gradient that changes its sign in every step leaves the fraction (1 − β₁) / (1 + β₁) of itself
    in Adam's running mean, so each step moves every entry by η times this fraction.
    """
    return learning_rate / 2 * (1 - beta1) / (1 + beta1)


@checked
def predict_adam_weights(
    table: ContextTable, *, rng: np.random.Generator, tol: Positive = 1e-5
) -> AdamWeights:
    """The weights s of the norm Σ_zi s_zi W_zi² in which full-batch Adam maximizes the margin.

    Near W* the loss within the supports is quadratic, with the Hessian A = Σ_j π_j (diag p_j − p_j
    p_jᵀ) ⊗ h_j h_jᵀ. Adam oscillates at the edge of stability of its own preconditioner. The second
    moments of such an oscillation are stationary for one diagonal only: that of least sum among all
    with A ≼ diag s. It depends on neither the start, nor the learning rate, nor β.

    Parameters
    ----------
    table
        the contexts. Each token must follow some context that leaves two tokens open.
    rng
        draws the start of the solver; the answer does not depend on it, up to `tol`.
    tol
        relative gap at which the solver stops.

    Returns
    -------
    AdamWeights
        the weights, with a certificate, and the oscillation that keeps them up.

    Raises
    ------
    ValueError
        `tol` is not positive, an entry of W has no curvature within the supports, so that no
        oscillation keeps its second moment from vanishing, or the Hessian does not fit in memory.
    RuntimeError
        the gap stays above `tol`.

    Notes
    -----
    Heuristic for Adam: exact as β₂ → 1, if ε is negligible. The program itself is solved with a
    proof, see `least_dominating_diagonal`. O((V d)² √(V d)) an iteration, O((V d)²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.dynamics.adam_norm import predict_adam_weights
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])  # distributions of the next token
    >>> table = ContextTable(np.array([[2.0, 1.0], [1.0, 2.0]]), p, np.array([0.5, 0.5]))
    >>> found = predict_adam_weights(table, rng=np.random.default_rng(0))
    >>> found.weights.round(3).tolist()
    [[1.5, 0.75], [2.25, 2.25], [0.75, 1.5]]
    """
    hessian = in_support_hessian(table)
    flat = np.argwhere((np.diag(hessian) <= 0).reshape(table.vocab_size, table.dim))
    if len(flat):
        token, i = flat[0]
        raise ValueError(
            f"`table` must curve the loss in every entry of W within the supports, but entry "
            f"({token}, {i}) has none: let token {token} share the support of a context whose "
            f"embedding is not 0 in dimension {i}."
        )
    solution = least_dominating_diagonal(hessian, rng=rng, tol=tol)
    shape = table.vocab_size, table.dim
    return AdamWeights(solution.diagonal.reshape(shape), solution.gap, solution.factor)


def in_support_hessian(table: ContextTable) -> Float[np.ndarray, "n n"]:
    """∇²CE at W* far out along a separating direction, Σ_j π_j (diag p_j − p_j p_jᵀ) ⊗ h_j h_jᵀ, of
    shape (V d, V d) with the entries of W row by row. Raises ValueError if it does not fit in
    memory.
    """
    V, d, distributions = table.vocab_size, table.dim, table.distributions.toarray()
    check_dense("table", 3, (V * d, V * d))
    hessian, rows = np.zeros((V, d, V, d)), table.embeddings
    for a in range(V):
        for b in range(V):
            covariance = table.weight * distributions[:, a] * ((a == b) - distributions[:, b])
            hessian[a, :, b, :] = rows.T @ (covariance[:, None] * rows)
    return hessian.reshape(V * d, V * d)


@checked(
    need(
        "hessian",
        "np.allclose(hessian, np.transpose(hessian)) and (np.diag(hessian) > 0).all()",
        "be symmetric with a positive diagonal",
    )
)
def least_dominating_diagonal(
    hessian: Float[np.ndarray, "n n"],
    *,
    rng: np.random.Generator,
    tol: Positive = 1e-5,
    max_iterations: Annotated[int, Range(CHECK_EVERY)] = 20_000,
) -> DominatingDiagonal:
    """Minimize Σ_i s_i over all s with A ≼ diag s, for A ≽ 0 with a positive diagonal. The
    minimizer is unique.

    The dual maximizes ⟨A, X⟩ over the correlation matrices X ≽ 0 with X_ii = 1: the relaxation of
    the maximal cut (Goemans and Williamson 1995). It is solved as X = Y Yᵀ (Burer and Monteiro
    2003) by Y ← rows of A Y scaled to length 1, which never decreases ⟨A, X⟩. The lengths of the
    rows of A Y are s. Multiplied by λ_max(diag(s)^−½ A diag(s)^−½) they are feasible, and their sum
    over ⟨A, X⟩ is 1 plus the gap. O(n² √n) an iteration. Raises `RuntimeError` where the gap stays
    above `tol`, and ValueError for a matrix that is not symmetric with a positive diagonal.
    """
    n = len(hessian)
    scale = 4.0 ** (np.frexp(np.diag(hessian).max())[1] // 2)  # neither it nor its root rounds
    hessian = hessian / scale
    # r (r + 1) > 2 n columns: enough that no local maximum is worse than the best (Boumal,
    # Voroninski and Bandeira 2016)
    Y = rng.standard_normal((n, int(np.sqrt(2 * n)) + 1))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    for k in range(1, max_iterations + 1):
        Y = hessian @ Y
        lengths = np.linalg.norm(Y, axis=1)
        Y /= lengths[:, None]
        if k % CHECK_EVERY == 0:
            root = np.sqrt(lengths)
            largest = np.linalg.eigvalsh(hessian / root[:, None] / root)[-1]
            # the value of the dual at Y; at least that of the Y before, by which the lengths are
            gap = float(largest * lengths.sum() / np.vdot(Y, hessian @ Y)) - 1
            if gap <= tol:
                return DominatingDiagonal(scale * largest * lengths, gap, Y, k)
    raise RuntimeError(
        f"The power method still has a gap of {gap:.2g} after {max_iterations} iterations. Raise "
        "`tol` or `max_iterations`."
    )


@dataclass(frozen=True, eq=False)
class NoisyAdam:
    """The mean motion of Adam on small batches, dW/dt = (T − ∇CE(W)) / s, where t is the sum of its
    learning rates.

    Fields
    ------
    weights
        s, (V, d): √v, the standard deviation of the gradient of a batch.
    tilt
        T, (V, d): what the correlation of v with the gradient adds to the mean step, times s.
    """

    weights: Float[np.ndarray, "V d"]
    tilt: Float[np.ndarray, "V d"]


@checked
def predict_noisy_adam(
    table: ContextTable, *, betas: tuple[Fraction, Fraction], batch_size: Size = 1
) -> NoisyAdam:
    """Norm and tilt of Adam on a few pairs (j, z) a step, drawn with probabilities π_j p_jz.

    Near W*, far along a separating direction, the gradient g of a pair has the mean 0 and the
    variances A_ii, the diagonal of the Hessian, as for every likelihood. So √v = s = √(A_ii / B).
    But v contains the gradients of which the step is the mean: to first order in 1 − β₂, m / √v has
    the mean T / s, with T = (1 − β₂)(1 − β₁) / (1 − β₁β₂) · E g³ / (2 B E g²).

    Parameters
    ----------
    table
        the contexts. Each token must follow some context that leaves two tokens open.
    betas
        β₁ and β₂.
    batch_size
        B, independent pairs.

    Returns
    -------
    NoisyAdam
        s and T.

    Raises
    ------
    ValueError
        a β outside of [0, 1), a size that is not positive, or an entry of W whose gradient is 0 in
        every pair.

    Notes
    -----
    Heuristic: for small steps, β₂ near 1, ε negligible, and noise that exceeds the mean gradient.
    O(m V d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.dynamics.adam_norm import predict_noisy_adam
    >>> p = np.array([[0.8, 0.2, 0.0], [0.0, 0.5, 0.5]])  # distributions of the next token
    >>> table = ContextTable(np.array([[2.0, 1.0], [1.0, 2.0]]), p, np.array([0.5, 0.5]))
    >>> found = predict_noisy_adam(table, betas=(0.0, 0.9))
    >>> found.weights.round(3).tolist(), found.tilt.round(3).tolist()
    ([[0.566, 0.283], [0.667, 0.762], [0.354, 0.707]], [[0.06, 0.03], [-0.043, -0.004], [0.0, 0.0]])
    """
    p, rows, (beta1, beta2) = table.distributions.toarray(), table.embeddings, betas
    variance = table.weight[:, None] * p * (1 - p)
    second, third = variance.T @ rows**2, (variance * (2 * p - 1)).T @ rows**3
    if not (second > 0).all():
        token, i = np.argwhere(second <= 0)[0]
        raise ValueError(
            f"`table` must have noise in every entry of the gradient, but entry ({token}, {i}) has "
            f"none: let token {token} share the support of a context whose embedding is not 0 in "
            f"dimension {i}."
        )
    delay = (1 - beta2) * (1 - beta1) / (1 - beta1 * beta2)
    return NoisyAdam(np.sqrt(second / batch_size), delay / (2 * batch_size) * third / second)


@checked(
    need(
        "times",
        "all(0 < a < b for a, b in zip([times[0] / 2, *times], times))",
        "be positive and increasing",
    ),
)
def preconditioned_flow(
    table: ContextTable,
    weights: Annotated[Float[np.ndarray, "V d"], Between(0, np.inf)],
    times: Float[np.ndarray, " n"],
    *,
    tilt: Float[np.ndarray, "V d"] | None = None,
) -> Float[np.ndarray, "n V d"]:
    """W(t) of dW/dt = (T − ∇CE(W)) / s from W = 0: gradient flow in the norm of `weights` s, of the
    loss less ⟨T, W⟩; no `tilt` T by default. By LSODA, with some thousand gradients up to t = 1e8;
    later the gradient is rounding, which takes a million and costs digits. Raises ValueError for
    times that are not positive and increasing or that LSODA does not reach, and for weights that
    are not positive or of another shape.
    """
    weights = as_matrix("weights", weights, (table.vocab_size, table.dim))
    weighted = table.weight[:, None] * table.embeddings
    target = table.distributions.T @ weighted
    pull = target if tilt is None else target + tilt

    def velocity(_: float, flat: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        q = softmax(table.embeddings @ flat.reshape(weights.shape).T, axis=1)
        return ((pull - q.T @ weighted) / weights).ravel()

    span, (relative, absolute) = (0.0, float(times[-1])), FLOW_ERRORS
    start = np.zeros(weights.size)
    path = solve_ivp(velocity, span, start, "LSODA", times, rtol=relative, atol=absolute)
    require(path.success, f"`times` must be within reach of LSODA, which stopped: {path.message}")
    return np.asarray(path.y.T.reshape(-1, *weights.shape))
