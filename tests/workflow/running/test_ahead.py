import subprocess
import sys

import psutil
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running import workers
from ntpcompanion.workflow.running.ahead import present_workers, started_ahead
from ntpcompanion.workflow.running.workers import FORKS

LINUX = pytest.mark.skipif(not FORKS, reason="workers are forked on Linux")


@pytest.fixture
def found(toy, monkeypatch):
    """The toy project, as the one of the current folder."""
    monkeypatch.setattr(Project, "find", lambda: toy.project)
    return toy


@LINUX
def test_the_command_uses_it_and_leaves_it_for_its_next_notebooks(found):
    with started_ahead(["execute", "coin"]):
        (server,) = present_workers()._servers
        for _ in range(2):
            assert "coin (book): executed" in found.command("execute", "coin", "--force")
        assert present_workers()._servers == [server]
        assert server.process.poll() is None
    assert present_workers() is None


@LINUX
def test_it_ends_with_the_command_whatever_becomes_of_that(found):
    found_pid = []

    def command():
        with started_ahead(["execute"]):
            found_pid.append(present_workers()._servers[0].process.pid)
            assert psutil.pid_exists(*found_pid)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        command()
    assert not psutil.pid_exists(*found_pid)
    assert present_workers() is None


@pytest.mark.parametrize("arguments", [[], ["list"], ["build"], ["execute", "--help"]])
def test_no_other_command_starts_one(found, arguments):
    with started_ahead(arguments):
        assert present_workers() is None


def test_where_workers_start_anew_nothing_is_begun(found, monkeypatch):
    monkeypatch.setattr(workers, "FORKS", False)
    with started_ahead(["execute"]):
        assert present_workers()._servers == []


def test_what_is_wrong_with_a_project_is_said_by_the_command(tmp_path):
    command = [sys.executable, "-m", "ntpcompanion", "execute"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: No project at or above {tmp_path}")
