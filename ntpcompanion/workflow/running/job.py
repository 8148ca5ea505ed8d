"""What a worker is told: one notebook to be executed, as a file of JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ntpcompanion.workflow.base.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Job:
    """A notebook to be executed.

    Parameters
    ----------
    notebook
        the notebook in the format of Jupyter (JSON), without outputs.
    parameters
        the values that papermill injects.
    folder, import_path, readable
        of the kernel, as `Start` has them.
    fonts
        a folder with the list of typefaces that Matplotlib has made on this machine.
    cell_timeout
        seconds that a cell may take; None: as long as it needs.
    output
        where the executed notebook is written.
    sockets
        a folder for the sockets of the kernel, and all that it keeps. The worker removes it, so
        that it does not outlive a runner that was killed.
    """

    notebook: str
    parameters: Mapping[str, object]
    folder: str
    import_path: list[str]
    readable: list[str]
    fonts: str
    cell_timeout: float | None
    output: str
    sockets: str

    def write(self, path: Path) -> list[str]:
        """Write the job to a file; return the command of the worker that executes it."""
        write_atomically(path, json.dumps(asdict(self)))
        return [sys.executable, "-m", "ntpcompanion.workflow.running.worker", str(path)]

    @classmethod
    def read(cls, path: Path) -> "Job":
        """The job that `write` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))
