"""The one execution of the real notebooks at the smoke profile that several test files read."""

import contextlib
import functools
import os

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.runs import chosen_runs
from ntpcompanion.workflow.site.build_site import build_site
from ntpcompanion.workflow.site.unchanged import is_unchanged, remember, sources_digest


@functools.cache
def smoke_runs():
    """All notebooks brought up to date at smoke. Another process of the same tests waits at the
    lock, then takes them as the first has left them: to find out that they are fresh takes long.
    """
    with Project.find().lock():
        return _runs()


@functools.cache
def smoke_site():
    """The folder of the site rendered from these runs, with warnings as errors; of another process
    of the same tests, too.
    """
    project = Project.find()
    with project.lock(), _once(project, "site") as made:
        _, runs = _runs()
        sources = "" if made else sources_digest(project)
        if not made and not is_unchanged(project, "smoke", sources):
            build_site(project, runs, "smoke")
            remember(project, "smoke", runs, sources)
        return project.html("smoke")


@functools.cache
def _runs():
    project = Project.find()
    runs = chosen_runs(project, "smoke")
    with _once(project, "runs") as made:
        outcomes = [] if made else runner.execute(runs, jobs=os.cpu_count() or 1)
        failures = [outcome.message for outcome in outcomes if outcome.status == "failed"]
        assert not failures, "\n\n".join(failures)
    return project, runs


@contextlib.contextmanager
def _once(project, name):
    """Whether a process of the same tests has come to the end of this block before."""
    this = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    made_for = project.build / f"smoke-{name}-of"
    yield bool(this) and made_for.is_file() and made_for.read_text() == this
    made_for.write_text(this)
