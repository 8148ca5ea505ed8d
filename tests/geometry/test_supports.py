from math import comb

import numpy as np
import pytest

from ntpcompanion.geometry import (
    all_supports,
    centred_support,
    in_support_logits,
    polar_certificate,
    project_in_support,
    solve_nuclear_svm,
)
from ntpcompanion.linear import ContextTable, check_compatibility, project_onto_F
from tests.geometry.cases import drawn_supports, drawn_table


@pytest.mark.parametrize(("V", "k"), [(3, 1), (5, 2), (6, 3), (7, 6)])
def test_all_supports_are_all_and_different(V, k):
    supports = all_supports(V, k)
    assert len(supports) == len({tuple(row) for row in supports.tolist()}) == comb(V, k)
    assert (supports.sum(axis=1) == k).all()


@pytest.mark.parametrize(("V", "k"), [(5, 1), (5, 3), (6, 2), (7, 4)])
def test_all_supports_have_equal_singular_values(V, k):
    values = np.linalg.svd(centred_support(all_supports(V, k)), compute_uv=False)
    np.testing.assert_allclose(values[: V - 1], np.sqrt(comb(V - 2, k - 1)), rtol=1e-12)
    assert values[V - 1] < 1e-12


def test_in_support_logits_are_the_finite_part_over_free_contexts():
    # with one-hot embeddings the decoder's rows are the logits
    laws, weight = drawn_table(7, 5, 3, 0)
    table = ContextTable(np.eye(7), laws, weight)
    np.testing.assert_allclose(
        in_support_logits(laws), check_compatibility(table).finite_part.T, atol=1e-10
    )
    logits = np.random.default_rng(1).standard_normal((7, 5))
    np.testing.assert_allclose(
        project_in_support(logits, laws > 0), project_onto_F(table, logits.T).T, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_certificate_says_whether_the_proxy_is_optimal(seed):
    support = drawn_supports(12, 6, 3, seed)
    found, answer = polar_certificate(support), solve_nuclear_svm(support, tol=1e-9)
    proxy = np.linalg.svd(centred_support(support), compute_uv=False).sum()
    assert answer.duality_gap <= 1e-9
    if found.holds:
        assert answer.norm == pytest.approx(proxy, rel=1e-8)
    else:
        assert answer.norm < proxy * (1 - 1e-8)
        assert 0 < found.negative_share < 1


def test_both_outcomes_of_the_certificate_occur_above():
    outcomes = {polar_certificate(drawn_supports(12, 6, 3, seed)).holds for seed in range(6)}
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("support", "words"),
    [
        ([[0.2, 0.8]], "`support` must consist of 0 and 1"),
        ([[0, 0], [0, 1]], "no token in row 0"),
        ([[0, 1], [1, 1]], "every token in row 1"),
        ([0, 1], "`support` must be"),
        ([[0, np.nan]], "`support`"),
        ([["a", "b"]], "`support`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_supports_are_named(support, words):
    for function in (centred_support, polar_certificate, solve_nuclear_svm):
        with pytest.raises(ValueError, match=words):
            function(support)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((1, 1), "vocab_size"), ((5, 5), "support_size"), ((40, 20), "more than 100,000")],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_too_many_supports_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        all_supports(*arguments)
