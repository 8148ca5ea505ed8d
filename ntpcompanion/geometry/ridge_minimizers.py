"""Next-token prediction with free features: word vectors and context embeddings that minimize the
loss with a ridge penalty, and the path of minimizers as the penalty vanishes (Zhao et al. 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.geometry.geometry_bounds import Distributions, excess_and_gradient, relative_gap
from ntpcompanion.geometry.newton import newton
from ntpcompanion.geometry.spectral import shrink_singular_values
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_between, as_integer, as_positive

DENSE_ARRAYS = 20  # of factors and of logits at a time
START = 1.0  # Frobenius norm of the first logits


@dataclass(frozen=True, eq=False)
class RidgeMinimum:
    """A minimizer of CE(H Wᵀ) + λ/2 ‖W‖² + λ/2 ‖H‖².

    Fields
    ------
    ridge
        λ.
    contexts, words
        H (m, d) and W (V, d), balanced: HᵀH = WᵀW is diagonal.
    excess
        CE − H, nats.
    gap
        the objective exceeds the minimum over all d by at most this share of λ‖L‖_*. It stays
        large if d is below the rank of the minimizer.
    iterations
        Newton steps.
    """

    ridge: float
    contexts: Float[np.ndarray, "m d"]
    words: Float[np.ndarray, "V d"]
    excess: float
    gap: float
    iterations: int

    @property
    def logits(self) -> Float[np.ndarray, "m V"]:
        """L = H Wᵀ."""
        return self.contexts @ self.words.T

    @property
    def objective(self) -> float:
        """CE − H plus the penalty, nats."""
        size = (self.contexts**2).sum() + (self.words**2).sum()
        return self.excess + self.ridge / 2 * float(size)


def ridge_path(
    next_token: ArrayLike,
    weight: ArrayLike,
    ridges: Sequence[float],
    *,
    dim: int | None = None,
    tol: float = 1e-6,
    max_iterations: int = 2_000,
) -> list[RidgeMinimum]:
    """Minimize CE(H Wᵀ) + λ/2 (‖W‖² + ‖H‖²) for a falling sequence of λ, each from the last
    minimizer.

    Parameters
    ----------
    next_token
        p (m, V), rows of sum one.
    weight
        π (m,), positive, of sum one.
    ridges
        λ, positive, falling.
    dim
        d of the features; V by default. The minimum over L = H Wᵀ is that of the convex
        CE(L) + λ‖L‖_* if d is at least the rank of its solution.
    tol
        the certified gap at which a minimization ends, a share of λ‖L‖_*.
    max_iterations
        Newton steps for each λ at most.

    Returns
    -------
    list of RidgeMinimum
        one for each λ; `gap` says how good it is.

    Raises
    ------
    ValueError
        rows that are not distributions, frequencies that are not positive, λ that are not positive
        and falling, sizes below 1, a table too large for the memory of the machine.

    Notes
    -----
    Newton steps in a trust region, solved by conjugate gradients (scipy's trust-ncg), on both
    factors, starting from the leading singular vectors of the gradient at zero: no random numbers.
    A proximal step of the convex problem comes first: factors alone can end in a saddle point of
    lower rank. The loss is formed without cancellation, so that an excess of 1e-10 nats still
    guides the search. Some 20 to 100 steps for each λ, with 10 to 50 products each of O(m V d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import ridge_path
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> weak = ridge_path(p, [0.5, 0.5], [1e-2, 1e-4])[-1]
    >>> bool(weak.gap < 1e-6), bool(weak.excess < 2e-3)
    (True, True)
    >>> logits = weak.logits[0]
    >>> bool(abs(logits[0] - logits[1]) < 1e-3 and logits[0] > logits[2] + 5)
    True
    """
    distributions = Distributions.read(next_token, weight)
    falling = _as_falling("ridges", ridges)
    m, vocab_size = distributions.probabilities.shape
    dim = as_integer("dim", vocab_size if dim is None else dim, 1)
    as_between("tol", tol, 0, 1, "a share of the penalty")
    as_integer("max_iterations", max_iterations, 1)
    check_dense("next_token", DENSE_ARRAYS, (m + vocab_size, max(vocab_size, dim)))
    contexts, words = _first_factors(distributions, dim)
    path = []
    for ridge in falling:
        minimum = _minimum(distributions, ridge, contexts, words, tol, max_iterations)
        contexts, words = minimum.contexts, minimum.words
        path.append(minimum)
    return path


def balanced_factors(
    logits: Float[np.ndarray, "m V"], dim: int
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "V d"]]:
    """H and W of least ‖H‖² + ‖W‖² with H Wᵀ the best approximation of rank d: U√Σ and V√Σ.

    Parameters
    ----------
    logits
        U Σ Vᵀ, (m, V).
    dim
        d; columns of zeros are added if it exceeds the number of singular values.

    Returns
    -------
    tuple of arrays
        H (m, d) and W (V, d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import balanced_factors
    >>> H, W = balanced_factors(np.array([[4.0, 0.0], [0.0, 1.0]]), 1)
    >>> np.abs(H @ W.T).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    left, values, right = np.linalg.svd(logits, full_matrices=False)
    rank = min(dim, len(values))
    root = np.sqrt(values[:rank])
    padding = ((0, 0), (0, dim - rank))
    return np.pad(left[:, :rank] * root, padding), np.pad(right[:rank].T * root, padding)


def _as_falling(name: str, values: Sequence[float]) -> list[float]:
    falling = [as_positive(f"{name}[{place}]", value) for place, value in enumerate(values)]
    if not falling:
        raise ValueError(f"`{name}` must hold at least one penalty, got none.")
    for earlier, later in pairwise(falling):
        if later >= earlier:
            raise ValueError(f"`{name}` must fall, got {later:g} after {earlier:g}.")
    return falling


def _first_factors(
    distributions: Distributions, dim: int
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "V d"]]:
    _, gradient = excess_and_gradient(np.zeros(distributions.probabilities.shape), distributions)
    return balanced_factors(-START / np.linalg.norm(gradient) * gradient, dim)


def _minimum(
    distributions: Distributions,
    ridge: float,
    contexts: Float[np.ndarray, "m d"],
    words: Float[np.ndarray, "V d"],
    tol: float,
    max_iterations: int,
) -> RidgeMinimum:
    """Rounds of a proximal step, which adds what factors of too low a rank lack, and Newton steps,
    until the gap is proved, stops falling by half, or the steps are spent.
    """
    problem, dim = _Scaled(distributions, ridge, words.shape), words.shape[1]
    H, W, earlier, steps = contexts, words, np.inf, 0

    while steps < max_iterations:
        H, W = balanced_factors(_proximal_step(H @ W.T, distributions, ridge), dim)
        start = np.concatenate([H, W]).ravel()
        if (gap := problem.gap(start)) <= tol:
            break  # at zero above all, which the largest penalties choose: no step has a direction
        end, taken = newton(problem, start, lambda x: problem.gap(x) <= tol, max_iterations - steps)
        H, W = problem.factors(end)
        steps += taken
        gap = problem.gap(end)
        if gap <= tol or not taken or gap > earlier / 2:
            break
        earlier = gap
    H, W = balanced_factors(H @ W.T, dim)
    excess, _ = excess_and_gradient(H @ W.T, distributions)
    return RidgeMinimum(ridge, H, W, excess, gap, steps)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The objective over λ, (CE − H) / λ + ½ ‖x‖², of the flattened factors x = (H, W)."""

    distributions: Distributions
    ridge: float
    shape: tuple[int, int]  # of W

    def factors(self, x: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        both = x.reshape(-1, self.shape[1])
        return both[: -self.shape[0]], both[-self.shape[0] :]

    def gap(self, x: Float[np.ndarray, " n"]) -> float:
        H, W = self.factors(x)
        return relative_gap(H @ W.T, self.distributions, self.ridge)

    def value_and_gradient(
        self, x: Float[np.ndarray, " n"]
    ) -> tuple[float, Float[np.ndarray, " n"]]:
        H, W = self.factors(x)
        excess, slope = excess_and_gradient(H @ W.T, self.distributions)
        gradient = np.concatenate([slope @ W, slope.T @ H]).ravel() / self.ridge + x
        return excess / self.ridge + float(x @ x) / 2, gradient

    def hessian_product(
        self, x: Float[np.ndarray, " n"], v: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        (H, W), (A, B) = self.factors(x), self.factors(v)
        _, slope = excess_and_gradient(H @ W.T, self.distributions)
        weight = self.distributions.weight[:, None]
        q = self.distributions.probabilities + slope / weight
        moved = q * (A @ W.T + H @ B.T)
        slope_change = weight * (moved - q * moved.sum(axis=1, keepdims=True))
        both = np.concatenate([slope_change @ W + slope @ B, slope_change.T @ H + slope.T @ A])
        return both.ravel() / self.ridge + v


def _proximal_step(
    logits: Float[np.ndarray, "m V"], distributions: Distributions, ridge: float
) -> Float[np.ndarray, "m V"]:
    """One step of proximal gradient descent on CE(L) + λ‖L‖_*: it never raises the objective, and
    adds the directions that factors of lower rank lack.
    """
    step = 2 / distributions.weight.max()  # the Hessian of the loss is at most max π / 2
    _, slope = excess_and_gradient(logits, distributions)
    return shrink_singular_values(logits - step * slope, step * ridge)
