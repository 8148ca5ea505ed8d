"""The process of one task: `python -P task_program.py JOB.json` runs an experiment at one point.

It is copied to the start folder of the task and imports nothing of the project but the experiment,
which `targets` has looked at before.
"""

import atexit
import importlib
import inspect
import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

GRACE = 10.0  # seconds in which threads that a task has left may end


def main(job_file: str) -> None:
    """Run the task of a job: the `module` of an experiment, a `point`, the folder `checkpoint` and
    the file for its `answer`. No answer: it was killed.
    """
    atexit.register(_end)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # a terminal sends Ctrl-C to all processes: the command answers for them. Not SIG_IGN, which
    # what this process starts would inherit
    signal.signal(signal.SIGINT, lambda *_: None)
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    answer = Path(job["answer"])
    unfinished = answer.with_name("unfinished.json")
    unfinished.write_text(json.dumps(_answer(job)), encoding="utf-8")
    os.replace(unfinished, answer)
    last = threading.Timer(GRACE, os._exit, [0])
    last.daemon = True
    last.start()


def _end() -> None:
    """The last function at exit: to take the modules apart lasts a second with PyTorch."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        result = _run(job["module"], job["point"], Path(job["checkpoint"]))
        return {"state": "done", "result": result}
    except BaseException as error:  # SystemExit too: it is not an end of a task
        fault = f"{type(error).__name__}: {error}"
        return {"state": "failed", "error": fault, "traceback": traceback.format_exc()}


def _run(module: str, point: dict[str, Any], checkpoint: Path) -> object:
    """What an experiment returns at a point, ready for JSON; `run` may take a `checkpoint`."""
    experiment, extra = importlib.import_module(module), {}
    if "checkpoint" in inspect.signature(experiment.run).parameters:
        checkpoint.mkdir(parents=True, exist_ok=True)
        extra["checkpoint"] = checkpoint
    result = experiment.run(experiment.Plan.from_json(point), **extra)
    try:
        written = result.to_json()
        json.dumps(written, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"what it returned cannot be kept. JSON cannot hold it: {error}. Return numbers that "
            "are finite, texts, lists and dicts of them"
        ) from error
    return written


if __name__ == "__main__":
    main(*sys.argv[1:])
