"""Two descents: towards a decoder that separates, and towards a certificate that none does."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from ntpcompanion.linear.separability.ties import centre, least_squares
from ntpcompanion.numerics.progress import no_tick

# A face that was guessed wrongly is corrected this often: entries of the wrong sign leave it.
FACE_TRIES = 5
# Entries of a certificate below this share of the largest are rounding.
NOISE = 1e-13
# Least squares that are further than this from orthogonal ran out of steps: the face is far from
# right, and waits for the next round.
UNFINISHED = 1e-9


def project_signs(
    values: Float[np.ndarray, "m V"], support: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"]:
    """The nearest Γ with Γ1 = 0 in every row and Γ ≤ 0 off support.

    In a row, Γ = x − ν on the support and min(x − ν, 0) off it. The sum is concave and decreasing
    in ν, so Newton's method from the mean over the support falls monotonically onto the root,
    dropping entries until the set of negative ones no longer changes. O(m V) a step, a few steps.
    """
    level = np.where(support, values, 0.0).sum(axis=1) / support.sum(axis=1)
    face = support | (values < level[:, None])
    while True:
        projection = centre(values, face)
        smaller = support | (face & (projection < 0))
        if np.array_equal(smaller, face):
            return projection
        face = smaller


def minimize_to_decoder(
    basis: Float[np.ndarray, "m r"],
    support: Bool[np.ndarray, "m V"],
    start: Float[np.ndarray, "r V"],
    iterations: int,
    tick: Callable[[], None] = no_tick,
) -> Float[np.ndarray, "r V"]:
    """Minimize ½‖P(G − basis X)‖², P = project_signs, G = 0 on the supports and −1 off them.

    By Moreau the value is 0 exactly if X ties and has all margins at least 1; otherwise Γ = P(G −
    basis X) is, at the minimum, the projection of G onto the cone of certificates, and not zero.
    Either X or Γ is a proof. L-BFGS, O(m r V) a step; `tick` is called at each, and ends the
    descent by raising.
    """
    goal = np.where(support, 0.0, -1.0)

    def value(x: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        rest = project_signs(goal - basis @ x.reshape(start.shape), support)
        return 0.5 * np.vdot(rest, rest), -(basis.T @ rest).ravel()

    return _lbfgs(value, start, iterations, tick)


def minimize_to_certificate(
    basis: Float[np.ndarray, "m r"],
    support: Bool[np.ndarray, "m V"],
    start: Float[np.ndarray, "m V"],
    iterations: int,
    tick: Callable[[], None] = no_tick,
) -> Float[np.ndarray, "m V"]:
    """Minimize ½ dist²(Γ, {Γ1 = 0, Γ ≤ −½ off support}) over Γ = Y − basis basisᵀ Y, that is, over
    basisᵀ Γ = 0.

    Finds a certificate that is negative at every pair off support, if there is one, usually long
    before the other descent does. L-BFGS, O(m r V) a step; `tick` as in `minimize_to_decoder`.
    """
    bound = np.where(
        support,
        0.5 * (~support).sum(axis=1, keepdims=True) / support.sum(axis=1, keepdims=True),
        -0.5,
    )

    def value(y: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        gap = _orthogonal(basis, y.reshape(start.shape)) - bound
        gap -= project_signs(gap, support)
        return 0.5 * np.vdot(gap, gap), _orthogonal(basis, gap).ravel()

    return _lbfgs(value, start, iterations, tick)


def finish_weights(
    basis: Float[np.ndarray, "m r"],
    support: Bool[np.ndarray, "m V"],
    X: Float[np.ndarray, "r V"],
    iterations: int,
    tick: Callable[[], None] = no_tick,
) -> Float[np.ndarray, "r V"]:
    """X without its part in F: ties are then exact to rounding."""
    return X - least_squares(basis, support, basis @ X, iterations, tick)[0]


def finish_certificate(
    basis: Float[np.ndarray, "m r"],
    support: Bool[np.ndarray, "m V"],
    guess: Float[np.ndarray, "m V"],
    iterations: int,
    tick: Callable[[], None] = no_tick,
) -> Float[np.ndarray, "m V"] | None:
    """The certificate nearest to `guess`, up to rounding: basisᵀ Γ = 0, Γ1 = 0, no entry off
    support positive, and zero where `guess` is zero off support. None if that leaves nothing off
    support, or does not end.

    `guess` is nearly orthogonal to the basis, with rows of sum nearly 0, and no entry off support
    positive. Entries of the wrong sign are put to 0 and the problem is solved again: at most
    FACE_TRIES least-squares problems, with at most `iterations` steps of LSQR each, O(m r V) a
    step.
    """
    face = support | (guess < 0)
    start = np.abs(guess).max()
    for _ in range(FACE_TRIES):
        guess = least_squares(basis, face, guess, iterations, tick)[1]
        largest = np.abs(guess).max()
        off = np.where(support, 0.0, guess)
        if (
            off.min() >= -NOISE * max(largest, start)
            or np.linalg.norm(basis.T @ guess) > UNFINISHED * start
        ):
            return None
        if off.max() <= NOISE * largest:
            return np.where(support, guess, np.minimum(guess, 0.0))
        face = support | (face & (guess < 0))
    return None


def certificate_of_zero_rows(
    embeddings: Float[np.ndarray, "m d"], support: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"] | None:
    """A certificate from the contexts with zero embeddings, none of whose tokens can be beaten by
    others: −1 off their support, the opposite sum on it, zero in other rows. None if there are
    none.

    EᵀΓ = 0 exactly, whatever the other embeddings are. O(m (d + V)).
    """
    off = ~support & ~embeddings.any(axis=1, keepdims=True)
    if not off.any():
        return None
    level = off.sum(axis=1, keepdims=True) / support.sum(axis=1, keepdims=True)
    return np.where(support, level, np.where(off, -1.0, 0.0))


def finish_strict_certificate(
    basis: Float[np.ndarray, "m r"], support: Bool[np.ndarray, "m V"], Y: Float[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"] | None:
    """The projection of Y onto basisᵀ Γ = 0, Γ1 = 0, when it is negative everywhere off support;
    else None.
    """
    gamma = _orthogonal(basis, centre(_orthogonal(basis, Y), np.ones_like(support)))
    return gamma if np.where(support, -1.0, gamma).max() < 0 else None


def _orthogonal(
    basis: Float[np.ndarray, "m r"], values: Float[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"]:
    return values - basis @ (basis.T @ values)


def _lbfgs(
    value: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    iterations: int,
    tick: Callable[[], None],
) -> np.ndarray:
    def timed(x: np.ndarray) -> tuple[float, np.ndarray]:
        tick()
        return value(x)

    options = {
        "maxiter": iterations,
        "maxfun": 2 * iterations,
        "ftol": 0.0,
        "gtol": 1e-12,
        "maxls": 40,
    }
    result = minimize(timed, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return result.x.reshape(start.shape)
