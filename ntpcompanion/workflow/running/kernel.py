"""The kernel of a run, `python -P kernel.py -f CONNECTION`: IPython without the configuration and
the start-up files of the user, the environment and the machine. It is copied to the start folder of
a run and imports nothing of the project.
"""

import atexit
import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path

from ipykernel.kernelapp import IPKernelApp

# of no use to cells that nobody types or steps through, and slow to import
FOR_PEOPLE = ("debugpy", "jedi")
PRIVATE = Path(__file__).parents[1]  # the folder that the run has for itself


class Kernel(IPKernelApp):
    def load_config_file(self, *_: object, **__: object) -> None:
        """Read no configuration: four folders could hold one."""

    def _run_startup_files(self) -> None:
        """Run nothing before the first cell."""


def end_with_runner() -> None:
    """From now on this process ends when the one that has started it ends or cuts its lifeline, and
    takes with it what the run has for itself.
    """
    lifeline = os.dup(0)  # is not inherited: what a cell starts reads nothing
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def wait() -> None:
        os.read(lifeline, 1)
        shutil.rmtree(PRIVATE, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def peak_memory() -> int:
    """Peak resident size of this process in bytes; 0 where it cannot be known."""
    # on Linux `getrusage` begins with the peak of the process that started this one
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    try:
        import resource
    except ImportError:  # Windows has none
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    # the last function at exit: to take the modules apart lasts a second with PyTorch
    atexit.register(os._exit, 0)
    end_with_runner()
    for name in FOR_PEOPLE:
        sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed
    sys.path.insert(0, "")  # modules that the notebook declares lie in its current folder
    Kernel.launch_instance()
    (PRIVATE / "peak").write_text(str(peak_memory()))


if __name__ == "__main__":
    main()
