"""Gradient descent, normalized gradient descent and Polyak steps on the key-query matrix, in the
coordinates in which attention moves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from ntpcompanion.attention.layer import (
    LogitGradient,
    attention_map,
    log_excess,
    logit_gradient,
    plain_logit_gradient,
)
from ntpcompanion.attention.planted_data import Decoder, TokenSequences, as_decoder, check_leading
from ntpcompanion.checks import INCREASING, Positive, Range, Shape, checked
from ntpcompanion.validation import as_array, as_integer_array

# Where attention is stuck on a wrong token L − L* stays and ∇L vanishes: Polyak's step diverges.
LONGEST = 1e6
Method = Literal["gd", "ngd", "polyak"]
Gradient = Literal["log", "plain"]
GRADIENTS = {"log": logit_gradient, "plain": plain_logit_gradient}
Steps = Annotated[ArrayLike, Shape("s", integers=True), Range(0), INCREASING]


@dataclass(frozen=True, eq=False)
class AttentionPath:
    """What `descend_attention` passes: W_k = W_0 + Σ_iτ c_iτ x_iτ q_iᵀ at the kept steps.

    Fields
    ------
    sequences
        the data.
    start
        W_0, (..., d, k).
    steps
        (s,), the kept numbers of steps.
    logits, coefficients
        (s, ..., n, T), the attention logits x_iτᵀ W q_i, and c.
    log_excess
        (s, ...), log(L − L*).
    """

    sequences: TokenSequences
    start: Float[np.ndarray, "*sets d k"]
    steps: Int[np.ndarray, " s"]
    logits: Float[np.ndarray, "s *sets n T"]
    coefficients: Float[np.ndarray, "s *sets n T"]
    log_excess: Float[np.ndarray, "s *sets"]

    @property
    def attention(self) -> Float[np.ndarray, "s *sets n T"]:
        """Attention of each query to each token."""
        return attention_map(self.logits)

    @property
    def weights(self) -> Float[np.ndarray, "s *sets d k"]:
        """W at the kept steps."""
        return self.start + self.sequences.weights(self.coefficients)

    @property
    def norm(self) -> Float[np.ndarray, "s *sets"]:
        """‖W‖_F."""
        before = self.sequences.logits(self.start)
        squared = (self.start**2).sum(axis=(-2, -1))
        moved = (self.coefficients * (before + self.logits)).sum(axis=(-2, -1))
        return np.sqrt(np.maximum(squared + moved, 0))

    def direction_error(self, target: ArrayLike) -> Float[np.ndarray, "s *sets"]:
        """‖W/‖W‖ − U/‖U‖‖_F for a target U (..., d, k), to about 1e-8; NaN where W is zero."""
        goal = as_array("target", target)
        along = (self.start * goal).sum(axis=(-2, -1))
        along = along + (self.coefficients * self.sequences.logits(goal)).sum(axis=(-2, -1))
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = along / self.norm / np.sqrt((goal**2).sum(axis=(-2, -1)))
        return np.sqrt(np.maximum(2 - 2 * cosine, 0))


@checked
def descend_attention(
    sequences: TokenSequences,
    decoder: Decoder,
    *,
    method: Method,
    keep: Steps,
    learning_rate: Positive = 1.0,
    start: Annotated[ArrayLike, Shape("... d k")] | None = None,
    gradient: Gradient = "log",
) -> AttentionPath:
    """Minimize the logistic loss of one layer of attention over W, with the decoder u fixed.

        L(W) = 1/n Σ_i log(1 + exp(−y_i uᵀ X_iᵀ softmax(X_i W q_i)))
        "gd"      W ← W − η ∇L
        "ngd"     W ← W − η ∇L / ‖∇L‖_F
        "polyak"  W ← W − (L − L*) / (2 ‖∇L‖²) ∇L,  L* the loss with all attention on best tokens

    Parameters
    ----------
    sequences
        the data; leading axes are data sets that are run side by side.
    decoder
        u, (d,), or one for each data set, (..., d).
    method
        "gd", "ngd" or "polyak".
    keep
        the numbers of steps after which W is kept, increasing, 0 for the start; the last one ends
        the run.
    learning_rate
        η of "gd" and "ngd".
    start
        W_0, (..., d, k), zero by default. Its leading axes may be longer than those of the data:
        several starts for a data set.
    gradient
        "log": in the log domain, accurate however far attention is saturated. "plain": the usual
        formula, which ends in rounding.

    Returns
    -------
    AttentionPath
        W, its norm and the attention at the kept steps.

    Raises
    ------
    ValueError
        an unknown method or gradient, arguments out of range, arrays that do not fit.

    Notes
    -----
    A gradient is a sum of x_iτ q_iᵀ with the entries of ∂L/∂a as coefficients, so a step moves the
    logits by their product with the Gram matrix of these: O((n T)²) a step whatever d is. Where a
    gradient is zero there is no step, and none of Polyak where it would be longer than 1e6, as
    happens where attention is stuck on a wrong token.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import descend_attention, plant_tokens, solve_w_svm
    >>> drawn = plant_tokens(np.random.default_rng(0), count=4, length=3, dim=10)
    >>> target = solve_w_svm(drawn.sequences, drawn.best).weights
    >>> path = descend_attention(
    ...     drawn.sequences, drawn.decoder, method="ngd", learning_rate=0.1, keep=[30, 300, 3000]
    ... )
    >>> path.norm.round(0).tolist()  # η k
    [3.0, 30.0, 300.0]
    >>> path.direction_error(target).round(2).tolist()
    [0.37, 0.11, 0.02]
    """
    snapshot_steps = as_integer_array("keep", keep).tolist()
    scores = sequences.scores(as_decoder("decoder", decoder, sequences))
    first = _as_start(sequences, start)
    histories = _run(
        sequences, first, scores, GRADIENTS[gradient], method, learning_rate, snapshot_steps
    )
    return AttentionPath(sequences, first, np.array(snapshot_steps), *map(np.stack, histories))


def take_step(
    gram: Float[np.ndarray, "*sets nT nT"],
    derivative: LogitGradient,
    method: str,
    rate: float,
    excess: Float[np.ndarray, "*all"] | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """What a step subtracts from the coefficients and from the logits, both (..., n, T); `excess`
    is log(L − L*), for "polyak".
    """
    shape = derivative.scaled.shape
    image = (gram @ derivative.scaled.reshape(*shape[:-2], -1, 1)).reshape(shape)
    squared = np.asarray(
        (derivative.scaled * image).sum(axis=(-2, -1))
    )  # norm of the gradient of W
    length = _length(derivative.log_scale, squared, method, rate, excess)[..., None, None]
    return length * derivative.scaled, length * image


def _length(
    log_scale: np.ndarray,
    squared: np.ndarray,
    method: str,
    rate: float,
    excess: np.ndarray | float,
) -> np.ndarray:
    """The factor of the scaled gradient in a step; zero where there is none."""
    moves = np.isfinite(log_scale) & (squared > 0)
    norm, scale = np.sqrt(np.where(moves, squared, 1)), np.where(moves, log_scale, 0)
    if method == "gd":
        return np.where(moves, rate * np.exp(scale), 0)
    if method == "ngd":
        return np.where(moves, rate / norm, 0)
    log_length = excess - scale - np.log(2 * norm**2)  # of the factor; times the norm, of the step
    taken = moves & (log_length + np.log(norm) < np.log(LONGEST))
    return np.where(taken, np.exp(np.where(taken, log_length, 0)), 0)


def _run(
    sequences: TokenSequences,
    start: np.ndarray,
    scores: np.ndarray,
    gradient: Callable[[np.ndarray, np.ndarray], LogitGradient],
    method: str,
    rate: float,
    snapshot_steps: list[int],
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Logits, coefficients and log(L − L*) at the kept steps."""
    gram, logits = sequences.gram(), sequences.logits(start)
    coefficients = np.zeros_like(logits)
    seen: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for k in range(snapshot_steps[-1] + 1):
        derivative, is_snapshot = gradient(logits, scores), k == snapshot_steps[len(seen[0])]
        excess = log_excess(logits, scores) if is_snapshot or method == "polyak" else 0.0
        if is_snapshot:
            for part, value in zip(seen, (logits, coefficients, excess), strict=True):
                part.append(np.array(value))
        step, image = take_step(gram, derivative, method, rate, excess)
        coefficients, logits = coefficients - step, logits - image
    return seen


def _as_start(sequences: TokenSequences, start: ArrayLike | None) -> np.ndarray:
    shape = (sequences.tokens.shape[-1], sequences.queries.shape[-1])
    sets = sequences.tokens.shape[:-3]
    if start is None:
        return np.zeros((*sets, *shape))
    first = as_array("start", start)
    return np.broadcast_to(first, (*check_leading("start", first, shape, sets), *shape))
