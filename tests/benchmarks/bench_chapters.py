"""Chapters at profile smoke against the seconds that they may take."""

import resource

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from tests.benchmarks.bench_workflow import BINARY, PART, call
from tests.benchmarks.timing import about

SECONDS = 8.0  # of a chapter that is not named here, start and imports of its kernel included
SHORT = {
    **dict.fromkeys(("capacity", "attention_bias"), 7.0),
    **dict.fromkeys(("xor", "disagreement", "residual_memory", "distillation"), 4.0),
    **dict.fromkeys(("sharpness_aware", "memorization", "uniform_convergence"), 4.0),
    **dict.fromkeys(("explanations", "contrastive_landscape", "pause_tokens"), 4.0),
    "pitfalls": 10.0,
}


def seconds_used(command, folder):
    """Seconds of the processors, so that neighbours matter little: a kernel has one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(command, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@about("The chapter that needs most of its seconds, profile smoke", PART, listed=False)
def test_most_of_its_seconds(timing):
    project, shares = Project.find(), {}
    for name in find_notebooks(project):
        command = [str(BINARY / "ntpcompanion"), "execute", name, "--profile", "smoke"]
        used = seconds_used([*command, "--force"], project.root)
        idle = seconds_used(command, project.root)  # of the command where nothing is stale
        shares[name] = (used - idle) / SHORT.get(name, SECONDS)
    ordered = sorted(shares, key=shares.__getitem__, reverse=True)
    note = ", ".join(f"{name} {shares[name]:.2f}" for name in ordered[:5])
    timing.amount("of its seconds", [shares[ordered[0]]], at_most=1.0, note=note)
