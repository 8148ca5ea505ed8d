"""What commands print, and how they end; the commands themselves are in test_commands.py."""

import errno
import io
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import ntpcompanion
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.cli import terminal


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (WorkflowError("`a[0]` must be 1, got 2."), 1, "error: `a[0]` must be 1, got 2.\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            1,
            "error: No space left on device. Free some space on the disk of this folder, of "
            "temporary files, or of the file to which the output goes; then type the same command "
            "again.\n",
        ),
        (KeyboardInterrupt(), 130, terminal.INTERRUPTED + "\n"),
    ],
)
def test_errors_are_sentences_with_exit_codes(capsys, error, code, words):
    @terminal.sentences
    def command():
        raise error

    with pytest.raises(typer.Exit) as caught:
        command()
    assert caught.value.exit_code == code
    assert capsys.readouterr() == ("", words)


def test_a_bug_keeps_its_traceback_and_a_command_its_answer_and_name():
    @terminal.sentences
    def broken():
        raise ZeroDivisionError

    @terminal.sentences
    def command(n):
        return n + 1

    @terminal.sentences
    def elsewhere():
        raise OSError(errno.EPIPE, "Broken pipe")

    with pytest.raises(ZeroDivisionError):
        broken()
    with pytest.raises(BrokenPipeError):
        elsewhere()
    assert (command(1), command.__name__) == (2, "command")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
@pytest.mark.parametrize("full", [["stdout"], ["stdout", "stderr"]], ids=" and ".join)
def test_an_output_on_a_full_disk_is_no_bug(full):
    with open("/dev/full", "w") as disk:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(full, disk)
        command = [sys.executable, "-m", "ntpcompanion", "--version"]
        done = subprocess.run(command, **streams, text=True)
    assert done.returncode != 0
    if "stderr" not in full:
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_terminal_that_knows_ascii_only_shows_the_rest_as_numbers(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding="ascii"))
    terminal.sentences(lambda: print("a \u2192 b", flush=True))()
    assert pipe.getvalue().decode().split() == ["a", "\\u2192", "b"]


def test_lines_are_printed_as_they_are(capsys):
    terminal.say("[red]a[/] " + "x" * 300, "b")
    assert capsys.readouterr().out == "[red]a[/] " + "x" * 300 + "\nb\n"


def test_the_version_names_python(capsys):
    with pytest.raises(typer.Exit):
        terminal.show_version()
    versions = ntpcompanion.__version__, platform.python_version()
    assert capsys.readouterr().out == "ntpcompanion {}, Python {}\n".format(*versions)


def test_progress_goes_to_the_error_stream(capsys):
    with terminal.bars() as progress:
        progress.add_task("x")
        assert progress.console.stderr
    assert capsys.readouterr().out == ""
