"""Key-query matrix and decoder trained together: the steps decide how fast the loss falls."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.attention.layer import log_softmax, log_sum_exp, logit_gradient
from ntpcompanion.attention.planted_data import TokenSequences
from ntpcompanion.attention.steps import Steps, take_step
from ntpcompanion.checks import NotNegative, Positive, checked
from ntpcompanion.validation import as_integer_array

LARGE = 30.0  # above it log(1 + exp(−m)) is exp(−m) to rounding


@dataclass(frozen=True, eq=False)
class JointPath:
    """What `train_jointly` passes at the kept steps.

    Fields
    ------
    steps
        (s,), the kept numbers of steps.
    coefficients
        (s, ..., n, T), c of W = Σ_iτ c_iτ x_iτ q_iᵀ.
    decoder
        (s, ..., d), u.
    log_loss
        (s, ...), log L, accurate also where L underflows.
    """

    steps: Int[np.ndarray, " s"]
    coefficients: Float[np.ndarray, "s *sets n T"]
    decoder: Float[np.ndarray, "s *sets d"]
    log_loss: Float[np.ndarray, "s *sets"]


@checked
def train_jointly(
    sequences: TokenSequences,
    *,
    method: Literal["gd", "ngd"],
    learning_rate: Positive,
    keep: Steps,
    decay: NotNegative = 0.0,
) -> JointPath:
    """Minimize the logistic loss of one layer of attention over W and u at once, from zero.

        "gd"   both move by −η_t times their gradient
        "ngd"  each by −η_t times its own gradient divided by its norm
        η_t = η (t + 1)^−decay,  t = 0, 1, 2, …

    Parameters
    ----------
    sequences
        the data; leading axes are data sets that are run side by side.
    method
        "gd" or "ngd".
    learning_rate
        η.
    keep
        the numbers of steps after which W and u are kept, increasing; the last one ends the run.
    decay
        the power with which the steps fall; 0 for constant ones.

    Returns
    -------
    JointPath
        W, u and the logarithm of the loss at the kept steps.

    Raises
    ------
    ValueError
        an unknown method, a learning rate that is not positive, a negative decay, or
        anything but steps.

    Notes
    -----
    All in the log domain: losses of e^−1000 keep their digits. Cost O((n T)²) a step.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import plant_tokens, train_jointly
    >>> data = plant_tokens(np.random.default_rng(0), count=4, length=3, dim=10).sequences
    >>> path = train_jointly(data, method="ngd", learning_rate=0.1, keep=[0, 100, 10_000])
    >>> path.log_loss.round(1).tolist()  # log 2 at the start
    [-0.4, -6.8, -706.9]
    """
    snapshot_steps = as_integer_array("keep", keep).tolist()
    gram = sequences.gram()
    logits = np.zeros(sequences.tokens.shape[:-1])
    coefficients = np.zeros_like(logits)
    decoder = np.zeros((*logits.shape[:-2], sequences.tokens.shape[-1]))
    seen: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for t in range(snapshot_steps[-1] + 1):
        scores = sequences.scores(decoder)
        toward, log_weights = decoder_pull(sequences, logits, scores)
        if t == snapshot_steps[len(seen[0])]:
            for part, value in zip(
                seen, (coefficients, decoder, log_loss(logits, scores)), strict=True
            ):
                part.append(value.copy())
        eta = learning_rate * (t + 1) ** -decay
        step, image = take_step(gram, logit_gradient(logits, scores), method, eta)
        coefficients, logits = coefficients - step, logits - image
        size = np.linalg.norm(toward, axis=-1)
        along = eta / size if method == "ngd" else eta * np.exp(log_weights)
        decoder = decoder + along[..., None] * toward
    return JointPath(np.array(snapshot_steps), *map(np.stack, seen))


def decoder_pull(
    sequences: TokenSequences, logits: np.ndarray, scores: np.ndarray
) -> tuple[Float[np.ndarray, "*sets d"], Float[np.ndarray, "*sets"]]:
    """−∂L/∂u = 1/n Σ_i σ(−m_i) y_i X_iᵀ s_i as a vector and the logarithm of its factor."""
    attention = np.exp(log_softmax(logits))
    weights = -np.logaddexp(0, (attention * scores).sum(axis=-1))  # log σ(−m)
    top = weights.max(axis=-1, keepdims=True)
    pull = np.exp(weights - top) * sequences.labels / logits.shape[-2]
    seen = (np.swapaxes(sequences.tokens, -1, -2) @ attention[..., None])[..., 0]
    return (pull[..., None] * seen).sum(axis=-2), top[..., 0]


def log_loss(logits: np.ndarray, scores: np.ndarray) -> Float[np.ndarray, "*sets"]:
    """The logarithm of L for logits and scores (..., n, T), accurate also where L underflows."""
    margin = (np.exp(log_softmax(logits)) * scores).sum(axis=-1)
    small = np.log(np.logaddexp(0, -np.minimum(margin, LARGE)))
    total = log_sum_exp(np.where(margin > LARGE, -margin, small))
    return np.asarray(total - np.log(logits.shape[-2]))
