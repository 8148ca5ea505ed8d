"""Counts and ranks against plain loops over sets, and against fractions."""

from itertools import combinations

import numpy as np
import pytest
import sympy

from ntpcompanion.linear.tables.planted_teacher import (
    counted_contexts,
    determining_contexts,
    draw_tied_contexts,
)
from ntpcompanion.randomness import stream


def draw(V, d, S, m, seed):
    rng = stream(seed, "planted")
    teacher = rng.standard_normal((V, d))
    return teacher, *draw_tied_contexts(teacher, S, m, rng)


def test_contexts_tie_their_supports_and_nothing_is_above():
    for S in (1, 2, 4):
        teacher, embeddings, supports = draw(6, 5, S, 300, 0)
        logits = embeddings @ teacher.T
        assert (supports.sum(axis=1) == S).all()
        tied = np.where(supports, logits, np.nan)
        assert np.nanmax(np.nanmax(tied, axis=1) - np.nanmin(tied, axis=1)) < 1e-12
        assert (np.nanmin(tied, axis=1) > np.where(supports, -np.inf, logits).max(axis=1)).all()
        assert len(np.unique(supports, axis=0)) > 5


@pytest.mark.parametrize(("V", "d", "S"), [(3, 2, 2), (4, 3, 2), (4, 3, 3), (5, 4, 3)])
def test_counting_is_a_loop_over_sets_and_never_more_than_the_rank(V, d, S):
    for seed in range(20):
        _, embeddings, supports = draw(V, d, S, 80, seed)
        counted = counted_contexts(supports, d)
        assert counted == first_by_sets(supports, d)
        determined = determining_contexts(embeddings, supports)
        assert determined is None or counted <= determined


def test_in_many_dimensions_the_count_is_the_rank():
    for seed in range(5):
        _, embeddings, supports = draw(6, 12, 3, 60, seed)
        assert determining_contexts(embeddings, supports) == counted_contexts(supports, 12)


def first_by_sets(supports, d):
    V = supports.shape[1]
    sets = [set(tokens) for row in supports for tokens in [np.flatnonzero(row)]]
    for m in range(1, len(sets) + 1):
        if all(
            sum(min(len(unknown & each), len(each) - 1) for each in sets[:m])
            >= size * d - (size == V - 1)
            for size in range(1, V)
            for unknown in map(set, combinations(range(V), size))
        ):
            return m
    return None


def test_the_rank_is_that_of_fractions():
    """Integer contexts whose ties hold exactly, in three coordinates: h is the cross product of a
    difference of teachers' rows with any vector.
    """
    teacher = np.array([[1, 0, 2], [0, 3, 1], [2, 1, 0], [-1, 1, 1]])
    rng = stream(0, "integers")
    embeddings, supports = [], []
    while len(embeddings) < 14:
        a, b = rng.choice(4, 2, replace=False)
        h = np.cross(teacher[a] - teacher[b], rng.integers(-3, 4, 3))
        if h.any():
            embeddings.append(h)
            supports.append(np.isin(np.arange(4), [a, b]))
    rows = []
    for h, support in zip(embeddings, supports, strict=True):
        a, b = np.flatnonzero(support)
        tie = np.zeros((4, 3), dtype=int)
        tie[a], tie[b] = h, -h
        rows.append([int(x) for x in tie.ravel()])
    ranks = [sympy.Matrix(rows[:m]).rank() for m in range(1, 15)]
    first = next(m for m, rank in enumerate(ranks, 1) if rank == 8)
    found = determining_contexts(np.array(embeddings, dtype=float), np.array(supports))
    assert found == first
    assert (
        determining_contexts(np.array(embeddings[:5], dtype=float), np.array(supports[:5])) is None
    )


def test_single_tokens_tie_nothing():
    _, embeddings, supports = draw(4, 3, 1, 30, 0)
    assert determining_contexts(embeddings, supports) is None
    assert counted_contexts(supports, 3) is None
