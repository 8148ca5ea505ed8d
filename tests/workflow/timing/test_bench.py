import json

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_sealed
from ntpcompanion.workflow.timing.bench import (
    Amount,
    Entry,
    Failed,
    Growth,
    Pair,
    bench_of,
    file_name,
    folder,
    read_bench,
    read_benches,
    write_bench,
)

PAIR = Pair(ours="ours", peer="peer", our_seconds=[1.0, 2.0], peer_seconds=[3.0, 8.0], at_least=3.5)
GROWTH = Growth(variable="n", sizes=[1.0, 10.0, 100.0], seconds=[[1.0], [10.0, 12.0, 9.0], [100.0]])
OUTCOMES = {
    "pair": PAIR,
    "growth": GROWTH,
    "amount": Amount(unit="GiB", values=[0.5], at_most=1.0),
    "failed": Failed(error="no peer"),
}


def entry(name="a.b", outcome=PAIR, busy=0, **changed):
    given = {
        "name": name, "title": f"What {name} does", "part": "A part", "commit": "abc", "threads": 1,
        "busy": busy, "load": [0.1, 0.9], "took": 3.0, "outcome": outcome,
    }  # fmt: skip
    return Entry(**(given | changed))


def machine(processor="A processor", cores=2):
    return {
        "system": "Linux", "machine": "x86_64", "processor": processor, "cores": cores,
        "memory_gib": 8,
    }  # fmt: skip


def run(*entries, started="2026-11-23T10:00:00+00:00", hardware=None):
    versions = {"python": "3.11.7", "numpy": "2.4"}
    return bench_of(started, started, hardware or machine(), versions, entries)


@pytest.fixture
def stored(toy):
    """A run of every kind of outcome, and its file."""
    made = run(*(entry(name, outcome) for name, outcome in OUTCOMES.items()))
    path = folder(toy.project) / file_name(made.started, made.hardware)
    write_bench(path, made)
    return toy.project, path, made


def test_what_was_written_is_read_again(stored):
    project, path, made = stored
    assert path.name == "2026-11-23-a-processor-2-cores.json"
    found = read_bench(path)
    assert found.entries == made.entries
    assert found.model_dump(exclude={"checksum"}) == made.model_dump(exclude={"checksum"})
    assert [each.entries for each in read_benches(project)] == [made.entries]
    assert found.commits == ["abc"]


def test_ratio_and_goal_are_computed_from_the_turns():
    assert (PAIR.ratio.value, PAIR.ratio.low, PAIR.ratio.high) == (3.5, 3.0, 4.0)
    assert PAIR.met
    assert not PAIR.model_copy(update={"at_least": 3.6}).met
    assert PAIR.model_copy(update={"at_least": None}).met is None


@pytest.mark.parametrize(
    ("goal", "met"),
    [({}, None), ({"at_most": 2.0}, True), ({"at_most": 1.9}, False), ({"at_least": 2.1}, False)],
)
def test_the_goal_of_an_amount_holds_for_its_median(goal, met):
    assert Amount(unit="s", values=[1.0, 2.0, 30.0], **goal).met is met


def test_growth_is_that_of_the_medians():
    assert GROWTH.medians == [1.0, 10.0, 100.0]
    assert GROWTH.slope.value == pytest.approx(1.0)


def test_the_newest_run_of_each_machine_is_shown_the_newest_first(toy):
    for day, processor in (("21", "old"), ("22", "old"), ("20", "other")):
        made = run(
            entry(title=day), started=f"2026-11-{day}T00:00:00+00:00", hardware=machine(processor)
        )
        write_bench(folder(toy.project) / file_name(made.started, made.hardware), made)
    assert [found.started[8:10] for found in read_benches(toy.project)] == ["22", "20"]


def test_the_run_beside_busy_processes_is_found():
    quiet, busy, alone = entry(), entry(busy=4), entry("alone")
    made = run(quiet, busy, alone)
    assert made.quiet() == [quiet, alone]
    assert made.beside(quiet) == busy
    assert made.beside(alone) is None


def test_a_benchmark_stands_once():
    with pytest.raises(WorkflowError, match=r"listed twice: a\.b \(busy: 0\)"):
        run(entry(), entry())


def test_a_run_that_was_edited_is_refused(stored):
    _, path, _ = stored
    path.write_text(path.read_text().replace("3.5", "30.5"))
    with pytest.raises(WorkflowError, match="does not match its own checksum"):
        read_bench(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, r"schema: Input should be 1, got 2"),
        ({"hardware": {}}, r"hardware\.processor: Field required"),
        ({"more": 1}, r"more: Extra inputs are not permitted"),
        ({"entries": [{"name": "x"}]}, r"entries\.0\.title: Field required"),
    ],
)
def test_a_run_of_another_form_is_refused_with_its_faults(stored, change, said):
    _, path, _ = stored
    data = json.loads(path.read_text()) | change
    write_sealed(path, {key: value for key, value in data.items() if key != "checksum"})
    with pytest.raises(WorkflowError, match=rf"not a run of the benchmarks of schema 1.*{said}"):
        read_bench(path)


@pytest.mark.parametrize(
    ("outcome", "change", "said"),
    [
        (0, {"our_seconds": [1.0]}, "1 of ours, 2 of the peer"),
        (0, {"our_seconds": [1.0, -1.0]}, "greater than 0, got -1.0"),
        (0, {"our_seconds": [1.0, "2"]}, "valid number, got '2'"),
        (1, {"sizes": [1.0, 1.0, 2.0]}, "each size stands once"),
        (1, {"seconds": [[1.0], [], [2.0]]}, "at least 1 item"),
        (2, {"values": []}, "at least 1 item"),
        (3, {"kind": "fine"}, "'pair', 'growth', 'amount', 'failed'"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused(stored, outcome, change, said):
    _, path, _ = stored
    data = json.loads(path.read_text())
    del data["checksum"]
    data["entries"][outcome]["outcome"].update(change)
    write_sealed(path, data)
    with pytest.raises(WorkflowError, match=rf"entries\.{outcome}\.outcome.*{said}"):
        read_bench(path)
