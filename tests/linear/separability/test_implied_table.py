"""Against a linear program for the supports, cvxpy for the table, fractions for the proofs, and a
method that knows only the loss for its infimum. Of gradient flow: `test_table_flow`.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import orth
from scipy.optimize import linprog

from ntpcompanion.linear import (
    ContextTable,
    check_compatibility,
    check_separability,
    implied_table,
    project_onto_F,
)
from ntpcompanion.linear.dynamics.excess_bounds import penalized_minima
from ntpcompanion.linear.separability.implied_table import Case, implied_support


def draw(seed):
    """Tables of three kinds: normal embeddings, small integers, sums of the embeddings of two
    words; some are separable, and some have a minimizer.
    """
    rng = np.random.default_rng(seed)
    m, V = int(rng.integers(3, 9)), int(rng.integers(3, 6))
    table = ContextTable.random(m, V, int(rng.integers(1, V)), int(rng.integers(1, m)), rng)
    weight = rng.dirichlet(np.full(m, 3.0))
    if seed % 3 == 1:
        return ContextTable(np.rint(2 * table.embeddings), table.next_token, weight)
    if seed % 3 == 2:
        a, b = np.divmod(rng.permutation(9)[:m], 3)
        return ContextTable(np.hstack([np.eye(3)[a], np.eye(3)[b]]), table.next_token, weight)
    return ContextTable(table.embeddings, table.next_token, weight)


TABLES = [draw(seed) for seed in range(36)]


def largest_support(table):
    """One linear program: as many tokens as possible at which a certificate is at most −1."""
    S, E = table.support.toarray(), table.embeddings
    m, V = S.shape
    off = np.argwhere(~S)
    sums = np.kron(np.eye(m), np.ones(V))
    moments = np.vstack([np.kron(E[:, c], np.eye(V)) for c in range(table.dim)])
    equations = np.vstack([sums, moments])
    below = np.zeros((len(off), m * V))
    below[np.arange(len(off)), off[:, 0] * V + off[:, 1]] = 1.0
    solved = linprog(
        np.r_[np.zeros(m * V), -np.ones(len(off))],
        A_ub=np.hstack([below, np.eye(len(off))]),
        b_ub=np.zeros(len(off)),
        A_eq=np.hstack([equations, np.zeros((len(equations), len(off)))]),
        b_eq=np.zeros(len(equations)),
        bounds=[(None, None if inside else 0) for inside in S.ravel()] + [(0, 1)] * len(off),
    )
    chosen = solved.x[m * V :]
    assert np.abs(chosen - chosen.round()).max() < 1e-6
    S[tuple(off[chosen > 0.5].T)] = True
    return S


@pytest.mark.parametrize("table", TABLES)
def test_supports_are_the_largest_of_a_linear_program(table):
    support = implied_support(table)
    assert np.array_equal(support.mask, largest_support(table))
    assert support.verify(table)


def test_all_cases_occur():
    found = [implied_table(table) for table in TABLES]
    assert all(sum(each.case is case for each in found) >= 5 for case in Case)
    for table, each in zip(TABLES, found, strict=True):
        both = check_separability(table).weights is not None
        both &= check_compatibility(table).verdict.name == "COMPATIBLE"
        assert both == (each.case is Case.ENTROPY)


@pytest.mark.parametrize("table", TABLES)
def test_the_loss_is_the_same_and_its_infimum_is_the_entropy(table):
    implied = implied_table(table)
    assert implied.verify()
    reached = table.cross_entropy(penalized_minima(table, [0.0])[0])
    assert reached == pytest.approx(implied.entropy, abs=2e-9)
    W = np.random.default_rng(0).standard_normal((table.vocab_size, table.dim))
    if implied.case is Case.MINIMIZER:
        assert np.abs(table.gradient(implied.finite_part)).max() < 1e-10
        assert table.cross_entropy(implied.finite_part) == pytest.approx(implied.entropy)
        assert np.abs(implied.finite_part.sum(axis=0)).max() < 1e-9
    else:
        assert implied.table.cross_entropy(W) == pytest.approx(table.cross_entropy(W), rel=1e-12)
        assert implied.table.gradient(W) == pytest.approx(table.gradient(W), abs=1e-12)


@pytest.mark.parametrize("table", TABLES[:12])
def test_the_table_of_largest_entropy_is_that_of_a_general_solver(table):
    q = cp.Variable(table.next_token.shape, nonneg=True)
    weighted = cp.multiply(table.weight[:, None], q)
    basis = orth(table.embeddings)
    moments = basis.T @ (table.weight[:, None] * table.distributions.toarray())
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.multiply(table.weight[:, None], cp.entr(q)))),
        [cp.sum(q, axis=1) == 1, (basis.T @ weighted - moments)[:, 1:] == 0],
    )
    problem.solve(solver=cp.CLARABEL)
    implied = implied_table(table)
    assert implied.entropy == pytest.approx(problem.value, abs=1e-6)
    assert implied.next_token == pytest.approx(q.value, abs=1e-3)


@pytest.mark.parametrize("table", TABLES[1::3])
def test_certificates_over_fractions_add_the_same_tokens(table):
    mask = table.support.toarray()
    while not mask.all():
        one = ContextTable(table.embeddings, mask / mask.sum(axis=1, keepdims=True), table.weight)
        answer = check_separability(one)
        exact = answer.verify(one).exact
        assert exact is not None
        if answer.certificate is None:
            break
        mask = mask | (np.array([[entry < 0 for entry in row] for row in exact]) & ~mask)
    assert np.array_equal(mask, implied_support(table).mask)


@pytest.mark.parametrize("table", TABLES)
def test_what_remains_is_compatible_and_separable_or_has_a_minimizer(table):
    implied = implied_table(table)
    if implied.case is Case.MINIMIZER:
        with pytest.raises(ValueError, match="has a minimizer, `finite_part`"):
            implied.table  # noqa: B018
        return
    assert check_separability(implied.table).verdict.name == "SEPARABLE"
    matched = check_compatibility(implied.table)
    assert matched.verdict.name == "COMPATIBLE"
    assert implied.finite_part == pytest.approx(matched.finite_part, abs=1e-7)
    inside = project_onto_F(implied.table, implied.finite_part)
    assert inside == pytest.approx(implied.finite_part, abs=1e-8)


def test_a_context_without_an_embedding_is_predicted_uniformly():
    embeddings = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    p = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]])
    implied = implied_table(ContextTable(embeddings, p, np.full(3, 1 / 3)))
    assert implied.next_token == pytest.approx(np.vstack([p[:2], np.full((1, 3), 1 / 3)]))
    assert implied.verify()


def test_forged_proofs_do_not_hold():
    implied = implied_table(TABLES[2])
    support = implied.support
    others = np.argwhere(~support.mask)[0]
    larger = support.mask.copy()
    larger[tuple(others)] = True
    turned = tuple(-gamma for gamma in support.certificates)
    for changed in (
        {"mask": larger},
        {"mask": TABLES[2].support.toarray()},
        {"certificates": turned},
        {"certificates": ()},
        {"separating": 0.5 * support.separating},
        {"separating": None},
    ):
        assert not replace(support, **changed).verify(TABLES[2])
    assert not replace(implied, gap=1e-6).verify()
    assert not replace(implied, moment_error=1e-6).verify()


def test_what_cannot_be_decided_or_held_is_said():
    crowded = ContextTable.random(30, 10, 4, 18, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match=r"undecided \(.* `max_iterations`, 1 now"):
        implied_support(crowded, max_iterations=1)
    implied = implied_table(TABLES[2])
    smallest = implied.next_token[implied.support.mask].min()
    lost = np.where(implied.next_token == smallest, 0.0, implied.next_token)
    with pytest.raises(ValueError, match="below 1e-308"):
        replace(implied, next_token=lost).table  # noqa: B018
