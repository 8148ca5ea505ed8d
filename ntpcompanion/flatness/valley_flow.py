"""The differential equations that SGD (theorem 4.3) and Adam follow along a valley of
minimizers.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.func import grad

from ntpcompanion.checks import Positive, Range, Size, checked
from ntpcompanion.flatness.hessian import ExactTheta
from ntpcompanion.flatness.manifold import (
    RANK_TOLERANCE,
    nearest_minimizer,
    numerical_rank,
    tangent_basis,
)
from ntpcompanion.flatness.model import ConditionalModel

# Relative and absolute tolerance of the integrator between two corrections, which remove what is
# normal to the manifold; errors along it add up.
TOLERANCE = 1e-9
EVALUATIONS = 20_000


@dataclass(frozen=True, eq=False)
class FlowPath:
    """The limiting flow, at k times.

    Fields
    ------
    times
        (k,), from 0 to the horizon.
    thetas
        (k, d), on the manifold of minimizers.
    trace
        (k,), tr ∇²L.
    residual
        (k,), the largest entry of f − Pr without sign at each time.
    corrected
        (k,), how far the integrator had left the manifold, as a distance in θ, before it was
        brought back: a lower bound of its error, 0 at the first time.
    rank
        of ∇²L, the same all along (assumption 4.1).
    """

    times: Float[Tensor, " k"]
    thetas: Float[Tensor, "k d"]
    trace: Float[Tensor, " k"]
    residual: Float[Tensor, " k"]
    corrected: Float[Tensor, " k"]
    rank: int


Points = Annotated[int, Range(2)]


@checked
def follow_ode(
    model: ConditionalModel,
    start: ExactTheta,
    horizon: Positive,
    *,
    batch_size: Size = 1,
    points: Points = 51,
) -> FlowPath:
    """dθ/dt = −(1/4B) P ∇ tr ∇²L(θ) on the manifold of minimizers, P the projection on its tangent
    space (equation 1, theorem 4.3).

    A start off the manifold is moved to a minimizer near it first, by `nearest_minimizer`.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    start
        (d,), float64.
    horizon
        the end of the time t = η² · steps.
    batch_size
        samples in a step, B.
    points
        at how many times, evenly spaced from 0 to the horizon, the path is kept.

    Returns
    -------
    FlowPath
        times, parameters and traces along the path.

    Raises
    ------
    ValueError
        a horizon that is not positive and finite, a batch size below 1, fewer than 2 points; a
        model without minimizers.
    RuntimeError
        no minimizer near the start; the rank of the Hessian changes along the path, where
        assumption 4.1 fails; the integrator gave up.

    Notes
    -----
    The vector field is −(1/4B) P ∇‖A‖² with the scores A of the model: ‖A‖² = tr ∇²L on the
    manifold, so that the gradients have the same tangent part, and no third derivative of the loss
    is needed. Explicit Runge–Kutta between the `points`, a Gauss–Newton correction at each. One
    evaluation costs a singular value decomposition of the (n c, d) scores.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, follow_ode
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> path = follow_ode(model, near, horizon=5.0, points=3)
    >>> path.thetas.round(decimals=3).tolist()  # ab stays, the trace (a² + b²) · 0.64 falls
    [[1.964, 0.353], [1.08, 0.642], [0.879, 0.788]]
    >>> path.trace.round(decimals=3).tolist()
    [2.547, 1.01, 0.893]
    """
    return _Flow(model, 1 / (4 * batch_size), adaptive=False).run(start, horizon, points)


@checked
def follow_adam_ode(
    model: ConditionalModel,
    start: ExactTheta,
    horizon: Positive,
    *,
    points: Points = 51,
) -> FlowPath:
    """The flow of Adam without weight decay: that of `follow_ode` with Σ √H_ii for the trace, in
    the metric of its own step sizes.

    Adam divides the gradient by the root of its second moments, which near a minimizer are those of
    the noise, H_ii / B (Lemma 4.2). In coordinates φ = D^{1/4} θ, D = diag(H) frozen, it is SGD, so
    that with time η² · steps

        dθ/dt = −(1/4) D^{−1/4} P_φ D^{−1/4} ∇ Σ_i H_ii / √D_ii,

    where Σ H_ii / √D_ii has the gradient of 2 Σ √H_ii. P_φ is the projection on the
    tangent space in these coordinates. The batch size cancels: noise of
    variance 1/B, step sizes √B, squared. The sharpness is that of Li, Wen and Lyu (2025); second
    moments are taken to follow H at once and without noise.

    Parameters
    ----------
    model
        the predictor and the true distributions.
    start
        (d,), float64.
    horizon
        the end of the time t = η² · steps.
    points
        at how many times, evenly spaced from 0 to the horizon, the path is kept.

    Returns
    -------
    FlowPath
        times, parameters and traces along the path.

    Raises
    ------
    ValueError, RuntimeError
        as `follow_ode`; RuntimeError also where an entry H_ii vanishes, and the steps of Adam have
        no limit.

    Notes
    -----
    `trace` of the path is still tr ∇²L, which need not fall: Σ √H_ii does.

    Examples
    --------
    A model with one input, two classes and the logits ±ab: minimizers are a hyperbola.

    >>> import torch
    >>> from ntpcompanion.flatness import ConditionalModel, follow_adam_ode
    >>> def logits(theta):
    ...     product = theta.prod(-1)[..., None]
    ...     return torch.stack([product, -product], dim=-1)
    >>> truth = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
    >>> model = ConditionalModel(logits, truth, torch.ones(1, dtype=torch.float64))
    >>> near = torch.tensor([2.0, 0.5], dtype=torch.float64)
    >>> path = follow_adam_ode(model, near, horizon=5.0, points=3)
    >>> path.thetas.round(decimals=3).tolist()
    [[1.964, 0.353], [0.976, 0.71], [0.855, 0.811]]
    """
    return _Flow(model, 1 / 4, adaptive=True).run(start, horizon, points)


class _NoFlowError(RuntimeError):
    """The flow is not defined at some parameters."""


class _Flow:
    """The integration of a flow, with the rank it began with."""

    def __init__(self, model: ConditionalModel, speed: float, *, adaptive: bool) -> None:
        self.model, self.speed, self.adaptive, self.evaluations = model, speed, adaptive, 0
        self.slope = grad(self._sharpness, has_aux=True)

    def _sharpness(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.model.scores(theta)
        if self.adaptive:
            return 2 * scores.square().sum(0).sqrt().sum(), scores
        return scores.square().sum(), scores

    def run(self, start: Tensor, horizon: float, points: int) -> FlowPath:
        times = np.linspace(0, horizon, points)
        thetas, corrected = [nearest_minimizer(self.model, start)], [0.0]
        self.rank = tangent_basis(self.model, thetas[0]).rank
        for begin, end in pairwise(times):
            moved = self._integrate(thetas[-1], begin, end)
            thetas.append(nearest_minimizer(self.model, moved))
            corrected.append(float((thetas[-1] - moved).norm()))
        path = torch.stack(thetas)
        trace = torch.stack([self.model.scores(theta).square().sum() for theta in path])
        return FlowPath(
            torch.tensor(times),
            path,
            trace,
            self.model.residual(path),
            torch.tensor(corrected),
            self.rank,
        )

    def _integrate(self, theta: Tensor, begin: float, end: float) -> Tensor:
        fault = ""

        def velocity(time: float, state: np.ndarray) -> np.ndarray:
            nonlocal fault
            try:
                if np.isfinite(state).all():
                    return self._velocity(time, state)
            except _NoFlowError as error:
                if time == begin:
                    raise
                fault = str(error)
            # perhaps of a trial step that is too long: the integrator takes a shorter one
            return np.full_like(state, np.nan)

        solved = solve_ivp(
            velocity,
            (begin, end),
            theta.numpy(),
            method="DOP853",
            t_eval=[end],
            rtol=TOLERANCE,
            atol=TOLERANCE,
        )
        if not solved.success:
            raise RuntimeError(fault or f"The flow stopped at t = {begin:.4g}: {solved.message}")
        return torch.tensor(solved.y[:, -1])

    def _velocity(self, time: float, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        if self.evaluations > EVALUATIONS:
            raise RuntimeError(
                f"The flow stopped at t = {time:.4g}: {EVALUATIONS} evaluations are spent. Take a "
                "shorter `horizon`."
            )
        theta = torch.tensor(state)
        slope, scores = self.slope(theta)
        root = self._root_of_steps(scores, time)
        _, singular, rows = torch.linalg.svd(scores * root, full_matrices=False)
        if (rank := numerical_rank(singular)) != self.rank:
            raise _NoFlowError(
                f"the rank of the Hessian changes from {self.rank} to {rank} at t = {time:.4g} "
                "(singular values below "
                f"{RANK_TOLERANCE:g} of the largest count as zero): assumption 4.1 fails there. "
                "Take a shorter `horizon`."
            )
        normal, pull = rows[:rank], root * slope
        return (-self.speed * root * (pull - normal.T @ (normal @ pull))).numpy()

    def _root_of_steps(self, scores: Tensor, time: float) -> Tensor:
        """The square root of the step size of each parameter, as a multiple of η: for Adam without
        the factor √B, which cancels against that of the noise.
        """
        diagonal = scores.square().sum(0)
        if not self.adaptive:
            return torch.ones_like(diagonal)
        if diagonal.min() <= RANK_TOLERANCE**2 * diagonal.max():
            raise _NoFlowError(
                f"H_ii of parameter {int(diagonal.argmin())} vanishes at t = {time:.4g}: the steps "
                "of Adam have no limit there."
            )
        return diagonal**-0.25
