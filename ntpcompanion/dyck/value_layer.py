"""The value layer (W_V, u) on all masked inputs at uniform attention: its loss, its trace, and the
way back to zero loss.
"""

from typing import Annotated

import numpy as np
import scipy
from jaxtyping import Float, Int

from ntpcompanion.checks import Is, checked
from ntpcompanion.dyck.bracket_transformer import Parameters
from ntpcompanion.dyck.sentences import MaskSign, masked_support

# Added to the kernel of the Jacobian, as a share of its mean diagonal. It has no full rank: with
# the random mask sign, where a ReLU is a linear and an even map of the input, N/2 + 2T at most, and
# less where neurons become parallel.
RIDGE = 1e-11

# Mean squared error at which a point counts as one of zero loss, and how many Gauss–Newton steps
# may be taken to reach it.
ZERO_LOSS, CORRECTIONS = 1e-20, 30

Uniform = Annotated[
    Parameters,
    Is(
        lambda start: not start.W_Q.any() and not start.W_K.any(),
        "have uniform attention: W_Q = W_K = 0",
        "Use `uniform_attention(start.W_V, start.u)`.",
    ),
]


class ValueLayer:
    """The value layer (W_V, u) as a flat θ of length m(2T + 1), W_V row by row and then u.

    At W_Q = W_K = 0 the gradients of f, and of ‖∇f‖², in W_Q and W_K vanish: methods that follow
    them never leave uniform attention.

    Raises ValueError for parameters with other attention, or what `masked_support` rejects.
    """

    @checked
    def __init__(self, start: Uniform, mask_sign: MaskSign) -> None:
        T = start.W_V.shape[1] // 2
        inputs, self.targets = masked_support(T, mask_sign)
        self.h = inputs.mean(1)
        self.overlaps = self.h @ self.h.T
        self.shape = start.W_V.shape
        self.theta = np.concatenate([start.W_V.ravel(), start.u])

    def split(
        self, theta: Float[np.ndarray, " p"]
    ) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
        """W_V and u, as views."""
        return theta[: -self.shape[0]].reshape(self.shape), theta[-self.shape[0] :]

    def residual(
        self, theta: Float[np.ndarray, " p"], rows: slice | Int[np.ndarray, " n"] = slice(None)
    ) -> Float[np.ndarray, " n"]:
        """The errors f − f* on some of the inputs, by default on all."""
        W, u = self.split(theta)
        return np.maximum(self.h[rows] @ W.T, 0) @ u - self.targets[rows]

    def pull(
        self,
        theta: Float[np.ndarray, " p"],
        weights: Float[np.ndarray, " n"],
        rows: slice | Int[np.ndarray, " n"] = slice(None),
    ) -> Float[np.ndarray, " p"]:
        """Σ_n weights_n ∇f(x_n) over some of the inputs."""
        W, u = self.split(theta)
        h = self.h[rows]
        features = np.maximum(h @ W.T, 0)
        return np.concatenate(
            [
                (u[:, None] * ((features > 0).T @ (weights[:, None] * h))).ravel(),
                features.T @ weights,
            ]
        )

    def push(
        self, theta: Float[np.ndarray, " p"], direction: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " N"]:
        """The slope of every f(x_n) along a direction."""
        (W, u), (dW, du) = self.split(theta), self.split(direction)
        features = np.maximum(self.h @ W.T, 0)
        return features @ du + ((features > 0) * (self.h @ dW.T)) @ u

    def solve(
        self, theta: Float[np.ndarray, " p"], right: Float[np.ndarray, " N"]
    ) -> Float[np.ndarray, " N"]:
        """(J Jᵀ + ridge)⁻¹ right, J the Jacobian of all f(x_n) and `right` in its range."""
        W, u = self.split(theta)
        features = np.maximum(self.h @ W.T, 0)
        switched = (features > 0) * u
        kernel = features @ features.T + self.overlaps * (switched @ switched.T)
        kernel[np.diag_indices_from(kernel)] += RIDGE * np.trace(kernel) / len(kernel)
        return scipy.linalg.solve(kernel, right, assume_a="pos")

    def squared_gradient(self, theta: Float[np.ndarray, " p"]) -> float:
        """E‖∇f‖², as `bound.squared_gradient_norm`."""
        W, u = self.split(theta)
        features = np.maximum(self.h @ W.T, 0)
        return float(
            (features**2).sum(1).mean() + (features > 0).mean(0) @ u**2 * 2 / self.shape[1]
        )

    def slope(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The gradient of E‖∇f‖², with the indicators held fixed: it has no other derivative where
        no pre-activation is zero.
        """
        W, u = self.split(theta)
        features = np.maximum(self.h @ W.T, 0)
        return np.concatenate(
            [
                2 * (features.T @ self.h).ravel() / len(self.h),
                4 * (features > 0).mean(0) * u / self.shape[1],
            ]
        )

    def alignment(self, theta: Float[np.ndarray, " p"]) -> float:
        """The mean cosine without sign of w_j and (1; 0), over neurons weighted by ‖u_j‖ E
        σ(w_j·h).
        """
        W, u = self.split(theta)
        weights = np.abs(u) * np.maximum(self.h @ W.T, 0).mean(0)
        T = self.shape[1] // 2
        cosines = np.abs(W[:, :T].sum(1)) / (
            T**0.5 * np.maximum(np.linalg.norm(W, axis=1), np.finfo(float).tiny)
        )
        return float(weights @ cosines / weights.sum())

    def along_valley(
        self, theta: Float[np.ndarray, " p"], vector: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " p"]:
        """The part of a vector that does not change f to first order."""
        return vector - self.pull(theta, self.solve(theta, self.push(theta, vector)))

    def back(self, theta: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The nearest point of zero loss that Gauss–Newton steps of least length find, or a
        RuntimeError.
        """
        for _ in range(CORRECTIONS):
            residual = self.residual(theta)
            if np.mean(residual**2) <= ZERO_LOSS:
                return theta
            theta = theta - self.pull(theta, self.solve(theta, residual))
        raise RuntimeError(
            "no point of zero loss was reached: the loss is still "
            f"{np.mean(self.residual(theta) ** 2):.3g}. Take smaller steps."
        )
