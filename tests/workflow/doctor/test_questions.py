"""Answers of a real kernel, and of torch, browsers and kernels that are faked; what is given up
leaves nothing behind.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from ntpcompanion.workflow.base.messages import Cell, Failed
from ntpcompanion.workflow.doctor import questions
from ntpcompanion.workflow.doctor.environment_checks import KernelAnswer, TorchAnswer
from tests.workflow.running.test_execute import saying

POSIX = pytest.mark.skipif(os.name == "nt", reason="what is faked is a shell script")
FAKE_TORCH = """
import warnings
from types import SimpleNamespace as Space
__version__ = "9.9"
get_num_threads = lambda: 7
version = Space(cuda="13.0")
card = Space(name="Card", total_memory=2**30)
cuda = Space(is_available=lambda: True, device_count=lambda: 2)
cuda.get_device_properties = lambda i: card
warnings.warn("CUDA initialization: old driver")
warnings.warn("something else")
"""
SILENT_KERNEL = (
    "import os, time\nprint(os.getpid(), file=open('pid', 'w'), flush=True)\ntime.sleep(100)"
)


def test_a_kernel_that_dies_says_why(toy):
    (toy.project.root / "comm.py").write_text("import missing_thing")
    assert (
        "ModuleNotFoundError: No module named 'missing_thing'"
        in questions.ask_kernel(toy.project).failed
    )


@pytest.fixture
def scratch(monkeypatch):
    """A temporary folder of their own for the kernel and its worker; not below that of pytest: the
    path of a socket must be short.
    """
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def assert_given_up(toy, scratch):
    assert questions.ask_kernel(toy.project).failed == f"no answer within {questions.LIMIT} s"
    assert list(scratch.iterdir()) == []
    started = toy.project.root / "pid"
    if started.is_file():
        with contextlib.suppress(psutil.NoSuchProcess):
            # ended, though perhaps not yet reaped; the kernel sleeps 100 s
            psutil.Process(int(started.read_text())).wait(10)


def test_a_kernel_that_never_answers_is_given_up_and_ended(toy, scratch, monkeypatch):
    (toy.project.root / "comm.py").write_text(SILENT_KERNEL)
    monkeypatch.setattr(questions, "LIMIT", 2)
    assert_given_up(toy, scratch)


def test_a_worker_given_up_before_it_has_a_kernel_leaves_none(toy, scratch, monkeypatch):
    (toy.project.root / "comm.py").write_text(SILENT_KERNEL)
    (toy.project.root / "sitecustomize.py").write_text("import time\ntime.sleep(1.5)")
    monkeypatch.setattr(questions, "LIMIT", 1)
    assert_given_up(toy, scratch)


@POSIX
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            saying(
                Cell(1, 1),
                Failed(1, "", "the kernel died", ""),
            ),
            "the kernel died",
        ),
        (
            "echo KeyError: 1; echo TypeError: 2; echo x.ValueError: 3; echo done",
            "TypeError: 2; x.ValueError: 3",
        ),
        ("echo first; echo last >&2; echo", "last"),
        ("true", ""),
    ],
    ids=["said by it", "exceptions", "last line", "silent"],
)
def test_why_a_worker_failed_is_one_short_line(toy, worker_that, script, reason):
    worker_that(script)
    assert questions.ask_kernel(toy.project) == KernelAnswer(failed=reason)


def test_a_long_reason_is_cut():
    assert questions._reason("no such module\n" * 9 + "x" * 999) == "x" * 300


def test_torch_is_asked_in_a_process_of_its_own(tmp_path, monkeypatch):
    fake = tmp_path / "torch.py"
    fake.write_text(FAKE_TORCH)
    answer = questions.ask_torch(tmp_path)
    assert answer == TorchAnswer(
        version="9.9",
        threads=7,
        cuda="13.0",
        gpus=(("Card", 2**30),) * 2,
        said="CUDA initialization: old driver",
    )
    assert "torch" not in sys.modules or not hasattr(sys.modules["torch"], "card")
    fake.write_text("raise ImportError('libgomp.so.1 is missing')")
    assert questions.ask_torch(tmp_path) == TorchAnswer(
        failed="ImportError: libgomp.so.1 is missing"
    )
    fake.write_text("raise SystemExit(3)")
    assert questions.ask_torch(tmp_path) == TorchAnswer(failed="code 3")
    fake.write_text("import time\ntime.sleep(100)")
    monkeypatch.setattr(questions, "LIMIT", 0.3)
    assert questions.ask_torch(tmp_path) == TorchAnswer(failed="no answer within 0.3 s")


@POSIX
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo broken >&2; exit 3", "broken"),
        ("exit 3", "code 3"),
        ("exec sleep 9", "no answer within 0.3 s"),
    ],
)
def test_browsers_that_do_not_start(tmp_path, monkeypatch, script, words):
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\necho Chromium 1.2")
    browser.chmod(0o755)
    assert questions.ask_version(str(browser)) == "Chromium 1.2"
    browser.write_text(f"#!/bin/sh\n{script}")
    monkeypatch.setattr(questions, "LIMIT", 0.3 if "sleep" in script else 60)
    with pytest.raises(OSError, match=words):
        questions.ask_version(str(browser))


def test_no_browser_is_started_on_windows(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert questions.ask_version("no such program") == ""
