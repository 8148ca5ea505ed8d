"""The facts that `checks` and `machine` judge, and the whole of it: `examine` is what `ntpcompanion
doctor` shows.
"""

import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

import ntpcompanion
from ntpcompanion.workflow.base.browser import find_browser
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware
from ntpcompanion.workflow.doctor import checks, machine, questions
from ntpcompanion.workflow.doctor.checks import Check
from ntpcompanion.workflow.site.render import require_jupyter_book_1


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds: what is
    slow runs at the same time.
    """
    parts: dict[str, Callable[[], Iterator[Check]]] = {
        "packages": lambda: _packages(project.root),
        "rendering": _rendering,
        "kernel": lambda: _kernels(project),
        "torch": lambda: _torch(project.root),
        "Chromium": _chromium,
        "folders": lambda: _folders(project),
    }
    with ThreadPoolExecutor(max_workers=len(parts)) as pool:
        groups = [pool.submit(_guarded, name, part) for name, part in parts.items()]
        return [check for group in groups for check in group.result()]


def shown(check: Check, width: int) -> str:
    """A check as lines of text: state, name, what was found, and below it the way to mend it."""
    head, indent = f"{check.state:<9}{check.name:<19}", " " * 9
    # paths and commands can be copied
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    fill.initial_indent, fill.subsequent_indent = head, " " * len(head)
    lines = fill.wrap(check.found)
    fill.initial_indent = fill.subsequent_indent = indent
    return "\n".join(lines + fill.wrap(check.mend))


def version_of(name: str) -> str | None:
    """The installed version of a distribution, None if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages(root: Path) -> Iterator[Check]:
    # pyproject.toml, not the metadata of the installed package: pip wrote those before the last
    # `git pull`
    asked, pins = root / "pyproject.toml", root / "constraints.txt"
    project = tomllib.loads(asked.read_text(encoding="utf-8"))["project"] if asked.is_file() else {}
    yield checks.check_python(platform.python_version(), project.get("requires-python", ""))
    yield (package := checks.check_package(Path(ntpcompanion.__file__).parent, root))
    if package.state == "fault":
        # what the environment of another checkout holds says nothing about this one, and must not
        # be mended from here
        return
    if project:
        for extra, required in {
            "": project.get("dependencies", []),
            **project.get("optional-dependencies", {}),
        }.items():
            yield checks.check_packages(extra, required, version_of)
    if pins.is_file():
        yield checks.check_pins(pins.read_text(encoding="utf-8").splitlines(), version_of)
    for file in (asked, pins):
        if not file.is_file():
            yield Check(
                file.name,
                "warning",
                f"not in {root}: what is installed was not compared with it",
                "Restore it from git.",
            )


def _rendering() -> Iterator[Check]:
    yield checks.check_jupyter_book(require_jupyter_book_1, version_of)
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    yield checks.check_mathjax(Path(spec.origin).parent if spec and spec.origin else None)


def _kernels(project: Project) -> Iterator[Check]:
    yield checks.check_kernel(questions.ask_kernel(project), sys.executable, project.package)
    # here: it takes longer to import than most commands to run
    from jupyter_client.kernelspec import KernelSpecManager

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
        found = checks.check_kernelspec(spec.argv, spec.resource_dir, sys.executable)
    except Exception as error:  # a file of the user's, in whatever state it is
        mend = (
            "`jupyter kernelspec list` shows where it is: remove that folder. Results and pages "
            "are not concerned."
        )
        found = Check(
            "kernel of Jupyter",
            "warning",
            f"the kernelspec `python3` cannot be read: {error}",
            mend,
        )
    yield found


def _torch(root: Path) -> Iterator[Check]:
    answer, here = questions.ask_torch(root), hardware()
    yield machine.check_torch(answer)
    if answer.failed is None:
        yield machine.check_threads(answer.threads, here["cores"])
    yield machine.check_gpu(answer, here.get("gpu"), os.environ.get("CUDA_VISIBLE_DEVICES"))


def _chromium() -> Iterator[Check]:
    yield machine.check_chromium(find_browser(), questions.ask_version)


def _folders(project: Project) -> Iterator[Check]:
    written = (
        project.build,
        project.runs("book"),
        project.records,
        project.baseline("book").parent,
    )
    yield machine.check_writing(project.root, written)
    for folder in (project.build, Path(tempfile.gettempdir())):
        yield machine.check_disk(folder, shutil.disk_usage(machine.nearest_existing(folder)).free)
    memory = psutil.virtual_memory()
    yield machine.check_memory(memory.available, memory.total)
    yield machine.check_locks(project.build)


def _guarded(name: str, part: Callable[[], Iterator[Check]]) -> list[Check]:
    """The checks of a part up to the one that met what nobody foresaw, which becomes a fault of its
    own.
    """
    done: list[Check] = []
    try:
        for check in part():
            done.append(check)
    except Exception as error:  # a doctor that falls over says nothing about the rest
        mend = (
            "Mend what this names. If it makes no sense to you, report it with the whole of this "
            "output."
        )
        done.append(
            Check(
                name,
                "fault",
                f"could not be examined further: {type(error).__name__}: {error}",
                mend,
            )
        )
    return done
