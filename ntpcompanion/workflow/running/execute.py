"""Run what is stale: one process per notebook, several at a time, each outcome whole or absent."""

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.provenance import (
    distributions_of,
    hardware,
    library_states,
    now,
    versions,
)
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.notebooks.notebook import Notebook, imported_modules
from ntpcompanion.workflow.running.freshness import (
    FILES_READ,
    LIBRARIES_USED,
    input_files,
    key,
    key_parts,
    other_files,
)
from ntpcompanion.workflow.running.layout import HOW, Layout, elsewhere, laid_out_files, lay_out
from ntpcompanion.workflow.running.results import (
    Result,
    collect_measurements,
    complaints,
    outputs_digest,
    require_listed_records,
    require_measured,
)
from ntpcompanion.workflow.running.runs import Run, stale_reasons, unused_defaults
from ntpcompanion.workflow.running.start import Start, Surroundings, surroundings_of
from ntpcompanion.workflow.running.undeclared import Undeclared, texts_of

if TYPE_CHECKING:
    from ntpcompanion.workflow.running.papermill_run import Ran

Report = Callable[[Run, str, int, int], None]  # run, state, cell, cells


@dataclass(frozen=True)
class Outcome:
    """What became of a run: `"fresh"` (kept), `"done"` or `"failed"` with a message; `notes` are
    for its user.
    """

    run: Run
    status: Literal["fresh", "done", "failed"]
    seconds: float
    message: str = ""
    notes: tuple[str, ...] = ()


def execute(
    runs: Sequence[Run],
    *,
    jobs: int = 2,
    force: bool = False,
    scratch: Path | None = None,
    lifeline: Lifeline | None = None,
    report: Report | None = None,
    ended: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Bring every run up to date; a failing one does not stop the others.

    What is in the making lies in `scratch` (default: `_build/tmp`), which is emptied first. The
    runs that took longest the last time begin first, so that no worker waits for one of them at
    the end; before them those that have never been run.

    The processes of the runs end with the `lifeline`, if one is given.
    `report(run, state, cell, cells)` is called from worker threads with state `"fresh"`, `"cell"`,
    `"done"` or `"failed"`, and `ended(outcome)` when a run has ended, one after the other. Raises
    WorkflowError for fewer jobs than one.
    """
    if jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")
    notify = report or (lambda *_: None)
    if not runs:
        return []
    scratch = scratch or runs[0].project.build / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)  # left by a run that was killed
    with (
        contextlib.nullcontext(lifeline) if lifeline else Lifeline() as parent,
        ThreadPoolExecutor(max_workers=jobs) as pool,
    ):
        try:
            futures = {
                run.stem: pool.submit(_bring_up_to_date, run, scratch, force, notify, parent)
                for run in sorted(runs, key=_seconds_before, reverse=True)
            }
            for future in as_completed(futures.values()):
                if ended:
                    ended(future.result())
            return [futures[run.stem].result() for run in runs]
        except BaseException:  # Ctrl-C ends the workers before the pool waits for its threads
            pool.shutdown(wait=False, cancel_futures=True)
            parent.cut()
            raise


def _seconds_before(run: Run) -> float:
    """What a run took the last time; infinite if nothing is known of it."""
    try:
        return Result.load(run.results).seconds
    except WorkflowError:
        return math.inf


def _bring_up_to_date(
    run: Run, scratch: Path, force: bool, notify: Report, lifeline: Lifeline
) -> Outcome:
    cells = len(code_cells(run.notebook.node))
    began = time.perf_counter()
    try:
        if not force and not stale_reasons(run):
            notify(run, "fresh", cells, cells)
            return Outcome(run, "fresh", 0.0, notes=tuple(unused_defaults(run)))
        # before the results that know the old defaults are replaced
        notes = unused_defaults(run)
        folder = scratch / f"{run.profile}-{run.stem.name}"
        notes += _execute_one(run, folder, lambda cell: notify(run, "cell", cell, cells), lifeline)
    except (WorkflowError, OSError) as error:  # OSError: a full or read-only disk below _build
        notify(run, "failed", 0, cells)
        where = "" if isinstance(error, WorkflowError) else f"{run.title}: "
        return Outcome(run, "failed", time.perf_counter() - began, f"{where}{error}")
    notify(run, "done", cells, cells)
    return Outcome(run, "done", time.perf_counter() - began, notes=tuple(notes))


def _execute_one(
    run: Run, scratch: Path, progress: Callable[[int], None], lifeline: Lifeline
) -> list[str]:
    """Run a notebook in a worker and store its outcome; notes for the user."""
    # before the run: an edit made meanwhile leaves it stale
    parts = key_parts(run.project, run.notebook, run.parameters)
    inputs = input_files(run.project, run.notebook, run.parameters)
    declared = laid_out_files(run.project, run.notebook, inputs)
    layout = lay_out(run.project, scratch / "run", parts["package source"], declared)
    if parts != key_parts(run.project, run.notebook, run.parameters):
        raise WorkflowError(
            f"{run.title}: its files or modules changed while they were copied. Nothing was "
            "stored; run it again."
        )
    started, began = now(), time.perf_counter()
    around = surroundings_of(run.project)
    start = Start.of(layout, around, elsewhere(run.project, inputs))
    undeclared = _undeclared(run, start)
    ran = _in_kernel(run, start, around, progress, lifeline)
    if ran.failure:
        error, traceback = ran.failure
        hints = undeclared.after_failure(error, sorted(ran.log.absent))
        shown = "\n".join([plain(traceback) or ran.cells.source, *hints])
        raise WorkflowError(f"{run.title}, code cell {ran.cells.number}: {error}\n{shown}")
    node = tidy(ran.node, run.notebook)
    require_listed_records(node, run.notebook)
    require_measured(node, run.notebook.name, ran.log.measured)
    others = other_files(run.project, run.notebook, run.parameters, parts, ran.log.read)
    hints = undeclared.after_success(sorted(ran.log.absent), others)
    notes = [*complaints(node), *ran.cells.notes, *hints]
    libraries = distributions_of(ran.log.modules) - set(run.project.settings.libraries)
    parts = {**parts, FILES_READ: others, LIBRARIES_USED: library_states(libraries)}
    result = _result(run, node, ran, parts, started, time.perf_counter() - began)
    write_atomically(run.executed, nbformat.writes(node))
    result.save(run.results)  # last: until it is there, the notebook above counts as stale
    notes += _keep_written_files(run, layout)
    shutil.rmtree(scratch, ignore_errors=True)
    return notes


def _in_kernel(
    run: Run,
    start: Start,
    around: Surroundings,
    progress: Callable[[int], None],
    lifeline: Lifeline,
) -> "Ran":
    try:
        # imported late: only who runs a notebook waits for papermill
        from ntpcompanion.workflow.running.papermill_run import run_notebook

        return run_notebook(
            run.notebook.node,
            run.parameters,
            start,
            around,
            limit=run.project.settings.cell_limit(run.profile),
            lifeline=lifeline,
            began=progress,
        )
    except ImportError as error:
        fix = "Install what is missing: `pip install 'ntpcompanion[workflow]'`."
        raise WorkflowError(f"{run.title} cannot be run: {error}. {fix}") from error
    except WorkflowError as error:
        raise WorkflowError(f"{run.title}: {error}") from error


def _keep_written_files(run: Run, layout: Layout) -> list[str]:
    """Files that a run has written in its folder lie beside its outcome from now on."""
    folder = run.stem.with_name(f"{run.stem.name}-files")
    shutil.rmtree(folder, ignore_errors=True)
    for name in layout.written():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(layout.folder / name, folder / name)
    if not folder.is_dir():
        return []
    where = os.path.relpath(folder, run.project.root)
    return [f"it wrote files in its own folder, which is removed; they are in {where}."]


def _result(
    run: Run,
    node: nbformat.NotebookNode,
    ran: "Ran",
    parts: dict[str, object],
    started: str,
    seconds: float,
) -> Result:
    return Result(
        notebook=run.notebook.name,
        profile=run.profile,
        parameters=run.parameters,
        overrides=run.overrides,
        defaults=run.notebook.defaults,
        measurements=collect_measurements(node, run.notebook.name),
        key=key(parts),
        key_parts=parts,
        started=started,
        seconds=round(seconds, 2),
        cell_seconds=ran.cells.seconds,
        peak_memory=ran.peak_memory,
        versions=versions(run.project.settings.libraries),
        hardware=hardware(),
        outputs=outputs_digest(node),
    )


def _undeclared(run: Run, start: Start) -> Undeclared:
    return Undeclared(
        project=run.project,
        name=f"Notebook {run.notebook.name!r}",
        code="a cell",
        folder=Path(start.folder),
        allowed=(*start.readable, *start.import_path),
        texts=texts_of(imported_modules(run.notebook.node), run.parameters),
        how=HOW,
        records=tuple(run.notebook.settings.get("records", [])),
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
            lines = [line for line in cell.source.splitlines() if not line.startswith("#")]
            parameters = [source.parameters.get(line.partition(" = ")[0]) for line in lines]
            meanings = [getattr(parameter, "meaning", "") for parameter in parameters]
            pairs = zip(lines, meanings, strict=True)
            cell.source = "\n".join(f"{line}  # {text}" if text else line for line, text in pairs)
    return node
