import numpy as np
import pytest

from ntpcompanion.attention import attend_to_vocabulary, centred, next_token_table
from ntpcompanion.linear import Verdict, solve_ntp_svm


def tables(rng, count, words):
    for _ in range(count):
        contexts, teacher = rng.normal(size=(7, 3)), rng.normal(size=(words, 3))
        yield contexts, (contexts @ teacher.T).argmax(axis=1)


def difference(words, contexts, targets):
    ours = centred(words) @ attend_to_vocabulary(words, contexts, targets).weights
    theirs = solve_ntp_svm(next_token_table(contexts, targets, len(words)), tol=1e-12).weights
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def test_on_a_simplex_both_programs_have_one_solution(rng):
    turned = 3 * np.linalg.qr(rng.normal(size=(9, 5)))[0].T + rng.normal(size=9)
    for words in (np.eye(5), turned):
        for contexts, targets in tables(rng, 4, 5):
            assert difference(words, contexts, targets) < 1e-5


def test_for_two_words_any_embedding_will_do(rng):
    for contexts, targets in tables(rng, 4, 2):
        words = rng.normal(size=(2, 6))
        ours = centred(words) @ attend_to_vocabulary(words, contexts, targets).weights
        theirs = solve_ntp_svm(next_token_table(contexts, targets, 2), tol=1e-12).weights
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize(("V", "rho"), [(3, -0.9), (4, -0.8), (6, -0.5)])
def test_the_slack_of_two_opposed_contexts(V, rho):
    contexts = np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    W = solve_ntp_svm(next_token_table(contexts, [0, 1], V), tol=1e-12).weights
    logits = contexts @ W.T
    slack = -(1 + rho * (V - 1)) / (V - 1 + rho)
    assert slack > 0
    assert logits[0, 0] - logits[0, 1] - 1 == pytest.approx(slack, abs=1e-5)
    assert logits[0, 0] - logits[0, 2] == pytest.approx(1, abs=1e-6)
    multipliers = attend_to_vocabulary(np.eye(V), contexts, [0, 1]).multipliers
    np.testing.assert_allclose(multipliers[:, 2:], 1 / (V - 1 + rho), rtol=1e-5)
    np.testing.assert_allclose(multipliers[:, :2], 0, atol=1e-5)


def test_contexts_that_are_not_separable_are_so_in_both():
    contexts, targets = np.array([[1.0], [2.0]]), [0, 1]
    assert attend_to_vocabulary(np.eye(3), contexts, targets).verdict is Verdict.NOT_SEPARABLE
    assert solve_ntp_svm(next_token_table(contexts, targets, 3)).verdict is Verdict.NOT_SEPARABLE


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`targets` must lie in 0 … 2, got"):
        next_token_table(np.eye(2), [0, 3], 3)
    with pytest.raises(ValueError, match="`targets` must lie in 0 … 2, got"):
        attend_to_vocabulary(np.eye(3), np.eye(2), [0, 3])
