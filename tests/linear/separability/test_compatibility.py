from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from ntpcompanion.linear.separability.compatibility import (
    CompatibilityVerdict,
    check_compatibility,
    contradicts,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables
from tests.oracles import ties

TWINS = ContextTable(
    np.ones((2, 1)), np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]), np.full(2, 0.5)
)


def log_odds(given_table):
    """The right-hand sides of equation (4), pair by pair in the order of the oracle's ties."""
    odds = [0.0]
    for distribution in given_table.distributions.toarray():
        members = np.flatnonzero(distribution)
        odds += [
            np.log(distribution[z] / distribution[other])
            for z in members
            for other in members
            if z < other
        ]
    return np.array(odds)


@settings(max_examples=150)
@given(degenerate_tables())
def test_the_verdict_is_that_of_dense_least_squares_and_carries_its_proof(given_table):
    unit = given_table.embeddings / np.maximum(
        np.linalg.norm(given_table.embeddings, axis=1, keepdims=True), 1e-300
    )
    rows, odds = ties(unit, given_table.support.toarray()), log_odds(given_table)
    weights = np.maximum(np.linalg.norm(given_table.embeddings, axis=1), 1e-300)
    scale = np.concatenate(
        [
            [1.0],
            *(
                np.full(size * (size - 1) // 2, w)
                for size, w in zip(given_table.support_sizes, weights, strict=True)
            ),
        ]
    )
    solution = np.linalg.lstsq(rows, odds / np.where(scale > 1e-299, scale, 1.0), rcond=1e-10)[0]
    error = np.abs(scale * (rows @ solution) - odds).max()
    found = check_compatibility(given_table)
    assert found.verdict is (
        CompatibilityVerdict.COMPATIBLE if error < 1e-6 else CompatibilityVerdict.NOT_COMPATIBLE
    )
    if found.verdict is CompatibilityVerdict.COMPATIBLE:
        assert np.allclose(
            found.finite_part.ravel(), solution, atol=1e-7 * (1 + np.abs(solution).max())
        )
        assert (
            np.abs(
                ties(given_table.embeddings, given_table.support.toarray())
                @ found.finite_part.ravel()
                - odds
            ).max()
            < 1e-7
        )
    else:
        assert contradicts(given_table, found.certificate)
        assert found.residual > 1e-8


def test_equal_embeddings_with_unequal_distributions_are_not_compatible():
    found = check_compatibility(TWINS)
    assert found.verdict is CompatibilityVerdict.NOT_COMPATIBLE
    # least squares splits the difference of the log-odds 0 and log 3
    assert found.residual == pytest.approx(np.log(3) / 2)
    assert np.allclose(found.certificate / found.certificate[0, 0], [[1, -1, 0], [-1, 1, 0]])
    assert contradicts(TWINS, found.certificate)


def test_forged_certificates_are_refused():
    certificate = check_compatibility(TWINS).certificate
    assert not contradicts(TWINS, -certificate)
    assert not contradicts(TWINS, 0 * certificate)
    assert not contradicts(TWINS, certificate * [[1.0], [0.5]])
    assert not contradicts(TWINS, certificate + np.array([[0.1, 0.0, -0.1], [-0.1, 0.0, 0.1]]))
    same_distributions = replace(TWINS, next_token=TWINS.next_token[[0, 0]])
    assert not contradicts(same_distributions, certificate)


def test_independent_embeddings_that_are_nearly_equal_are_not_refuted():
    """Compatible, with logits of 5,556: Λ pairs with log p, but not all of what it misses is
    rounding.
    """
    q = 1 / (1 + np.exp(-1e-6))
    near = ContextTable(
        np.array([[1, 1], [1, 1 + 9e-11]]),
        np.array([[0.5, 0.5, 0], [q, 1 - q, 0]]),
        np.full(2, 0.5),
    )
    assert check_compatibility(near).verdict is CompatibilityVerdict.COMPATIBLE
    assert not contradicts(near, np.array([[-1.0, 1, 0], [1, -1, 0]]))
    nearer = replace(near, embeddings=np.array([[1, 1], [1, 1 + 1e-10]]))
    stopped = check_compatibility(nearer, max_iterations=1).verdict
    assert stopped is CompatibilityVerdict.UNDECIDED


def test_too_few_steps_leave_it_undecided(rng):
    found = check_compatibility(ContextTable.random(20, 8, 4, 18, rng), max_iterations=1)
    assert found.verdict is CompatibilityVerdict.UNDECIDED
    assert found.certificate is None


TRIPLE = ContextTable(
    np.array([[1.0, 0], [1, 0], [0, 1]]),
    np.array([[0.5, 0.5, 0, 0], [0.25, 0.75, 0, 0], [0, 0, 0.5, 0.5]]),
    np.full(3, 1 / 3),
)
PROOF = np.array([[1.0, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0]])


def test_the_scale_of_a_certificate_does_not_matter():
    assert [contradicts(TRIPLE, scale * PROOF) for scale in (1e-6, 1.0, 1e6)] == [True] * 3
    assert not contradicts(TRIPLE, -PROOF)


@pytest.mark.parametrize(
    "change",
    [
        [[0, -1e-3, 1e-3, 0], [0, 1e-3, -1e-3, 0], [0, 0, 0, 0]],  # an entry off support
        [[1e-8, 0, 0, 0], [-1e-8, 0, 0, 0], [0, 0, 0, 0]],  # rows that do not sum to zero
        # columns that are not orthogonal to the embeddings
        [[1e-8, -1e-8, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    ],
)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_every_condition_on_a_certificate_counts(change, scale):
    assert not contradicts(TRIPLE, scale * (PROOF + np.array(change)))
