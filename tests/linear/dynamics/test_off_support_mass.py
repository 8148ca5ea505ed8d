import numpy as np
import pytest

from ntpcompanion.linear.dynamics.excess_bounds import decompose_excess_loss
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable


@pytest.fixture
def table(rng):
    drawn = ContextTable.random(5, 6, 3, 7, rng)
    return ContextTable(drawn.embeddings, drawn.next_token, np.arange(1, 6) / 15)


def test_the_parts_are_those_of_probabilities_computed_one_by_one(table, rng):
    W = rng.standard_normal((6, 7))
    inside = leak = 0.0
    for h, p, weight in zip(table.embeddings, table.next_token, table.weight, strict=True):
        q = np.exp(W @ h) / np.exp(W @ h).sum()
        kept = q[p > 0] / q[p > 0].sum()
        inside += weight * (p[p > 0] * np.log(p[p > 0] / kept)).sum()
        leak -= weight * np.log(q[p > 0].sum())
    parts = decompose_excess_loss(table, W)
    assert (parts.inside, parts.off_support) == pytest.approx((inside, leak), rel=1e-12)
    assert parts.inside + parts.off_support == pytest.approx(table.excess(W), rel=1e-12)


def test_the_part_inside_depends_on_the_projection_alone_and_ends_at_the_finite_part(table, rng):
    W = rng.standard_normal((6, 7))
    rest = W - project_onto_F(table, W)
    finite = check_compatibility(table).finite_part
    inside = decompose_excess_loss(table, W).inside
    assert decompose_excess_loss(table, W + 3 * rest).inside == pytest.approx(inside, rel=1e-9)
    assert decompose_excess_loss(table, finite + 3 * rest).inside == pytest.approx(0, abs=1e-12)
    assert inside > 1e-3


def test_the_inequalities_of_the_proofs(table, rng):
    """A decoder whose part in F is W* leaks between two multiples of e^{−smallest margin}, and has
    at least the cosine margin · ‖W^mm‖ / norm with W^mm.
    """
    svm = solve_ntp_svm(table, tol=1e-12).weights
    finite, support = check_compatibility(table).finite_part, table.support.toarray()
    odds = np.exp(table.embeddings @ finite.T)
    ratio = np.where(support, 0, odds) / (odds * support).sum(axis=1, keepdims=True)
    for _ in range(20):
        W = 3 * svm + rng.standard_normal(svm.shape)
        rest = W - project_onto_F(table, W)
        logits = table.embeddings @ rest.T
        margins = np.where(support, logits, -np.inf).max(axis=1, keepdims=True) - logits
        least = margins[~support].min()
        leak = decompose_excess_loss(table, finite + rest).off_support
        lower = table.weight.min() * np.log1p(ratio[~support].min() * np.exp(-least))
        upper = (table.weight @ ratio.sum(axis=1)) * np.exp(-least)
        assert lower <= leak <= upper
        assert np.vdot(rest, svm) >= least * np.vdot(svm, svm) - 1e-9
        assert least <= np.linalg.norm(rest) / np.linalg.norm(svm) + 1e-9
    with pytest.raises(ValueError, match="`W`"):
        decompose_excess_loss(table, svm[:, 1:])
