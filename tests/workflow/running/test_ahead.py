import subprocess
import sys

import psutil
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running import ahead
from ntpcompanion.workflow.running.ahead import started_ahead
from ntpcompanion.workflow.running.workers import FORKS, Server

LINUX = pytest.mark.skipif(not FORKS, reason="workers are forked on Linux")


@pytest.fixture
def found(toy, monkeypatch):
    """The toy project, as the one of the current folder."""
    monkeypatch.setattr(Project, "find", lambda: toy.project)
    return toy


@LINUX
def test_it_runs_what_the_command_would_have_started_a_server_for(found, monkeypatch):
    used, run = [], Server.run

    def noted(self, *arguments):
        used.append(self)
        return run(self, *arguments)

    monkeypatch.setattr(Server, "run", noted)
    with started_ahead(["execute", "coin"]) as server:
        outcomes = found.execute(names=["coin", "words"], ahead=server)
        assert {outcome.status for outcome in outcomes.values()} == {"done"}
        assert server in used
        assert len(set(used)) <= 2, "one of them is started for each job, two by default"


@LINUX
def test_it_ends_with_the_command_whatever_becomes_of_that(found):
    with pytest.raises(KeyboardInterrupt), started_ahead(["execute"]) as server:
        assert psutil.pid_exists(server.process.pid)
        raise KeyboardInterrupt
    assert not psutil.pid_exists(server.process.pid)


@pytest.mark.parametrize("arguments", [[], ["list"], ["build"], ["execute", "--help"]])
def test_no_other_command_starts_one(found, arguments):
    with started_ahead(arguments) as server:
        assert server is None


def test_where_workers_start_anew_there_is_none(found, monkeypatch):
    monkeypatch.setattr(ahead, "FORKS", False)
    with started_ahead(["execute"]) as server:
        assert server is None


def test_what_is_wrong_with_a_project_is_said_by_the_command(tmp_path):
    command = [sys.executable, "-m", "ntpcompanion", "execute"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: No project at or above {tmp_path}")
