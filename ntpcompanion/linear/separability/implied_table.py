"""The implied table of a text: among all tables with the same loss at every decoder, the one of
largest entropy. The loss comes arbitrarily close to that entropy, for every text.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import entr, log_softmax, softmax

from ntpcompanion.checks import Positive, Size, checked
from ntpcompanion.linear.separability.certificates import (
    MASS_TOLERANCE,
    check_certificate,
    check_weights,
)
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.separability.ties import project_onto_F, unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable

# Newton steps; each lowers the logit of an improbable token by about 1.
NEWTON_STEPS = 1000
# The largest error of the moments, with embeddings whose second moments are the identity. Rounding
# leaves some 1e-15.
MOMENT_TOLERANCE = 1e-13
# The largest `gap`, in nats, and error of the moments, when proofs are read again.
GAP_TOLERANCE = 1e-10
# Conjugate gradients stop here: more digits of a Newton step are rounding where p̃ is tiny.
STEP_TOLERANCE = 1e-3
NewtonStep = Callable[..., Float[np.ndarray, "r V"]]


class Case(enum.Enum):
    """Where the loss of a table has its infimum."""

    ENTROPY = "the loss comes arbitrarily close to the entropy of the table"
    IMPLIED_TABLE = "it comes arbitrarily close to the entropy of the implied table, no lower"
    MINIMIZER = "the loss has a minimizer"


class FullTable(ContextTable):
    """A table in which every token can follow every context, which `ContextTable` rejects."""

    def __post_init__(self) -> None:
        """Skips the checks of `ContextTable`, which would reject full supports."""


@dataclass(frozen=True, eq=False)
class ImpliedSupport:
    """Supports (m, V) of the implied table, with a proof that they are large enough and one that
    they are not too small.

    The supports of the text are enlarged in turn. Each of the `certificates` proves one step: a Γ
    with EᵀΓ = 0 and Γ1 = 0 that is not positive off the supports so far, and negative where tokens
    are added. That no further token can be added is proved by the decoder `separating`, with ties
    on `mask` and margins of at least 1 off it; None if nothing is off it.
    """

    mask: Bool[np.ndarray, "m V"]
    certificates: tuple[Float[np.ndarray, "m V"], ...]
    separating: Float[np.ndarray, "V d"] | None

    @checked
    def verify(self, table: ContextTable) -> bool:
        """Read the proofs again, every condition anew from `table`."""
        support, proved = table.support.toarray(), True
        for gamma in self.certificates:
            proved &= check_certificate(_table_on(table, support), gamma).holds
            support = support | _added_tokens(table, support, gamma)
        if self.separating is not None:
            proved &= check_weights(_table_on(table, support), self.separating).holds
        complete = self.separating is not None or bool(support.all())
        return bool(proved and complete and np.array_equal(support, self.mask))


@dataclass(frozen=True, eq=False)
class ImpliedTable:
    """The implied table p̃ of a text p: of all tables with Σ_j π_j p̃_j h_jᵀ = Σ_j π_j p_j h_jᵀ, the
    one of largest entropy.

    Fields
    ------
    original
        the text's own table.
    case
        ENTROPY: the text is compatible and separable, so that p̃ is p. IMPLIED_TABLE: training on
        the text is training on `table`. MINIMIZER: weights stay finite.
    support
        where p̃ is positive, decided with proofs, not read off `next_token`, whose smallest entries
        may be 0 by underflow.
    next_token
        p̃, (m, V).
    entropy
        Σ_j π_j H(p̃_j) in nats: the infimum of the text's cross-entropy over all decoders.
    finite_part
        W*, (V, d): the decoder of least norm with the log-odds of p̃ on `support`. It minimizes the
        loss where it has a minimizer.
    gap
        in nats: the loss in the limit of W* + γ W^d, γ → ∞, minus `entropy`, where W^d is a decoder
        that separates. Zero but for rounding.
    moment_error
        the largest entry of Σ_j π_j (p̃_j − p_j) x_jᵀ, x_j the embeddings in coordinates in which
        their second moments are the identity.
    """

    original: ContextTable
    case: Case
    support: ImpliedSupport
    next_token: Float[np.ndarray, "m V"]
    entropy: float
    finite_part: Float[np.ndarray, "V d"]
    gap: float
    moment_error: float

    @property
    def table(self) -> ContextTable:
        """A compatible and separable table with the same loss at every decoder, p̃ with the
        embeddings and frequencies of the text.

        Raises ValueError if the loss has a minimizer, or if a positive entry of p̃ is below 1e-308.
        """
        if self.case is Case.MINIMIZER:
            raise ValueError(
                "The loss has a minimizer, `finite_part`: in the implied table every token can "
                "follow every context, and weights stay finite."
            )
        return self.reduced()

    def reduced(self) -> ContextTable:
        """`table`, or a `FullTable` if the loss has a minimizer. Raises ValueError if a positive
        entry of p̃ is below 1e-308.
        """
        if self.case is Case.ENTROPY:
            return self.original
        if (self.next_token[self.support.mask] == 0).any():
            raise ValueError(
                "Some positive probabilities of the implied table are below 1e-308, the smallest "
                "that floats hold."
            )
        kind = FullTable if self.case is Case.MINIMIZER else ContextTable
        return kind(self.original.embeddings, self.next_token, self.original.weight)

    def verify(self) -> bool:
        """Read the proofs of the supports again, and the two errors."""
        errors_small = max(abs(self.gap), self.moment_error) <= GAP_TOLERANCE
        return errors_small and self.support.verify(self.original)


@checked
def implied_table(
    table: ContextTable, *, max_iterations: Size = 6_300, time_limit: Positive | None = None
) -> ImpliedTable:
    """Maximize Σ_j π_j H(p̃_j) over the tables with the moments of `table`: what linear decoders
    tend to predict, for any text.

    Parameters
    ----------
    table
        the contexts, neither compatible nor separable in general.
    max_iterations, time_limit
        of each `check_separability`.

    Returns
    -------
    ImpliedTable
        p̃ with proofs of its supports, its entropy, and its finite part W*.

    Raises
    ------
    ValueError
        as `check_separability`.
    RuntimeError
        supports that stay undecided, or moments that Newton's method does not match.

    Notes
    -----
    The cross-entropy depends on p through Σ_j π_j p_j h_jᵀ only. So at every decoder p̃ has the same
    loss, and its entropy is a lower bound, which is reached: p̃ is compatible by Lagrange's
    conditions, and separable because its supports are the largest that the moments allow. Token v
    is in the support of context j if it is in that of the text, or if some certificate of
    non-separability has Γ_jv < 0: the entropy has an infinite slope from p̃ towards p̃ − s Γ / π.
    `check_separability` gives such certificates, until a decoder separates what is left.

    On these supports p̃ is a softmax, found by Newton's method and conjugate gradients: O(m r V) for
    each of their steps, r the rank of the embeddings. Dense (m, V) arrays.

    For two classes: Albert and Anderson, Biometrika 71 (1984), "overlap".

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, implied_table
    >>> p = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # two contexts with one embedding
    >>> implied = implied_table(ContextTable(np.ones((2, 1)), p, np.array([0.75, 0.25])))
    >>> implied.next_token.round(4).tolist()  # the third token follows neither
    [[0.75, 0.25, 0.0], [0.75, 0.25, 0.0]]
    >>> round(implied.entropy, 4), implied.case.name, implied.verify()
    (0.5623, 'IMPLIED_TABLE', True)
    """
    support = implied_support(table, max_iterations=max_iterations, time_limit=time_limit)
    weight, p = table.weight[:, None], table.distributions.toarray()
    case = Case.MINIMIZER if support.separating is None else Case.IMPLIED_TABLE
    if case is Case.IMPLIED_TABLE and not support.certificates:
        matched = check_compatibility(table)
        if matched.verdict is CompatibilityVerdict.COMPATIBLE:
            finite = matched.finite_part
            return ImpliedTable(table, Case.ENTROPY, support, p, table.entropy, finite, 0.0, 0.0)
    rows, to_decoder = whitened(table)
    X = match_moments(rows, weight, p, support.mask, _conjugate_step)
    log_q = log_softmax(np.where(support.mask, rows @ X, -np.inf), axis=1)
    q, finite_logs = np.exp(log_q), np.where(support.mask, log_q, 0.0)
    decoder = X.T @ to_decoder
    if support.separating is not None:
        decoder = project_onto_F(_table_on(table, support.mask), decoder)
    return ImpliedTable(
        original=table,
        case=case,
        support=support,
        next_token=q,
        entropy=float((weight * entr(q)).sum()),
        finite_part=decoder,
        gap=float((weight * (q - p) * finite_logs).sum()),
        moment_error=float(np.abs(rows.T @ (weight * (q - p))).max(initial=0.0)),
    )


@checked
def implied_support(
    table: ContextTable, *, max_iterations: Size = 6_300, time_limit: Positive | None = None
) -> ImpliedSupport:
    """The supports of the implied table: the largest that tables with the moments of `table` have,
    with a certificate for each enlargement. Limits are those of each `check_separability`. Raises
    ValueError as it does, RuntimeError for a search that ended undecided.
    """
    mask = table.support.toarray()
    certificates: list[np.ndarray] = []
    while not mask.all():
        answer = check_separability(
            _table_on(table, mask), max_iterations=max_iterations, time_limit=time_limit
        )
        if answer.verdict is Verdict.UNDECIDED:
            raise RuntimeError(
                "`implied_support` cannot tell which tokens have a positive probability: a search "
                f"for a decoder or a certificate ended undecided (‖EᵀΓ‖/‖Γ‖ = {answer.gap:.2g}). "
                f"Raise `max_iterations`, {max_iterations} now, or `time_limit`."
            )
        if answer.certificate is None:
            return ImpliedSupport(mask, tuple(certificates), answer.weights)
        added = _added_tokens(table, mask, answer.certificate)
        if not added.any():
            raise RuntimeError(
                "`implied_support` has a certificate whose entries off the supports are below "
                f"{MASS_TOLERANCE:g} of its largest: too small to tell from rounding."
            )
        mask = mask | added
        certificates.append(answer.certificate)
    return ImpliedSupport(mask, tuple(certificates), None)


def _table_on(table: ContextTable, support: Bool[np.ndarray, "m V"]) -> ContextTable:
    return ContextTable(
        table.embeddings, support / support.sum(axis=1, keepdims=True), table.weight
    )


def _added_tokens(
    table: ContextTable, support: Bool[np.ndarray, "m V"], gamma: Float[np.ndarray, "m V"]
) -> Bool[np.ndarray, "m V"]:
    """Off `support`, where Γ is negative beyond rounding. Smaller entries are left for the next
    certificate.
    """
    gamma = gamma * unit_rows(table.embeddings)[1][:, None]
    return ~support & (gamma < -MASS_TOLERANCE * np.abs(gamma).max())


def whitened(table: ContextTable) -> tuple[Float[np.ndarray, "m r"], Float[np.ndarray, "r d"]]:
    """The embeddings in r coordinates in which their second moments are the identity, r their rank,
    and the matrix that takes X in these coordinates to the decoder Xᵀ · matrix.
    """
    root = np.sqrt(table.weight)[:, None]
    left, scale, right = np.linalg.svd(root * table.embeddings, full_matrices=False)
    rank = int(np.count_nonzero(scale > max(left.shape) * np.finfo(float).eps * scale.max()))
    return left[:, :rank] / root, right[:rank] / scale[:rank, None]


def match_moments(
    rows: Float[np.ndarray, "m r"],
    weight: Float[np.ndarray, "m 1"],
    p: Float[np.ndarray, "m V"],
    support: Bool[np.ndarray, "m V"],
    newton_step: NewtonStep,
    start: Float[np.ndarray, "r V"] | float = 0.0,
) -> Float[np.ndarray, "r V"]:
    """The X for which the softmax of rows X over the supports has the moments of p, by damped
    Newton steps on a convex function, from `start`.

    `rows` are those of `whitened`. `newton_step` solves for a step, of rows, weights, probabilities
    and gradient. Raises `RuntimeError` after NEWTON_STEPS steps.
    """
    X, error = np.zeros((rows.shape[1], support.shape[1])) + start, np.inf
    for _ in range(NEWTON_STEPS):
        q = softmax(np.where(support, rows @ X, -np.inf), axis=1)
        gradient = rows.T @ (weight * (q - p))
        error = float(np.abs(gradient).max(initial=0.0))
        if error <= MOMENT_TOLERANCE:
            return X
        step = newton_step(rows, weight, q, gradient)
        logit_change = np.where(support, rows @ step, np.nan)
        largest = np.nanmax(np.nanmax(logit_change, axis=1) - np.nanmin(logit_change, axis=1))
        X = X - step * (np.log1p(largest) / largest if largest > 0 else 1.0)
    raise RuntimeError(
        f"Moments are matched to {error:.2g} only, after {NEWTON_STEPS} steps of Newton's method. "
        "Embeddings of very different lengths or probabilities near rounding are the usual reason."
    )


def _conjugate_step(
    rows: Float[np.ndarray, "m r"],
    weight: Float[np.ndarray, "m 1"],
    q: Float[np.ndarray, "m V"],
    gradient: Float[np.ndarray, "r V"],
) -> Float[np.ndarray, "r V"]:
    step, _ = cg(
        LinearOperator(
            (gradient.size,) * 2, partial(_hessian_product, rows, weight, q), dtype=float
        ),
        gradient.ravel(),
        rtol=min(0.1, max(float(np.abs(gradient).max()), STEP_TOLERANCE)),
        maxiter=gradient.size,
    )
    return np.asarray(step.reshape(gradient.shape))


def _hessian_product(
    rows: Float[np.ndarray, "m r"],
    weight: Float[np.ndarray, "m 1"],
    q: Float[np.ndarray, "m V"],
    x: Float[np.ndarray, " rV"],
) -> Float[np.ndarray, " rV"]:
    logit_change = rows @ x.reshape(rows.shape[1], -1)
    logit_change = q * (logit_change - (q * logit_change).sum(axis=1, keepdims=True))
    return (rows.T @ (weight * logit_change)).ravel()
