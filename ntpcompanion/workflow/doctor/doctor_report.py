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
from typing import Any

import psutil
from packaging.requirements import Requirement

import ntpcompanion
from ntpcompanion.settings import FILE
from ntpcompanion.workflow.base.browser import find_browser
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware
from ntpcompanion.workflow.doctor import environment_checks as checks
from ntpcompanion.workflow.doctor import machine, questions
from ntpcompanion.workflow.doctor.environment_checks import Check, Install
from ntpcompanion.workflow.site.render import require_jupyter_book_1


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds: what is
    slow runs at the same time.
    """
    parts: dict[str, Callable[[], Iterator[Check]]] = {
        "packages": lambda: _packages(project),
        "rendering": lambda: _rendering(_install(project)),
        "kernel": lambda: _kernels(project),
        "torch": lambda: _torch(project),
        "Chromium": _chromium,
        "folders": lambda: _folders(project),
    }
    with ThreadPoolExecutor(max_workers=len(parts)) as pool:
        groups = [pool.submit(_guarded, name, part) for name, part in parts.items()]
        return [check for group in groups for check in group.result()]


def shown(check: Check, width: int) -> str:
    """A check as lines of text: state, name, what was found, and below it the way to fix it."""
    # an extra may have any name
    head, indent = f"{check.state:<9}{check.name:<22} ", " " * 9
    # paths and commands can be copied
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    fill.initial_indent, fill.subsequent_indent = head, " " * len(head)
    lines = fill.wrap(check.found)
    fill.initial_indent = fill.subsequent_indent = indent
    return "\n".join(lines + fill.wrap(check.fix))


def version_of(name: str) -> str | None:
    """The installed version of a distribution, None if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _asked(project: Project) -> dict[str, Any]:
    """What `[project]` of the book says. It is its pyproject.toml that is read, not the metadata of
    the installed package: pip wrote those before the last `git pull`.
    """
    path = project.root / FILE
    table = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    return dict(table.get("project", {}))


def _install(project: Project) -> Install:
    extras = tuple(_asked(project).get("optional-dependencies", {}))
    return Install(extras, project.settings.constraints)


def _packages(project: Project) -> Iterator[Check]:
    root, asked, install = project.root, _asked(project), _install(project)
    yield checks.check_python(platform.python_version(), asked.get("requires-python", ""))
    yield (package := checks.check_package(Path(ntpcompanion.__file__).parent, root))
    if package.state == "fault":
        # what the environment of another checkout holds says nothing about this one, and must not
        # be fixed from here
        return
    always = {"": asked["dependencies"]} if "dependencies" in asked else {}
    for extra, required in {**always, **asked.get("optional-dependencies", {})}.items():
        needed = extra in ("", *project.settings.extras)
        yield checks.check_packages(extra, required, version_of, install, needed=needed)
    pins = root / install.constraints if install.constraints else None
    if pins and pins.is_file():
        yield checks.check_pins(
            pins.read_text(encoding="utf-8-sig").splitlines(), version_of, install
        )
    for file in filter(None, (root / FILE, pins)):
        if not file.is_file():
            yield Check(
                file.name,
                "warning",
                f"not in {root}: what is installed was not compared with it",
                "Restore it, if the book has had one.",
            )


def _rendering(install: Install) -> Iterator[Check]:
    yield checks.check_jupyter_book(require_jupyter_book_1, version_of, install)
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    yield checks.check_mathjax(folder, install)


def _kernels(project: Project) -> Iterator[Check]:
    answer = questions.ask_kernel(project)
    yield checks.check_kernel(answer, sys.executable, project.package, _install(project))
    # here: it takes longer to import than most commands to run
    from jupyter_client.kernelspec import KernelSpecManager

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
        check = checks.check_kernelspec(spec.argv, spec.resource_dir, sys.executable)
    except Exception as error:  # a file of the user's, in whatever state it is
        fix = (
            "`jupyter kernelspec list` shows where it is: remove that folder. Results and pages "
            "are not concerned."
        )
        check = Check(
            "kernel of Jupyter",
            "warning",
            f"the kernelspec `python3` cannot be read: {error}",
            fix,
        )
    yield check


def _torch(project: Project) -> Iterator[Check]:
    """Nothing of a book that does not ask for torch, where it is not installed."""
    asked = _asked(project)
    lists = [asked.get("dependencies", []), *asked.get("optional-dependencies", {}).values()]
    required = {Requirement(text).name for each in lists for text in each}
    if not version_of("torch") and "torch" not in required:
        return
    answer, local_hardware = questions.ask_torch(project.root), hardware()
    yield machine.check_torch(answer, _install(project))
    if answer.failed is None:
        yield machine.check_threads(answer.threads, local_hardware["cores"])
    yield machine.check_gpu(
        answer, local_hardware.get("gpu"), os.environ.get("CUDA_VISIBLE_DEVICES")
    )


def _chromium() -> Iterator[Check]:
    yield machine.check_chromium(find_browser(), questions.ask_version)


def _folders(project: Project) -> Iterator[Check]:
    written = (
        project.build,
        project.runs("book"),
        project.records,
        project.baseline("book").parent,
    )
    yield machine.check_place(project.require_usable)
    yield machine.check_writing(project.root, written)
    for folder in (project.build, Path(tempfile.gettempdir())):
        yield machine.check_disk(folder, shutil.disk_usage(machine.nearest_existing(folder)).free)
    memory = psutil.virtual_memory()
    yield machine.check_memory(memory.available, memory.total)
    yield machine.check_locks(project.build)
    yield machine.check_git(project.root, questions.ask_git)


def _guarded(name: str, part: Callable[[], Iterator[Check]]) -> list[Check]:
    """The checks of a part up to the one that met what nobody foresaw, which becomes a fault of its
    own.
    """
    done: list[Check] = []
    try:
        for check in part():
            done.append(check)
    except Exception as error:  # a doctor that falls over says nothing about the rest
        fix = (
            "Fix what this names. If it makes no sense to you, report it with the whole of this "
            "output."
        )
        done.append(
            Check(
                name,
                "fault",
                f"could not be examined further: {type(error).__name__}: {error}",
                fix,
            )
        )
    return done
