"""What the checks of a machine say of facts that are made up, and of folders that are not."""

import os
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.processes import Ended
from ntpcompanion.workflow.doctor import machine


def test_folders_that_cannot_be_written(tmp_path, monkeypatch):
    assert machine.check_writing(tmp_path, [tmp_path]).state == "ok"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    check = machine.check_writing(tmp_path, [tmp_path / "_build", tmp_path / "_build"])
    assert (check.state, check.found) == ("fault", f"rejected: {tmp_path / '_build'}")
    assert f'sudo chown -R "$USER" {tmp_path}' in check.fix
    assert machine.nearest_existing(tmp_path / "a" / "b") == tmp_path


@pytest.mark.parametrize(
    ("free", "state", "shown"),
    [(2**31, "ok", "2.0 GiB"), (2**31 - 1, "warning", "2.0"), (2**27, "fault", "128 MiB")],
)
def test_disk(free, state, shown):
    check = machine.check_disk(Path("/somewhere"), free)
    assert (check.state, shown in check.found) == (state, True)
    assert ("`make clean`" in check.fix) == (state != "ok")


def test_memory():
    assert machine.check_memory(2**33, 2**34).found == "8.0 GiB available of 16.0 GiB"
    low = machine.check_memory(2**31, 2**34)
    assert (low.state, "`--jobs 1`" in low.fix) == ("warning", True)


def test_chromium():
    assert machine.check_browser("/usr/bin/chromium").state == "ok"
    none = machine.check_browser(None)
    assert (none.state, "tests that read the built pages are skipped" in none.found) == (
        "warning",
        True,
    )
    assert "Ubuntu: `sudo snap install chromium`." in none.fix
    assert none.fix.replace("`", "") in (Path(__file__).parents[3] / "Makefile").read_text(), (
        "one story, here and in `make browser`"
    )


DUBIOUS = "fatal: detected dubious ownership in repository at '/a b'\nTo add an exception"


@pytest.mark.parametrize(
    ("answer", "state", "words", "fix"),
    [
        (Ended(0, "abc123\n", ""), "ok", "commit abc123", ""),
        (Ended(128, "", "fatal: not a git repository"), "ok", "no commit of", ""),
        (
            Ended(128, "", DUBIOUS),
            "warning",
            "because another user owns it: pages and the history name no commit",
            "`git config --global --add safe.directory '/a b'`",
        ),
        (Ended(128, "", "fatal: unsafe repository ('/a b' is"), "warning", "owns it", "chown"),
        (FileNotFoundError(2, "No such file"), "warning", "No such file", "Install it"),
    ],
)
def test_git_that_rejects_the_folder_says_what_to_do(monkeypatch, answer, state, words, fix):
    def ask(*_):
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(machine, "git", ask)
    check = machine.check_git(Path("/a b"))
    assert check.state == state
    assert words in check.found
    assert fix in check.fix


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid(), reason="gives a folder away")
def test_git_on_a_folder_of_another_user(tmp_path, repository):
    (tmp_path / "_config.yml").touch()
    commit = repository(tmp_path)("rev-parse", "--short=12", "HEAD")
    assert machine.check_git(tmp_path).found == f"commit {commit}"
    os.chown(tmp_path, 12345, 12345)
    assert machine.check_git(tmp_path).state == "warning"
