"""A sweep before it is started: its runs, checked, and which of them an earlier one finished."""

import logging
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.sweeps.grid import grid_tasks, require_distinct
from ntpcompanion.workflow.sweeps.journal import Present, finished_lines
from ntpcompanion.workflow.sweeps.targets import Point, Target

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sweep:
    """A sweep that is planned and checked.

    `points` are its runs; `finished` are the lines of the journal that answer for some of them, by
    key. With `notebooks` a run is not finished without its executed notebook, with `retry` not if
    it failed. `elsewhere`: the runs are made by a cluster.
    """

    target: Target
    points: list[Point]
    notebooks: bool = False
    retry: bool = False
    elsewhere: bool = False
    finished: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, Any])

    @property
    def journal(self) -> Path:
        """Where each finished run is kept, beside those of other grids of the same name."""
        return self.target.project.build / "sweeps" / f"{self.target.name}.jsonl"

    @property
    def table(self) -> Path:
        """Where the table is written if no other path is given."""
        variant = sha256(canonical_json([point.parameters for point in self.points]))[:8]
        return self.journal.with_name(f"{self.target.name}-{variant}.parquet")

    def expected_seconds(self, jobs: int) -> float | None:
        """Wall time of the runs that are missing, from the median of known durations."""
        known = [line["seconds"] for line in self.finished.values()] or self.target.durations()
        left = len(self.points) - len(self.finished)
        return left * statistics.median(known) / min(jobs, max(left, 1)) if known else None

    def page(self, point: Point) -> Path:
        """Where the executed notebook of a point is kept."""
        return self.journal.with_suffix("") / f"{point.key[:16]}.ipynb"


def plan_sweep(
    target: Target,
    grid: Mapping[str, Sequence[Any]],
    fixed: Mapping[str, object],
    *,
    notebooks: bool = False,
    retry: bool = False,
    elsewhere: bool = False,
) -> Sweep:
    """Check everything that can be wrong with a sweep before it is started, and find what an
    earlier one has finished. With `notebooks` the executed ones are kept, with `retry` what failed
    is made again; `elsewhere`: by a cluster.

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
        if not len(values):
            raise WorkflowError(f"`--grid {parameter}=` gives no value: an empty grid has no runs.")
        require_distinct(values, f"--grid {parameter}")
    points = target.points(grid_tasks(fixed, grid))
    for note in target.notes(points):
        log.warning("%s: %s", target.name, note)
    planned = Sweep(target, points, notebooks, retry, elsewhere)
    return with_finished(planned)


def with_finished(planned: Sweep, note: Callable[[str], None] = lambda _: None) -> Sweep:
    """The same sweep with what its journal holds now; `note` is given a sentence for each line that
    does not fit the present files and machine.
    """
    points = {point.key: point for point in planned.points}
    present = Present(planned.target.project, planned.elsewhere)
    lines = finished_lines(planned.journal, points, present, note)
    finished = {key: line for key, line in lines.items() if _answers(line, points[key], planned)}
    return replace(planned, finished=finished)


def _answers(line: Mapping[str, Any], point: Point, planned: Sweep) -> bool:
    """Whether a line of the journal is the outcome of a point."""
    if line.get("state") != "done":
        return line.get("state") == "failed" and not planned.retry
    return not planned.notebooks or planned.page(point).is_file()
