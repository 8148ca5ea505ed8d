"""Stochastic gradient descent along a valley of minimizers, and the differential equation it is said to follow (theorem 4.3)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.func import grad

from ntpcompanion.flatness.manifold import RANK_TOLERANCE, check_float64, nearest_minimizer, numerical_rank, tangent_basis
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.noise import MeanGradient

__all__ = ["FlowPath", "SGDPath", "follow_ode", "follow_sgd", "tangent_basis"]

# Relative and absolute tolerance of the integrator between two corrections; what it leaves is then removed by the correction.
TOLERANCE = 1e-9
EVALUATIONS = 20_000


@dataclass(frozen=True, eq=False)
class SGDPath:
    """An ensemble of runs of SGD.

    Fields
    ------
    steps
        (k,), the numbers of steps at which the runs are kept, from 0 to the last.
    times
        (k,), η² times the number of steps: the time of theorem 4.3.
    thetas
        (k, replicas, d).
    """

    steps: Float[Tensor, " k"]
    times: Float[Tensor, " k"]
    thetas: Float[Tensor, "k replicas d"]


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
    departure
        (k,), the largest entry of f − Pr without sign at each time.
    corrected
        (k,), how far the integrator had left the manifold, as a distance in θ, before it was brought back.
    rank
        of ∇²L, the same all along (assumption 4.1).
    """

    times: Float[Tensor, " k"]
    thetas: Float[Tensor, "k d"]
    trace: Float[Tensor, " k"]
    departure: Float[Tensor, " k"]
    corrected: Float[Tensor, " k"]
    rank: int


def follow_sgd(
    model: ConditionalModel,
    start: Float[Tensor, "*replicas d"],
    learning_rate: float,
    steps: int,
    batch_size: int | None,
    replicas: int,
    rng: np.random.Generator,
    *,
    snapshots: int = 101,
) -> SGDPath:
    """θ_{k+1} = θ_k − η ∇ mean_i −log f_θ(v_i | x_i), a fresh batch (x_i, v_i) of the true law at every step, in many replicas at once.

    Parameters
    ----------
    start
        (d,), or (replicas, d) for a start of its own for each.
    batch_size
        None: no noise, the gradient of the population loss.
    snapshots
        so many states are kept, evenly spaced, the first and the last among them.

    Raises
    ------
    ValueError
        sizes below 1 (`snapshots` below 2), a learning rate that is not positive and finite, a start of another shape.
    RuntimeError
        a replica left the finite numbers: the learning rate is too large.

    Notes
    -----
    Each step evaluates the logits of all n inputs: meant for models whose inputs can be enumerated. Memory O(snapshots · replicas · d).
    """
    _check_run(learning_rate, steps, batch_size, replicas, snapshots)
    check_float64("start", start.flatten())
    if start.ndim not in (1, 2) or (start.ndim == 2 and len(start) != replicas):
        raise ValueError(f"`start` must be a vector, or a matrix with a row for each of the {replicas} replicas, got {tuple(start.shape)}.")
    thetas = start.expand(replicas, start.shape[-1]).clone()
    model.log_probabilities(thetas)  # refuses logits of another shape
    gradient = MeanGradient(model, batch_size, replicas, rng)
    marks = np.unique(np.linspace(0, steps, snapshots).round().astype(int))
    kept = [thetas.clone()]
    for first, last in pairwise(marks):
        for _ in range(last - first):
            thetas -= learning_rate * gradient(thetas)
        if not thetas.isfinite().all():
            raise RuntimeError(f"SGD diverged before step {last}: make `learning_rate` smaller than {learning_rate}.")
        kept.append(thetas.clone())
    counted = torch.tensor(marks, dtype=torch.float64)
    return SGDPath(counted, learning_rate**2 * counted, torch.stack(kept))


def follow_ode(model: ConditionalModel, start: Float[Tensor, " d"], horizon: float, *, batch_size: int = 1, points: int = 51) -> FlowPath:
    """dθ/dt = −(1/4B) P ∇ tr ∇²L(θ) on the manifold of minimizers, P the projection on its tangent space (equation 1, theorem 4.3).

    A start off the manifold is moved to the nearest minimizer first.

    Raises
    ------
    ValueError
        a horizon that is not positive and finite, a batch size below 1, fewer than 2 points; a model without minimizers.
    RuntimeError
        no minimizer near the start; the rank of the Hessian changes along the path, where assumption 4.1 fails; the integrator gave up.

    Notes
    -----
    The vector field is −(1/4B) P ∇‖A‖² with the scores A of the model: ‖A‖² = tr ∇²L on the manifold, so that the gradients have the same
    tangent part, and no third derivative of the loss is needed. Explicit Runge–Kutta between the `points`, a Gauss–Newton correction at
    each. One evaluation costs a singular value decomposition of the (n c, d) scores.
    """
    if not 0 < horizon < np.inf:
        raise ValueError(f"`horizon` must be positive and finite, got {horizon}.")
    for name, value, least in (("batch_size", batch_size, 1), ("points", points, 2)):
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")
    return _Flow(model, batch_size).run(nearest_minimizer(model, start), np.linspace(0, horizon, points))


def _check_run(learning_rate: float, steps: int, batch_size: int | None, replicas: int, snapshots: int) -> None:
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"`learning_rate` must be positive and finite, got {learning_rate}.")
    sizes = (("steps", steps, 1), ("batch_size", batch_size, 1), ("replicas", replicas, 1), ("snapshots", snapshots, 2))
    for name, value, least in sizes:
        if value is not None and value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")


class _Flow:
    """The integration of the flow, with the rank it began with."""

    def __init__(self, model: ConditionalModel, batch_size: int) -> None:
        self.model, self.batch_size, self.evaluations = model, batch_size, 0
        self.slope = grad(self._trace, has_aux=True)

    def _trace(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.model.scores(theta)
        return scores.square().sum(), scores

    def run(self, theta: Tensor, times: np.ndarray) -> FlowPath:
        self.rank = tangent_basis(self.model, theta).rank
        thetas, corrected = [theta], [0.0]
        for begin, end in pairwise(times):
            moved = self._integrate(thetas[-1], begin, end)
            thetas.append(nearest_minimizer(self.model, moved))
            corrected.append(float((thetas[-1] - moved).norm()))
        path = torch.stack(thetas)
        trace = torch.stack([self._trace(at)[0] for at in path])
        return FlowPath(torch.tensor(times), path, trace, self.model.departure(path), torch.tensor(corrected), self.rank)

    def _integrate(self, theta: Tensor, begin: float, end: float) -> Tensor:
        solved = solve_ivp(self._velocity, (begin, end), theta.numpy(), method="DOP853", t_eval=[end], rtol=TOLERANCE, atol=TOLERANCE)
        if not solved.success:
            raise RuntimeError(f"`follow_ode` stopped at t = {begin:.4g}: {solved.message}")
        return torch.tensor(solved.y[:, -1])

    def _velocity(self, time: float, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        if self.evaluations > EVALUATIONS:
            raise RuntimeError(f"`follow_ode` stopped at t = {time:.4g}: {EVALUATIONS} evaluations are spent. Take a shorter `horizon`.")
        theta = torch.tensor(state)
        slope, scores = self.slope(theta)
        _, singular, rows = torch.linalg.svd(scores, full_matrices=False)
        if (rank := numerical_rank(singular)) != self.rank:
            raise RuntimeError(
                f"the rank of the Hessian changes from {self.rank} to {rank} at t = {time:.4g} (singular values below "
                f"{RANK_TOLERANCE:g} of the largest count as zero): assumption 4.1 fails there. Take a shorter `horizon`."
            )
        normal = rows[:rank]
        return (-(slope - normal.T @ (normal @ slope)) / (4 * self.batch_size)).numpy()
