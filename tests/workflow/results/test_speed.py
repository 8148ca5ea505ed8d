"""The page is built from stored runs of two machines."""

import re

import pytest

from ntpcompanion.workflow.results.speed import NOTHING, speed_page
from ntpcompanion.workflow.timing.bench import (
    Amount,
    Failed,
    Growth,
    Pair,
    file_name,
    folder,
    read_benches,
    write_bench,
)
from tests.workflow.timing.test_bench import entry, machine, run


def pair(ratio, peer="HiGHS", **given):
    return Pair(
        ours="ours", peer=peer, our_seconds=[0.1] * 7, peer_seconds=[0.1 * ratio] * 7, **given
    )


QUIET = [
    entry("linear.fast", pair(20.0, at_least=10.0)),
    entry("linear.slow", pair(0.8, "<SCS>", at_least=1.0)),
    entry("flatness.trace", pair(0.5, "one pass", at_least=0.6)),
    entry(
        "linear.growth",
        Growth(
            variable="contexts m",
            sizes=[10.0, 100.0, 1000.0],
            seconds=[[0.01], [0.1], [1.0]],
            ideal=1.0,
        ),
    ),
    entry("linear.memory", Amount(unit="GiB", values=[0.7], at_most=1.0)),
    entry(
        "machine.copy", Amount(unit="GB/s", values=[8.0, 9.0, 10.0]), part="Limits of the machine"
    ),
    entry("languages.peer", Failed(error="no module <torch_struct>")),
]
# on two cores a share of 2.5: the fast one takes 3 times as long, the slow one 30 times
BUSY = [
    entry(
        "linear.fast",
        Pair(ours="ours", peer="HiGHS", our_seconds=[0.3], peer_seconds=[5.0]),
        busy=4,
    ),
    entry(
        "linear.slow",
        Pair(ours="ours", peer="<SCS>", our_seconds=[3.0], peer_seconds=[1.0]),
        busy=4,
    ),
]


@pytest.fixture
def page(toy):
    """Of two machines, the larger the newer."""
    for day, processor, entries in (("21", "Small", QUIET[:1]), ("22", "Large", QUIET + BUSY)):
        made = run(*entries, started=f"2026-11-{day}T00:00:00+00:00", hardware=machine(processor))
        write_bench(folder(toy.project) / file_name(made.started, made.hardware), made)
    return speed_page(read_benches(toy.project))


def test_without_a_run_the_page_says_what_to_run():
    assert speed_page([]) == NOTHING
    assert "`make bench`" in NOTHING


def test_the_newest_machine_is_shown_and_the_other_folded_below(page):
    newest, _, folded = page.partition("<details")
    assert "Large, 2 cores, 8 GiB" in newest
    assert "2026-11-22" in newest
    assert "Small, 2 cores, 8 GiB, 2026-11-21" in folded
    assert newest.count("<li>") + folded.count("<li>") == 5, "three ratios, one failure; one"


def test_a_newer_run_of_a_few_benchmarks_is_folded_below_one_of_many(toy):
    share = Amount(unit="of the rate", values=[0.4], note="300 of 750 TFLOP/s")
    for day, processor, entries in (
        ("21", "Small", QUIET),
        ("22", "With a GPU", [entry("training.gpu_share", share), entry("training.graph")]),
    ):
        made = run(*entries, started=f"2026-11-{day}T00:00:00+00:00", hardware=machine(processor))
        write_bench(folder(toy.project) / file_name(made.started, made.hardware), made)
    first, below = speed_page(read_benches(toy.project)).split("<details", 1)
    assert "Measured on Small, 2 cores" in first
    assert "Some benchmarks on another machine: With a GPU, 2 cores" in below
    assert "<small>(300 of 750 TFLOP/s)</small>" in below
    assert "comparisons with" in first
    assert "comparisons with" not in below


def test_rivals_come_first_by_their_ratio_and_bounds_last(page):
    rows = re.findall(r"<em>against (.*?)</em>", page)
    assert rows == ["HiGHS", "&lt;SCS&gt;", "one pass", "HiGHS"]


def test_the_answer_is_computed(page):
    lines = re.findall(r"<p>(.*?)</p>", page)
    assert lines[0].startswith(
        "In 1 of 2 comparisons with what this package is meant to outrun it is faster; "
    )
    assert lines[0].endswith("median ratio is 10.4.")
    assert "The largest ratio: 20 times as fast as HiGHS (What linear.fast does)." in lines[1]
    assert "The smallest: 0.8 times as fast as &lt;SCS&gt; (What linear.slow does)." in lines[1]
    assert lines[2].startswith("2 of 4 goals are met. Missed: What linear.slow does against")


def test_what_starves_beside_busy_processes_is_named(page):
    (line,) = re.findall(r"<p>(Slowed by busy processes .*?)</p>", page)
    assert "linear.slow does against &lt;SCS&gt; (30 times)" in line
    assert "linear.fast" not in line


def test_the_table_has_quiet_and_busy_beside_each_other(page):
    cells = {
        re.sub("<.*?>", "", what): re.findall(r"<td>(.*?)</td>", row)
        for what, row in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page)
    }
    busy = re.search(r"linear\.fast does against HiGHS</th>(.*?)</tr>", page)[1]
    assert re.findall(r"<td>(.*?)</td>", busy) == [
        "0.1 s <small>(0.1 to 0.1)</small>", "0.3 s", "3", "a ratio of 10: met"
    ]  # fmt: skip
    assert cells["What linear.memory does"] == ["0.7 GiB", "–", "–", "at most 1 GiB: met"]
    assert cells["What linear.growth does"] == ["1 s", "–", "–", "–"]
    parts = re.findall(r'<th scope="rowgroup" colspan="5">(.*?)</th>', page)
    assert parts == ["A part", "Limits of the machine", "A part"]


def test_a_growth_has_its_exponent_and_its_ideal(page):
    assert "exponent <strong>1.00</strong> (1.00 to 1.00; ideal: 1)" in page
    assert (
        "seconds grow like the power 1.00 of contexts m, from 0.01 s at 10 to 1 s at 1000" in page
    )


def test_what_gave_no_number_is_listed_with_its_error(page):
    assert "(<code>languages.peer</code>): no module &lt;torch_struct&gt;</li>" in page


@pytest.mark.parametrize(("load", "said"), [(0.5, False), (7.0, True)])
def test_a_machine_that_did_other_work_is_said_to(load, said):
    text = speed_page([run(entry(load=[load, load]))])
    assert ("did other work as well" in text) is said


def test_a_run_of_failures_only_makes_a_page():
    text = speed_page([run(entry(outcome=Failed(error="x")))])
    assert "These gave no number" in text
    assert "comparisons" not in text
