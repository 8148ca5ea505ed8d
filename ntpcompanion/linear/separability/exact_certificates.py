"""Proofs over fractions for integer embeddings: the float solution only says which unknowns are
zero and where the free ones are.

sympy is imported where a system is reduced: it takes half a second, and few proofs need it.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float

FractionMatrix = tuple[tuple[Fraction, ...], ...]

# Elimination over fractions: at 400 unknowns it takes about a second.
MAX_UNKNOWNS = 400
# Coarse fractions first: they are the ones a reader can check.
DENOMINATORS = (1, 12, 1000, 10**6, 10**12, 10**18)
# Entries below these shares of the largest are taken for zero, one after the other, until the signs
# come out.
ZERO_LEVELS = (1e-3, 1e-6, 1e-9, 1e-12)


def exact_embeddings(embeddings: Float[np.ndarray, "m d"]) -> list[list[int]] | None:
    """The embeddings as Python integers, or None unless every entry is an integer that float64
    holds exactly (below 2^53).
    """
    if np.any(embeddings != np.rint(embeddings)) or np.abs(embeddings).max() >= 2**53:
        return None
    return [[int(entry) for entry in row] for row in embeddings]


def exact_weights(
    embeddings: list[list[int]], support: Bool[np.ndarray, "m V"], W: Float[np.ndarray, "V d"]
) -> FractionMatrix | None:
    """A decoder over fractions near W with exact ties and margins of at least 1, or None if none is
    found.

    For up to MAX_UNKNOWNS entries.
    """
    V, d = W.shape
    equations = []
    for h, row in zip(embeddings, support, strict=True):
        anchor, *others = np.flatnonzero(row).tolist()
        equations += [
            {anchor * d + c: h[c] for c in range(d)} | {z * d + c: -h[c] for c in range(d)}
            for z in others
        ]
    for values in _solutions(equations, W.ravel() / np.abs(W).max()):
        candidate = [values[v * d : (v + 1) * d] for v in range(V)]
        margin = _smallest_margin(embeddings, support, candidate)
        if margin > 0:
            return tuple(tuple(entry / margin for entry in row) for row in candidate)
    return None


def exact_certificate(
    embeddings: list[list[int]],
    support: Bool[np.ndarray, "m V"],
    certificate: Float[np.ndarray, "m V"],
) -> FractionMatrix | None:
    """A certificate over fractions near Γ: EᵀΓ = 0, Γ1 = 0, Γ ≤ 0 off support, not all zero there;
    or None if none is found.

    For up to MAX_UNKNOWNS entries.
    """
    scaled = certificate / np.abs(certificate).max()
    for level in ZERO_LEVELS:
        face = support | (np.abs(scaled) > level)
        entries = [(j, v) for j, v in np.argwhere(face).tolist()]
        for values in _solutions(
            _certificate_equations(embeddings, support.shape[1], entries), scaled[face]
        ):
            off = [
                value for value, (j, v) in zip(values, entries, strict=True) if not support[j, v]
            ]
            if off and max(off) <= 0 and min(off) < 0:
                return _matrix(support.shape, entries, values)
    return None


def _certificate_equations(
    embeddings: list[list[int]], V: int, entries: list[tuple[int, int]]
) -> list[dict[int, int]]:
    sums = [
        {i: 1 for i, (j, _) in enumerate(entries) if j == row} for row in range(len(embeddings))
    ]
    columns = [
        {i: embeddings[j][c] for i, (j, v) in enumerate(entries) if v == column}
        for column in range(V)
        for c in range(len(embeddings[0]))
    ]
    return sums + columns


def _solutions(
    equations: list[dict[int, int]], near: Float[np.ndarray, " n"]
) -> Iterator[list[Fraction]]:
    """Exact solutions of a homogeneous system: free unknowns are rounded from `near`, ever more
    finely; pivots follow.
    """
    pivots = _reduce(equations, len(near))
    for denominator in DENOMINATORS:
        values = [Fraction(round(float(x) * denominator), denominator) for x in near]
        for pivot, row in pivots.items():
            values[pivot] = -sum(
                (coefficient * values[i] for i, coefficient in row.items() if i != pivot),
                Fraction(0),
            )
        yield values


def _reduce(equations: list[dict[int, int]], unknowns: int) -> dict[int, dict[int, Fraction]]:
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    rows = {i: {int(k): QQ(int(x)) for k, x in row.items() if x} for i, row in enumerate(equations)}
    reduced, pivots = DomainMatrix(
        {i: row for i, row in rows.items() if row}, (len(equations), unknowns), QQ
    ).rref()
    entries = reduced.to_dod()
    return {
        pivot: {i: Fraction(int(x.numerator), int(x.denominator)) for i, x in entries[k].items()}
        for k, pivot in enumerate(pivots)
    }


def _smallest_margin(
    embeddings: list[list[int]], support: Bool[np.ndarray, "m V"], W: list[list[Fraction]]
) -> Fraction:
    margins = []
    for h, row in zip(embeddings, support, strict=True):
        logits = [sum((a * b for a, b in zip(w, h, strict=True)), Fraction(0)) for w in W]
        lowest = min(logit for logit, inside in zip(logits, row, strict=True) if inside)
        margins += [lowest - logit for logit, inside in zip(logits, row, strict=True) if not inside]
    return min(margins)


def _matrix(
    shape: tuple[int, int], entries: list[tuple[int, int]], values: list[Fraction]
) -> FractionMatrix:
    matrix = [[Fraction(0)] * shape[1] for _ in range(shape[0])]
    for (j, v), value in zip(entries, values, strict=True):
        matrix[j][v] = value
    return tuple(tuple(row) for row in matrix)
