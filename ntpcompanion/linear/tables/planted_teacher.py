"""Contexts whose supports a planted decoder decides, and how many of them determine it."""

from bisect import bisect_left
from itertools import product
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.checks import Length, Range, Size, checked, need

CANDIDATES = 4096  # contexts that are drawn at a time
# Singular values below, relative to the largest, count as zero.
RANK_TOLERANCE = 1e-9


@checked
def draw_tied_contexts(
    teacher: Float[np.ndarray, "V d"],
    support_size: Annotated[int, Range(1, "min(len(teacher) - 1, teacher.shape[1])")],
    count: Size,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "count d"], Bool[np.ndarray, "count V"]]:
    """Contexts for which the teacher ties `support_size` tokens and puts all others below them.

    Supports are drawn uniformly, and embeddings as N(0, 1) projected onto the ties. Both are drawn
    again until no other token is above the tied ones.
    """
    V, d = teacher.shape
    embeddings, supports = np.zeros((0, d)), np.zeros((0, V), dtype=bool)
    while len(embeddings) < count:
        order = rng.permuted(np.tile(np.arange(V), (CANDIDATES, 1)), axis=1)
        tied = order[:, :support_size]
        ties = teacher[tied[:, 1:]] - teacher[tied[:, :1]]
        h = rng.standard_normal((CANDIDATES, d))
        h = h - np.einsum("ndk,nkc,nc->nd", np.linalg.pinv(ties), ties, h, optimize=True)
        logits = np.take_along_axis(h @ teacher.T, order, axis=1)
        accepted = logits[:, 0] > logits[:, support_size:].max(axis=1)
        chosen = np.zeros((CANDIDATES, V), dtype=bool)
        np.put_along_axis(chosen, tied, True, axis=1)
        embeddings = np.concatenate([embeddings, h[accepted]])
        supports = np.concatenate([supports, chosen[accepted]])
    return embeddings[:count], supports[:count]


@checked(
    need("supports", "supports.shape[1] <= 20", "have at most 20 columns: all sets are counted")
)
def counted_contexts(
    supports: Annotated[Bool[np.ndarray, "m V"], Length(1)], dim: Size
) -> int | None:
    """The first number of contexts whose ties could determine a decoder up to its scale, by
    counting equations and unknowns; None if all together are too few.

    Take the tokens of any set A as unknown and all others as known. Their |A| d entries need as
    many ties, one less if a single token is known, as the scale stays free. A context has |A ∩ S_j|
    ties with tokens of A, or |S_j| − 1 if it has no others. Before this is so for every set, the
    ties cannot determine the decoder. O(m 2^V); raises `ValueError` for more than 20 tokens.
    """
    V = supports.shape[1]
    unknown = np.array(list(product((False, True), repeat=V)))[1:-1]
    sizes = unknown.sum(axis=1)
    ties = supports.sum(axis=1, keepdims=True) - 1
    counts = np.minimum(supports.astype(int) @ unknown.T, ties).cumsum(axis=0)
    enough = (counts >= sizes * dim - (sizes == V - 1)).all(axis=1)
    return int(enough.argmax()) + 1 if enough.any() else None


@checked(need("supports", "supports.shape[0] == len(embeddings)", "have a row for each context"))
def determining_contexts(
    embeddings: Float[np.ndarray, "m d"], supports: Bool[np.ndarray, "m V"]
) -> int | None:
    """The first number of contexts whose ties leave one decoder, but for its scale; None if all
    together leave more freedom. Some decoder that is not zero must have all ties.

    Bisection; one singular value decomposition of (ties, V d) for each step.
    """
    (m, d), V = embeddings.shape, supports.shape[1]
    anchors = supports.argmax(axis=1)
    rows, tokens = np.nonzero(supports)
    inner = tokens != anchors[rows]
    rows, tokens = rows[inner], tokens[inner]
    ties = np.zeros((len(rows), V, d))
    ties[np.arange(len(rows)), tokens] = embeddings[rows]
    ties[np.arange(len(rows)), anchors[rows]] = -embeddings[rows]
    flat = ties.reshape(len(rows), V * d)

    def determined(count: int) -> bool:
        values = np.linalg.svd(flat[rows < count], compute_uv=False)
        return int((values > RANK_TOLERANCE * values.max(initial=0)).sum()) == (V - 1) * d - 1

    first_enough = bisect_left(range(1, m + 1), True, key=determined)
    return first_enough + 1 if first_enough < m else None
