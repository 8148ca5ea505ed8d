"""A job as the worker reads it."""

import sys

from ntpcompanion.workflow.running.job import Job


def test_a_job_is_what_was_written_and_its_worker_is_told_where(tmp_path):
    job = Job(
        notebook="{}",
        parameters={"n": 3, "text": "→"},
        folder=str(tmp_path),
        import_path=["a"],
        readable=["b"],
        fonts="c",
        cell_timeout=None,
        output="out.ipynb",
        sockets="d",
    )
    path = tmp_path / "new" / "job.json"
    command = job.write(path)
    assert command == [sys.executable, "-m", "ntpcompanion.workflow.running.worker", str(path)]
    assert Job.read(path) == job
