"""Gradient descent and Adam on free word vectors and context embeddings: what training finds in
finite time, beside the minimizers of the ridge path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import INCREASING, Length, NotNegative, Positive, Range, checked
from ntpcompanion.geometry.geometry_bounds import Distributions, excess_and_gradient
from ntpcompanion.linear.dynamics.optimizers import Adam, plain
from ntpcompanion.validation import as_matrix

ADAM_DECAY = 0.9, 0.999
ADAM_EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class FactorRun:
    """What a run leaves at the steps that were asked for.

    Fields
    ------
    steps
        (n,), from 0.
    contexts, words
        H (n, m, d) and W (n, V, d).
    excess
        (n,), CE − H in nats, without the penalty.
    """

    steps: tuple[int, ...]
    contexts: Float[np.ndarray, "n m d"]
    words: Float[np.ndarray, "n V d"]
    excess: Float[np.ndarray, " n"]

    @property
    def logits(self) -> Float[np.ndarray, "n m V"]:
        """L = H Wᵀ at each of the steps."""
        return self.contexts @ np.swapaxes(self.words, 1, 2)


@checked
def train_factors(
    next_token: ArrayLike,
    weight: ArrayLike,
    contexts: ArrayLike,
    words: ArrayLike,
    *,
    step_size: Positive,
    keep: Annotated[Sequence[int], Length(), Range(0), INCREASING],
    ridge: NotNegative = 0.0,
    method: Literal["gd", "adam"] = "gd",
) -> FactorRun:
    """Minimize CE(H Wᵀ) + λ/2 (‖W‖² + ‖H‖²) by full-batch gradient descent or Adam.

    Parameters
    ----------
    next_token, weight
        p (m, V) and π (m,).
    contexts, words
        H (m, d) and W (V, d) at the start.
    step_size
        of gradient descent, or Adam's learning rate.
    keep
        rising steps at which the factors are returned; the last one ends the run.
    ridge
        λ, coupled: part of the gradient under Adam as well.
    method
        "gd", or "adam" with β = (.9, .999) and ε = 1e-8.

    Returns
    -------
    FactorRun
        the factors and the excess loss at the steps of `keep`.

    Raises
    ------
    ValueError
        what is not a distribution, shapes that do not agree, steps that do not rise, a negative λ,
        or a run whose loss is no longer finite (the step size is too large).

    Notes
    -----
    A step costs O(m V d).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import train_factors
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> rng = np.random.default_rng(0)
    >>> start = rng.standard_normal((2, 3)), rng.standard_normal((3, 3))
    >>> run = train_factors(p, [0.5, 0.5], *start, step_size=0.5, keep=[0, 1000])
    >>> bool(run.excess[1] < run.excess[0]), bool(run.excess[1] < 0.01)
    (True, True)
    """
    distributions = Distributions.read(next_token, weight)
    m, vocab_size = distributions.probabilities.shape
    H = as_matrix("contexts", contexts, (m, None))
    W = as_matrix("words", words, (vocab_size, H.shape[1]))
    x = np.concatenate([H, W])
    update = Adam(x.shape, *ADAM_DECAY, ADAM_EPSILON) if method == "adam" else plain
    snapshots, losses = [], []
    for step in range(keep[-1] + 1):
        H, W = x[:m], x[m:]
        excess, slope = excess_and_gradient(H @ W.T, distributions)
        if not np.isfinite(excess):
            raise ValueError(
                f"`step_size` = {step_size:g} is too large: the loss is not finite after {step} "
                "steps."
            )
        if step in keep:
            snapshots.append(x)
            losses.append(excess)
        x = x - update(np.concatenate([slope @ W, slope.T @ H]) + ridge * x, step_size)
    factors = np.stack(snapshots)
    return FactorRun(tuple(keep), factors[:, :m], factors[:, m:], np.array(losses))
