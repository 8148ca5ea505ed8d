import pytest

from tests.benchmarks import registry
from tests.benchmarks.registry import all_benchmarks, growth, pair, turns


class Ticking:
    """A clock that only what is timed moves."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(registry.time, "perf_counter", lambda: self.now)

    def takes(self, *seconds):
        """Something that takes so long, the last for ever after."""
        rest = list(seconds)

        def run():
            self.now += rest.pop(0) if len(rest) > 1 else rest[0]

        return run


@pytest.fixture
def clock(monkeypatch):
    return Ticking(monkeypatch)


def test_turns_last_as_long_as_the_budget_without_the_first(clock):
    ours, peer = turns(clock.takes(5.0, 1.0), clock.takes(1.0), budget=10.0)
    assert ours == [1.0, 1.0, 1.0]
    assert peer == [1.0, 1.0, 1.0]


def test_there_are_at_most_so_many_turns(clock):
    (found,) = turns(clock.takes(0.001), budget=10.0, most=7)
    assert len(found) == 7


def test_what_takes_very_long_is_run_as_often_as_it_must_and_no_turn_is_lost(clock):
    assert turns(clock.takes(60.0), budget=8.0, least=2) == [[60.0, 60.0]]


def test_a_peer_that_does_a_part_of_the_work_is_scaled(clock):
    found = pair(("a", clock.takes(1.0)), ("b", clock.takes(2.0)), times=4.0, at_least=8.0)
    assert found.ratio.value == pytest.approx(8.0)
    assert found.met


def test_a_growth_has_each_size_in_turns(clock):
    found = growth("n", [1, 2, 4], lambda size: clock.takes(float(size)), ideal=1.0)
    assert found.medians == [1.0, 2.0, 4.0]
    assert found.slope.value == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_every_benchmark_has_a_name_of_its_own_and_a_title_with_its_peer():
    known = all_benchmarks()
    assert len(known) >= 40
    assert all(name == each.name and each.title and each.part for name, each in known.items())
    assert {name.partition(".")[0] for name in known} == set(registry.FILES)
