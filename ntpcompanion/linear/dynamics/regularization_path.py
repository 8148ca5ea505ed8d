"""The regularization path: the smallest cross-entropy of all decoders in a ball, for balls of
growing radius.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import lu_factor, lu_solve

from ntpcompanion.checks import INCREASING, Between, Shape, checked
from ntpcompanion.linear.dynamics.decomposed_loss import LARGEST_LOG, DecomposedLoss, UnevenLoss
from ntpcompanion.linear.separability.implied_table import Case, ImpliedTable, implied_table
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.threads import SMALL_SYSTEM, one_thread_if
from ntpcompanion.validation import as_array

# Relative accuracy of ‖W_B‖ = B; and of W at a given λ, as the change of logits by the last Newton
# step, whose square is the error. Logits cannot be had more exactly than ROUNDING times their size,
# and W not than ROUNDING times W*, from which it is stored.
NORM_TOLERANCE, TOLERANCE, ROUNDING = 1e-13, 1e-9, 3e-14
LARGEST_LOGITS = 1e8  # the gap is near 1e-10 there, and grows with the square
MULTIPLIER_STEPS = 60
NEWTON_STEPS = 500


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """The minimizers of the cross-entropy in n balls.

    Fields
    ------
    radii
        (n,), B.
    weights
        (n, V, d), W_B, with ‖W_B‖_F = B to rounding; the minimizer of least norm where it is
        shorter than B, and then λ_B, the excess and the error below are zero.
    log_multiplier
        (n,), log λ_B, where ∇CE(W_B) = −λ_B W_B.
    log_excess
        (n,), log (CE(W_B) − `implied.entropy`).
    gap
        (n,), an upper bound on (CE(W_B) − min CE) / (CE(W_B) − inf CE), min over the ball: the
        certificate.
    finite_error
        (n,), ‖P_F W_B − W*‖_F, with F and W* of the implied table.
    implied
        its `case` says in which case the table is.
    """

    radii: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, "n V d"]
    log_multiplier: Float[np.ndarray, " n"]
    log_excess: Float[np.ndarray, " n"]
    gap: Float[np.ndarray, " n"]
    finite_error: Float[np.ndarray, " n"]
    implied: ImpliedTable


@checked
def regularization_path(
    table: ContextTable,
    radii: Annotated[Sequence[float] | np.ndarray, Shape("n"), Between(0, np.inf), INCREASING],
) -> RegularizationPath:
    """Minimize CE(W) subject to ‖W‖_F ≤ B for every B of `radii` (Thrampoulidis 2024, section 4),
    each from the one before.

    Unless the loss has a minimizer in the ball, ‖W_B‖ = B, and W_B also minimizes CE + (λ/2)‖W‖²
    for some λ > 0. λ is found by Newton's method on log ‖W‖ as a function
    of log λ, W for a given λ by Newton's method with steps damped so that the objective falls (Sun
    and Tran-Dinh 2019: third derivatives are bounded by second ones times changes of logits).
    Everything is divided by λ, in the coordinates of `DecomposedLoss`: off-support probabilities
    are O(λ) too, so nothing underflows in large balls.

    Parameters
    ----------
    table
        the contexts, any.
    radii
        positive, increasing, none above 1e8 divided by the length of the longest embedding.

    Returns
    -------
    RegularizationPath
        The path with its certificate: CE is convex, so CE(W_B) − min CE ≤ ⟨∇CE, W_B⟩ + B‖∇CE‖ =
        B‖∇CE‖ ‖W_B/B + ∇CE/‖∇CE‖‖² / 2.

    Raises
    ------
    ValueError
        radii that are not positive and increasing, or too large.
    RuntimeError
        Newton's method gave up at a radius, or `implied_table` did.

    Notes
    -----
    Some ten dense systems in V r dimensions a radius, or a doubling of the radius where they are
    farther apart, r the rank of the embeddings: 0.2 s at V r = 500, growing like (V r)³.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear import regularization_path
    >>> from ntpcompanion.linear import measure_alignment, solve_ntp_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> path = regularization_path(table, [1.0, 10.0, 100.0])
    >>> path.implied.case.name, np.linalg.norm(path.weights, axis=(1, 2)).round(6).tolist()
    ('ENTROPY', [1.0, 10.0, 100.0])
    >>> margin_solution = solve_ntp_svm(table).weights
    >>> measure_alignment(table, path.weights, margin_solution).cosine.round(3).tolist()
    [0.958, 0.997, 1.0]
    """
    radii = as_array("radii", radii).copy()
    farthest = radii[-1] * np.linalg.norm(table.embeddings, axis=1).max()
    if farthest > LARGEST_LOGITS:
        raise ValueError(
            f"`radii` times the longest embedding must not exceed {LARGEST_LOGITS:g}, where logits "
            f"lose their digits: {farthest:.3g}."
        )
    implied = implied_table(table)
    shortest = np.linalg.norm(implied.finite_part) if implied.case is Case.MINIMIZER else np.inf
    inside = radii[radii < shortest].tolist()
    points = [(implied.finite_part, -np.inf, -np.inf, 0.0, 0.0)] * (len(radii) - len(inside))
    if inside:
        with one_thread_if(table.vocab_size * min(table.embeddings.shape) < SMALL_SYSTEM):
            path = _Path(UnevenLoss(implied.reduced()), inside[0])
            points = [path.reach(radius) for radius in inside] + points
    columns: list[Any] = [np.array(column) for column in zip(*points, strict=True)]
    return RegularizationPath(radii, *[*columns, implied])


class _Path:
    """The present minimizer of CE + (λ/2)‖W‖², in the coordinates of `DecomposedLoss` with scale s
    = λ = e^−ν.
    """

    def __init__(self, loss: DecomposedLoss, first_radius: float) -> None:
        self.loss, self.size = loss, len(loss.fixed_coordinates)
        zero = np.zeros(loss.finite_part.shape)
        self.finite, self.growing = loss.coordinates(zero)
        self.radius = min(first_radius, 1 / np.linalg.norm(loss.table.embeddings, axis=1).max())
        # W ≈ −∇CE(0) / λ in small balls
        self.nu = float(np.log(self.radius / np.linalg.norm(loss.table.gradient(zero))))
        self.finite *= np.exp(self.nu)
        self.largest_odds = np.abs(loss.log_odds[~loss.support]).max(initial=0.0)

    def reach(self, radius: float) -> tuple[np.ndarray, float, float, float, float]:
        """Move to the minimizer of norm `radius`; what `RegularizationPath` holds for it."""
        # what is predicted from farther away starts Newton's method too far off
        while 2 * self.radius < radius:
            self._move(2 * self.radius)
        self._move(radius)
        return self._certified(radius)

    def _move(self, radius: float) -> None:
        self.radius = radius
        for _ in range(MULTIPLIER_STEPS):
            self._minimize()
            W = self._weights()
            ratio = radius / np.linalg.norm(W)
            if (
                abs(ratio - 1)
                <= NORM_TOLERANCE + ROUNDING * np.linalg.norm(self.loss.fixed_coordinates) / radius
            ):
                return
            # dW / dν solves the system of the last Newton step with W on the right
            finite, growing = self._solve(W)
            slope = np.append(np.exp(-self.nu) * finite, growing) @ W / (W @ W)
            ahead = float(np.log(ratio) / slope)
            self.nu += ahead
            self.finite = self.finite + ahead * (finite + self.finite)
            self.growing = self.growing + ahead * growing
        raise RuntimeError(
            f"`regularization_path` did not reach the radius {radius:.6g} in {MULTIPLIER_STEPS} "
            "steps."
        )

    def _weights(self) -> np.ndarray:
        return np.append(self.loss.fixed_coordinates + np.exp(-self.nu) * self.finite, self.growing)

    def _minimize(self) -> None:
        """W for the present λ."""
        for _ in range(NEWTON_STEPS):
            point = self.loss.point(self.finite, self.growing, -self.nu)
            self.factor = lu_factor(self._hessian(*self.loss.hessian(point)))
            finite, growing = self._solve(-np.append(*self.loss.gradient(point)) - self._weights())
            reach = self.loss.largest_change(np.exp(-self.nu) * finite, growing)
            length = self._step_length(finite, growing, reach)
            self.finite, self.growing = (
                self.finite + length * finite,
                self.growing + length * growing,
            )
            if reach <= TOLERANCE + ROUNDING * (
                self.largest_odds + self.loss.largest_change(0 * finite, self.growing)
            ):
                return
        raise RuntimeError(
            f"`regularization_path` found no minimizer for λ = {np.exp(-self.nu):.3g} in "
            f"{NEWTON_STEPS} Newton steps."
        )

    def _step_length(self, finite: np.ndarray, growing: np.ndarray, reach: float) -> float:
        """1, ½, ¼, …: the first that lowers the objective; at the end one that is proved to, log (1
        + reach) / reach.
        """
        if reach <= 1:
            return 1.0
        length, before = 1.0, self._objective(self.finite, self.growing)
        while length > np.log1p(reach) / reach:
            if (
                self._objective(self.finite + length * finite, self.growing + length * growing)
                < before
            ):
                return length
            length /= 2
        return float(np.log1p(reach) / reach)

    def _objective(self, finite: np.ndarray, growing: np.ndarray) -> float:
        """(CE − H) / λ + ‖W‖² / 2."""
        W = np.append(self.loss.fixed_coordinates + np.exp(-self.nu) * finite, growing)
        return (
            np.exp(
                min(
                    self.loss.log_excess(self.loss.point(finite, growing, -self.nu)) + self.nu,
                    LARGEST_LOG,
                )
            )
            + W @ W / 2
        )

    def _hessian(self, inside: np.ndarray, mixed: np.ndarray, outside: np.ndarray) -> np.ndarray:
        scale = np.exp(-self.nu)
        upper = [inside + scale * np.eye(len(inside)), mixed]
        return np.block([upper, [scale * mixed.T, outside + np.eye(len(outside))]])

    def _solve(self, right: np.ndarray) -> list[np.ndarray]:
        return np.split(lu_solve(self.factor, right), [self.size])

    def _certified(self, radius: float) -> tuple[np.ndarray, float, float, float, float]:
        point = self.loss.point(self.finite, self.growing, -self.nu)
        gradient, W = np.append(*self.loss.gradient(point)), self._weights()
        length, excess = np.linalg.norm(gradient), self.loss.log_excess(point)
        gap = (
            radius
            * length
            * np.sum((W / radius + gradient / length) ** 2)
            / 2
            * np.exp(-self.nu - excess)
        )
        error = np.exp(-self.nu) * np.linalg.norm(self.finite)
        return (
            self.loss.weights(self.finite, self.growing, -self.nu),
            -self.nu,
            excess,
            float(gap),
            float(error),
        )
