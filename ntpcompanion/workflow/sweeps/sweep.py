"""A notebook or an experiment at every point of a grid, and all results in one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, user_path
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import now, versions
from ntpcompanion.workflow.sweeps.campaign import DEFAULT, Campaign, Options, compute
from ntpcompanion.workflow.sweeps.grid import grid_tasks, require_values
from ntpcompanion.workflow.sweeps.table import make_table, write_table
from ntpcompanion.workflow.sweeps.targets import Target, find_target

if TYPE_CHECKING:
    import pandas as pd


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
    name, profile
        a notebook of the project under `"smoke"`, `"book"` (the default) or `"paper"`; or a module
        of the package's experiments.
    grid, fixed
        the values of each parameter that is varied, of which every combination is a run, and values
        of others that all runs share. Seeds are values of the parameter `seed`.
    jobs, scheduler
        as in `Options`: processes of this machine, or the address of a cluster of Dask.
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
    only what is new.

    Examples
    --------
    >>> table = sweep("mean", {"seed": range(10)}, profile="smoke")  # doctest: +SKIP
    >>> table.groupby("claim")["value"].agg(["mean", "std"])  # doctest: +SKIP
    """
    import pandas as pd

    options = Options(jobs, scheduler)
    target = find_target(project or Project.find(), name, profile)
    planned = plan_sweep(target, grid, fixed or {}, notebooks=notebooks, retry=retry)
    return pd.read_parquet(run_sweep(planned, options, out))


def plan_sweep(
    target: Target,
    grid: Mapping[str, Sequence[Any]],
    fixed: Mapping[str, object],
    *,
    notebooks: bool = False,
    retry: bool = False,
) -> Campaign:
    """Check everything that can be wrong with a sweep before it is started. With `notebooks` the
    executed ones are kept, with `retry` what failed is made again.

    Raises
    ------
    WorkflowError
        an unknown parameter; an empty grid; a value of another type or outside of its domain, or
        that a check of the notebook rejects; a parameter that is fixed and varied.
    """
    if not grid:
        raise WorkflowError(
            "A sweep needs a parameter to vary: give `--grid NAME=VALUES` or `--seeds START:STOP`."
        )
    for parameter, values in grid.items():
        if parameter in fixed:
            raise WorkflowError(f"`{parameter}` is fixed by `-p` and varied by `--grid`: not both.")
        require_values(values, f"--grid {parameter}")
    points = target.points(grid_tasks(fixed, grid))
    target.check(points)
    journal = target.project.build / "sweeps" / f"{target.name}.jsonl"
    return Campaign(target, points, journal, notebooks, retry)


def run_sweep(planned: Campaign, options: Options = DEFAULT, out: Path | None = None) -> Path:
    """Make the runs that are missing, write the table, and return its path. Runs that were killed
    are made again by the same command, those that failed only if it is to retry. Raises
    WorkflowError as `compute`, or for a table that cannot be written.
    """
    target, parameters = planned.target, [point.parameters for point in planned.points]
    variant = sha256(canonical_json(parameters))[:8]
    path = user_path(out or planned.journal.with_name(f"{target.name}-{variant}.parquet")).resolve()
    if path.suffix != ".parquet":
        raise WorkflowError(f"`--out {out}` must end in .parquet: the table is a Parquet file.")
    with target.project.lock(f"sweep-{target.name}"):
        lines = compute(planned, options)
    if planned.notebooks:
        pages = map(planned.page, planned.points)
        notebooks = [str(page) if page.is_file() else None for page in pages]
        lines = [line | {"notebook": page} for line, page in zip(lines, notebooks, strict=True)]
    libraries = target.project.settings.libraries
    about = {"name": target.name, "made": now(), "versions": versions(libraries)}
    write_table(make_table(lines, about, of_claims=target.of_claims), path)
    return path
