import datetime
import os
import platform
import sys

import psutil
import pytest

from ntpcompanion.workflow.base import provenance


def test_the_hardware_is_that_of_this_process(monkeypatch):
    found = provenance.hardware.__wrapped__()
    assert found["memory_gib"] == round(psutil.virtual_memory().total / 1024**3)
    assert found["cores"] == (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    )
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda process: {0, 1, 2} if process == 0 else {0}, raising=False
    )
    assert provenance.hardware.__wrapped__()["cores"] == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, cores in ((7, 7), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert provenance.hardware.__wrapped__()["cores"] == cores


@pytest.mark.skipif(sys.platform == "win32", reason="the fake driver is a shell script")
@pytest.mark.parametrize(
    ("script", "gpu"),
    [
        ("echo NVIDIA X; echo NVIDIA Y", "NVIDIA X"),
        ("echo ' '", None),
        ("echo no driver; exit 9", None),
        (None, None),
    ],
)
def test_a_gpu_is_what_its_driver_names(monkeypatch, tmp_path, script, gpu):
    if script:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance._gpu() == gpu
    assert provenance.hardware.__wrapped__().get("gpu") == gpu


def test_a_driver_that_hangs_names_no_gpu(monkeypatch):
    def run(command, limit):
        raise TimeoutError(f"no answer within {limit} s")

    monkeypatch.setattr(provenance, "run", run)
    assert provenance._gpu() is None


def test_lines_for_the_reader():
    assert provenance.hardware_line({"processor": "A chip", "cores": 2}) == "A chip, 2 cores"
    assert (
        provenance.hardware_line({"processor": "A chip", "cores": 2, "gpu": "X"})
        == "A chip, 2 cores, X"
    )
    assert provenance.python_minor() == ".".join(platform.python_version().split(".")[:2])
    assert provenance.versions(())["python"] == platform.python_version()
    moment = datetime.datetime.fromisoformat(provenance.now())
    assert abs((datetime.datetime.now(datetime.UTC) - moment).total_seconds()) < 5
    assert moment.microsecond == 0
