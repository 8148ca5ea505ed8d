"""Libraries that are not installed with the package but with its extra `opt`."""

import importlib
import sys
from types import ModuleType


def needed(module: str) -> ModuleType:
    """The module, which is not installed with the package but with its extra `opt`; ImportError
    that says so if it is missing.
    """
    if module == "transformers":
        _hide_broken_torchvision()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{module} is not installed. Run `pip install -c constraints.txt -e '.[opt]'`."
        ) from error


def _hide_broken_torchvision() -> None:
    """Let transformers do without torchvision where that cannot be imported: the one of PyPI beside
    a torch built for the CPU alone.

    It is on many machines that never use it, as a requirement of others. transformers needs it for
    pictures, but takes it, and fails with it, wherever it is found.
    """
    try:
        importlib.import_module("torchvision")
    except Exception:  # what a library with missing symbols raises is anything
        sys.modules["torchvision"] = None  # type: ignore[assignment]  # an import finds "not there"
