"""The public names of a package, each loaded from its module when it is first asked for."""

from collections.abc import Callable

import lazy_loader


def attach_public_names(
    package: str, file: str, *, extra: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """What the `__init__.py` of a package assigns to `__getattr__`, `__dir__`, `__all__`, from the
    stub `__init__.pyi` beside its `file`.

    Loading a name raises ImportError with the `extra` of the distribution to install, if a package
    that it needs is not there.
    """
    load, names, listed = lazy_loader.attach_stub(package, file)

    def load_or_explain(name: str) -> object:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == package.partition(".")[0]:
                raise
            raise ImportError(
                f"{package}.{name} needs the package {error.name!r}, which is not installed: "
                f"pip install 'ntpcompanion[{extra}]'.",
                name=error.name,
            ) from error

    return load_or_explain, names, listed
