import pytest

from ntpcompanion.statistics.timings import Benchmarks, median_interval

COMMON = {"part": "Flatness", "busy": 0, "threads": 1, "load": [0.5], "commit": "abc"}


def entry(name, kind, busy=0, **outcome):
    empty = dict.fromkeys(("peer", "at_least", "at_most", "unit", "note", "error"))
    found = {"kind": kind, "our_seconds": None, "peer_seconds": None, **empty, **outcome}
    return {**COMMON, "name": name, "title": name.title(), "busy": busy, "outcome": found}


ENTRIES = [
    entry("rival", "pair", our_seconds=[1, 1], peer_seconds=[2, 4], peer="a (b)", at_least=2.0),
    entry("bound", "pair", our_seconds=[2, 2], peer_seconds=[1, 1], peer="pass", at_least=0.75),
    entry("bound", "pair", 4, our_seconds=[9, 9], peer_seconds=[3, 3], peer="pass", at_least=0.75),
    entry(
        "power",
        "growth",
        seconds=[[1, 1], [4, 4], [16, 16]],
        sizes=[1, 2, 4],
        variable="n",
        ideal=2,
    ),
    entry("bytes", "amount", values=[5, 7], unit="MB", at_most=6.0),
    entry("ill", "failed", error="no number"),
]
MAIN = {
    "entries": ENTRIES,
    "hardware": {"processor": "x", "cores": 4, "memory_gib": 8},
    "started": "2026-01-02T03",
    "versions": {"python": "3.11"},
}
OTHER = {**MAIN, "entries": ENTRIES[:1], "hardware": {"processor": "y", "gpu": "z"}}
BENCH = Benchmarks([MAIN, OTHER], slowest=2.0)


def test_a_median_has_an_interval_from_six_values_on():
    """Of ten values the second and the ninth: 95 % by the binomial distribution."""
    assert median_interval(range(10)).tolist() == [4.5, 1.0, 8.0]


def test_bounds_come_before_rivals():
    pairs = BENCH.pairs
    assert [*pairs.index] == ["bound", "rival"]
    assert pairs[["median", "low", "high"]].to_numpy().tolist() == [[0.5, 0.5, 0.5], [3, 2, 4]]
    assert pairs.beside["bound"] == pytest.approx(1 / 3)
    assert [*BENCH.rivals.index] == ["rival"]
    assert BENCH.peers.tolist() == ["pass", "a"]
    assert BENCH.ratio_table["ratio"].tolist() == [3, 0.5]


def test_two_comparisons_with_one_peer_are_told_apart_by_a_number():
    twin = {**ENTRIES[0], "name": "twin"}
    assert Benchmarks([{**MAIN, "entries": [*ENTRIES, twin]}]).peers.tolist() == [
        "pass",
        "a (b), 1",
        "a (b), 2",
    ]


def test_seconds_that_quadruple_with_each_doubling_grow_as_a_square():
    (row,) = BENCH.growth_table.to_numpy().tolist()
    assert row == ["Power", "n", pytest.approx(2), pytest.approx(0, abs=1e-12), 2]
    assert BENCH.sizes.seconds.tolist() == [1, 4, 16]


def test_findings_are_missed_goals_slowed_programs_and_failures():
    """The bound is slowed 4.5 times, its share is 5 / 4 of four cores, and 2.5 are allowed."""
    assert BENCH.costs.slower["bound"] == pytest.approx(4.5)
    assert BENCH.goals.to_dict() == {"rival": True, "bound": False, "bytes": True}
    assert BENCH.findings.to_numpy().tolist() == [
        ["missed its goal", "Bound; against pass"],
        ["slowed by busy processes more than their share explains", "Bound; against pass"],
        ["gave no number", "Ill: no number"],
    ]
    assert BENCH.seconds_table.unit.tolist() == ["s", "s", "s", "MB", "s"]


def test_the_newest_run_with_most_entries_is_the_main_one():
    assert BENCH.number == 0
    assert Benchmarks([MAIN, OTHER, {**MAIN}]).number == 2
    assert BENCH.machine.to_numpy().tolist() == [["x", 4, 8, "2026-01-02", "3.11", "abc"]]
    (other,) = BENCH.other_table.to_numpy().tolist()
    assert other[0] == "y z"
    assert other[3] == 3
    assert BENCH.loads.tolist() == [0.5] * 5


def test_a_run_without_busy_processes_pairs_goals_or_other_machines_has_its_tables():
    quiet = Benchmarks([{**MAIN, "entries": [each for each in ENTRIES if not each["busy"]]}])
    assert quiet.pairs["beside"].isna().all()
    assert quiet.seconds_table["busy"].isna().all()
    assert quiet.goals.to_dict() == {"rival": True, "bound": False, "bytes": True}
    assert quiet.other_table.empty
    alone = Benchmarks([{**MAIN, "entries": ENTRIES[3:4]}])
    assert (alone.pairs.empty, alone.goals.empty, alone.findings.empty) == (True, True, True)


def test_a_growth_has_no_amount_that_could_meet_a_goal():
    growth = {**ENTRIES[3], "outcome": {**ENTRIES[3]["outcome"], "at_most": 9.0}}
    assert Benchmarks([{**MAIN, "entries": [growth]}]).goals.to_dict() == {"power": False}
