"""What `ntpcompanion doctor` shows: the checks of the environment and those of the machine."""

import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil

from ntpcompanion.workflow.base.browser import BROWSERS, find_browser
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor import environment_checks
from ntpcompanion.workflow.doctor.environment_checks import Check, judged

GIB = 2**30
# bytes: a book with its doctrees; several profiles, records and a browser besides
DISK_NEEDED, DISK_WANTED = 200 * 2**20, 2 * GIB
MEMORY_WANTED = 4 * GIB  # bytes: two notebooks at once and the rendering, with room to spare


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds."""
    parts: dict[str, Callable[[Project], Iterable[Check]]] = {
        "packages": environment_checks.packages,
        "kernel": environment_checks.kernel,
        "machine": machine,
    }
    done: list[Check] = []
    for name, part in parts.items():
        try:
            for check in part(project):
                done.append(check)
        except Exception as error:  # a doctor that falls over says nothing about the rest
            result = f"could not be examined further: {type(error).__name__}: {error}"
            fix = "Fix what this names, or report it with the whole of this output."
            done.append(Check(name, "fault", result, fix))
    return done


def shown(check: Check, width: int) -> str:
    """A check as lines of text: state, name, what was found, and below it the way to fix it."""
    head, indent = f"{check.state:<9}{check.name:<22} ", " " * 9
    # paths and commands can be copied
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    fill.initial_indent, fill.subsequent_indent = head, " " * len(head)
    lines = fill.wrap(check.result)
    fill.initial_indent = fill.subsequent_indent = indent
    return "\n".join(lines + fill.wrap(check.fix))


def machine(project: Project) -> Iterator[Check]:
    """The folders of a project, disk, memory and browser."""
    yield judged("place", project.require_usable, f"{project.root} can be worked in")
    for folder in (project.build, Path(tempfile.gettempdir())):
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        yield check_disk(folder, shutil.disk_usage(existing).free)
    memory = psutil.virtual_memory()
    yield check_memory(memory.available, memory.total)
    if browser := find_browser():
        yield Check("Chromium", "ok", browser)
    else:
        result = f"none on PATH as {', '.join(BROWSERS)}; tests of the built pages are skipped"
        yield Check("Chromium", "warning", result, "`make browser` gets one or says how.")


def check_disk(where: Path, free: int) -> Check:
    """Bytes that are free for files below a folder."""
    result = f"{_size(free)} free below {where}"
    if free >= DISK_WANTED:
        return Check("disk", "ok", result)
    fix = (
        "Free some space (`make clean` removes all that is generated), or point TMPDIR to another "
        "disk if it is the temporary one."
    )
    return Check("disk", "fault" if free < DISK_NEEDED else "warning", result, fix)


def check_memory(available: int, total: int) -> Check:
    """Bytes of memory that programs may still take."""
    result = f"{_size(available)} available of {_size(total)}"
    if available >= MEMORY_WANTED:
        return Check("memory", "ok", result)
    fix = "Close other programs, or run one notebook at a time: `--jobs 1`."
    return Check("memory", "warning", result, fix)


def _size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.0f} MiB"
