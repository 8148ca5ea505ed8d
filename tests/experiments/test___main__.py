import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from ntpcompanion.experiments.__main__ import app
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS
from ntpcompanion.mlm.training.train import train
from ntpcompanion.mlm.training.training_plan import TrainingPlan

OPTIONS = [
    "--language",
    "hmm-4",
    "--model",
    "transformer-64x1",
    "--sentences",
    "100",
    "--evaluations",
    "2",
    "--device",
    "cpu",
]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


ARGUMENTS = [
    "pretraining",
    *OPTIONS,
    *"-p steps=12 -p batch_size=32 -p micro_batch=8 --folder".split(),
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # else the command sets them, for this whole process
        done = CliRunner().invoke(app, [*ARGUMENTS, str(folder), "--out", str(folder / "out.json")])
    assert (done.exit_code, done.stderr) == (0, "")
    (folder / "said.txt").write_text(done.stdout)
    return folder


def test_a_run_prints_its_points_and_writes_its_result(alone):
    points = [json.loads(line) for line in (alone / "said.txt").read_text().splitlines()]
    assert json.loads((alone / "out.json").read_text())["curve"] == points
    assert [point["step"] for point in points] == [0, 1, 12]


@pytest.mark.slow  # three processes load torch
def test_two_processes_go_on_where_one_stopped_and_take_its_steps(alone, tmp_path):
    plan, spec = TrainingPlan(steps=12, batch_size=32, micro_batch=8), LANGUAGE_PLANS["hmm-4"]
    shape = replace(MODEL_PLANS["transformer-64x1"], words=spec.words, positions=spec.length)
    states = train(
        shape, plan, spec.build(), eval_steps=[1, 2], checkpoint=tmp_path / "training.pt"
    )
    # the checkpoint of step 1 is written on the way to 2
    assert [next(states).step, next(states).step] == [1, 2]
    command = [sys.executable, *TORCHRUN, "ntpcompanion.experiments", *ARGUMENTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    # one process reports
    assert [json.loads(line)["step"] for line in done.stdout.splitlines()] == [1, 12]
    one, two = (
        torch.load(folder / "training.pt", weights_only=True) for folder in (alone, tmp_path)
    )
    assert one["step"] == two["step"] == 12
    gaps = [float((one["model"][name] - two["model"][name]).abs().max()) for name in one["model"]]
    assert max(gaps) < 1e-5  # sums of four gradients in another order, and eleven steps of AdamW


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-p", "steps"], "`--parameter` must be of the form NAME=VALUE, got 'steps'."),
        (["-p", "stepz=3"], "`training`: there is no 'stepz'. Did you mean 'steps'?"),
        (
            ["-p", "learning_rate=fast"],
            "`training.steps` is missing: give it a value. ",
        ),
        (
            ["-p", "steps=3", "-p", "batch_size=2", "-p", "learning_rate=fast"],
            "`training.learning_rate` should be a valid number, got 'fast'.",
        ),
        (
            ["-p", "steps=3", "-p", "batch_size=2", "-p", "compile=1"],
            "`training.compile` should be a valid boolean, got 1.",
        ),
        (
            ["-p", "steps=3", "-p", "batch_size=2", "-p", "learning_rate=-3e-3"],
            "`learning_rate` must be positive and finite, got -0.003.",
        ),
        (
            ["-p", "steps=3", "-p", "batch_size=2", "--out", "/proc/none/out.json"],
            "[Errno 2] No such file or directory: '/proc/none'",
        ),
        (
            ["-p", "steps=3", "-p", "batch_size=0"],
            "`batch_size` must be at least 1, got 0.",
        ),
    ],
)
def test_mistakes_are_said_in_one_line(arguments, words):
    done = CliRunner().invoke(app, ["pretraining", *OPTIONS, *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(words)
    assert len(done.stderr.splitlines()) == 1
