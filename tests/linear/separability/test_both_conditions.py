import numpy as np
import pytest

from ntpcompanion.linear.separability import both_conditions as decisions
from ntpcompanion.linear.separability.both_conditions import Decisions, decide_tables, share_of
from ntpcompanion.linear.separability.compatibility import Compatibility, CompatibilityVerdict
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.oracles import largest_margin


def test_verdicts_are_those_of_plain_least_squares_and_a_general_solver(rng):
    tables = [ContextTable.random(6, 4, 2, d, rng) for d in (1, 2, 4, 6, 6, 7)]
    found = decide_tables(iter(tables))
    for k, table in enumerate(tables):
        support = table.support.toarray()
        pairs = [(j, *np.flatnonzero(row)) for j, row in enumerate(support)]
        eye = np.eye(4)
        rows = [np.kron(eye[z] - eye[a], table.embeddings[j]) for j, a, z in pairs]
        odds = [np.log(table.next_token[j, z] / table.next_token[j, a]) for j, a, z in pairs]
        W, *_ = np.linalg.lstsq(rows, odds, rcond=None)
        assert found.compatible[k] == np.allclose(rows @ W, odds, atol=1e-9)
        assert found.separable[k] == (largest_margin(table.embeddings, support) > 1e-7)
    assert found.dim.tolist() == [1, 2, 4, 6, 6, 7]
    assert found.num_contexts == 6
    assert found.holds.all()
    assert not found.undecided.any()
    assert (found.residual[found.compatible] < 1e-6).all()


def test_either_check_can_leave_a_table_undecided(rng, monkeypatch):
    table = ContextTable.random(6, 4, 2, 6, rng)
    unknown = Compatibility(CompatibilityVerdict.UNDECIDED, np.zeros((4, 6)), 0.5)
    monkeypatch.setattr(decisions, "check_compatibility", lambda table: unknown)
    found = decide_tables([table])
    assert found.undecided.tolist() == [True]
    assert found.compatible.tolist() == [False]
    assert found.separable.tolist() == [True]
    assert found.residual.tolist() == [0.5]


def test_shares_are_means_over_the_tables_of_each_dimension():
    yes, no = True, False
    found = Decisions(
        num_contexts=4,
        dim=np.array([3, 1, 3, 3, 1]),
        compatible=np.array([yes, no, yes, no, yes]),
        separable=np.array([yes, no, no, no, no]),
        undecided=np.array([no, no, no, no, yes]),
        residual=np.zeros(5),
        holds=np.ones(5, dtype=bool),
    ).shares()
    assert found.dim.tolist() == [1, 3]
    assert found.ratio.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(found.compatible, [1 / 2, 2 / 3])
    np.testing.assert_allclose(found.separable, [0, 1 / 3])
    np.testing.assert_allclose(found.undecided, [1 / 2, 0])


def test_tables_of_one_size_are_asked_for(rng):
    for tables in ([], [ContextTable.random(m, 4, 2, 3, rng) for m in (3, 4)]):
        with pytest.raises(ValueError, match=r"`tables` must hold at least one table, all with"):
            decide_tables(tables)


def test_a_share_has_an_error_even_where_all_draws_agree():
    share, error = share_of(np.array([True, False, False, False]))
    assert share == 0.25
    assert error == pytest.approx(np.sqrt(1 / 3 * 2 / 3 / 4))
    assert share_of(np.zeros(8, dtype=bool)) == pytest.approx((0, np.sqrt(0.1 * 0.9 / 8)))
    with pytest.raises(
        ValueError, match=r"`outcomes` must be a vector of booleans .* shape \(0,\)"
    ):
        share_of(np.array([], dtype=bool))
