import numpy as np
import pytest
from mypaper.experiments import spread
from mypaper.mean import spreads_of_means


def test_the_mean_of_sixteen_spreads_a_quarter():
    result = spread.run(spread.Plan(n=16))
    assert result.spread == pytest.approx(0.25, abs=6 * result.error)
    assert spread.Result.from_json(result.to_json()) == result


def test_one_mean_has_no_spread():
    with pytest.raises(ValueError, match="`means` must be at least 2, got 1"):
        spreads_of_means(np.random.default_rng(0), n=4, groups=2, means=1)
