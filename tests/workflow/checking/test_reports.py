"""What `ntpcompanion check` writes and prints, and where."""

import json
import re

import pytest
from typer.testing import CliRunner

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.value_comparison import read_baseline, write_baseline
from ntpcompanion.workflow.cli import commands


@pytest.fixture(autouse=True)
def away_from_the_host(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def check(instant, monkeypatch):
    """A function: `check --profile book` of a project that was executed and whose baseline is what
    was measured; the outcome with its output, errors and exit code.
    """
    monkeypatch.setattr(Project, "find", classmethod(lambda cls, start=None: instant.project))
    instant.execute()
    done = CliRunner().invoke(commands.app, ["check", "--profile", "book", "--update"])
    assert "Wrote" in done.stdout
    return lambda *options: CliRunner().invoke(
        commands.app, ["check", "--profile", "book", *options]
    )


@pytest.fixture
def drifted(check, instant):
    """The same after a number of the baseline was changed: the measured one has moved."""
    path = instant.project.baseline("book")
    stored = read_baseline(path)
    stored["-"]["toy.half"] = type(stored["-"]["toy.half"]).of("toy.half", 0.45)
    write_baseline(path, stored)
    return check


def test_results_go_to_the_output_and_errors_to_the_other_stream(drifted):
    done = drifted()
    assert done.exit_code == 1
    assert done.stdout == "toy.half: baseline 0.45, now 0.5, moved 0.05, band ± 0.0045\n"
    said, advice = done.stderr.splitlines()
    assert said == "error: 1 of the checks on 3 measured values failed at profile book."
    assert "accept it: `ntpcompanion check --profile book --update`" in advice


def test_the_summary_is_written_on_success_and_on_failure(check, tmp_path, instant):
    file = tmp_path / "new folder" / "a.md"
    done = check("--summary", str(file))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "3 claims agree; 0 moved." in file.read_text()
    instant.edit("book/claims.yml", "equals: 0.5", "equals: 0.3")
    assert check("--summary", str(file)).exit_code == 1
    assert "refuted, expected supported" in file.read_text()


def test_the_report_as_data(drifted, tmp_path, instant):
    file = tmp_path / "new folder" / "check.json"
    assert drifted("--json", str(file)).exit_code == 1
    report = json.loads(file.read_text())
    assert (report["profile"], report["error"], report["values"]) == ("book", None, 3)
    (finding,) = report["findings"]
    assert (finding["claim"], finding["kind"], finding["fault"]) == ("toy.half", "moved", True)
    assert finding["advice"].startswith("If the new number is right")
    moved = report["claims"]["toy.half"]
    assert (moved["verdict"], moved["expected"]) == ("supported", "supported")
    assert (moved["measured"]["value"], moved["stored"]["value"]) == (0.5, 0.45)
    instant.edit("book/claims.yml", "equals: 0.5", "equal: 0.3")
    assert drifted("--json", str(file)).exit_code == 1
    assert "equal" in json.loads(file.read_text())["error"]
    fault = drifted("--json", str(tmp_path)).stderr.splitlines()[-1]
    assert fault.startswith(f"`--json`: {tmp_path} cannot be written: ")
    assert "`--json` names no file" in drifted("--json", "-").stderr


def test_on_github_the_summary_is_added_to(drifted, monkeypatch, tmp_path):
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    drifted()
    assert summary.read_text().startswith("before\n### Claims, profile book\n")
    assert "2 claims agree; 1 moved." in summary.read_text()
    drifted("--summary", str(summary))
    assert summary.read_text().count("### Claims") == 2
    drifted("--summary", str(tmp_path / "check.md"))
    assert summary.read_text().count("### Claims") == 3, "what is asked for comes on top"
    assert (tmp_path / "check.md").read_text().count("### Claims") == 1


def test_a_check_that_could_not_be_made_is_told_in_the_summary(check, instant, tmp_path):
    instant.edit("toypkg/half.py", "n / TWO", "n / TWO + 0")
    file = tmp_path / "report.md"
    file.write_text("an earlier one")
    assert check("--summary", str(file)).exit_code == 1
    assert re.search(r"Nothing could be compared: .*half\.py changed", file.read_text())


def test_an_update_is_reported_as_it_left_things(drifted, tmp_path):
    file = tmp_path / "report.md"
    done = drifted("--update", "--summary", str(file))
    assert done.exit_code == 0
    assert done.stdout.startswith("toy.half: baseline 0.45, now 0.5")
    assert "3 claims agree; 0 moved." in file.read_text()


@pytest.mark.parametrize("name", ["-", ""])
def test_what_names_no_file_is_refused_before_anything_is_compared(check, name):
    done = check("--summary", name)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "`--summary` names no file. Name one, like `--summary check.md`." in done.stderr
