"""A bias-free multilayer perceptron as a point of a wider one: the base case of the embedding of
small models in large ones (Liu et al. 2023, appendix B.4.1).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Is, Length, Size, checked
from ntpcompanion.validation import as_array

Scaling = Literal["balanced", "naive"]
# powers of the factor k on the first matrix, those between, and the last
MLP_SCALINGS: dict[Scaling, tuple[float, float, float]] = {
    "balanced": (-0.5, -1.0, -0.5),
    "naive": (0.0, -1.0, -1.0),
}
Weights = Annotated[
    Sequence[Float[np.ndarray, "_ _"]],
    Length(2),
    Is(
        lambda weights: all(
            np.shape(above)[1] == np.shape(below)[0] for below, above in pairwise(weights)
        ),
        "be matrices, each with as many columns as the one before has rows",
    ),
]


@checked
def enlarge_mlp(
    weights: Weights, factor: Size, *, scaling: Scaling = "balanced"
) -> list[np.ndarray]:
    """The matrices of a network that is k times as wide and has the same logits.

    Parameters
    ----------
    weights
        W_1 (d_1, d_0), …, W_n (d_n, d_{n−1}), n ≥ 2, of the network W_n σ(W_{n−1} … σ(W_1 x)) with
        σ a ReLU, leaky or not.
    factor
        k, how many times wider the hidden layers become.
    scaling
        of the blocks, see the notes: "balanced" keeps the squared gradient of every matrix, "naive"
        keeps the hidden units.

    Returns
    -------
    list of arrays
        k × 1 blocks of W_1, k × k blocks of the matrices between, 1 × k blocks of W_n, each times
        its power of k.

    Raises
    ------
    ValueError
        fewer than two matrices, shapes that do not fit, a factor below 1, an unknown scaling.

    Notes
    -----
    Balanced: powers −1/2, −1, −1/2. A ReLU is positively homogeneous, σ(c u) = c σ(u) for c > 0, so
    hidden vectors are k^{−1/2} (h; …; h): a matrix between has k blocks in a row, k · k^{−1} ·
    k^{−1/2} = k^{−1/2}; the last one gives k · k^{−1/2} · k^{−1/2} = 1 times the logits. Gradients
    with respect to the inputs of σ are k^{−1/2} (g; …; g) for the same reason, from the last layer
    down. The gradient of a matrix is the outer product of the two, so that its square is

        first: k · (1/k) ‖g xᵀ‖²,   between: k² · (1/k²) ‖g hᵀ‖²,   last: k · (1/k) ‖g hᵀ‖²,

    that of the small network. Naive: powers 0, −1, −1. Hidden vectors are (h; …; h), gradients
    (g; …; g) / k, and the squares 1/k, 1 and k times those of the small network.
    """
    matrices = [as_array("weights", matrix) for matrix in weights]
    first, between, last = (float(factor) ** power for power in MLP_SCALINGS[scaling])
    return [
        first * np.tile(matrices[0], (factor, 1)),
        *(between * np.tile(matrix, (factor, factor)) for matrix in matrices[1:-1]),
        last * np.tile(matrices[-1], (1, factor)),
    ]


@checked
def mlp_traces(
    weights: Weights,
    inputs: Float[np.ndarray, "inputs {len(weights[0][0])}"],
    *,
    slope: float = 0.0,
) -> Float[np.ndarray, " layers"]:
    """The trace of the Fisher information with respect to each matrix W_l: the mean over inputs of
    Σ_v f_v ‖∇ log f_v‖², f the softmax of the logits. `slope` is that of the activation below zero.
    Raises ValueError as `enlarge_mlp`, and for inputs of another shape.
    """
    matrices = [as_array("weights", matrix) for matrix in weights]
    hidden = _hidden(matrices, as_array("inputs", inputs), slope)
    logits = hidden[-1] @ matrices[-1].T
    odds = np.exp(logits - logits.max(1, keepdims=True))
    chances = odds / odds.sum(1, keepdims=True)
    gradients = np.eye(logits.shape[1]) - chances[:, None]  # (inputs, labels, outputs)
    traces = []
    for matrix, taken in zip(reversed(matrices), reversed(hidden), strict=True):
        squares = np.square(gradients).sum(2) * np.square(taken).sum(1)[:, None]
        traces.append((chances * squares).sum(1).mean())
        gradients = gradients @ matrix * np.where(taken > 0, 1.0, slope)[:, None]
    return np.array(traces[::-1])


def _hidden(weights: list[np.ndarray], inputs: np.ndarray, slope: float) -> list[np.ndarray]:
    """What each matrix takes: the inputs, then the outputs of the activations."""
    taken = [inputs]
    for matrix in weights[:-1]:
        preactivations = taken[-1] @ matrix.T
        taken.append(np.where(preactivations > 0, preactivations, slope * preactivations))
    return taken
