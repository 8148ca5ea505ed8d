import numpy as np
import pytest

from ntpcompanion.linear.separability.decision import Separability, Verdict
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds import crossing
from ntpcompanion.linear.thresholds.crossing import separability_crossing
from tests.oracles import largest_margin


def first_by_enumeration(table):
    """Every d from 1 on, each put to a general solver."""
    support = table.support.toarray()
    return next(
        (
            d
            for d in range(1, table.dim + 1)
            if largest_margin(table.embeddings[:, :d], support) > 1e-7
        ),
        None,
    )


@pytest.mark.parametrize(("m", "V", "S"), [(6, 4, 1), (8, 5, 2), (10, 4, 3)])
def test_bisection_finds_what_enumeration_finds(rng, m, V, S):
    for _ in range(4):
        table = ContextTable.random(m, V, S, m, rng)
        found = separability_crossing(table)
        assert found.separable_from == first_by_enumeration(table)
        assert found.not_separable_to == found.separable_from - 1


def test_a_table_that_no_dimension_separates_is_said_in_one_check(rng, monkeypatch):
    table = ContextTable(np.ones((2, 3)), np.eye(2), np.full(2, 0.5))
    calls = []
    monkeypatch.setattr(
        crossing,
        "check_separability",
        lambda t, **_: calls.append(t.dim) or Separability(Verdict.NOT_SEPARABLE),
    )
    assert separability_crossing(table) == crossing.Crossing(None, 3)
    assert calls == [3]


def test_an_undecided_check_leaves_the_two_proved_sides(rng, monkeypatch):
    table = ContextTable.random(8, 4, 2, 8, rng)
    verdicts = {8: Verdict.SEPARABLE, 4: Verdict.NOT_SEPARABLE, 6: Verdict.UNDECIDED}
    monkeypatch.setattr(
        crossing, "check_separability", lambda t, **_: Separability(verdicts[t.dim])
    )
    assert separability_crossing(table) == crossing.Crossing(8, 4)


def test_one_dimension_may_be_enough():
    table = ContextTable(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 0.0]]), np.array([1.0]))
    assert separability_crossing(table) == crossing.Crossing(1, 0)
