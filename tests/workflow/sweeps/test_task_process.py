"""One task in an interpreter of its own, without a cluster."""

from pathlib import Path

import pytest

from ntpcompanion.workflow.base.files import hash_of
from ntpcompanion.workflow.hashing.sources import source_hashes
from ntpcompanion.workflow.sweeps.executors import KILLED, NotDone
from ntpcompanion.workflow.sweeps.task_process import run_experiment

MODULE = "toypkg.experiments.several"
SEVERAL = """
import os, pathlib

FILES = ("words.txt",)

def run(plan, checkpoint):
    known = [path.name for path in checkpoint.iterdir()]
    (checkpoint / "step").touch()
    if not known:
        scale = float(pathlib.Path("words.txt").read_text() != "")
        os._exit(1)
    return Result(value=known)
"""


@pytest.fixture
def several(importable):
    """A function: the experiment run once."""
    importable.write_experiment("several", SEVERAL)
    project = importable.project
    place = project.build / "records" / "several" / "task"

    def run():
        sources = source_hashes(f"import {MODULE}", *project.packages)
        return run_experiment(project, MODULE, sources, ["words.txt"], {"n": 1}, place)

    return run


def test_what_was_read_before_a_kill_counts_and_ends_a_checkpoint_when_it_changes(several):
    with pytest.raises(NotDone, match=KILLED):
        several()
    done = several()
    assert done["result"] == {"value": ["step"]}
    assert done["read"] == {"words.txt": hash_of(Path("words.txt"))}
    Path("words.txt").write_text("others")
    with pytest.raises(NotDone, match=KILLED):  # it begins anew
        several()
