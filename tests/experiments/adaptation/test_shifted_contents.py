import pytest

from ntpcompanion.experiments.adaptation import shifted_contents


@pytest.fixture(scope="module")
def result():
    plan = shifted_contents.Plan(
        spreads=(0.0, 1.0),
        dim=5,
        contents=(2, 8),
        draws=3,
        small_dim=4,
        varied=0.0,
        searches=3,
        seed=0,
    )
    return shifted_contents.run(plan)


def test_a_common_shift_follows_the_formula_and_is_lost(result):
    rows = result.table[result.table.spread == 0]
    assert rows.left.to_numpy() == pytest.approx(rows.predicted.to_numpy(), abs=1e-3)
    assert result.left(0.0)[8].max() < 1e-3
    assert result.left(1.0)[8].mean() > 0.05
    assert result.left(0.0).shape == (3, 2)


def test_a_common_shift_is_forced_at_the_dimension(result):
    assert result.forcing == (4, 4, 4)
    assert (result.forcing_over_dim.mean, result.forcing_over_dim.stderr) == (1, 0)


def test_shifts_that_vary_need_more():
    plan = {"spreads": (0.0,), "contents": (1,), "draws": 2, "small_dim": 4}
    result = shifted_contents.run(shifted_contents.Plan(**plan, varied=0.1, searches=6, seed=0))
    assert result.forcing_over_dim.mean > 1.4
