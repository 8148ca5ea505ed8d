"""The processes that execute notebooks: on Linux forked of servers that have the libraries loaded,
elsewhere, where a fork is not safe, each started anew.
"""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.environment import clean_environment, folders
from ntpcompanion.workflow.base.messages import Exited, heard
from ntpcompanion.workflow.base.processes import Ended, Lifeline, end_tree, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running import fork_server

FORKS = sys.platform == "linux"


class Workers:
    """Starts workers for the notebooks of a project; none of them outlives this process.

    As many servers are started as workers run at a time, and each is used again for the next
    notebook. `cut` and `run` may be called from any thread.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lifeline = Lifeline()
        self._servers: list[_Server] = []
        self._idle: list[_Server] = []
        self._lock, self.is_cut = threading.Lock(), False

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._lifeline.stdin.close()
        for server in self._servers:
            server.close()

    def begin(self) -> None:
        """Have a server load the libraries of every notebook before one is there to be run."""
        if FORKS:
            self._servers.append(_Server(self._project))
            self._idle.append(self._servers[-1])

    def cut(self) -> None:
        """End all workers, and what they have started; those that would begin later end at once."""
        self._lifeline.cut()
        with self._lock:
            self.is_cut = True
            for server in self._servers:
                server.process.terminate()

    def run(
        self, command: list[str], libraries: Sequence[str], each_line: Callable[[str], None]
    ) -> Ended:
        """Execute a job and wait for the end of its worker.

        Parameters
        ----------
        command
            what starts the worker by itself; the last part is the file of the job.
        libraries
            modules that the notebook will import: they are loaded before the fork.
        each_line
            is given each line that the worker writes to its standard output.
        """
        if not FORKS:
            environment = clean_environment(self._project)
            return run(
                command, environment=environment, lifeline=self._lifeline, each_line=each_line
            )
        with self._lock:
            if self.is_cut:
                return Ended(-signal.SIGTERM, "", "")
            if not self._idle:
                self.begin()
            server = self._idle.pop()
        ended = server.run(command[-1], libraries, each_line)
        if server.process.poll() is None:
            with self._lock:
                self._idle.append(server)
        return ended


def lasting_workers(project: Project) -> Workers:
    """Those of a process that executes one notebook after the other, and ends them with itself;
    new ones after a cut.
    """
    if _lasting(project).is_cut:
        _lasting.cache_clear()
    return _lasting(project)


_lasting = functools.cache(Workers)


class _Server:
    """A fork server, and the files behind its standard streams, which its workers share."""

    def __init__(self, project: Project) -> None:
        watched = folders(project)
        # a file, not a pipe: nobody reads it before the end of a worker
        self._errors, self._heard = tempfile.TemporaryFile(), 0
        script = [sys.executable, "-P", fork_server.__file__]
        self.process = subprocess.Popen(
            [*script, tracing.__file__, json.dumps(watched)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=clean_environment(project),
            cwd=watched[0],
            encoding="utf-8",
            errors="replace",
        )

    def run(self, job: str, libraries: Sequence[str], each_line: Callable[[str], None]) -> Ended:
        """As `Workers.run`; where the server ends, its worker ends with it."""
        try:
            code = self._code_of_worker(job, libraries, each_line)
        except BaseException:
            end_tree(self.process)
            raise
        return Ended(code, "", self._said())

    def _said(self) -> str:
        """What was written to standard error since this was asked."""
        # not `read`: the position in the file is shared with those who write
        file = self._errors.fileno()
        said = os.pread(file, os.fstat(file).st_size - self._heard, self._heard)
        self._heard += len(said)
        return said.decode(errors="replace")

    def _code_of_worker(
        self, job: str, libraries: Sequence[str], each_line: Callable[[str], None]
    ) -> int:
        assert self.process.stdin
        assert self.process.stdout
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is met below
            self.process.stdin.write(json.dumps([job, libraries]) + "\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            if isinstance(message := heard(line), Exited):
                return message.code
            each_line(line)
        return self.process.wait()

    def close(self) -> None:
        """Wait for its end, which the caller has brought about."""
        # a job that it has ended without is still to be written; its output may be held by others
        with contextlib.suppress(BrokenPipeError), self._errors, self.process:
            pass
