"""Run what is stale: one process per notebook, several at a time, each outcome whole or absent."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.messages import heard
from ntpcompanion.workflow.base.processes import clean_environment, folders
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.running.freshness import (
    FILES_READ,
    input_files,
    key,
    key_parts,
    other_files,
)
from ntpcompanion.workflow.running.results import (
    Result,
    collect_measurements,
    outputs_digest,
    require_listed_records,
)
from ntpcompanion.workflow.running.runs import Run, load_executed, stale_reasons, unused_defaults

# seconds; a paper run may take as long as it takes
CELL_TIMEOUT = {"smoke": 120, "book": 900, "paper": None}


@dataclass(frozen=True)
class Outcome:
    """What became of a run: `"fresh"` (kept), `"done"` or `"failed"` with a message; `notes` are
    for its user.
    """

    run: Run
    status: str
    seconds: float
    message: str = ""
    notes: tuple[str, ...] = ()


def execute(
    runs: Sequence[Run],
    *,
    jobs: int = 2,
    force: bool = False,
    scratch: Path | None = None,
    report: Callable[[Run, str, int, int], None] | None = None,
) -> list[Outcome]:
    """Bring every run up to date; a failing one does not stop the others.

    What is in the making lies in `scratch` (default: `_build/tmp`), which is emptied first.

    `report(run, state, cell, cells)` is called from worker threads with state `"fresh"`, `"cell"`,
    `"done"` or `"failed"`.
    """
    if jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")
    tell = report or (lambda *_: None)
    if not runs:
        return []
    scratch = scratch or runs[0].project.build / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)  # left by a run that was killed
    theirs, ours = os.pipe()
    # a worker ends when our end is closed: by an interruption here (before the pool waits for it),
    # or with this process
    with open(theirs) as parent, ThreadPoolExecutor(max_workers=jobs) as pool, open(ours, "w"):
        return list(
            pool.map(lambda run: _bring_up_to_date(run, scratch, force, tell, parent), runs)
        )


def _bring_up_to_date(
    run: Run, scratch: Path, force: bool, tell: Callable, parent: TextIO
) -> Outcome:
    cells = len(code_cells(run.notebook.node))
    began = time.perf_counter()
    try:
        if not force and not stale_reasons(run):
            tell(run, "fresh", cells, cells)
            return Outcome(run, "fresh", 0.0, notes=tuple(unused_defaults(run)))
        notes = unused_defaults(run)  # before the results that know the old defaults are replaced
        notes += _execute_one(
            run,
            scratch / f"{run.profile}-{run.stem.name}",
            lambda cell: tell(run, "cell", cell, cells),
            parent,
        )
    except (WorkflowError, OSError) as error:  # OSError: a full or read-only disk below _build
        tell(run, "failed", 0, cells)
        message = (
            str(error)
            if isinstance(error, WorkflowError)
            else f"Notebook {run.notebook.name!r} ({run.profile}): {error}"
        )
        return Outcome(run, "failed", time.perf_counter() - began, message)
    tell(run, "done", cells, cells)
    return Outcome(run, "done", time.perf_counter() - began, notes=tuple(notes))


def _execute_one(
    run: Run, scratch: Path, progress: Callable[[int], None], parent: TextIO
) -> list[str]:
    # before the run: an edit made meanwhile leaves it stale
    parts = key_parts(run.project, run.notebook, run.parameters)
    inputs = input_files(run.project, run.notebook, run.parameters).values()
    started, began = now(), time.perf_counter()
    job = {
        "notebook": nbformat.writes(run.notebook.node),
        "parameters": run.parameters,
        "root": str(run.project.root),
        "watched": [*folders(run.project), *map(str, inputs)],
        "cell_timeout": CELL_TIMEOUT[run.profile],
        "output": str(scratch / "executed.ipynb"),
    }
    write_atomically(scratch / "job.json", json.dumps(job))
    done = _run_worker(run, scratch / "job.json", progress, parent)
    node = tidy(load_executed(scratch / "executed.ipynb"), run.notebook)
    require_listed_records(node, run.notebook)
    parts[FILES_READ] = other_files(
        run.project, run.notebook, run.parameters, parts, done.pop("read")
    )
    result = Result(
        notebook=run.notebook.name,
        profile=run.profile,
        parameters=run.parameters,
        overrides=run.overrides,
        defaults=run.notebook.defaults,
        measurements=collect_measurements(node, run.notebook.name),
        key=key(parts),
        key_parts=parts,
        started=started,
        seconds=round(time.perf_counter() - began, 2),
        versions=versions(),
        hardware=hardware(),
        outputs=outputs_digest(node),
        **done,
    )
    write_atomically(run.page, nbformat.writes(node))
    result.save(run.results)  # last: until it is there, the notebook above counts as stale
    shutil.rmtree(scratch, ignore_errors=True)
    undeclared = [name for name in parts[FILES_READ] if not name.endswith(".py")]
    mend = "let a parameter name it, and list that under `ntp: {inputs: [...]}`"
    return [f"it read {name}, which is no input: {mend}." for name in undeclared]


def _run_worker(run: Run, job: Path, progress: Callable[[int], None], parent: TextIO) -> dict:
    command = [sys.executable, "-m", "ntpcompanion.workflow.running.worker", str(job)]
    pipes = {
        "stdin": parent,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "encoding": "utf-8",
        "errors": "replace",
    }
    with (
        ThreadPoolExecutor() as drain,
        subprocess.Popen(command, **pipes, env=clean_environment(run.project)) as process,
    ):
        # beside the messages: a full pipe would stop the worker
        errors = drain.submit(process.stderr.read)
        last: dict = {}
        for line in process.stdout:
            last = heard(line) or last
            if "cell" in last:
                progress(last["cell"])
        said = errors.result()
    if "done" in last:
        return last["done"]
    where = f"Notebook {run.notebook.name!r} ({run.profile})"
    if "failed" in last:
        failed = last["failed"]
        shown = plain(failed["traceback"]) or failed["source"]
        raise WorkflowError(f"{where}, code cell {failed['cell']}: {failed['error']}\n{shown}")
    at = f" in code cell {last['cell']}" if "cell" in last else ""
    raise WorkflowError(
        f"{where}: its process ended with code {process.returncode}{at}.\n{plain(said)[-2000:]}"
    )


def tidy(node: nbformat.NotebookNode, source: Notebook) -> nbformat.NotebookNode:
    """Remove what differs between two equal runs (times, paths), name cells by position, say what
    the injected values mean.
    """
    node.metadata.pop("papermill", None)
    for index, cell in enumerate(node.cells):
        for entry in ("papermill", "execution", "collapsed"):
            cell.metadata.pop(entry, None)
        cell["id"] = f"cell-{index:03d}"
        if is_injected(cell):
            cell.source = "\n".join(
                _explained(line, source)
                for line in cell.source.splitlines()
                if not line.startswith("#")
            )
    return node


def _explained(line: str, source: Notebook) -> str:
    parameter = source.parameters.get(line.partition(" = ")[0])
    return f"{line}  # {parameter.meaning}" if parameter and parameter.meaning else line
