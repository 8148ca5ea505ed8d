import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from ntpcompanion.mlm.__main__ import main

OPTIONS = ["--language", "hmm-4", "--model", "transformer-64x1", "--sentences", "100", "--evaluations", "2", "--device", "cpu"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*arguments, by=("-m",)):
    command = [sys.executable, *by, "ntpcompanion.mlm", *OPTIONS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    done = run(*"-p steps=12 -p batch=32 -p micro_batch=8 --folder".split(), str(folder), "--out", str(folder / "result.json"))
    assert (done.returncode, done.stderr) == (0, "")
    points = [json.loads(line) for line in done.stdout.splitlines()]
    result = json.loads((folder / "result.json").read_text())
    assert result["curve"] == points
    assert [point["step"] for point in points] == [0, 1, 12]
    return folder


def test_two_processes_take_the_steps_of_one(alone, tmp_path):
    done = run(*"-p steps=12 -p batch=32 -p micro_batch=8 --folder".split(), str(tmp_path), by=TORCHRUN)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3  # one process reports
    one, two = (torch.load(folder / "training.pt", weights_only=True) for folder in (alone, tmp_path))
    assert one["step"] == two["step"] == 12
    gaps = [float((one["model"][name] - two["model"][name]).abs().max()) for name in one["model"]]
    assert max(gaps) < 1e-5  # sums of four gradients in another order, and twelve steps of AdamW


def test_two_processes_go_on_from_the_checkpoint_of_one(alone, tmp_path):
    (tmp_path / "training.pt").write_bytes((alone / "training.pt").read_bytes())
    done = run(*"-p steps=12 -p batch=32 -p micro_batch=8 --folder".split(), str(tmp_path), by=TORCHRUN)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["step"] for line in done.stdout.splitlines()] == [12]


@pytest.mark.parametrize(("arguments", "words"), [
    (["-p", "steps"], "`--parameter` must be of the form NAME=VALUE, got ['steps']."),
    (["-p", "stepz=3"], "`training`: there is no 'stepz'. Did you mean 'steps'?"),
    (["-p", "steps=3", "-p", "batch=0"], "`batch` must be a whole number of at least 1, got 0."),
])  # fmt: skip
def test_mistakes_are_said_in_one_line(arguments, words):
    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, [*OPTIONS, *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(words)
    assert len(done.stderr.splitlines()) == 1
