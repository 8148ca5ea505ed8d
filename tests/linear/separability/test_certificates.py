import numpy as np
import pytest

from ntpcompanion.linear.separability.certificates import (
    CertificateProof,
    WeightsProof,
    check_certificate,
    check_weights,
    orthogonality,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table

PARALLEL = table([[1, 0], [2, 0]], [[1, 0], [0, 1]])
GAMMA = np.array([[2.0, -2.0], [-1.0, 1.0]])


def test_the_numbers_of_a_decoder_are_its_ties_and_margins():
    two = table([[1, 0], [0, 2]], [[1, 1, 0], [0, 0, 1]])
    proof = check_weights(two, np.array([[3.0, 1.0], [2.5, 0.0], [1.0, 4.0]]))
    assert (proof.tie_error, proof.smallest_margin) == (0.5, 1.5)
    assert 0 < proof.rounding < 1e-14


@pytest.mark.parametrize(
    ("proof", "holds"),
    [
        (WeightsProof(0.0, 1.0, 1e-12), True),
        (WeightsProof(1e-8, 1 - 1e-8, 1e-12), True),
        (WeightsProof(2e-8, 1.0, 1e-12), False),
        (WeightsProof(0.0, 1 - 2e-8, 1e-12), False),
        (WeightsProof(0.0, 1.0, 1e-3), False),
        (CertificateProof(1e-12, 1e-12, 0.0, 1.0), True),
        (CertificateProof(1e-9, 0.0, 0.0, 1.0), False),
        (CertificateProof(0.0, 1e-9, 0.0, 1.0), False),
        (CertificateProof(0.0, 0.0, 1e-300, 1.0), False),
        (CertificateProof(0.0, 0.0, 0.0, 1e-7), False),
    ],
)
def test_every_condition_counts(proof, holds):
    assert proof.holds is holds


def test_a_certificate_is_read_from_the_table_alone():
    proof = check_certificate(PARALLEL, GAMMA)
    assert proof == CertificateProof(0.0, 0.0, -1.0, 1.0)
    assert check_certificate(PARALLEL, 7 * GAMMA) == proof
    assert not check_certificate(PARALLEL, -GAMMA).holds
    assert not check_certificate(PARALLEL, np.array([[1.0, -1.0], [-1.0, 1.0]])).holds
    assert not check_certificate(PARALLEL, np.zeros((2, 2))).holds


def test_lengths_of_embeddings_do_not_change_the_conditions():
    stretched = table([[1e-6, 0], [2e6, 0]], [[1, 0], [0, 1]])
    assert check_certificate(stretched, GAMMA * [[1e6], [1e-6]]).holds


def test_a_residual_bounds_the_norm_of_every_separating_decoder(rng):
    """What a tolerance on EᵀΓ is worth: ‖W‖ ≥ Σ −Γ_jv / ‖EᵀΓ‖, on a separable table and an
    arbitrary Γ of the right signs.
    """
    drawn = ContextTable.random(5, 4, 2, 5, rng)
    support = drawn.support.toarray()
    gamma = np.where(support, 0.0, -rng.random((5, 4)))
    gamma[support] = np.repeat(-gamma.sum(axis=1) / 2, 2)
    logits = np.where(support, 1.0, 0.0)
    W = np.linalg.solve(drawn.embeddings, logits).T  # ties and margins of exactly 1
    assert check_weights(drawn, W).holds
    assert np.linalg.norm(W) * np.linalg.norm(drawn.embeddings.T @ gamma) >= -gamma[
        ~support
    ].sum() * (1 - 1e-12)


def test_orthogonality_is_relative_to_the_scale_of_each_column():
    rows = np.array([[1.0, 1e-9, 0.0], [-1.0, 1e-9, 0.0]])
    assert orthogonality(rows, np.array([[1.0], [1.0]])) == pytest.approx(2.0)
    assert orthogonality(rows[:, [0, 2]], np.array([[3.0], [3.0]])) == 0


def test_each_number_of_a_certificate_is_what_it_says():
    three = table([[1, 0], [3, 5]], [[1, 0, 0], [0, 1, 0]])
    gamma = (
        np.array([[2.0, -0.5, -1.0], [-0.25, 1.0, 0.125]])
        / np.linalg.norm(three.embeddings, axis=1)[:, None]
    )
    scaled = np.array([[2.0, -0.5, -1.0], [-0.25, 1.0, 0.125]]) / 2
    proof = check_certificate(three, gamma)
    rows = three.embeddings / np.linalg.norm(three.embeddings, axis=1)[:, None]
    assert proof.orthogonality == pytest.approx(
        (np.abs(rows.T @ scaled).max(axis=1) / np.abs(rows).max(axis=0)).max()
    )
    assert proof.row_sum == pytest.approx(0.875 / 2)
    assert proof.largest_off_support == pytest.approx(0.125 / 2)
    assert proof.mass == pytest.approx(0.5)
    assert check_certificate(three, np.zeros((2, 3))) == CertificateProof(0.0, 0.0, 0.0, 0.0)
    assert check_certificate(PARALLEL, np.array([[1.0, 1.0], [1.0, 1.0]])).mass == 0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_orthogonality_is_relative_to_the_largest_entries(scale):
    rows, gamma = np.array([[1.0, 0.0], [3.0, 5.0]]), np.array([[2.0, -2.0], [1.0, -1.0]])
    assert orthogonality(rows, scale * gamma) == pytest.approx(5 / 6)


def test_the_bound_on_rounding_is_that_of_a_dot_product():
    E, W = (
        np.array([[1.0, 2, 3, 4, 5], [5, 4, 3, 2, -1]]),
        np.array([[1.0, -1, 1, -1, 1], [2, 0, 0, 0, 3]]),
    )
    given = table(E, [[1, 0], [0, 1]])
    assert check_weights(given, W).rounding == pytest.approx(2 * 5 * 2.0**-52 * 17, rel=1e-9, abs=0)
