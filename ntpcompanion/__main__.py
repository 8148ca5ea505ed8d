"""The command `ntpcompanion`, also as `python -m ntpcompanion`."""

import importlib.util
import sys
from types import ModuleType

# what jupytext and jsonschema would import for JupyterLab where it is there: a quarter of the start
FOR_LAB = ("jupyter_server", "isoduration")


def main() -> None:
    """Run the command line; ends with a sentence where the packages it needs are not installed."""
    try:
        commands = _commands()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "ntpcompanion":
            raise
        sys.exit(
            f"The command needs the package {error.name!r}, which is not installed: "
            "pip install 'ntpcompanion[workflow]'."
        )
    except KeyboardInterrupt:  # packages are loaded for a second
        print("interrupted before anything was begun.", file=sys.stderr)
        sys.exit(130)
    commands.app()


def _commands() -> ModuleType:
    for package in FOR_LAB:
        sys.modules.setdefault(package, None)  # type: ignore[arg-type]  # as if not installed
    from ntpcompanion.workflow.cli import commands

    # loaded only by commands that use it; that it is there is asked by all
    if importlib.util.find_spec("jupytext") is None:
        raise ModuleNotFoundError(name="jupytext")
    return commands


if __name__ == "__main__":
    main()
