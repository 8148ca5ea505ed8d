"""How many steps gradient descent needs to learn the exclusive or of two among d bits, with a
quadratic network and the linear loss (Taheri, Thrampoulidis, Mazumdar 2025).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Positive, Range, Size, checked
from ntpcompanion.validation import check_shape

# numbers in a block of inputs: 1 MB in single precision, which a cache holds
_BLOCK_ENTRIES = 2**18


@dataclass(frozen=True, eq=False)
class XorNetwork:
    """f(x) = 1/m Σ_j a_j (w_jᵀ x)² / 2, a network with quadratic activation of which only the w_j
    are trained.

    Fields
    ------
    weights
        w_j (m, d).
    signs
        a_j (m,), +1 or −1.
    """

    weights: Float[np.ndarray, "m d"]
    signs: Float[np.ndarray, " m"]

    def outputs(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The value f(x) of each row x."""
        return (inputs @ self.weights.T) ** 2 @ self.signs / (2 * len(self.signs))

    @property
    def right(self) -> Float[np.ndarray, " m"]:
        """The component of w_j along (e_1 + a_j e_2) / √2, which a step lengthens."""
        return (self.weights[:, 0] + self.signs * self.weights[:, 1]) / np.sqrt(2)

    @property
    def wrong(self) -> Float[np.ndarray, " m"]:
        """The component of w_j along (e_1 − a_j e_2) / √2, which a step shortens."""
        return (self.weights[:, 0] - self.signs * self.weights[:, 1]) / np.sqrt(2)


Even = Annotated[int, Range(2), Is(lambda width: width % 2 == 0, "be even")]
Bits = Annotated[int, Range(2)]
FewBits = Annotated[int, Range(2, 20, "(each bit doubles the number of rows)")]
Loss = Literal["linear", "logistic"]


@checked
def draw_network(rng: np.random.Generator, *, width: Even, dim: Bits) -> XorNetwork:
    """A network with standard normal weights in single precision, one half of its signs +1. Raises
    ValueError for a width that is odd or below 2, fewer than two bits.
    """
    signs = np.repeat(np.array([1, -1], dtype=np.float32), width // 2)
    return XorNetwork(rng.standard_normal((width, dim), dtype=np.float32), signs)


@checked
def population_step(network: XorNetwork, learning_rate: Positive) -> XorNetwork:
    """One step of gradient descent on the expected linear loss −E y f(x), in closed form.

    For x uniform on {−1, 1}^d and y = x_1 x_2, E y x xᵀ = e_1 e_2ᵀ + e_2 e_1ᵀ. So the step
    multiplies the right direction by 1 + η/m, the wrong one by 1 − η/m, and leaves the rest.

    Parameters
    ----------
    network
        before the step.
    learning_rate
        η.

    Returns
    -------
    XorNetwork
        after it.

    Raises
    ------
    ValueError
        a learning rate that is not positive.

    Notes
    -----
    Cost O(m d). Derived for this book.

    Examples
    --------
    At η = m the right direction doubles and the wrong one is gone after one step.

    >>> import numpy as np
    >>> from ntpcompanion.generalization import population_step
    >>> from ntpcompanion.generalization.xor import draw_network
    >>> start = draw_network(np.random.default_rng(0), width=4, dim=8)
    >>> after = population_step(start, 4)
    >>> bool(np.allclose(after.right, 2 * start.right)), bool(np.abs(after.wrong).max() < 1e-6)
    (True, True)
    """
    factor = float(learning_rate) / len(network.signs)
    weights = network.weights.copy()
    weights[:, :2] += factor * network.signs[:, None] * network.weights[:, 1::-1]
    return XorNetwork(weights, network.signs)


@checked
def gradient_step(
    network: XorNetwork,
    blocks: Iterable[ArrayLike],
    learning_rate: Positive,
    loss: Loss = "linear",
) -> XorNetwork:
    """One step of gradient descent on the mean loss over given inputs.

    Parameters
    ----------
    network
        before the step.
    blocks
        inputs x with entries ±1, in arrays (b, d): a batch in pieces, which need not be in memory
        together. The label is y = x_1 x_2.
    learning_rate
        η.
    loss
        of u = y f(x): "linear", −u, or "logistic", log(1 + exp(−u)) in nats.

    Returns
    -------
    XorNetwork
        after the step.

    Raises
    ------
    ValueError
        no inputs or inputs of another length, a learning rate that is not positive, an unknown
        loss.

    Notes
    -----
    Cost O(n m d) for n inputs, memory of one block.

    Examples
    --------
    Over all inputs the step is that of the population.

    >>> import numpy as np
    >>> from ntpcompanion.generalization import gradient_step, population_step
    >>> from ntpcompanion.generalization.xor import all_inputs, draw_network
    >>> start = draw_network(np.random.default_rng(0), width=4, dim=6)
    >>> both = gradient_step(start, [all_inputs(6)], 4), population_step(start, 4)
    >>> bool(np.allclose(both[0].weights, both[1].weights, atol=1e-5))
    True
    """
    factor = float(learning_rate) / len(network.signs)
    total, count = np.zeros_like(network.weights), 0
    for block in blocks:
        inputs = np.asarray(block, dtype=network.weights.dtype)
        check_shape("blocks", inputs.shape, (None, network.weights.shape[1]), "a row for each x")
        total += _weighted_sum(network, inputs, loss)
        count += len(inputs)
    if not count:
        raise ValueError("`blocks` must hold at least one array of inputs, got none.")
    return XorNetwork(
        network.weights + factor * network.signs[:, None] * total / count, network.signs
    )


def _weighted_sum(
    network: XorNetwork, inputs: Float[np.ndarray, "b d"], loss: str
) -> Float[np.ndarray, "m d"]:
    """Σ −loss'(y f) y (w_jᵀ x) x over the inputs."""
    along = inputs @ network.weights.T
    pull = inputs[:, 0] * inputs[:, 1]  # y
    if loss == "logistic":
        margin = pull * (along**2 @ network.signs) / (2 * len(network.signs))
        pull = pull * (1 - np.tanh(margin / 2)) / 2
    return (pull[:, None] * along).T @ inputs


@checked
def draw_blocks(
    rng: np.random.Generator, count: Size, dim: Bits
) -> Iterator[Float[np.ndarray, "b d"]]:
    """`count` inputs, uniform on {−1, 1}^d, in blocks (b, d) of at most 1 MB in single precision.

    Raises
    ------
    ValueError
        no inputs, fewer than two bits.
    """
    rows, signs = max(_BLOCK_ENTRIES // dim, 1), all_inputs(8)  # the eight signs of each byte
    for first in range(0, count, rows):
        take = min(rows, count - first)
        raw = np.frombuffer(rng.bytes(-(-take * dim // 8)), dtype=np.uint8)
        yield signs.take(raw, axis=0).reshape(-1)[: take * dim].reshape(take, dim)


@checked
def all_inputs(dim: FewBits) -> Float[np.ndarray, "n d"]:
    """The 2^d inputs with entries ±1, one a row. ValueError for d above 20."""
    bits = np.arange(2**dim)[:, None] >> np.arange(dim) & 1
    return (2.0 * bits - 1).astype(np.float32)


@checked
def sgd_path(
    network: XorNetwork,
    rng: np.random.Generator,
    *,
    steps: Size,
    batch_size: Size,
    learning_rate: Positive,
    loss: Loss = "linear",
) -> Iterator[XorNetwork]:
    """The networks before the first step of SGD and after each, with fresh inputs in every step.

    Parameters
    ----------
    network
        the start.
    rng
        of the batches.
    steps
        how many.
    batch_size
        n, inputs of a step.
    learning_rate, loss
        as in `gradient_step`.

    Yields
    ------
    XorNetwork
        `steps` + 1 of them.

    Raises
    ------
    ValueError
        as `gradient_step`, and for numbers below 1.

    Notes
    -----
    Cost O(n m d) a step: 0.2 s for d = 1024, m = 20, n = 4 d ln d on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import sgd_path
    >>> from ntpcompanion.generalization.xor import draw_network, estimate_accuracy
    >>> rng = np.random.default_rng(0)
    >>> start = draw_network(rng, width=20, dim=32)
    >>> path = sgd_path(start, rng, steps=6, batch_size=500, learning_rate=20)
    >>> accuracies = [estimate_accuracy(network, rng, 1000) for network in path]
    >>> len(accuracies), accuracies[0] < 0.7, accuracies[-1] > 0.99
    (7, True, True)
    """
    dim = network.weights.shape[1]
    yield network
    for _ in range(steps):
        blocks = draw_blocks(rng, batch_size, dim)
        network = gradient_step(network, blocks, learning_rate, loss)
        yield network


@checked
def estimate_accuracy(network: XorNetwork, rng: np.random.Generator, count: Size) -> float:
    """The fraction of `count` fresh inputs on which f has the sign of y.

    Raises
    ------
    ValueError
        a count below 1.
    """
    right = 0
    for block in draw_blocks(rng, count, network.weights.shape[1]):
        right += int((block[:, 0] * block[:, 1] * network.outputs(block) > 0).sum())
    return right / count
