"""The one execution of the real notebooks at the smoke profile that several test files read."""

import functools
import os

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.runs import plan
from ntpcompanion.workflow.site.build import build_site


@functools.cache
def smoke_runs():
    """All notebooks brought up to date at smoke. Another test process waits at the lock, then finds
    them fresh.
    """
    with Project.find().lock():
        return _runs()


@functools.cache
def smoke_site():
    """The folder of the site rendered from these runs, with warnings as errors. Another process of
    the same tests takes it as the first has left it: to find out that nothing changed takes 10 s.
    """
    project, this = Project.find(), os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    made_for = project.build / "smoke-site-of"
    with project.lock():
        if this and made_for.is_file() and made_for.read_text() == this:
            return project.html("smoke")
        html, _ = build_site(*_runs(), "smoke")
        made_for.write_text(this)
    return html


@functools.cache
def _runs():
    project = Project.find()
    notebooks = find_notebooks(project)
    profiles = read_profiles(project, notebooks)
    runs = [plan(project, notebook, "smoke", profiles) for notebook in notebooks.values()]
    outcomes = runner.execute(runs, jobs=os.cpu_count() or 1)
    failures = [outcome.message for outcome in outcomes if outcome.status == "failed"]
    assert not failures, "\n\n".join(failures)
    return project, runs
