"""The constant of the direction error: how far from the ray of the SVM descent runs in the end."""

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.attention.planted_data import BEST, Decoder, Positions, as_decoder
from ntpcompanion.attention.wsvm import OneSet, WSVMSolution, differences, solve_w_svm
from ntpcompanion.checks import checked
from ntpcompanion.linear.separability.decision import Verdict
from ntpcompanion.validation import as_array


@checked(BEST)
def limiting_offset(
    sequences: OneSet, decoder: Decoder, best: Positions
) -> Float[np.ndarray, "d k"]:
    """The part orthogonal to W_mm of what W_t − ‖W_t‖ W_mm / ‖W_mm‖ tends to, from W_0 = 0, where
    all pairs are support vectors and linearly independent.

    Parameters
    ----------
    sequences
        one data set.
    decoder
        u, (d,), under which the token `best` of each sequence has the largest score.
    best
        (n,), their positions.

    Returns
    -------
    array
        R of shape (d, k): the direction error times ‖W_t‖ tends to ‖R‖_F.

    Raises
    ------
    ValueError
        arrays that do not fit; data without W_mm; a pair that is not a support vector, or whose
        multiplier is zero; pairs that are linearly dependent.

    Notes
    -----
    Far out a pair (i, τ) pulls with the force σ(−γ_i) (γ_i − γ_iτ) exp(−φᵀ W), φ = (x_i,best −
    x_iτ) q_iᵀ, and these forces must be proportional to the multipliers α of W_mm. So φᵀ R = log(
    σ(−γ_i) (γ_i − γ_iτ) / α_iτ) up to a multiple of φᵀ W_mm = 1, and R lies in the span of the φ
    (as for logistic regression: Soudry et al. 2018). Cost that of `solve_w_svm`, and O((n T)³).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import descend_attention, limiting_offset, plant_tokens
    >>> from ntpcompanion.attention import solve_w_svm
    >>> drawn = plant_tokens(np.random.default_rng(0), count=4, length=3, dim=50)
    >>> offset = limiting_offset(drawn.sequences, drawn.decoder, drawn.best)
    >>> target = solve_w_svm(drawn.sequences, drawn.best).weights
    >>> path = descend_attention(drawn.sequences, drawn.decoder, method="ngd", keep=[4000])
    >>> error = path.direction_error(target)[0] * path.norm[0]
    >>> bool(abs(error / np.linalg.norm(offset) - 1) < 0.05)
    True
    """
    chosen = as_array("best", best).astype(int)[:, None]
    others = np.arange(sequences.length) != chosen
    ray, alpha = _support_vectors(solve_w_svm(sequences, best, tol=1e-10), others)
    scores = sequences.scores(as_decoder("decoder", decoder, sequences))
    top = np.take_along_axis(scores, chosen, axis=1)
    forces = ((top - scores) / (1 + np.exp(top)))[others]
    if forces.min() <= 0:
        raise ValueError("`decoder` must give the token `best` the largest score.")
    ahead, asked = differences(sequences, best)
    pairs = np.einsum("pd,pk->pdk", ahead[others], asked[others]).reshape(len(alpha), -1)
    if np.linalg.matrix_rank(pairs) < len(pairs):
        raise ValueError(
            f"`sequences` has {len(pairs)} pairs that are linearly dependent: their multipliers "
            "are not unique. Leave out sequences that follow from others."
        )
    levels = np.linalg.lstsq(pairs @ pairs.T, np.log(forces / alpha), rcond=None)[0]
    offset = (levels @ pairs).reshape(ray.shape)
    return np.asarray(offset - (offset * ray).sum() * ray)


def _support_vectors(
    solution: WSVMSolution, others: Bool[np.ndarray, "n T"]
) -> tuple[np.ndarray, np.ndarray]:
    """W_mm / ‖W_mm‖ and the multipliers of the pairs, all positive; ValueError otherwise."""
    if solution.verdict is not Verdict.SEPARABLE:
        raise ValueError(
            f"`sequences` has no W_mm: `solve_w_svm` says {solution.verdict.name} (relative gap "
            f"{solution.duality_gap:.3g})."
        )
    assert solution.weights is not None
    assert solution.margins is not None
    assert solution.multipliers is not None
    largest, alpha = solution.margins[others].max(), solution.multipliers[others]
    if largest > 1 + 1e-4 or alpha.min() <= 0:
        raise ValueError(
            f"`sequences` has a pair that is not a support vector (largest margin {largest:.6g}, "
            f"smallest multiplier {alpha.min():.3g}): the offset then depends on the whole path. "
            "Draw more dimensions."
        )
    return solution.weights / np.linalg.norm(solution.weights), alpha
