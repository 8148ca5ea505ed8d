"""Training with smoothed labels: the decoder that it tends to, and the direction of that decoder as
the smoothing vanishes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import null_space, solve
from scipy.optimize import linprog

from ntpcompanion.checks import Is, Length, Range, checked, need
from ntpcompanion.linear.separability.implied_table import (
    implied_table,
    match_moments,
    whitened,
)
from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.linear.tables.contexts import ContextTable

MULTIPLIER_TOLERANCE = 1e-9  # multipliers above count as positive, relative to the largest

Predictions = Annotated[
    Float[np.ndarray, "m V"],
    Is(
        lambda u: (u > 0).all() and np.allclose(u.sum(axis=1), 1),
        "hold positive probabilities, which sum to 1 in each row",
    ),
]
FITS_TABLE = need(
    "towards",
    "towards is None or towards.shape == (table.num_contexts, table.vocab_size)",
    "have the shape ({table.num_contexts}, {table.vocab_size}) of the table",
)


@dataclass(frozen=True, eq=False)
class SmoothingLimit:
    """The direction of the decoder of label smoothing as ε → 0, with its proof.

    `weights` ties on the supports and has margins of at least 1 off them. Of all such decoders it
    has the least `mean_margin`, Σ_j π_j Σ_{v∉S_j} margin_jv: a sum over tokens, and a mean over
    contexts (with `towards` each margin has the weight V u_jv). Its rows lie in the span of the
    embeddings and sum to zero. In Γ, the `dual`, −Γ_jv is the multiplier of the margin of v in
    context j: Γ1 = 0, Γ ≤ 0 off the supports, and ΓᵀE is the gradient of the sum, up to an error of
    `residual` in each coordinate of an orthonormal basis of the embeddings. `gap` is `mean_margin`
    less its lower bound, the sum of the multipliers, relative to it. If `proved_unique`, the ties
    and the margins with positive multipliers leave no freedom, and no other decoder with rows in
    the span that sum to zero has that mean margin; False leaves it open.
    """

    weights: Float[np.ndarray, "V d"]
    mean_margin: float
    dual: Float[np.ndarray, "m V"]
    gap: float
    residual: float
    proved_unique: bool


@checked(FITS_TABLE)
def smoothing_limit(table: ContextTable, towards: Predictions | None = None) -> SmoothingLimit:
    """Minimize the mean margin off the supports, subject to ties and margins of at least 1; the
    supports are those of the implied table.

    The minimizer of the cross-entropy with targets (1 − ε) p_j + ε u_j, divided by log(1/ε), tends
    to this decoder as ε → 0, where u_j = `towards` is positive, and 1/V by default. Margins are
    weighted by V u_jv. If every margin can be 1, as with independent embeddings, every margin is. A
    linear program with at most m V constraints: a second for m = 50, V = 10, d = 60. Raises
    `ValueError` where the loss has a minimizer, and for `towards` that is not positive;
    `RuntimeError` as `implied_table`, and for a program that is not solved.
    """
    # with a decoder that separates them, the table's own supports are those of the implied table
    limit = _least_margins(table, towards) or _least_margins(implied_table(table).table, towards)
    if limit is None:
        raise RuntimeError("HiGHS finds no decoder that separates the implied table.")
    return limit


def _least_margins(table: ContextTable, towards: Predictions | None) -> SmoothingLimit | None:
    """The solution of the linear program; None where no decoder separates."""
    V, basis = table.vocab_size, _span(table.embeddings)
    ties, margins = constraint_pairs(table)
    if not margins.size:
        return None
    tie_gaps, margin_gaps = (
        _logit_gaps(table.embeddings @ basis, V, pairs) for pairs in (ties, margins)
    )
    weight = table.weight[margins[0]]
    if towards is not None:
        weight = weight * V * towards[margins[0], margins[2]]
    centred = np.kron(np.ones(V), np.eye(basis.shape[1]))
    directions = null_space(np.concatenate([tie_gaps, centred]))
    objective = weight @ margin_gaps @ directions
    margin_rows = margin_gaps @ directions
    program = linprog(objective, -margin_rows, -np.ones(len(margin_rows)), bounds=(None, None))
    if program.status:
        return None
    multipliers = -program.ineqlin.marginals
    tie_target = (weight - multipliers) @ margin_gaps
    tie_multipliers, *_ = np.linalg.lstsq(tie_gaps.T, tie_target, rcond=None)
    dual = np.zeros((table.num_contexts, V))
    for (contexts, anchors, tokens), values in ((margins, multipliers), (ties, tie_multipliers)):
        np.add.at(dual, (contexts, anchors), values)
        np.add.at(dual, (contexts, tokens), -values)
    objective_gradient = (weight @ margin_gaps).reshape(V, -1)
    active = margin_rows[multipliers > MULTIPLIER_TOLERANCE * multipliers.max()]
    return SmoothingLimit(
        weights=(directions @ program.x).reshape(V, -1) @ basis.T,
        mean_margin=program.fun,
        dual=dual,
        gap=(program.fun - float(multipliers.sum())) / program.fun,
        residual=float(np.abs(dual.T @ (table.embeddings @ basis) - objective_gradient).max()),
        proved_unique=bool(np.linalg.matrix_rank(active) == directions.shape[1]),
    )


def _logit_gaps(
    embeddings: Float[np.ndarray, "m r"], vocab_size: int, pairs: Int[np.ndarray, "3 n"]
) -> Float[np.ndarray, "n Vr"]:
    """The matrix that takes W to the logit of each anchor, the token of the support with which a
    token is compared, less that of the token.
    """
    contexts, anchors, tokens = pairs
    gaps = np.zeros((len(contexts), vocab_size, embeddings.shape[1]))
    gaps[np.arange(len(contexts)), anchors] = embeddings[contexts]
    gaps[np.arange(len(contexts)), tokens] = -embeddings[contexts]
    return gaps.reshape(len(contexts), vocab_size * embeddings.shape[1])


@checked(FITS_TABLE)
def smoothed_decoders(
    table: ContextTable,
    smoothings: Annotated[
        Sequence[Annotated[float, Range(0, 1)]],
        Length(1),
        Is(lambda values: min(values) > 0, "be positive"),
        Is(lambda values: (np.diff(values) < 0).all(), "be decreasing"),
    ],
    towards: Predictions | None = None,
) -> Float[np.ndarray, "n V d"]:
    """The decoder of least norm that minimizes the cross-entropy with targets (1 − ε) p_j + ε u_j,
    for each ε: where gradient descent from zero ends. u_j = `towards` is 1/V by default; for
    distillation pass the predictions of a teacher, and `smoothings=[1.0]`. The table may be
    separable or not.

    Each ε is the start of the next, smaller one: some 20 Newton steps of cost O(m (V r)² + (V r)³),
    r the rank of the embeddings. Raises `ValueError` for an ε outside (0, 1] or a list that does
    not decrease, and `RuntimeError` for a gradient that Newton's method does not bring to zero, as
    with an ε close to machine precision.
    """
    rows, to_decoder = whitened(table)
    p, all_tokens = (
        table.distributions.toarray(),
        np.ones((table.num_contexts, table.vocab_size), bool),
    )
    X, decoders = np.zeros((len(to_decoder), table.vocab_size)), []
    for epsilon in smoothings:
        labels = (1 - epsilon) * p + epsilon * (
            1 / table.vocab_size if towards is None else towards
        )
        X = match_moments(rows, table.weight[:, None], labels, all_tokens, _dense_step, X)
        decoders.append(X.T @ to_decoder)
    return np.stack(decoders)


def _span(embeddings: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "d r"]:
    _, scale, right = np.linalg.svd(embeddings, full_matrices=False)
    return right[scale > max(embeddings.shape) * np.finfo(float).eps * scale.max()].T


def _dense_step(
    rows: Float[np.ndarray, "m r"],
    weight: Float[np.ndarray, "m 1"],
    q: Float[np.ndarray, "m V"],
    gradient: Float[np.ndarray, "r V"],
) -> Float[np.ndarray, "r V"]:
    """By a dense solve: small probabilities make the Hessian too ill-conditioned for conjugate
    gradients.
    """
    step = solve(_hessian(rows, weight, q), gradient.ravel(), assume_a="pos")
    return np.asarray(step.reshape(gradient.shape))


def _hessian(
    rows: Float[np.ndarray, "m r"], weight: Float[np.ndarray, "m 1"], q: Float[np.ndarray, "m V"]
) -> Float[np.ndarray, "rV rV"]:
    """That of the loss in X, plus the squared sum of each row over 2V, which is zero all along."""
    (m, r), V = rows.shape, q.shape[1]
    each = (rows[:, :, None] * q[:, None, :]).reshape(m, r * V)
    hessian = (-(each.T @ (weight * each))).reshape(r, V, r, V)
    token = np.arange(V)
    hessian[:, token, :, token] += np.einsum("jv,ja,jb->vab", weight * q, rows, rows, optimize=True)
    axis = np.arange(r)
    hessian[axis, :, axis, :] += 1 / V
    return hessian.reshape(r * V, r * V)
