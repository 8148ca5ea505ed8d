"""A sweep as a command line gives it, and as it tells its user of it."""

from collections.abc import Sequence
from functools import partial

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.sweeps.campaign import Campaign, Progress
from ntpcompanion.workflow.sweeps.executors import fitting_jobs, require_jobs
from ntpcompanion.workflow.sweeps.grid import parse_assignments, parse_values
from ntpcompanion.workflow.sweeps.sweep import plan_sweep
from ntpcompanion.workflow.sweeps.targets import find_target


def read_sweep(
    project: Project,
    name: str,
    grid: Sequence[str],
    *,
    seeds: str | None = None,
    fixed: Sequence[str] = (),
    profile: str | None = None,
    notebooks: bool = False,
    retry: bool = False,
) -> Campaign:
    """The sweep that the texts of a command line ask for: `grid` and `fixed` are `NAME=...`, and
    `seeds` is `START:STOP`.

    Raises
    ------
    WorkflowError
        a text that cannot be read, and as `find_target` and `plan_sweep`.
    """
    target = find_target(project, name, profile)
    axes = parse_assignments(grid, "--grid")
    if seeds is not None and "seed" in axes:
        raise WorkflowError("`--seeds` and `--grid seed=...` are two grids of one parameter.")
    values = {
        name: parse_values(
            text, partial(target.read, name), f"--grid {name}", ranges=not target.takes_text(name)
        )
        for name, text in axes.items()
    }
    if seeds is not None:
        values["seed"] = parse_values(seeds, partial(target.read, "seed"), "--seeds")
    shared = parse_assignments(fixed, "-p")
    fixed_values = {name: target.read(name, text) for name, text in shared.items()}
    return plan_sweep(target, values, fixed_values, notebooks=notebooks, retry=retry)


def planned_in_words(planned: Campaign, jobs: int | None, scheduler: str | None) -> str:
    """How many runs there are, how many are to be made, where, and how long that may take."""
    require_jobs(jobs)
    planned = planned.with_finished(elsewhere=scheduler is not None)
    total, finished = len(planned.points), len(planned.finished)
    left = total - finished
    text = f"{planned.target.name}: {total} runs"
    text += f", {finished} of them finished earlier" if finished else ""
    if not left:
        return f"{text}."
    if scheduler:
        return f"{text}; {left} to make on {scheduler}. How long is known after the first."
    number = min(jobs or fitting_jobs(), left)
    where = f"{left} to make by {number} process{'es' * (number > 1)}"
    seconds = planned.expected_seconds(number)
    if seconds is None:
        return f"{text}; {where}. How long is known after the first."
    return f"{text}; {where}, in about {duration(seconds)} if they are like those before."


def in_words(progress: Progress) -> str:
    """`3 done · 1 failed · 2 running · 4 waiting, about 2 min left`."""
    waiting = progress.total - progress.finished - progress.running
    counts = {**progress.ended, "running": progress.running, "waiting": waiting}
    text = " · ".join(f"{number} {state}" for state, number in counts.items() if number)
    if progress.running and progress.seconds_left is not None:
        text += f", about {duration(progress.seconds_left)} left"
    return text


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, to about two digits."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
