"""The command `ntpcompanion`, also as `python -m ntpcompanion`."""

import sys


def main() -> None:
    """Run the command line; ends with a sentence where the packages it needs are not installed."""
    try:
        from ntpcompanion import cli
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "ntpcompanion":
            raise
        sys.exit(
            f"The command needs the package {error.name!r}, which is not installed: "
            "pip install 'ntpcompanion[workflow]'."
        )
    cli.main()


if __name__ == "__main__":
    main()
