import re
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.timing.bench import Amount, Failed, Growth, Pair, bench_of, write_bench
from tests.benchmarks import __main__ as main
from tests.benchmarks.memory import peak_memory
from tests.benchmarks.registry import Benchmark, all_benchmarks
from tests.workflow.timing.test_bench import entry, machine

ONE = Benchmark("toy.one", "One", "Toys", 1, True, True, lambda: None)
LARGE = Benchmark("toy.large", "Large", "Toys", 1, False, False, lambda: None)
KNOWN = {each.name: each for each in (ONE, LARGE)}


def program(monkeypatch, code):
    """Every benchmark is this program from now on."""
    real = main.run
    monkeypatch.setattr(
        main, "run", lambda command, **options: real([sys.executable, "-c", code], **options)
    )


def test_the_last_line_of_a_benchmark_is_its_outcome(monkeypatch, tmp_path):
    text = Amount(unit="s", values=[2.0]).model_dump_json()
    program(monkeypatch, f"print('noise'); print({text!r})")
    assert main.outcome_of("toy.one", 1, 60, tmp_path) == Amount(unit="s", values=[2.0])


def test_threads_are_those_of_the_benchmark(monkeypatch, tmp_path):
    told = "{'kind': 'failed', 'error': os.environ['OMP_NUM_THREADS']}"
    code = f"import os, json; print(json.dumps({told}))"
    program(monkeypatch, code)
    assert main.outcome_of("toy.one", 3, 60, tmp_path) == Failed(error="3")


@pytest.mark.parametrize(
    ("code", "limit", "said"),
    [
        ("1 / 0", 60, "exit code 1: .*ZeroDivisionError"),
        ("import time; time.sleep(60)", 0.1, "stopped after 0 s"),
        ("print('no json')", 60, "the last line .* is not an outcome: no json"),
        ("pass", 60, "the last line .* is not an outcome"),
    ],
)
def test_a_benchmark_that_fails_is_kept_with_its_error(monkeypatch, tmp_path, code, limit, said):
    program(monkeypatch, code)
    found = main.outcome_of("toy.one", 1, limit, tmp_path)
    assert isinstance(found, Failed)
    assert re.search(said, found.error, re.DOTALL)


@pytest.fixture
def counted(monkeypatch):
    """Benchmarks that cost nothing; the names of those that were run."""
    ran = []

    def entry_of(chosen, busy, limit, folder, commit):
        ran.append((chosen.name, busy))
        found = Failed(error="x") if chosen is LARGE else Amount(unit="s", values=[1.0])
        return entry(chosen.name, found, busy, commit=commit)

    monkeypatch.setattr(main, "entry_of", entry_of)
    return ran


def test_what_was_finished_is_not_run_again_and_what_failed_is(counted, tmp_path):
    for _ in range(2):
        found = main.timed(
            [ONE, LARGE], main.Kept(tmp_path, "abc"), (0, 4), limit=1, folder=tmp_path
        )
    assert counted == [("toy.one", 0), ("toy.large", 0), ("toy.one", 4), ("toy.large", 0)]
    assert [(each.name, each.busy) for each in found] == [
        ("toy.one", 0), ("toy.large", 0), ("toy.one", 4)
    ]  # fmt: skip


@pytest.mark.parametrize("commit", ["def", "abc+", ""])
def test_of_another_or_a_changed_commit_nothing_is_kept(counted, tmp_path, commit):
    main.timed([ONE], main.Kept(tmp_path, "abc"), (0,), 1, tmp_path)
    kept = main.Kept(tmp_path, commit)
    assert kept.find("toy.one", 0) is None
    kept.keep(entry("toy.one", Amount(unit="s", values=[1.0]), commit=commit))
    assert (main.Kept(tmp_path, commit).find("toy.one", 0) is None) == (commit != "def")


def test_a_file_cut_short_is_run_again(counted, tmp_path):
    main.timed([ONE], main.Kept(tmp_path, "abc"), (0,), 1, tmp_path)
    (path,) = tmp_path.glob("*.json")
    path.write_text(path.read_text()[:50])
    main.timed([ONE], main.Kept(tmp_path, "abc"), (0,), 1, tmp_path)
    assert len(counted) == 2


def test_a_benchmark_is_chosen_by_its_name_or_its_file():
    assert main.select(KNOWN, []) == [ONE]
    assert main.select(KNOWN, ["toy.large"]) == [LARGE]
    assert main.select(KNOWN, ["toy"]) == [ONE, LARGE]
    with pytest.raises(SystemExit, match=r"No benchmark toy\.lage\. Known: toy\.one, toy\.large\."):
        main.select(KNOWN, ["toy.lage"])


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_of_those_that_are_named_only_the_files_are_read():
    assert {name.partition(".")[0] for name in main.known_for(["training.gpu_share"])} == {
        "training"
    }
    assert main.known_for(["lineer.one"]) == main.known_for([]) == all_benchmarks()


def made(*entries, hardware=None, versions=None):
    hardware, versions = hardware or machine(), versions or {"numpy": "2"}
    return bench_of("2026-11-23", "2026-11-23", hardware, versions, entries)


def test_some_that_are_run_again_replace_those_of_the_file(tmp_path):
    path = tmp_path / "b.json"
    known = ["toy.a", "toy.b"]
    assert main.merged(path, made(entry("toy.a")), known).entries == [entry("toy.a")]
    write_bench(path, made(*map(entry, ("toy.a", "toy.b", "toy.gone", "other.file"))))
    found = main.merged(path, made(entry("toy.b", title="new")), known)
    assert [(each.name, each.title) for each in found.entries] == [
        ("toy.a", "What toy.a does"), ("other.file", "What other.file does"), ("toy.b", "new")
    ]  # fmt: skip
    alone = made(entry("toy.b"), versions={"numpy": "3"})
    assert main.merged(path, alone, known) == alone, "other versions are another run"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Failed(error="no peer"), "FAILED: no peer"),
        (Amount(unit="s", values=[2.0], at_most=1.0), "2 s MISSED its goal"),
        (
            Pair(ours="a", peer="b", our_seconds=[1.0], peer_seconds=[3.0], at_least=1.0),
            r"3\.00 times \(3\.00 to 3\.00\) as fast as b, 1 s against 3 s$",
        ),
        (
            Growth(variable="n", sizes=[1.0, 2.0, 4.0], seconds=[[1.0], [2.0], [4.0]]),
            r"exponent 1\.00",
        ),
    ],
)
def test_an_entry_is_one_line(outcome, said):
    line = main.said(entry("a.b", outcome, busy=4))
    assert line.startswith("a.b, beside 4 busy processes (3 s, load 0.1): ")
    assert re.search(said, line)
    assert "\n" not in line


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs Linux")
def test_peak_memory_is_that_of_this_program_not_of_the_one_that_started_it(tmp_path):
    """A child of a process that once held 300 MiB reports its own peak."""
    code = "from tests.benchmarks.memory import peak_memory; print(peak_memory())"
    parent = (
        f"import subprocess, sys; x = bytearray(3 * 10**8); "
        f"print(subprocess.check_output([sys.executable, '-c', {code!r}], text=True))"
    )
    ended = run([sys.executable, "-c", parent], folder=Path(__file__).parents[2], limit=120)
    assert 0.001 < float(ended.output) < 0.15
    assert peak_memory() > 0.01
