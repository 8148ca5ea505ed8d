"""Every solution is judged by its own KKT conditions, read here from table and answer alone;
programs of cvxpy are the second oracle.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from sklearn.svm import LinearSVC

from ntpcompanion.linear.separability.certificates import check_certificate, check_weights
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.svm import next_token_svm as svm
from ntpcompanion.linear.svm.next_token_svm import (
    certified_gap,
    refuted_or_refused,
    solve_ntp_svm,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import SCALES, degenerate_tables, table


def random_table(m=12, V=6, S=3, d=15, seed=0):
    return ContextTable.random(m, V, S, d, np.random.default_rng(seed))


def kkt(table, answer):
    """Violations, all relative: ties, margins, signs, row sums, W = ΓᵀE, multipliers of margins
    that are not tight, primal minus dual.
    """
    support, gamma, W = table.support.toarray(), answer.dual, answer.weights
    logits = table.embeddings @ W.T
    level = np.where(support, logits, 0).sum(axis=1) / support.sum(axis=1)
    slack = np.where(support, 0.0, level[:, None] - logits - 1)
    off = np.where(support, 0.0, gamma)
    square = (W**2).sum()
    return {
        "ties": np.abs(np.where(support, logits - level[:, None], 0)).max(),
        "margins": max(0.0, -slack.min()),
        "signs": max(0.0, off.max()) / np.abs(gamma).max(),
        "sums": (np.abs(gamma.sum(axis=1)) / np.abs(gamma).sum(axis=1).max()).max(),
        "stationarity": np.linalg.norm(W - gamma.T @ table.embeddings) / np.sqrt(square),
        "slackness": abs((off * slack).sum()) / square,
        "gap": abs(square + off.sum()) / square,  # ‖W‖² = Σ −Γ_jv at the optimum
    }


def assert_solved(table, answer, tol):
    assert answer.verdict is Verdict.SEPARABLE
    found = kkt(table, answer)
    limits = {
        "ties": 1e-8,
        "margins": 1e-8,
        "signs": 0.0,
        "sums": 1e-10,
        "stationarity": 2 * tol**0.5,
        "slackness": 2 * tol,
        "gap": 2 * tol,
    }
    assert {name: value for name, value in found.items() if value > limits[name]} == {}
    assert answer.duality_gap <= tol
    proof = check_weights(table, answer.weights)
    assert (answer.margin, answer.tie_violation) == (proof.smallest_margin, proof.tie_error)


CASES = {
    "one-hot": random_table(S=1),
    "d below m": random_table(m=20, V=8, S=2, d=14),
    "d = m": random_table(d=12),
    "d above m": random_table(d=40),
    "scales of 1e-3 … 1e3": ContextTable(
        random_table().embeddings * np.resize(SCALES, 12)[:, None],
        random_table().next_token,
        random_table().weight,
    ),
    "a full support": table([[1, 0], [0, 1]], [[1, 1, 1], [1, 0, 0]]),
    "the same context twice": table([[1, 2], [1, 2], [0, 1]], [[1, 1, 0], [1, 1, 0], [0, 1, 0]]),
    "unequal support sizes": table(
        np.eye(4), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_solutions_meet_the_kkt_conditions_and_agree_with_the_textbook_program(case):
    answer = solve_ntp_svm(case, tol=1e-9)
    assert_solved(case, answer, 1e-9)
    textbook = solve_ntp_svm(case, method="cvxpy")
    assert_solved(case, textbook, 1e-6)
    scale = np.abs(textbook.weights).max()
    np.testing.assert_allclose(answer.weights, textbook.weights, atol=1e-5 * scale)


def test_by_hand():
    """One context h = (3, 4), one word against another: W = ±h / (2 ‖h‖²), and ‖W‖² = 1 / (2
    ‖h‖²).
    """
    answer = solve_ntp_svm(table([[3, 4]], [[1, 0]]), tol=1e-12)
    np.testing.assert_allclose(answer.weights, [[0.06, 0.08], [-0.06, -0.08]], atol=1e-12)
    np.testing.assert_allclose(answer.dual, [[0.02, -0.02]], atol=1e-12)
    assert answer.margin == pytest.approx(1, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(degenerate_tables())
def test_degenerate_tables_are_solved_or_refuted_as_the_separability_check_says(case):
    answer = solve_ntp_svm(case, max_iterations=4000)
    if answer.verdict is Verdict.SEPARABLE:
        assert_solved(case, answer, 1e-6)
        assert check_separability(case).verdict is Verdict.SEPARABLE
    elif answer.verdict is Verdict.NOT_SEPARABLE:
        assert answer.weights is None
        assert check_certificate(case, answer.dual).holds
        assert (np.isnan(answer.margin), np.isnan(answer.tie_violation), answer.duality_gap) == (
            True,
            True,
            np.inf,
        )
    else:
        assert answer.iterations >= 4000


def test_near_the_threshold_either_proof_is_found():
    verdicts = []
    for d in (28, 30, 36):
        near = random_table(m=40, V=10, S=6, d=d)
        answer = solve_ntp_svm(near)
        verdicts.append(answer.verdict)
        if answer.verdict is Verdict.SEPARABLE:
            assert_solved(near, answer, 1e-6)
        else:
            assert check_certificate(near, answer.dual).holds
    assert verdicts == [Verdict.NOT_SEPARABLE, Verdict.NOT_SEPARABLE, Verdict.SEPARABLE]


def test_a_budget_ends_the_search_with_what_was_found():
    hard = random_table(m=40, V=10, S=6, d=36)
    nothing = solve_ntp_svm(hard, max_iterations=10)
    assert (nothing.verdict, nothing.weights, nothing.dual, nothing.duality_gap) == (
        Verdict.UNDECIDED,
        None,
        None,
        np.inf,
    )
    assert 10 <= nothing.iterations <= 25
    assert solve_ntp_svm(hard, max_iterations=1).iterations >= 1, "a budget of one product is spent"
    some = solve_ntp_svm(hard, max_iterations=600)
    assert some.verdict is Verdict.UNDECIDED
    assert 1e-6 < some.duality_gap < 1
    assert check_weights(hard, some.weights).holds, "feasible, though not the best"
    assert (some.weights**2).sum() > (solve_ntp_svm(hard).weights ** 2).sum()


def test_far_from_the_threshold_some_hundred_products_are_enough_to_rounding():
    """By ascent alone a thousand: conjugate gradients on the face make the digits."""
    answer = solve_ntp_svm(CASES["d = m"], tol=1e-12)
    assert answer.verdict is Verdict.SEPARABLE
    assert answer.iterations <= 300


def test_either_part_of_a_round_has_the_steps_of_the_round_or_what_is_left(monkeypatch):
    """The first round is 50 steps of ascent and at most 50 on the face; a smaller budget cuts both,
    down to one product.
    """
    case = random_table()
    for part in ("ascend", "polish"):
        original = getattr(svm, part)
        monkeypatch.setattr(
            svm,
            part,
            lambda problem, state, *how, part=part, run=original: (
                taken.append((part, how[0])) or run(problem, state, *how)
            ),
        )
    for budget, first in ((80, 50), (30, 30), (1, 1)):
        taken = []
        assert solve_ntp_svm(case, tol=1e-12, max_iterations=budget).iterations >= first
        assert taken[:2] == [("ascend", first), ("polish", first)]


def test_the_gap_of_any_dual_point_bounds_the_distance_to_the_solution():
    case, rng = random_table(), np.random.default_rng(3)
    best = solve_ntp_svm(case, tol=1e-12)
    assert certified_gap(case, np.asfortranarray(best.dual)) <= 1e-11
    for size in (1e-4, 1e-3, 1e-2):
        off = best.dual * (1 + size * rng.standard_normal(best.dual.shape))
        gap = certified_gap(case, off)
        assert 0 < gap < 1
        rough = solve_ntp_svm(case, tol=min(2 * gap, 0.5))
        assert (
            np.linalg.norm(rough.weights - best.weights)
            <= np.sqrt(rough.duality_gap) * np.linalg.norm(rough.weights) + 1e-6
        )
    assert certified_gap(case, np.zeros_like(best.dual)) == np.inf
    clash = table([[1.0], [1.0]], [[1, 0], [0, 1]])
    assert certified_gap(clash, np.array([[1.0, -1.0], [-1.0, 1.0]])) == np.inf, (
        "a certificate rises without bound, and has no decoder"
    )


@pytest.mark.parametrize(("sizes", "seed"), [((30, 50, 64, 4), 4), ((20, 40, 50, 4), 4)])
def test_what_is_returned_proves_its_gap_again(sizes, seed):
    """Tables of which the gap of the returned Γ was once infinite, and once 1e5 times as large."""
    V, m, d, S = sizes
    table = ContextTable.random(m, V, S, d, np.random.default_rng(seed))
    found = solve_ntp_svm(table, tol=1e-8)
    assert certified_gap(table, found.dual) == pytest.approx(found.duality_gap, abs=1e-11)


def test_tokens_contexts_and_constants_do_not_matter():
    case, rng = random_table(), np.random.default_rng(1)
    W = solve_ntp_svm(case, tol=1e-10).weights
    tokens, contexts = rng.permutation(6), rng.permutation(12)
    moved = ContextTable(
        case.embeddings[contexts], case.next_token[contexts][:, tokens], case.weight[contexts]
    )
    np.testing.assert_allclose(solve_ntp_svm(moved, tol=1e-10).weights, W[tokens], atol=1e-5)
    # a constant row added to all words only adds norm
    np.testing.assert_allclose(W.sum(axis=0), 0, atol=1e-10)
    other_distributions = ContextTable(
        case.embeddings, table(case.embeddings, case.next_token > 0).next_token, case.weight
    )
    np.testing.assert_array_equal(
        solve_ntp_svm(other_distributions, tol=1e-10).weights, W, "supports alone decide"
    )


def test_single_precision_is_proved_in_double():
    case = random_table(m=30, V=20, S=4, d=40)
    single = solve_ntp_svm(case, dtype=torch.float32, tol=1e-4)
    assert single.weights.dtype == single.dual.dtype == np.float64
    assert check_weights(case, single.weights).holds
    best = np.linalg.norm(solve_ntp_svm(case, tol=1e-10).weights)
    assert best * (1 - 1e-9) <= np.linalg.norm(single.weights) <= best * (1 + 1e-4)
    square = np.linalg.norm(single.dual.T @ case.embeddings) ** 2
    assert -single.dual[~case.support.toarray()].sum() == pytest.approx(square, rel=1e-13), (
        "of all multiples of the dual the best"
    )


@pytest.mark.parametrize(
    ("norm", "program"), [("frobenius", "least_frobenius_norm"), ("max", "least_max_norm")]
)
@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_margins_that_a_program_leaves_too_wide_or_too_narrow_become_one(
    norm, program, factor, monkeypatch
):
    case, solve = random_table(), getattr(svm, program)
    exact = solve_ntp_svm(case, method="cvxpy", norm=norm)
    monkeypatch.setattr(
        svm, program, lambda given: replace(answer := solve(given), weights=factor * answer.weights)
    )
    answer = solve_ntp_svm(case, method="cvxpy", norm=norm)
    assert answer.verdict is Verdict.SEPARABLE
    np.testing.assert_allclose(answer.weights, exact.weights, rtol=1e-12)


def test_the_gap_of_a_program_is_that_of_its_answer(monkeypatch):
    """Another feasible decoder with the multipliers of the best one: its gap is its distance from
    the optimum.
    """
    case, solve = random_table(), svm.least_max_norm
    best, other = np.abs(solve(case).weights).max(), solve_ntp_svm(case, tol=1e-10).weights
    monkeypatch.setattr(svm, "least_max_norm", lambda given: replace(solve(given), weights=other))
    answer = solve_ntp_svm(case, norm="max")
    assert answer.verdict is Verdict.UNDECIDED
    assert answer.duality_gap == pytest.approx(1 - best / np.abs(other).max(), rel=1e-6)


@pytest.mark.parametrize(
    "case", [random_table(), random_table(S=1), table([[1, 0], [0, 1]], [[1, 1, 1], [1, 0, 0]])]
)
def test_the_largest_entry_is_minimized_by_a_linear_program(case):
    answer = solve_ntp_svm(case, norm="max")
    assert answer.verdict is Verdict.SEPARABLE
    assert check_weights(case, answer.weights).holds
    support, size = case.support.toarray(), np.abs(answer.weights).max()
    gamma = answer.dual
    assert np.abs(gamma.sum(axis=1)).max() <= 1e-8
    assert gamma[~support].max() <= 1e-9
    # Hölder: Σ −Γ_jv ≤ ⟨W, ΓᵀE⟩ ≤ max|W| Σ|ΓᵀE|
    bound = -gamma[~support].sum() / np.abs(gamma.T @ case.embeddings).sum()
    assert size * (1 - 1e-6) <= bound <= size * (1 + 1e-12)
    assert size <= np.abs(solve_ntp_svm(case).weights).max() * (1 + 1e-9)


@pytest.mark.parametrize("options", [{"method": "cvxpy"}, {"norm": "max"}])
def test_programs_without_a_solution_come_with_a_certificate(options):
    same = table([[1.0], [1.0]], [[1, 0], [0, 1]])
    answer = solve_ntp_svm(same, **options)
    assert (answer.verdict, answer.weights, answer.iterations) == (Verdict.NOT_SEPARABLE, None, 0)
    assert check_certificate(same, answer.dual).holds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 1.0}, r"`tol` must lie between 0 and 1, a relative duality gap, got 1.0"),
        (
            {"dtype": torch.float16},
            r"`dtype` must be torch.float32 or torch.float64, got torch.float16",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_cannot_be_asked_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        solve_ntp_svm(random_table(), **options)


@pytest.mark.parametrize(("m", "V", "d"), [(12, 4, 15), (20, 5, 12), (10, 2, 12)])
def test_one_hot_tables_have_the_multiclass_machine_of_liblinear(m, V, d):
    """Crammer and Singer without bias, with a penalty so large that no margin is violated."""
    hot = random_table(m, V, 1, d)
    label = hot.next_token.argmax(axis=1)
    assert len(np.unique(label)) == V
    if V == 2:
        machine = LinearSVC(loss="hinge", fit_intercept=False, C=1e4, tol=1e-10, max_iter=10**6)
        half = machine.fit(hot.embeddings, label).coef_[0]
        # of labels ±1: margins of 1 on either side are a difference of logits of 1 for half of it
        expected = np.stack([-half, half]) / 2
    else:
        machine = LinearSVC(
            multi_class="crammer_singer", fit_intercept=False, C=1e4, tol=1e-10, max_iter=10**6
        )
        expected = machine.fit(hot.embeddings, label).coef_
    found = solve_ntp_svm(hot, tol=1e-10).weights
    assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_orthonormal_contexts_do_not_interact(rng):
    drawn = ContextTable.random(6, 5, 2, 9, rng)
    table = replace(drawn, embeddings=np.linalg.qr(drawn.embeddings.T)[0].T)
    inside = drawn.support.toarray()
    expected = (inside - inside.mean(axis=1, keepdims=True)).T @ table.embeddings
    found = solve_ntp_svm(table, tol=1e-12)
    assert np.linalg.norm(found.weights - expected) < 1e-5 * np.linalg.norm(expected)
    assert (found.weights**2).sum() == pytest.approx(6 * 2 * 3 / 5)
    assert np.abs(found.weights.sum(axis=0)).max() < 1e-9


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
