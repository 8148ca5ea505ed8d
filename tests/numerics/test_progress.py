import numpy as np
import pytest

from ntpcompanion.linear.separability import decision as separability
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.svm import next_token_svm as svm
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics import progress
from ntpcompanion.numerics.progress import OutOfTimeError, Progress


def random_table(m=12, V=6, S=3, d=15):
    return ContextTable.random(m, V, S, d, np.random.default_rng(0))


@pytest.fixture
def clock(monkeypatch):
    """A second passes whenever the time is asked for."""
    seconds = iter(range(10**6))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))


@pytest.fixture
def short_rounds(monkeypatch):
    """No round finds a proof at once."""
    monkeypatch.setattr(separability, "FIRST_ROUND", 2)
    monkeypatch.setattr(svm, "FIRST_ROUND", 2)


def hard():
    """Near the threshold of separability."""
    return random_table(m=40, V=10, S=6, d=36)


@pytest.mark.usefixtures("clock")
def test_the_time_is_up_after_the_limit():
    timed = Progress(2.5)
    timed.tick()
    timed.tick()
    with pytest.raises(OutOfTimeError):
        timed.tick()


@pytest.mark.usefixtures("clock")
def test_a_callback_hears_of_every_round():
    rounds = []
    timed = Progress(callback=rounds.append)
    timed.report(100, np.inf)
    timed.report(300, np.float64(0.5))
    assert [(r.number, r.iterations, r.gap) for r in rounds] == [(1, 100, np.inf), (2, 300, 0.5)]
    assert 0 < rounds[0].seconds < rounds[1].seconds


@pytest.mark.parametrize("solve", [check_separability, solve_ntp_svm])
@pytest.mark.usefixtures("clock", "short_rounds")
def test_a_limit_that_is_hit_leaves_it_undecided(solve):
    answer = solve(hard(), time_limit=1.5)
    assert answer.verdict is Verdict.UNDECIDED
    assert answer.weights is None


@pytest.mark.parametrize("solve", [check_separability, solve_ntp_svm])
@pytest.mark.usefixtures("short_rounds")
def test_a_limit_that_is_not_hit_changes_nothing(solve):
    rounds = []
    free = solve(hard())
    limited = solve(hard(), time_limit=1e6, callback=rounds.append)
    assert free.verdict is limited.verdict
    for name in ("weights", "certificate", "dual"):
        assert np.array_equal(getattr(free, name, None), getattr(limited, name, None)), name
    assert [r.number for r in rounds] == list(range(1, len(rounds) + 1))
    assert rounds
