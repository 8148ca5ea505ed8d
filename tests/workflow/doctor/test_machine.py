"""What the checks of a machine say of facts that are made up, and of folders that are not."""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from ntpcompanion.workflow.doctor import machine, questions
from ntpcompanion.workflow.doctor.environment_checks import Install, TorchAnswer

SEES = TorchAnswer(version="2.13.0", cuda="13.0", gpus=(("NVIDIA H200", 139 * 2**30),))
BLIND = replace(SEES, gpus=())


def test_folders_that_can_be_written_are_left_as_they_were(tmp_path):
    (tmp_path / "book" / "records").mkdir(parents=True)
    check = machine.check_writing(tmp_path, [tmp_path / "_build" / "html", tmp_path / "book"])
    assert (check.state, check.found) == ("ok", "_build/html, book")
    assert [path.name for path in tmp_path.rglob("*")] == ["book", "records"]


@pytest.mark.skipif(sys.platform == "win32", reason="compares a path as a POSIX shell quotes it")
def test_folders_that_cannot_be_written(tmp_path, monkeypatch):
    def reject(dir):
        raise (
            PermissionError(13, "Permission denied")
            if Path(dir).name == "book"
            else OSError(28, "No space left on device")
        )

    (tmp_path / "book").mkdir()
    (tmp_path / "_build").mkdir()
    monkeypatch.setattr(tempfile, "TemporaryFile", reject)
    check = machine.check_writing(tmp_path, [tmp_path / "_build", tmp_path / "book" / "chapters"])
    assert check.state == "fault"
    assert (
        "rejected: _build (no space left on device), book/chapters (permission denied to make it "
        "in book)" in check.found
    )
    assert f'sudo chown -R "$USER" {tmp_path}' in check.fix


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to write to")
def test_a_disk_that_takes_a_file_but_nothing_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: open("/dev/full", "wb"))
    assert (
        "rejected: _build (no space left on device to make it in"
        in machine.check_writing(tmp_path, [tmp_path / "_build"]).found
    )


@pytest.mark.parametrize("rejected", [os.W_OK, os.X_OK])
def test_what_a_run_with_sudo_left_behind(tmp_path, monkeypatch, rejected):
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "log").touch()
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name == "tmp" or not mode & rejected
    )
    (tmp_path / "_build" / "tmp").mkdir()
    check = machine.check_writing(tmp_path, [tmp_path / "_build"])
    assert (check.state, check.found) == (
        "fault",
        f"in {tmp_path} rejected: _build (permission denied in its html)",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="compares the words of a POSIX system")
def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "_build").touch()
    assert (
        "_build (not a directory)" in machine.check_writing(tmp_path, [tmp_path / "_build"]).found
    )


@pytest.mark.parametrize(
    ("free", "state", "shown"),
    [(2**31, "ok", "2.0 GiB"), (2**31 - 1, "warning", "2.0"), (2**27, "fault", "128 MiB")],
)
def test_disk(free, state, shown):
    check = machine.check_disk(Path("/somewhere"), free)
    assert (
        check.state,
        f"{shown}" in check.found,
        f"below {Path('/somewhere')}" in check.found,
    ) == (state, True, True)
    assert ("`make clean`" in check.fix) == (state != "ok")


def test_memory():
    assert machine.check_memory(2**33, 2**34).found == "8.0 GiB available of 16.0 GiB"
    low = machine.check_memory(2**31, 2**34)
    assert (low.state, "`--jobs 1`" in low.fix) == ("warning", True)


def test_torch():
    assert machine.check_torch(SEES, Install()).found == "2.13.0"
    check = machine.check_torch(TorchAnswer(failed="ImportError: libgomp"), Install())
    assert (check.state, check.found) == ("fault", "cannot be imported: ImportError: libgomp")


def test_threads():
    assert (
        machine.check_threads(2, 2).found
        == "torch alone would use 2 on 2 cores; each notebook is given 1"
    )
    assert (
        machine.check_threads(1, 1).state,
        "1 on 1 core;" in machine.check_threads(1, 1).found,
    ) == ("ok", True)
    check = machine.check_threads(64, 2)
    assert (check.state, "set them to at most 2" in check.fix) == ("warning", True)


def test_gpu_that_torch_sees_or_that_is_not_there():
    assert machine.check_gpu(SEES, None, None).found == "NVIDIA H200 (139.0 GiB)"
    assert machine.check_gpu(SEES, "NVIDIA H200", "0").state == "ok"
    assert (
        machine.check_gpu(BLIND, None, None).found == "none; nothing in the book profile needs one"
    )


@pytest.mark.parametrize(
    ("answer", "visible", "fix"),
    [
        ({"cuda": None}, None, "built for CPUs only; https://pytorch.org/get-started/locally"),
        ({}, "", "CUDA_VISIBLE_DEVICES is '': unset it"),
        (
            {"said": "The driver is too old."},
            None,
            "The driver is too old. Update the driver, or install a torch for an older CUDA than "
            "13.0.",
        ),
        ({"failed": "ImportError"}, None, "Fix torch first."),
    ],
)
def test_gpu_that_torch_does_not_see(answer, visible, fix):
    check = machine.check_gpu(replace(BLIND, **answer), "NVIDIA H200", visible)
    assert (check.state, check.found) == (
        "warning",
        "the driver reports NVIDIA H200, torch sees none",
    )
    assert fix in check.fix


def test_chromium():
    def fall(path):
        raise OSError("missing library")

    asked = machine.check_chromium(
        "/usr/bin/chromium", lambda path: "Chromium 156.0 built on Debian"
    )
    assert (asked.state, asked.found) == ("ok", "Chromium 156.0, /usr/bin/chromium")
    none = machine.check_chromium(None, fall)
    assert (none.state, "the tests that read the built pages are skipped" in none.found) == (
        "warning",
        True,
    )
    assert "Ubuntu: `sudo snap install chromium`." in none.fix
    assert none.fix.replace("`", "") in (Path(__file__).parents[3] / "Makefile").read_text(), (
        "one story, here and in `make browser`"
    )
    assert machine.check_chromium("/usr/bin/chromium", lambda path: "").found == "/usr/bin/chromium"
    assert (
        machine.check_chromium("/usr/bin/chromium", fall).found
        == "/usr/bin/chromium does not start: missing library"
    )


def test_locks_of_other_runs(tmp_path):
    assert machine.check_locks(tmp_path / "absent").found == "none in this folder"
    (tmp_path / ".old.lock").touch()  # left by a run that has ended
    (tmp_path / ".closed.lock").mkdir()  # cannot be opened
    assert machine.check_locks(tmp_path).state == "ok"
    with FileLock(tmp_path / ".build.lock"):
        check = machine.check_locks(tmp_path)
    assert (check.state, check.found) == ("warning", "another ntpcompanion is at work: build")
    assert "a second run waits for the first" in check.fix


DUBIOUS = "fatal: detected dubious ownership in repository at '/a b'\nTo add an exception"


@pytest.mark.parametrize(
    ("answer", "state", "words", "fix"),
    [
        ((0, "abc123"), "ok", "commit abc123", ""),
        ((128, "fatal: not a git repository"), "ok", "no commit of", ""),
        (
            (128, DUBIOUS),
            "warning",
            "because another user owns it: pages and the history name no commit",
            "`git config --global --add safe.directory ",
        ),
        ((128, "fatal: unsafe repository ('/a b' is owned by"), "warning", "owns it", "chown"),
        (FileNotFoundError(2, "No such file"), "warning", "No such file", "Install it"),
    ],
)
def test_git_that_rejects_the_folder_says_what_to_do(answer, state, words, fix):
    def ask(root):
        if isinstance(answer, OSError):
            raise answer
        return answer

    check = machine.check_git(Path("/a b"), ask)
    assert check.state == state
    assert words in check.found
    assert fix in check.fix


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid(), reason="gives a folder away")
def test_git_on_a_folder_of_another_user(tmp_path, repository):
    (tmp_path / "_config.yml").touch()
    commit = repository(tmp_path)("rev-parse", "--short=12", "HEAD")
    assert machine.check_git(tmp_path, questions.ask_git).found == f"commit {commit}"
    os.chown(tmp_path, 12345, 12345)
    assert machine.check_git(tmp_path, questions.ask_git).state == "warning"
