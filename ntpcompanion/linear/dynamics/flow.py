"""Gradient flow on the cross-entropy, in the logarithm of time, out to times that no number of
steps reaches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp

from ntpcompanion.checks import INCREASING, Range, Shape, checked
from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss, separable_loss
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.threads import SMALL_SYSTEM, one_thread_if
from ntpcompanion.validation import as_array, as_matrix

# From t = QUASI_STEADY / λ on, with λ the smallest curvature at W* inside F, (1 + t)(P_F W − W*) is
# set to its quasi-steady value. Its transient has the factor e^{−λ t} then, and its lag behind that
# value is a fraction of about 1 / (λ t) of its rate of change; W moves by 1 / (λ t) of that.
QUASI_STEADY = 1e3
NEWTON_STEPS = 50

# exp(−700) is near the smallest float.
EARLIEST = -700

# Some 3,000 right-hand sides are usual. Embeddings whose lengths differ by a factor of 1e5 can need
# millions.
EVALUATIONS = 30_000


@dataclass(frozen=True, eq=False)
class Flow:
    """Gradient flow at n times, as `TableFlow`, with the coordinates of `DecomposedLoss`: log s,
    P_F W − W* over s, and the growing part of W, s = 1 / (1 + t). From log t = `quasi_steady_from`
    on the part in F was set to its quasi-steady value.
    """

    log_times: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, "n V d"]
    finite_error: Float[np.ndarray, " n"]
    log_excess: Float[np.ndarray, " n"]
    log_scales: Float[np.ndarray, " n"]
    finite: Float[np.ndarray, "n f"]
    growing: Float[np.ndarray, "n g"]
    quasi_steady_from: float


@checked
def gradient_flow(
    table: ContextTable,
    log_times: Annotated[Sequence[float] | np.ndarray, Shape("n"), Range(EARLIEST), INCREASING],
    *,
    start: Float[np.ndarray, "V d"] | None = None,
    tol: Annotated[float, Range(1e-12, 1e-2)] = 1e-6,
) -> Flow:
    """Gradient flow on a compatible and separable table, ValueError for others. The public function
    is `table_flow.gradient_flow`, for every table; it describes arguments and errors.
    """
    log_times = as_array("log_times", log_times)
    with one_thread_if(table.vocab_size * min(table.embeddings.shape) < SMALL_SYSTEM):
        loss = separable_loss(table, "for the loss to tend to its floor")
        W = (
            np.zeros(loss.finite_part.shape)
            if start is None
            else as_matrix("start", start, loss.finite_part.shape)
        )
        return _Integration(loss, tol).run(W, log_times)


def integrate(
    loss: DecomposedLoss,
    start: Float[np.ndarray, "V d"],
    log_times: Float[np.ndarray, " n"],
    tol: float,
) -> Flow:
    """Gradient flow on the table of a loss that has no minimizer. Raises RuntimeError."""
    with one_thread_if(loss.finite_part.shape[0] * min(loss.table.embeddings.shape) < SMALL_SYSTEM):
        return _Integration(loss, tol).run(start, log_times)


class _Integration:
    def __init__(self, loss: DecomposedLoss, tol: float) -> None:
        self.loss, self.tol, self.evaluations = loss, tol, 0
        self.size = len(loss.fixed_coordinates)
        self._use_curvature(loss.limit_curvature())
        # log t of the switch
        self.switch = float(np.log(QUASI_STEADY) - np.log(self.curvatures.min(initial=np.inf)))

    def _use_curvature(self, inside: np.ndarray) -> None:
        curvatures, self.modes = np.linalg.eigh(inside)
        self.curvatures = np.maximum(curvatures, np.finfo(float).eps * curvatures.max(initial=0))

    def run(self, W: Float[np.ndarray, "V d"], log_times: Float[np.ndarray, " n"]) -> Flow:
        finite, growing = self.loss.coordinates(W)
        unmoved = W - self.loss.weights(finite, growing)
        sigma, switch = np.logaddexp(0, log_times), np.logaddexp(0, self.switch)
        early, late = sigma[sigma < switch], sigma[sigma >= switch]
        begin = np.append(finite, growing)
        ends = np.append(early, switch) if late.size else early
        states = self._integrate(self._free, self._free_jacobian, 0.0, begin, ends)
        if late.size:
            self.settled, growing = np.split(states.pop(), [self.size])
            reduced = self._quasi_steady, self._quasi_steady_jacobian
            grown = self._integrate(*reduced, switch, growing, late)
            states += [
                np.append(self._settle(*pair), pair[1]) for pair in zip(late, grown, strict=True)
            ]
        return self._flow(log_times, -sigma, states, unmoved)

    def _flow(
        self,
        log_times: np.ndarray,
        log_scales: np.ndarray,
        states: list[np.ndarray],
        unmoved: np.ndarray,
    ) -> Flow:
        finite, growing = np.split(np.array(states), [self.size], axis=1)
        parts = list(zip(finite, growing, log_scales, strict=True))
        weights = np.array([self.loss.weights(*part) + unmoved for part in parts])
        log_excess = np.array([self.loss.log_excess(self.loss.point(*part)) for part in parts])
        falls = np.diff(log_excess, prepend=log_excess[0]) <= 100 * self.tol
        if not falls.all():
            self._give_up(
                -log_scales[np.argmin(falls)],
                "the loss rises there, which it never does along gradient flow.",
            )
        error = np.linalg.norm(finite, axis=1) * np.exp(log_scales)
        return Flow(log_times, weights, error, log_excess, log_scales, finite, growing, self.switch)

    def _integrate(
        self,
        velocity: Callable[..., np.ndarray],
        jacobian: Callable[..., np.ndarray],
        begin: float,
        state: np.ndarray,
        ends: np.ndarray,
    ) -> list[np.ndarray]:
        # one-hot contexts: nothing lies in F, and nothing is left of the first phase
        if ends[-1] == begin:
            return [state]
        try:
            with np.errstate(all="ignore"):  # of trial steps, which the integrator then rejects
                solved = solve_ivp(
                    velocity,
                    (begin, ends[-1]),
                    state,
                    method="BDF",
                    t_eval=ends,
                    jac=jacobian,
                    rtol=self.tol,
                    atol=self.tol,
                )
        except ValueError as error:  # of the linear algebra
            self._give_up(begin, str(error))
        if not solved.success:
            self._give_up(max([begin, *solved.t]), solved.message)
        return list(solved.y.T)

    def _give_up(self, sigma: float, why: str) -> NoReturn:
        raise RuntimeError(
            f"`gradient_flow` stopped at log(1 + t) = {sigma:.4g}: {why} Embeddings of very "
            "different lengths are the usual reason, and times that are hardly apart or too large."
        )

    def _gradient(
        self, sigma: float, finite: np.ndarray, growing: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += 1
        if self.evaluations > EVALUATIONS:
            self._give_up(sigma, f"{EVALUATIONS} gradients are spent.")
        return self.loss.gradient(self.loss.point(finite, growing, -sigma))

    def _free(self, sigma: float, state: np.ndarray) -> np.ndarray:
        finite, growing = np.split(state, [self.size])
        inside, outside = self._gradient(sigma, finite, growing)
        return np.append(finite - np.exp(sigma) * inside, -outside)

    def _free_jacobian(self, sigma: float, state: np.ndarray) -> np.ndarray:
        inside, mixed, outside = self.loss.hessian(
            self.loss.point(*np.split(state, [self.size]), -sigma)  # type: ignore[call-arg, arg-type]  # two parts
        )
        upper = [np.eye(self.size) - np.exp(sigma) * inside, -np.exp(sigma) * mixed]
        return np.block([upper, [-np.exp(-sigma) * mixed.T, -outside]])

    def _quasi_steady(self, sigma: float, growing: np.ndarray) -> np.ndarray:
        return -self._gradient(sigma, self._settle(sigma, growing), growing)[1]

    def _quasi_steady_jacobian(self, sigma: float, growing: np.ndarray) -> np.ndarray:
        _, mixed, outside = self.loss.hessian(self.loss.point(self.settled, growing, -sigma))
        answer = self.modes.T @ mixed  # the part in F answers to the other
        return np.exp(-sigma) * answer.T @ (answer / self.curvatures[:, None]) - outside

    def _settle(self, sigma: float, growing: np.ndarray) -> np.ndarray:
        """Where the velocity of (1 + t)(P_F W − W*) is zero, by damped Newton steps; the curvature
        is renewed when they do not shrink.
        """
        before: Any
        finite, before = self.settled, np.inf
        for _ in range(NEWTON_STEPS):
            step = self._newton_step(sigma, finite, growing)
            if np.linalg.norm(step) > before / 2:
                self._use_curvature(self.loss.hessian(self.loss.point(finite, growing, -sigma))[0])
                step = self._newton_step(sigma, finite, growing)
            before = np.linalg.norm(step)
            if not np.isfinite(before):
                break
            reach = self.loss.largest_change(np.exp(-sigma) * step, 0 * growing)
            finite = finite - step * (np.log1p(reach) / reach if reach > 0 else 1.0)
            if before <= 1e-3 * self.tol * max(1.0, np.linalg.norm(finite)):  # type: ignore[operator]  # a number
                self.settled = finite
                return finite
        # a trial step too far: the integrator rejects it and takes a shorter one
        return np.full(self.size, np.nan)

    def _newton_step(self, sigma: float, finite: np.ndarray, growing: np.ndarray) -> np.ndarray:
        force = self._gradient(sigma, finite, growing)[0] - np.exp(-sigma) * finite
        return self.modes @ ((force @ self.modes) / self.curvatures)
