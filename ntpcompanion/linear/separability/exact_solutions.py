"""All decoders with given in-support log-odds, over fractions: the finite part W* and what can be
added to it (Thrampoulidis 2024, equations 4 and 5).

sympy is imported where a system is solved: it takes half a second, and few proofs need it.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Bool, Integer

from ntpcompanion.checks import Is, checked
from ntpcompanion.linear.separability.exact_certificates import FractionMatrix
from ntpcompanion.validation import as_integer_array

if TYPE_CHECKING:
    from sympy.polys.matrices import DomainMatrix


@dataclass(frozen=True)
class ExactSolutions:
    """The solutions of (4) as a point and directions, in units of log 2: W* plus any combination of
    `free`.

    `finite_part` is W*, the solution that lies in F. `spanning` is a basis of F, and `free` one of
    the decoders orthogonal to F. `solutions_in_F` is the dimension of the set of the solutions in
    F: 0 if W* is the only one.
    """

    finite_part: FractionMatrix
    spanning: tuple[FractionMatrix, ...]
    free: tuple[FractionMatrix, ...]
    solutions_in_F: int

    def contains(self, W: FractionMatrix | Integer[np.ndarray, "V d"]) -> bool:
        """Whether a decoder of integers or fractions is a solution: W − W* is orthogonal to F."""
        rest = np.array(W, dtype=object) - np.array(self.finite_part, dtype=object)
        return all(not np.sum(np.array(matrix, dtype=object) * rest) for matrix in self.spanning)


@checked
def solve_exactly(
    embeddings: Integer[np.ndarray, "m d"],
    support: Annotated[
        Bool[np.ndarray, "m V"],
        Is(
            lambda support: support.any(axis=1).all(),
            "hold a token for every context",
            "Leave out contexts that nothing follows.",
        ),
    ],
    exponents: Integer[np.ndarray, "m V"],
) -> ExactSolutions | None:
    """Solve (e_z − e_z')ᵀ W h_j = a_jz − a_jz' for all j and z, z' ∈ S_j over fractions: equation
    (4) in units of log 2, for next-token probabilities proportional to 2^{a_jz} on the supports.

    Parameters
    ----------
    embeddings
        E, (m, d), integers.
    support
        (m, V), the tokens that can follow each context, at least one.
    exponents
        a, (m, V), integers; entries off the supports are not used.

    Returns
    -------
    ExactSolutions or None
        all solutions, or None if there is none.

    Raises
    ------
    ValueError
        shapes that do not agree, entries that are not integers, or a context without a token.

    Notes
    -----
    Gaussian elimination over the rationals in V d unknowns: about a second at V d = 50.

    Examples
    --------
    One context with embedding (1, 1), whose tokens have the probabilities 2/3 and 1/3:

    >>> import numpy as np
    >>> from ntpcompanion.linear.separability.exact_solutions import solve_exactly
    >>> found = solve_exactly(np.array([[1, 1]]), np.array([[True, True]]), np.array([[1, 0]]))
    >>> [[str(entry) for entry in row] for row in found.finite_part]
    [['1/4', '1/4'], ['-1/4', '-1/4']]
    >>> len(found.spanning), len(found.free), found.solutions_in_F
    (1, 3, 0)
    """
    embeddings = as_integer_array("embeddings", embeddings)
    exponents = as_integer_array("exponents", exponents)
    shape = support.shape[1], embeddings.shape[1]
    ties, odds = _equations(embeddings, support, exponents)
    reduced, pivots = ties.hstack(odds).rref()
    if ties.shape[1] in pivots:
        return None  # the last column is a pivot: 0 = 1
    rank = len(pivots)
    independent = reduced[:rank, : ties.shape[1]]
    gram = independent * independent.transpose()
    inside = gram.lu_solve(reduced[:rank, ties.shape[1] :]) if rank else gram
    finite = independent.transpose() * inside
    return ExactSolutions(
        _decoders(finite.transpose(), shape)[0] if rank else _zero(shape),
        _decoders(independent, shape),
        _decoders(independent.nullspace() if rank else _identity(shape), shape),
        rank - (ties * independent.transpose()).rank(),
    )


def _equations(
    embeddings: Integer[np.ndarray, "m d"],
    support: Bool[np.ndarray, "m V"],
    exponents: Integer[np.ndarray, "m V"],
) -> tuple["DomainMatrix", "DomainMatrix"]:
    """The ties (one row each, against the first token of the support; a row of zeros before them,
    so that one-hot tables have a matrix too) and the required log-odds.
    """
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    V, d = support.shape[1], embeddings.shape[1]
    ties, odds = [[QQ(0)] * (V * d)], [[QQ(0)]]
    for h, inside, a in zip(embeddings.tolist(), support, exponents.tolist(), strict=True):
        anchor, *others = np.flatnonzero(inside).tolist()
        for z in others:
            row = [QQ(0)] * (V * d)
            row[anchor * d : (anchor + 1) * d] = [QQ(x) for x in h]
            row[z * d : (z + 1) * d] = [QQ(-x) for x in h]
            ties.append(row)
            odds.append([QQ(a[anchor] - a[z])])
    return (
        DomainMatrix(ties, (len(ties), V * d), QQ),
        DomainMatrix(odds, (len(odds), 1), QQ),
    )


def _decoders(rows: "DomainMatrix", shape: tuple[int, int]) -> tuple[FractionMatrix, ...]:
    V, d = shape
    return tuple(
        tuple(
            tuple(Fraction(int(x.numerator), int(x.denominator)) for x in row[v * d : (v + 1) * d])
            for v in range(V)
        )
        for row in rows.to_list()
    )


def _zero(shape: tuple[int, int]) -> FractionMatrix:
    return ((Fraction(0),) * shape[1],) * shape[0]


def _identity(shape: tuple[int, int]) -> "DomainMatrix":
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    return DomainMatrix.eye(shape[0] * shape[1], QQ)
