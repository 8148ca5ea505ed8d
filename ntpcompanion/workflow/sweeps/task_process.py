"""One task of an experiment, one process: `python -P -m ntpcompanion.workflow.sweeps.task_process
JOB.json`, started by `alone`. No task can see what another has left in a module.
"""

import json
import os
import signal
import sys
import threading
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.processes import end_with_parent
from ntpcompanion.workflow.base.tracing import import_from_sources, write_down_opened_files
from ntpcompanion.workflow.sweeps.find_experiment import run_point

GRACE = 10.0  # seconds in which threads that a task has left may end


@dataclass(frozen=True, kw_only=True)
class Job:
    """An experiment to be run at one point.

    Fields
    ------
    module, point, checkpoint
        as `run_point` takes them.
    folders
        those of the project: modules below them are compiled from their sources, and what is
        opened there is written down in the file `log`.
    answer
        the file in which the process says how the task ended.
    """

    module: str
    point: dict[str, Any]
    checkpoint: str
    folders: list[str]
    log: str
    answer: str

    def write(self, path: Path) -> None:
        """Write the job to a file."""
        write_atomically(path, json.dumps(asdict(self)))


def main(job_file: str) -> None:
    """Run the task of a job, and write how it ended: `state`, and the `result` as JSON, or the
    `error` in one line with the `traceback`. No answer: the process was killed.
    """
    end_with_parent()
    # a terminal sends Ctrl-C to all processes: the command answers for them. Not SIG_IGN, which
    # what this process starts would inherit
    signal.signal(signal.SIGINT, lambda *_: None)
    job = Job(**json.loads(Path(job_file).read_text(encoding="utf-8")))
    import_from_sources(job.folders)
    write_down_opened_files(job.folders, job.log)
    write_atomically(Path(job.answer), json.dumps(_answer(job)))
    last = threading.Timer(GRACE, os._exit, [0])
    last.daemon = True
    last.start()


def _answer(job: Job) -> dict[str, Any]:
    try:
        result = run_point(job.module, job.point, Path(job.checkpoint))
    except WorkflowError as error:
        return {"state": "failed", "error": str(error), "traceback": str(error)}
    except BaseException as error:  # SystemExit too: it is not an end of a task
        return {
            "state": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }
    return {"state": "done", "result": result}


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except WorkflowError as error:  # its answer cannot be written
        sys.exit(str(error))
