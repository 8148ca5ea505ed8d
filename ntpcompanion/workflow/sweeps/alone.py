"""A task of an experiment in an interpreter of its own: started by a worker, ended with it."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.environment import clean_environment, folders
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, read_json, sha256
from ntpcompanion.workflow.base.processes import Lifeline, end_tree
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware
from ntpcompanion.workflow.hashing.sources import source_hashes
from ntpcompanion.workflow.sweeps.calls import KILLED, NotDone
from ntpcompanion.workflow.sweeps.preparation import project_here
from ntpcompanion.workflow.sweeps.task_inputs import changed_inputs, inputs_read
from ntpcompanion.workflow.sweeps.task_process import Job

PROGRAM = f"{__name__.rpartition('.')[0]}.task_process"


def run_alone(
    project: Project, module: str, sources: Mapping[str, str], point: dict[str, Any], place: Path
) -> dict[str, Any]:
    """Run an experiment at a point: its `result`, and the digests of the data files that it `read`.

    Parameters
    ----------
    project
        that of the command; on another machine its installed packages are looked for.
    module, point
        the experiment by its full name, and the parameters.
    sources
        the hashes of the source files that the command has planned with.
    place
        the task's own: its checkpoints, and what it has read so far, lie beside it, and are used
        again after an interruption, by the same kind of machine and with the same data files.

    Raises
    ------
    NotDone
        the task failed; its process was killed; there are other sources than were planned with.
    """
    local_project = project_here(project)
    if place.is_relative_to(project.root):
        place = local_project.root / place.relative_to(project.root)
    machine = sha256(canonical_json(hardware()))[:8]
    checkpoint = place.with_name(f"{place.name}-{machine}")
    task_folder = place.with_name(f"{checkpoint.name}.task")
    log = task_folder / "opened"
    if changed_inputs(
        local_project, inputs_read(local_project, log, sources)
    ):  # of a run that was interrupted
        shutil.rmtree(checkpoint, ignore_errors=True)
        log.unlink()
    _require_sources(local_project, module, sources)
    task_folder.mkdir(parents=True, exist_ok=True)
    # not on the disk of the project: where that is full, the journal says so
    with tempfile.TemporaryDirectory(prefix="ntp-task-") as folder:
        job_file, answer = Path(folder, "job.json"), Path(folder, "answer.json")
        job = Job(
            module=module,
            point=point,
            checkpoint=str(checkpoint),
            folders=folders(local_project),
            log=str(log),
            answer=str(answer),
        )
        job.write(job_file)
        start(job_file, clean_environment(local_project), local_project.root)
        ended = _answer(answer)
    _require_sources(local_project, module, sources)
    read = inputs_read(local_project, log, sources)
    if ended["state"] != "done":
        raise NotDone(**ended, read=read)
    return {"result": ended["result"], "read": read}


def start(job: Path, environment: Mapping[str, str], folder: Path) -> int:
    """Start the process of a job in an environment and a current folder, and wait for its end; its
    exit code. It ends when this process ends.
    """
    command = [sys.executable, "-P", "-m", PROGRAM, str(job)]
    with (
        Lifeline() as parent,
        subprocess.Popen(
            command, stdin=parent.stdin, env=environment, cwd=folder, text=True
        ) as process,
    ):
        try:
            return process.wait()
        except BaseException:
            end_tree(process)
            raise


def remove_places(place: Path) -> None:
    """Remove what tasks have left beside a place."""
    for folder in place.parent.glob(f"{place.name}-*"):
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)


def _require_sources(project: Project, module: str, planned: Mapping[str, str]) -> None:
    present = source_hashes(f"import {module}", *project.packages)
    if changed := sorted(
        name for name in {*present, *planned} if present.get(name) != planned.get(name)
    ):
        raise NotDone(state="rejected", error=f"has other sources: {', '.join(changed[:3])}")


def _answer(path: Path) -> dict[str, Any]:
    try:
        answer = read_json(path)
    except WorkflowError:
        answer = None
    return answer if isinstance(answer, dict) else {"state": "killed", "error": KILLED}
