"""The kernel of a run, `python -P kernel.py -f CONNECTION`: IPython without the configuration and
the start-up files of the user, the environment and the machine. It is copied to the start folder of
a run and imports nothing of the project.
"""

import sys

from ipykernel.kernelapp import IPKernelApp

# of no use to cells that nobody types or steps through, and slow to import
FOR_PEOPLE = ("debugpy", "jedi")


class Kernel(IPKernelApp):
    """A kernel that decides for itself."""

    def load_config_file(self, *_: object, **__: object) -> None:
        """Read no configuration: four folders could hold one."""

    def _run_startup_files(self) -> None:
        """Run nothing before the first cell."""


def main() -> None:
    """Serve until the end."""
    for name in FOR_PEOPLE:
        sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed
    sys.path.insert(0, "")  # modules that the notebook declares lie in its current folder
    Kernel.launch_instance()


if __name__ == "__main__":
    main()
