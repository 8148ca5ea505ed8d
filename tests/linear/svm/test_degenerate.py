import numpy as np
import pytest

from ntpcompanion.linear.separability.certificates import check_certificate
from ntpcompanion.linear.separability.decision import Verdict
from ntpcompanion.linear.svm.degenerate import refuted_or_refused
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable


def random_table(m=12, V=6, S=3, d=15):
    return ContextTable.random(m, V, S, d, np.random.default_rng(0))


def scaled(table, factors):
    return ContextTable(factors * table.embeddings, table.next_token, table.weight)


@pytest.mark.parametrize("which", [slice(None), [2]])
def test_zero_embeddings_are_refuted_without_a_search(which):
    table = random_table()
    factors = np.ones((table.num_contexts, 1))
    factors[which] = 0.0
    answer = solve_ntp_svm(scaled(table, factors))
    assert (answer.verdict, answer.iterations) == (Verdict.NOT_SEPARABLE, 0)
    proof = check_certificate(scaled(table, factors), answer.dual)
    assert proof.holds
    assert (proof.orthogonality, proof.row_sum) == (0, 0)


def test_a_zero_embedding_whose_tokens_all_follow_refutes_nothing():
    table = ContextTable(
        np.array([[0.0], [1.0]]), np.array([[0.5, 0.5], [1, 0]]), np.array([0.5, 0.5])
    )
    assert refuted_or_refused(table, 1e70) is None
    assert solve_ntp_svm(table).verdict is Verdict.SEPARABLE


@pytest.mark.parametrize("scale", [1e-300, 1e-71, 1e71, 1e300])
def test_lengths_out_of_range_are_refused_in_words_or_refuted(scale):
    table = random_table()
    assert solve_ntp_svm(table).verdict is Verdict.SEPARABLE
    with pytest.raises(ValueError, match=r"`table` has embeddings of lengths .* Multiply all"):
        solve_ntp_svm(scaled(table, scale))
    few = ContextTable(scale * table.embeddings[:, :1], table.next_token, table.weight)
    answer = solve_ntp_svm(few)
    assert answer.verdict is Verdict.NOT_SEPARABLE
    assert check_certificate(few, answer.dual).holds


@pytest.mark.parametrize("scale", [1e-69, 1e-30, 1e30, 1e69])
def test_lengths_in_range_scale_the_decoder(scale):
    table = random_table()
    answer, plain = solve_ntp_svm(scaled(table, scale)), solve_ntp_svm(table)
    assert answer.verdict is plain.verdict is Verdict.SEPARABLE
    np.testing.assert_allclose(scale * answer.weights, plain.weights, rtol=1e-3, atol=1e-3)
