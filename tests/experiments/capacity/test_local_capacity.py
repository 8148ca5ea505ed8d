from itertools import product

import numpy as np
import pytest

from ntpcompanion.capacity.decoder import sinusoidal_positions
from ntpcompanion.experiments.capacity import local_capacity
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"longest": 3, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(local_capacity, RIGHT)


def test_ranks_are_those_of_differences_of_the_network(found):
    V, d, m, N = 5, 10, 6, 3
    rng = stream(0, f"network {V} {d} {m}")
    start = np.concatenate([rng.standard_normal(shape).ravel() for shape in ((m, d), m, (V, m))])
    x = rng.standard_normal((3 * 22, d))[:N]

    def logits(parameters):
        W, b, U = np.split(parameters, [m * d, m * d + m])
        rows = np.tanh(x @ W.reshape(m, d).T + b) @ U.reshape(V, m).T
        return (rows[:, :-1] - rows[:, -1:]).ravel()

    steps = 1e-5 * np.eye(len(start))
    J = np.stack([logits(start + step) - logits(start - step) for step in steps], axis=1) / 2e-5
    (row,) = (
        one for one in found.networks if (one.V, one.N, one.activation) == (V, m // 2, "tanh")
    )
    assert row.rank == np.linalg.matrix_rank(J, tol=1e-6) == N * (V - 1)
    assert row.last == np.linalg.matrix_rank(J[:, -V * m :], tol=1e-6)
    assert (found.rank_error, found.power_error) == (0, 0)
    assert all(one.last == (one.V - 1) * min(one.N, one.m) for one in found.networks)
    onto = found.table[found.table["rank"] == found.table.N * (found.table.V - 1)]
    largest = onto.groupby(["V", "activation"])[["N", "max_contexts"]].max()
    assert largest.N.tolist() == largest.max_contexts.tolist()
    assert found.gap > 1e6


def test_averages_with_positions_collide_as_often_as_permutations(found):
    groups = [tuple(sorted(context)) for n in (1, 2, 3) for context in product(range(4), repeat=n)]
    pairs = sum(groups[i] == groups[j] for i in range(len(groups)) for j in range(i))
    assert found.collisions["average"] == pairs
    assert found.collisions["positions"] == found.collisions["average, table"] == 0
    assert found.collisions["no positions"] > 0
    rng = stream(0, "attention")
    tokens, scores = rng.standard_normal((4, 8)), 0.3 * rng.standard_normal((8, 8))
    x = tokens + sinusoidal_positions(3, 8).numpy()[:, None]
    vectors = []
    for n in (1, 2, 3):
        for context in product(range(4), repeat=n):
            seen = np.array([x[t, z] for t, z in enumerate(context)])
            weights = np.exp([seen[-1] @ scores @ one for one in seen])
            vectors.append(weights @ seen / weights.sum())
    distances = [np.linalg.norm(a - b) for i, a in enumerate(vectors) for b in vectors[:i]]
    assert found.closest == pytest.approx(min(distances))
