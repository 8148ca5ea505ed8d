"""A notebook or an experiment at every point of a grid: each run permanent when it has ended, and
all of them in one table.
"""

import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import user_path, write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import now, versions
from ntpcompanion.workflow.sweeps.alone import remove_places
from ntpcompanion.workflow.sweeps.calls import Calls, Outcome, engine, require_jobs
from ntpcompanion.workflow.sweeps.experiment_tasks import other_inputs
from ntpcompanion.workflow.sweeps.journal import append, appended
from ntpcompanion.workflow.sweeps.planned import Sweep, plan_sweep, with_finished
from ntpcompanion.workflow.sweeps.table import make_table, write_table
from ntpcompanion.workflow.sweeps.targets import Point, find_target
from ntpcompanion.workflow.sweeps.task_inputs import require_unchanged

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: numbers of runs by state (`kept`: made by an earlier command), and how
    many seconds are left, None where no run has been timed yet.
    """

    total: int
    kept: int = 0
    done: int = 0
    failed: int = 0
    killed: int = 0
    running: int = 0
    seconds_left: float | None = None

    @property
    def finished(self) -> int:
        """Those whose outcome is known."""
        return self.kept + self.done + self.failed + self.killed

    @property
    def waiting(self) -> int:
        """Those that are not begun."""
        return self.total - self.finished - self.running


def sweep(
    name: str,
    grid: Mapping[str, Sequence[Any]],
    *,
    fixed: Mapping[str, object] | None = None,
    profile: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    notebooks: bool = False,
    retry: bool = False,
    out: Path | None = None,
    project: Project | None = None,
) -> "pd.DataFrame":
    """Run a notebook or an experiment at every point of a grid; what it found as a tidy table.

    Parameters
    ----------
    name
        a notebook of the project, or a module of the package's experiments.
    grid
        the values of each parameter that is varied; every combination is a run. Seeds are values of
        the parameter `seed`.
    fixed
        values of parameters that all runs share.
    profile
        of a notebook: `"smoke"`, `"book"` (the default) or `"paper"`.
    jobs
        processes of this machine, one thread each; None: as many as cores and memory allow.
    scheduler
        the address of the scheduler of an existing cluster of Dask, whose workers run the tasks
        instead.
    notebooks
        keep the executed notebooks; the column `notebook` says where.
    retry
        run again what failed in an earlier sweep.
    out
        where the table is kept as a Parquet file; None: below `_build/sweeps`.
    project
        the checkout to work in; None: the one at or above the current folder.

    Returns
    -------
    pandas.DataFrame
        A row per run and claim of a notebook (`claim`, `value`, `stderr`, `replicates`; where a
        claim is about several numbers `values` and `stderrs`), or a row per run of an experiment
        (the fields of its result); all parameters, and `run`, `state` (`"done"`, `"failed"`,
        `"killed"`), `seconds`, `host`, `error`, `traceback`.

    Raises
    ------
    WorkflowError
        as `plan_sweep` before anything is started, and as `run_sweep`.

    Notes
    -----
    A finished run is permanent: the same call goes on after an interruption, and a larger grid runs
    only what is new. Processes are started by `spawn`: in a script, call it below
    `if __name__ == "__main__":`.

    Examples
    --------
    >>> table = sweep("mean", {"seed": range(10)}, profile="smoke")  # doctest: +SKIP
    >>> table.groupby("claim")["value"].agg(["mean", "std"])  # doctest: +SKIP
    """
    import pandas as pd

    target = find_target(project or Project.find(), name, profile)
    options = {"notebooks": notebooks, "retry": retry, "elsewhere": scheduler is not None}
    planned = plan_sweep(target, grid, fixed or {}, **options)
    return pd.read_parquet(run_sweep(planned, jobs=jobs, scheduler=scheduler, out=out))


def run_sweep(
    planned: Sweep,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: Path | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> Path:
    """Make the runs that are missing, write the table, and return its path.

    A run that fails, or whose process is killed twice, is a row with its state and traceback; the
    others go on. Each is permanent on disk when the next is waited for, so that the same command
    goes on after a kill. Those that failed are not made again (see `retry` of `plan_sweep`), those
    that were killed are. A run killed while it is tried for the first time is named by `note`.

    Raises
    ------
    WorkflowError
        no such scheduler, a worker with other sources or data files, a data file that was changed
        meanwhile, a file that cannot be written.
    """
    require_jobs(jobs)
    path = _table_path(out or planned.table)
    target = planned.target
    try:
        with target.project.lock(f"sweep-{target.name}"), appended(planned.journal) as log:
            planned = replace(planned, elsewhere=scheduler is not None)
            planned = with_finished(planned, note)  # by a sweep that this one has waited for
            lines = dict(planned.finished)
            for line in _outcomes(planned, jobs, scheduler, report, note):
                lines[line["key"]] = line
                if line["state"] != "killed":
                    append(log, line)
                if line["state"] != "done":
                    note(f"A run {line['state']}: {shown(line['parameters'])}: {line['error']}")
            require_unchanged(target.project, lines.values())
    except OSError as error:
        raise WorkflowError(
            f"Could not write {planned.journal}: {error.strerror or error}. Free some space or "
            "fix the permissions; the same command goes on from what is finished."
        ) from error
    libraries = target.project.settings.libraries
    about = {"name": target.name, "made": now(), "versions": versions(libraries)}
    ordered = [_with_page(lines[point.key], point, planned) for point in planned.points]
    write_table(make_table(ordered, about, of_claims=target.of_claims), path)
    return path


def _outcomes(
    planned: Sweep,
    jobs: int | None,
    scheduler: str | None,
    report: Callable[..., Any],
    note: Callable[..., Any],
) -> Iterator[dict[str, Any]]:
    """The lines of the runs that are missing, as they end."""
    missing = [point for point in planned.points if point.key not in planned.finished]
    progress = Progress(len(planned.points), kept=len(planned.points) - len(missing))
    report(progress)
    if not missing:
        return
    folder = planned.journal.with_suffix("")
    calls = {planned.target.call(point, folder, planned.notebooks): point for point in missing}
    project = planned.target.project
    with engine(len(missing), jobs=jobs, project=project, scheduler=scheduler) as running:
        seconds: list[float] = []
        note_once = functools.cache(note)  # all runs may have the same to say
        report(_told(progress, running.number(), seconds))
        for call, outcome in Calls(running, list(calls), note):
            if outcome.state == "rejected":
                raise WorkflowError(outcome.error)
            line = _line(planned, calls[call], outcome, note_once)
            if fault := other_inputs(project, line["read"], line["host"]):
                raise WorkflowError(fault)
            yield line
            seconds.append(outcome.seconds)
            progress = replace(progress, **{outcome.state: getattr(progress, outcome.state) + 1})
            report(_told(progress, running.number(), seconds))


def _told(progress: Progress, workers: int, seconds: Sequence[float]) -> Progress:
    """With how many of the others run now, and what they may take if they are like those before."""
    left = progress.waiting
    rest = left * statistics.median(seconds) / max(workers, 1) if seconds else None
    return replace(progress, running=min(workers, left), seconds_left=rest)


def _line(
    planned: Sweep, point: Point, outcome: Outcome, note: Callable[[str], None]
) -> dict[str, Any]:
    """What the journal keeps of a run; its checkpoints are of no more use when it is done."""
    fields = asdict(outcome)
    if outcome.state == "done":
        stored = planned.target.kept(outcome.result)
        for text in stored.notes:
            note(text)
        if stored.page is not None:
            write_atomically(planned.page(point), stored.page)
        remove_places(planned.journal.with_suffix("") / point.key[:16])
        fields |= {"result": stored.result, "read": stored.read}
    return {"key": point.key, "parameters": point.parameters, **fields}


def _with_page(line: dict[str, Any], point: Point, planned: Sweep) -> dict[str, Any]:
    page = planned.page(point)
    shown = {"notebook": str(page) if page.is_file() else None} if planned.notebooks else {}
    return {**line, **shown}


def _table_path(out: Path) -> Path:
    path = user_path(out).resolve()
    if path.suffix != ".parquet":
        raise WorkflowError(f"`--out {out}` must end in .parquet: the table is a Parquet file.")
    return path


def shown(parameters: Mapping[str, object]) -> str:
    """`n = 3, seed = 0`."""
    return ", ".join(f"{name} = {value!r}" for name, value in parameters.items())
