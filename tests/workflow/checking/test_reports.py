"""What `ntpcompanion check` writes and prints, and where."""

import json
import os
import re

import pytest
from typer.testing import CliRunner

from ntpcompanion import cli
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import Report, Reported
from ntpcompanion.workflow.checking.reports import Files, annotations, write_reports
from ntpcompanion.workflow.claims import baselines


@pytest.fixture(autouse=True)
def away_from_the_host(monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def check(instant, monkeypatch):
    """A function: `check --profile book` of a project that was executed and whose baseline is what
    was measured; the outcome with its output, errors and exit code.
    """
    monkeypatch.setattr(Project, "find", classmethod(lambda cls, start=None: instant.project))
    instant.execute()
    done = CliRunner().invoke(cli.app, ["check", "--profile", "book", "--update"])
    assert "Wrote" in done.stdout
    return lambda *options: CliRunner().invoke(cli.app, ["check", "--profile", "book", *options])


@pytest.fixture
def drifted(check, instant):
    """The same after a number of the baseline was changed: the measured one has moved."""
    path = instant.project.baseline("book")
    stored = baselines.read_baseline(path)
    stored["-"]["toy.half"] = type(stored["-"]["toy.half"]).of("toy.half", 0.45)
    baselines.write_baseline(path, stored)
    return check


def test_results_go_to_the_output_and_errors_to_the_other_stream(drifted):
    done = drifted()
    assert done.exit_code == 1
    assert done.stdout == "toy.half: baseline 0.45, now 0.5, moved 0.05, band ± 0.0045\n"
    said, advice = done.stderr.splitlines()
    assert said == "error: 1 of the checks on 3 measured values failed at profile book."
    assert "accept it: `ntpcompanion check --profile book --update`" in advice


def test_all_reports_are_written_on_success_and_on_failure(check, tmp_path, instant):
    files = [tmp_path / "new folder" / name for name in ("a.json", "a.md")]
    options = ["--json", files[0], "--summary", files[1]]
    done = check(*map(str, options))
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(files[0].read_text())["outcome"] == "agrees"
    assert "3 claims agree; 0 moved." in files[1].read_text()
    instant.edit("book/claims.yml", "equals: 0.5", "equals: 0.3")
    assert check(*map(str, options)).exit_code == 1
    assert json.loads(files[0].read_text())["findings"][0]["kind"] == "verdict"
    assert "refuted, expected supported" in files[1].read_text()


def test_json_may_be_the_output_and_then_nothing_else_is(drifted):
    done = drifted("--json", "-", "--annotate")
    assert json.loads(done.stdout)["findings"][0]["claim"] == "toy.half"
    assert "toy.half: baseline 0.45" in done.stderr
    assert "::error file=notebooks/coin.md" in done.stderr


def test_an_update_leaves_the_output_to_the_json_too(drifted):
    done = drifted("--update", "--json", "-")
    assert json.loads(done.stdout)["outcome"] == "agrees"
    assert "Wrote" in done.stderr


def test_on_github_lines_are_marked_and_the_summary_is_added_to(drifted, monkeypatch, tmp_path):
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = drifted()
    assert "\n::error file=notebooks/coin.md,line=" in done.stdout
    assert summary.read_text().startswith("before\n### Claims, profile book\n")
    assert "2 claims agree; 1 moved." in summary.read_text()
    assert "::error" not in drifted("--no-annotate").stdout
    drifted("--summary", str(summary))
    assert summary.read_text().count("### Claims") == 3
    drifted("--summary", str(tmp_path / "check.md"))
    assert summary.read_text().count("### Claims") == 4, "what is asked for comes on top"
    assert (tmp_path / "check.md").read_text().count("### Claims") == 1


def test_a_check_that_could_not_be_made_is_told_in_the_reports(check, instant, tmp_path):
    instant.edit("toypkg/half.py", "n / TWO", "n / TWO + 0")
    file = tmp_path / "report.json"
    file.write_text("an earlier one")
    done = check("--json", str(file), "--annotate")
    assert done.exit_code == 1
    report = json.loads(file.read_text())
    assert report["outcome"] == "error"
    assert "half.py changed" in report["error"]
    assert done.stdout.startswith("::error title=ntpcompanion check::")


def test_an_update_is_reported_as_it_left_things(drifted, tmp_path):
    file = tmp_path / "report.json"
    done = drifted("--update", "--json", str(file))
    assert done.exit_code == 0
    assert done.stdout.startswith("toy.half: baseline 0.45, now 0.5")
    assert json.loads(file.read_text())["outcome"] == "agrees"


def test_paths_begin_where_the_repository_does(toy, monkeypatch):
    found = {"kind": "new", "fault": True, "notebook": "coin", "claim": "a.b", "line": 1}
    found |= {"file": "notebooks/coin.md", "text": "x"}
    report = Report(profile="book", outcome="differs", findings=[Reported(**found)])
    for workspace, start in (
        (toy.project.root.parent, "toy/notebooks/"),
        (toy.project.root, "notebooks/"),
        (toy.project.root / "book", "notebooks/"),
    ):
        monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
        assert annotations(report, toy.project)[0].startswith(f"::error file={start}")


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path):
    report = Report(profile="book", outcome="agrees")
    for path in (tmp_path, tmp_path / "file" / "below"):
        (tmp_path / "file").touch()
        (said,) = write_reports(report, Files(json=path))
        assert re.match(r"`--json`: (Could not write|.* cannot be written)", said)
    assert f"{tmp_path / 'file'} is a file, no folder. Free some space or fix" in said


def test_a_file_that_cannot_be_written_keeps_neither_the_others_nor_the_findings(
    drifted, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary"))
    below = str(tmp_path / "file" / "check")
    done = drifted("--json", below, "--summary", str(tmp_path / "check.md"))
    assert done.exit_code == 1
    assert "`toy.half`" in (tmp_path / "check.md").read_text()
    first, *_, json_fault, host_fault = done.stderr.splitlines()
    assert first == "error: 1 of the checks on 3 measured values failed at profile book."
    assert json_fault.startswith("`--json`: ")
    assert host_fault.startswith(f"`$GITHUB_STEP_SUMMARY`: {tmp_path / 'nowhere' / 'summary'} ")


def test_numbers_that_agree_do_not_hide_a_report_that_is_not_there(check, instant, tmp_path):
    (tmp_path / "file").touch()
    options = ["--json", str(tmp_path / "file" / "check.json")]
    done = check(*options)
    assert (done.exit_code, "3 measured values agree" in done.stdout) == (1, True)
    assert done.stderr.startswith("error: `--json`: Could not write")
    instant.edit("book/claims.yml", "equals: 0.5", "same_as: 0.5")
    done = check(*options)  # nothing can be compared, and not even that be written
    assert "claims.yml" in done.stderr
    assert "`--json`: Could not write" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--summary", "-"], "Only `--json` takes -, which is the output. Name a file, like"),
        (["--json", ""], "`--json` names no file. Name a file, like `--json check.json`."),
    ],
)
def test_what_names_no_file_is_refused_before_anything_is_compared(check, options, said, tmp_path):
    done = check(*options)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_link_is_written_through(tmp_path):
    """As /dev/stdout is one: it must not be replaced."""
    (tmp_path / "target").touch()
    os.symlink(tmp_path / "target", tmp_path / "link")
    write_reports(Report(profile="book", outcome="agrees"), Files(summary=tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert "0 claims agree" in (tmp_path / "target").read_text()
