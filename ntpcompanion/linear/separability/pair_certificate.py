"""A proof, found and read without dense arrays, that a table is not separable: two words suffice
for it (Thrampoulidis 2024, equation 6).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls
from scipy.sparse import csr_array

from ntpcompanion.checks import Range, checked
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable

# Contexts that the search may combine, per dimension: a random half-space holds all of twice as
# many only with probability one half.
PER_DIMENSION = 4
# Residual of Σ x = 1, Σ x s = 0 below which the contexts found are worth a proof.
MAX_RESIDUAL = 1e-8
HALF_EPS = np.finfo(float).eps / 2


@dataclass(frozen=True, eq=False)
class PairCertificate:
    """Contexts, and words a and b, such that no W separates these words on these contexts.

    Fields
    ------
    tokens
        (a, b).
    contexts
        d + 1 contexts that exactly one of the two words can follow.
    weights
        x, positive, of sum one: Σ x_j s_j = 0 for s_j = ± 2^{−e_j} h_j, with the sign + where a can
        follow and − where b can, and the power of two that brings the length of h_j to ½ … 1.
    radius
        a bound on the distance, in the maximum norm, of the exact solution x of these equations
        from `weights`, all rounding included.
    """

    tokens: tuple[int, int]
    contexts: Int[np.ndarray, " k"]
    weights: Float[np.ndarray, " k"]
    radius: float

    def verify(self, table: ContextTable) -> bool:
        """Whether the exact solution for this table is proved to exist and to be positive; read
        from the table, not from `radius`.
        """
        first, second = (_follows(table, token)[self.contexts] for token in self.tokens)
        system = _system(table, self.contexts, first)
        radius = _radius(system, _target(system), self.weights)
        return bool((first != second).all() and radius < self.weights.min())

    def matrix(self, table: ContextTable) -> csr_array:
        """Γ (m, V), sparse, for embeddings as they are: EᵀΓ = 0 up to the radius, Γ1 = 0, Γ ≤ 0 off
        the supports. Its column a is that of b with its sign turned.
        """
        first = _follows(table, self.tokens[0])[self.contexts]
        _, exponents = _scaled_rows(table, self.contexts)
        values = np.where(first, 1.0, -1.0) * np.ldexp(self.weights, -exponents)
        indices = np.tile(self.contexts, 2), np.repeat(self.tokens, len(values))
        return csr_array((np.concatenate([values, -values]), indices), shape=table.next_token.shape)


@checked
def find_pair_certificate(
    table: ContextTable,
    *,
    most_frequent: Annotated[int, Range(2)] = 8,
) -> PairCertificate | None:
    """Look for two words that no decoder separates, among the most frequent ones.

    If W has margins of at least 1, then (w_a − w_b)·h_j ≥ 1 on each context that a, but not b, can
    follow, and ≤ −1 on each that b, but not a, can. It is impossible if the vectors h_j, the latter
    with their signs turned, have the origin in their convex hull. With N of them in general
    position this is likely from N = 2d on (Cover 1965).

    Parameters
    ----------
    table
        the contexts; sparse `next_token` is never made dense.
    most_frequent
        how many of the words that can follow most contexts are tried in pairs.

    Returns
    -------
    PairCertificate or None
        The first pair with a proof. None if no pair has one, which proves nothing: more than two
        words may be needed, the embeddings of the contexts that tell the words apart may not have
        full column rank, or the table is separable.

    Raises
    ------
    ValueError
        `most_frequent` below 2.

    Notes
    -----
    Nonnegative least squares on at most 4 (d + 1) contexts (Lawson and Hanson) ends at d + 1 of
    them at most. Their equations are then proved to have an exact positive solution with an
    approximate inverse R: with ‖I − RB‖ = q < 1 the solution of Bx = b is within ‖R‖ ‖b − Bx‖ /
    (1 − q) (Rump 2010, section 10), and all products are bounded with their rounding. Cost
    O(d³) a step of Lawson and Hanson, of which there are about d.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.separability.pair_certificate import find_pair_certificate
    >>> embeddings = np.random.default_rng(0).standard_normal((40, 3))
    >>> next_token = np.eye(2)[np.arange(40) % 2]
    >>> table = ContextTable(embeddings, next_token, np.full(40, 1 / 40))
    >>> found = find_pair_certificate(table, most_frequent=2)
    >>> found.tokens, len(found.contexts), found.verify(table)
    ((0, 1), 4, True)
    """
    counts = np.bincount(table.distributions.indices, minlength=table.vocab_size)
    tokens = np.argsort(-counts, kind="stable")[:most_frequent].tolist()
    for pair in sorted(combinations(range(len(tokens)), 2), key=sum):
        a, b = (tokens[i] for i in pair)
        certificate = _prove(table, min(a, b), max(a, b))
        if certificate is not None:
            return certificate
    return None


def _follows(table: ContextTable, token: int) -> np.ndarray:
    return np.asarray(table.support[:, [token]].toarray()[:, 0])


def _prove(table: ContextTable, a: int, b: int) -> PairCertificate | None:
    first, second = _follows(table, a), _follows(table, b)
    contexts = np.flatnonzero(first != second)[: PER_DIMENSION * (table.dim + 1)]
    if not len(contexts):
        return None
    system = _system(table, contexts, first[contexts])
    target = _target(system)
    x, residual = nnls(system, target)
    positive = np.flatnonzero(x > 0)
    if residual > MAX_RESIDUAL:
        return None
    radius = _radius(system[:, positive], target, x[positive])
    if radius >= x[positive].min():
        return None
    return PairCertificate((a, b), contexts[positive], x[positive], radius)


def _system(
    table: ContextTable, contexts: Int[np.ndarray, " k"], first: np.ndarray
) -> Float[np.ndarray, "n k"]:
    """The s_j as columns; one more coordinate asks for Σ x = 1."""
    rows = _scaled_rows(table, contexts)[0] * np.where(first, 1, -1)[:, None]
    return np.vstack([rows.T, np.ones(len(rows))])


def _target(system: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    return np.append(np.zeros(len(system) - 1), 1.0)


def _scaled_rows(
    table: ContextTable, contexts: Int[np.ndarray, " k"]
) -> tuple[Float[np.ndarray, "k d"], Int[np.ndarray, " k"]]:
    """Embeddings times powers of two, which rounds nothing, and the exponents."""
    chosen = table.embeddings[contexts]
    exponents = np.frexp(unit_rows(chosen)[1])[1].astype(np.int64)
    return np.ldexp(chosen, -exponents[:, None]), exponents


def _radius(
    system: Float[np.ndarray, "n k"], target: Float[np.ndarray, " n"], x: Float[np.ndarray, " k"]
) -> float:
    """A bound on the distance of the exact solution of a square system from x, in the maximum norm;
    infinite if the system is not square or too ill-conditioned for a proof.
    """
    n, k = system.shape
    if n != k:
        return np.inf
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return np.inf
    gamma = 1.01 * (n + 2) * HALF_EPS  # of a dot product of n terms and one subtraction
    near = np.abs(np.eye(n) - inverse @ system).sum(axis=1).max()
    near += gamma * (1 + np.abs(inverse) @ np.abs(system)).sum(axis=1).max()
    residual = np.abs(target - system @ x).max() + gamma * (1 + (np.abs(system) @ x).max())
    size = np.abs(inverse).sum(axis=1).max()
    return float(1.01 * size * residual / (1 - near)) if near < 0.5 else np.inf
