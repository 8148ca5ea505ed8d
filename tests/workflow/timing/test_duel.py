"""Timings are planted: by sides that take what they are told, and by a clock that the workload
itself moves.
"""

import json

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from ntpcompanion.cli import app
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.timing import duel
from ntpcompanion.workflow.timing.duel import Duel, compare_sides, duel_json, duel_markdown
from ntpcompanion.workflow.timing.workloads import FILE, Workload
from tests.workflow.timing.test_trees import git, versioned  # noqa: F401

WORKLOADS = {name: Workload(about=name, statement="1") for name in ("one", "two", "three")}
CLOCK = "planted_clock:now"
SOURCE = """
from planted_clock import work
STEPS = {steps}
def solve():
    for _ in range(STEPS):
        work()
"""
PLANTED_CLOCK = """
done = 0.0
def work():
    global done
    done += 0.01
def now():
    return done
"""


class Planted:
    """A side whose timings are drawn: log-normal noise around a median for each workload."""

    def __init__(self, seed, medians, noise=0.3, errors=()):
        self.rng = np.random.default_rng(seed)
        self.medians, self.noise, self.errors = medians, noise, dict(errors)

    def prepare(self, name, workload):
        return self.errors.get(name, "")

    def seconds(self, name, number):
        return float(number * self.medians[name] * np.exp(self.noise * self.rng.standard_normal()))


def verdicts(ours, theirs):
    return {each.name: each.verdict for each in compare_sides(WORKLOADS, ours, theirs)}


EQUAL = dict.fromkeys(WORKLOADS, 0.1)


def test_a_slowdown_of_two_is_reported_and_its_inverse_is_not_an_alarm():
    slow = EQUAL | {"two": 0.2}
    expected = {"one": "the same", "two": "slower", "three": "the same"}
    for seed in range(20):
        other = Planted([seed, 1], EQUAL, 0.1)
        assert verdicts(Planted([seed, 0], slow, 0.1), other) == expected
        found = verdicts(other, Planted([seed, 0], slow, 0.1))
        assert found == expected | {"two": "faster"}


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_noise_is_not_reported(noise):
    for seed in range(40):
        sides = (Planted([seed, side], EQUAL, noise) for side in (0, 1))
        assert set(verdicts(*sides).values()) == {"the same"}


def test_neighbours_that_come_and_go_slow_both_alike():
    """A factor of five for both, turn by turn: only the pairing removes it."""
    busy = np.random.default_rng(5).choice([1.0, 5.0], 10_000)
    turn = iter(range(20_000))

    class Beside(Planted):
        def seconds(self, name, number):
            return super().seconds(name, number) * busy[next(turn) // 2]

    found = compare_sides({"one": WORKLOADS["one"]}, Beside(0, EQUAL, 0.05), Beside(1, EQUAL, 0.05))
    assert found[0].verdict == "the same"


def test_what_does_not_run_is_told_apart_by_the_side():
    error = {"one": "ImportError: no f"}
    (ours, *_), (theirs, *_) = (
        compare_sides(WORKLOADS, Planted(0, EQUAL, errors=a), Planted(1, EQUAL, errors=b))
        for a, b in ((error, {}), ({}, error))
    )
    assert (ours.verdict, ours.error, ours.ratio) == ("failed", "ImportError: no f", None)
    assert (theirs.verdict, theirs.error) == ("new", "ImportError: no f")


def test_a_clock_that_stands_still_says_nothing():
    still = dict.fromkeys(WORKLOADS, 0.0)
    assert set(verdicts(Planted(0, still), Planted(1, still)).values()) == {"the same"}


@pytest.fixture
def planted(versioned):  # noqa: F811
    """A package whose `solve` does one step in the commit and two in the checkout, and a clock that
    each step moves.
    """
    root = versioned.root
    source = root / "src" / "planted" / "__init__.py"
    (root / "src" / "planted_clock.py").write_text(PLANTED_CLOCK)
    source.write_text(SOURCE.format(steps=1))
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "two")
    source.write_text(SOURCE.format(steps=2))
    path = versioned.records / FILE
    path.parent.mkdir(parents=True)
    workload = {"about": "solves", "setup": "import planted", "statement": "planted.solve()"}
    late = {
        "about": "came later",
        "setup": "import planted",
        "statement": "assert planted.STEPS == 2",
    }
    path.write_text(yaml.safe_dump({"solve": workload, "late": late}, sort_keys=False))
    return versioned


def test_a_planted_slowdown_of_the_checkout_is_found_by_two_processes(planted):
    found = duel.duel(planted, "HEAD", CLOCK)
    solve, late = found.found
    assert solve.verdict == "slower"
    assert (solve.ratio.value, solve.ratio.low, solve.ratio.high) == pytest.approx((2, 2, 2))
    assert solve.seconds == pytest.approx(0.02)
    assert (late.verdict, late.error) == ("new", "AssertionError")
    assert found.commit == git(planted.root, "rev-parse", "HEAD")
    data = json.loads(duel_json(found))
    assert data["workloads"][0]["ratio"]["value"] == pytest.approx(2)
    assert "| solve | 0.02 | 2.00 (2.00 to 2.00) | slower |" in duel_markdown(found)


def test_the_same_code_is_the_same(planted):
    (planted.package / "__init__.py").write_text(SOURCE.format(steps=1))
    (solve, late) = duel.duel(planted, "HEAD", CLOCK).found
    assert (solve.verdict, solve.ratio.value) == ("the same", 1.0)
    assert late.verdict == "failed"


def test_a_package_from_elsewhere_is_refused(planted):
    with duel.side(planted, planted.root, CLOCK) as process:
        process.root = planted.root / "elsewhere"
        workload = Workload(about="a", setup="import planted", statement="1")
        with pytest.raises(WorkflowError, match="both sides would run the same code"):
            process.prepare("solve", workload)


def test_a_process_that_ends_is_named(planted):
    with duel.side(planted, planted.root, CLOCK) as process:
        workload = Workload(about="a", setup="import os", statement="os._exit(1)")
        with pytest.raises(WorkflowError, match=r"the workload 'gone' .* has ended"):
            process.prepare("gone", workload)


SLOWER = duel.Compared("solve", "solves", "slower", duel.median([2.0] * 21), 0.5)


@pytest.fixture
def commanded(toy, monkeypatch):
    """The command in the toy project, with an outcome that is given."""

    def run(*options, found=(SLOWER,)):
        monkeypatch.chdir(toy.project.root)
        monkeypatch.setattr(duel, "duel", lambda project, revision: Duel("abcdef" * 6, found))
        return CliRunner().invoke(app, ["check", "--bench", "main", *options])

    return run


def test_the_command_ends_with_1_and_names_what_got_slower(commanded, tmp_path):
    answer = commanded("--json", str(tmp_path / "b.json"), "--summary", str(tmp_path / "b.md"))
    assert answer.exit_code == 1
    assert "Slower than at abcdefabcdef, or not to be run: solve." in answer.output
    assert json.loads((tmp_path / "b.json").read_text())["workloads"][0]["verdict"] == "slower"
    assert "Speed against abcdefabcdef" in (tmp_path / "b.md").read_text()


def test_the_command_ends_with_0_if_nothing_got_slower(commanded):
    same = duel.Compared("solve", "solves", "the same", duel.median([1.0] * 21), 0.5)
    answer = commanded(found=(same,))
    assert answer.exit_code == 0
    assert "Nothing got slower than at abcdefabcdef" in answer.output


@pytest.mark.parametrize("option", [["--update"], ["-p", "n=3"], ["--junit", "x"], ["--annotate"]])
def test_what_belongs_to_claims_is_refused(commanded, option):
    answer = commanded(*option)
    assert answer.exit_code == 1
    assert "`--json` and `--summary` only" in answer.output.replace("\n", " ")
