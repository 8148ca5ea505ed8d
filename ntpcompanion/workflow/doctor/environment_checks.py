"""What `doctor` thinks of an environment: Python, packages and kernels. Each check judges the facts
it is given and fetches none.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ntpcompanion.workflow.base.errors import WorkflowError


@dataclass(frozen=True)
class Check:
    """One line of the report. A warning leaves the book buildable, a fault does not; `fix` says
    what to do about either.
    """

    name: str
    state: Literal["ok", "warning", "fault"]
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Install:
    """How the requirements of a book are installed: it has these `extras`, and its versions are
    pinned by the file `constraints`, if there is one.
    """

    extras: tuple[str, ...] = ()
    constraints: str | None = None

    def __call__(self, requirement: str = "") -> str:
        """The sentence that says how to install a thing (or all) again, in the environment of this
        interpreter.
        """
        chosen = f"'.[{','.join(sorted(self.extras))}]'" if self.extras else "."
        pinned = f"-c {shlex.quote(self.constraints)} " if self.constraints else ""
        return _sentence(f"{pinned}{requirement or f'-e {chosen}'}")


@dataclass(frozen=True)
class KernelAnswer:
    """What a kernel said: its `interpreter`, and where it would import the `package` from (None:
    nowhere); or why it `failed`.
    """

    interpreter: str = ""
    package: str | None = None
    failed: str | None = None


@dataclass(frozen=True)
class TorchAnswer:
    """What torch said: its version, the threads it starts, the version of CUDA that it is built
    for, name and bytes of memory of each GPU, and its warnings about CUDA; or why it `failed`.
    """

    version: str = ""
    threads: int = 0
    cuda: str | None = None
    gpus: tuple[tuple[str, int], ...] = ()
    said: str = ""
    failed: str | None = None


def check_python(running: str, needed: str) -> Check:
    """The version of the interpreter against `requires-python`."""
    description = f"{running}, {sys.executable}"
    if SpecifierSet(needed).contains(running, prereleases=True):
        return Check("Python", "ok", description)
    fix = "Remove .venv and name another Python: `make PYTHON=python3.12 book`."
    return Check("Python", "fault", f"{description}; the project needs {needed}", fix)


def check_package(imported: Path, root: Path) -> Check:
    """Does this command run the sources of the checkout, or those of another copy?"""
    sources = root / "ntpcompanion"
    if not sources.is_dir() or sources.resolve() == imported.resolve():
        return Check("ntpcompanion", "ok", str(imported))
    fix = (
        f"Use the command of this checkout, {root / '.venv' / 'bin' / 'ntpcompanion'} (made by "
        "`make book`), or change into the other."
    )
    return Check(
        "ntpcompanion",
        "fault",
        f"this command runs {imported}; notebooks that run here import {sources}",
        fix,
    )


def check_packages(
    extra: str,
    required: Iterable[str],
    version_of: Callable[[str], str | None],
    install: Install,
    *,
    needed: bool,
) -> Check:
    """Every requirement of one extra (`""`: what is always there) is installed and in its range;
    `needed` says whether the book cannot be built without.
    """
    name = f"packages for {extra}" if extra else "packages"
    asked = [requirement for requirement in map(Requirement, required) if _applies(requirement)]
    faults = [
        fault
        for requirement in asked
        if (fault := _unmet(requirement, version_of(requirement.name)))
    ]
    if not faults:
        return Check(name, "ok", f"all {len(asked)} installed, in the ranges of pyproject.toml")
    if needed:
        return Check(name, "fault", "; ".join(faults), install())
    return Check(name, "warning", "; ".join(faults), f"{install()} The book needs none of these.")


def check_pins(
    lines: Iterable[str], version_of: Callable[[str], str | None], install: Install
) -> Check:
    """Installed versions against the pins of the book. Which build of a version it is
    (`+cpu`) makes no difference.
    """
    texts = [text for line in lines if (text := line.partition("#")[0].strip())]
    pins = [
        (pin.name, str(pin.specifier).removeprefix("=="))
        for pin in map(Requirement, texts)
        if _applies(pin)
    ]
    pairs = [
        (name, pinned, installed)
        for name, pinned in pins
        if (installed := version_of(name)) is not None
    ]
    differing = [
        f"{name} {installed} ({pinned})"
        for name, pinned, installed in pairs
        if Version(installed).public != Version(pinned).public
    ]
    if not differing:
        return Check(
            "pinned versions",
            "ok",
            f"the {len(pairs)} installed ones are those of {install.constraints}",
        )
    more = f" and {len(differing) - 12} more" if len(differing) > 12 else ""
    fix = (
        f"{install()} Until then numbers may move within their bands, and results made with "
        "other versions are run again."
    )
    return Check(
        "pinned versions",
        "warning",
        f"not those of {install.constraints}: {', '.join(differing[:12])}{more}",
        fix,
    )


def check_jupyter_book(
    require: Callable[[], None], version_of: Callable[[str], str | None], install: Install
) -> Check:
    """The version of Jupyter Book that `require` (what the build itself asks) accepts."""
    try:
        require()
    except WorkflowError as error:
        # what follows is the fix
        return Check("Jupyter Book", "fault", str(error).partition(". ")[0], install())
    return Check("Jupyter Book", "ok", str(version_of("jupyter-book")))


def check_mathjax(folder: Path | None, install: Install) -> Check:
    """The scripts that set mathematics without the network; `folder` is the package that carries
    them, if it is installed.
    """
    script = folder / "static" / "mathjax" / "tex-chtml-full.js" if folder else None
    if script and script.is_file():
        return Check("MathJax", "ok", "installed: formulas need no network")
    problem = f"{script} is missing" if script else "sphinx-mathjax-offline is not installed"
    return Check(
        "MathJax", "fault", problem, install("--force-reinstall --no-deps sphinx-mathjax-offline")
    )


def check_kernel(answer: KernelAnswer, interpreter: str, package: Path, install: Install) -> Check:
    """What a kernel said that was started as a run of a notebook starts it."""
    if answer.failed is not None:
        fix = (
            f"`{_python()} -m ipykernel_launcher --version` may say more. "
            f"{install('--force-reinstall ipykernel')}"
        )
        if "too long" in answer.failed:
            fix = (
                "Kernels are reached by sockets in the temporary folder: point TMPDIR to a short "
                "path, such as /tmp."
            )
        return Check("kernel", "fault", f"no cell could be run: {answer.failed}", fix)
    if answer.interpreter != interpreter:
        problem = f"it runs {answer.interpreter}, this command runs {interpreter}"
        return Check("kernel", "fault", problem, install("--force-reinstall --no-deps ipykernel"))
    if answer.package is None or Path(answer.package).parent.resolve() != package.resolve():
        fix = (
            "Look at what PYTHONPATH and the .pth files of the environment put before the checkout."
        )
        return Check(
            "kernel",
            "fault",
            f"it imports {package.name} from {answer.package}, not from {package}",
            fix,
        )
    return Check("kernel", "ok", f"starts, and imports {package.name} from here")


def check_kernelspec(argv: Sequence[str], folder: str, interpreter: str) -> Check:
    """What Jupyter itself would start under the name `python3`; runs of this project never ask
    it.
    """
    name, started = "kernel of Jupyter", Path(argv[0])
    if not started.is_absolute() or _same_interpreter(started, Path(interpreter)):
        return Check(name, "ok", "the same Python, if a notebook is opened by hand")
    fix = (
        f"Remove {folder}, or unset JUPYTER_PATH if that leads there. Results and pages are not "
        "concerned."
    )
    return Check(
        name, "warning", f"a notebook opened by hand would run {started}, as {folder} says", fix
    )


def _sentence(arguments: str) -> str:
    if sys.prefix == sys.base_prefix and "CONDA_PREFIX" not in os.environ:
        return (
            "This Python has no environment of its own: `make book` sets one up in .venv; then use "
            "`.venv/bin/ntpcompanion`."
        )
    # the interpreter, not a bare `pip`: that of another environment is the usual reason for what is
    # wrong
    return f"In the checkout: `{_python()} -m pip install {arguments}`."


def _python() -> str:
    interpreter, folder = Path(sys.executable), Path.cwd()
    return shlex.quote(
        str(interpreter.relative_to(folder) if interpreter.is_relative_to(folder) else interpreter)
    )


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _unmet(requirement: Requirement, installed: str | None) -> str:
    if installed is None:
        return f"{requirement.name} is missing"
    return (
        ""
        if requirement.specifier.contains(installed, prereleases=True)
        else f"{requirement.name} {installed} (needs {requirement.specifier})"
    )


def _same_interpreter(one: Path, other: Path) -> bool:
    # the folder too: the Pythons of all virtual environments are links to the one they were made
    # from
    return one.parent.resolve() == other.parent.resolve() and one.resolve() == other.resolve()
