"""What `doctor` thinks of a machine: folders, disk, memory, browser and git."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from ntpcompanion.workflow.base.browser import BROWSERS, find_browser
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.git import git
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor.environment_checks import Check

GIB = 2**30
# bytes: a book with its doctrees; several profiles, records and a browser besides
DISK_NEEDED, DISK_WANTED = 200 * 2**20, 2 * GIB
MEMORY_WANTED = 4 * GIB  # bytes: two notebooks at once and the rendering, with room to spare


def machine(project: Project) -> Iterator[Check]:
    """All that is checked here."""
    try:
        project.require_usable()
    except WorkflowError as error:
        result, _, fix = str(error).rpartition(". ")
        yield Check("place", "fault", result, fix)
    folders = [project.build, project.runs("book"), project.records, project.baseline("book")]
    yield check_writing(project.root, map(nearest_existing, folders))
    for folder in (project.build, Path(tempfile.gettempdir())):
        yield check_disk(folder, shutil.disk_usage(nearest_existing(folder)).free)
    memory = psutil.virtual_memory()
    yield check_memory(memory.available, memory.total)
    yield check_browser(find_browser())
    yield check_git(project.root)


def check_writing(root: Path, folders: Iterable[Path]) -> Check:
    """What runs and builds write to can be written."""
    closed = [str(each) for each in folders if not os.access(each, os.W_OK)]
    if not closed:
        return Check("write access", "ok", f"below {root}")
    fix = (
        f'After a run with sudo: `sudo chown -R "$USER" {shlex.quote(str(root))}`. '
        "Else copy the checkout to where you may write."
    )
    return Check("write access", "fault", f"rejected: {', '.join(dict.fromkeys(closed))}", fix)


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


def check_browser(path: str | None) -> Check:
    """The browser that reads and prints the built pages, which is not started here."""
    if path:
        return Check("Chromium", "ok", path)
    result = f"none on PATH as {', '.join(BROWSERS)}; tests that read the built pages are skipped"
    fix = (  # in the words of `make browser`
        "Debian: `sudo apt-get install chromium`. Ubuntu: `sudo snap install chromium`. macOS: a "
        "script named chrome that starts "
        "the program inside Google Chrome.app. Elsewhere: chromium, google-chrome or chrome on "
        "PATH."
    )
    return Check("Chromium", "warning", result, fix)


def check_git(root: Path) -> Check:
    """Whether git reads the repository of a folder: pages name the commits of their sources."""
    without = "pages and the history name no commit"
    try:
        ended = git(root, "rev-parse", "--short=12", "HEAD")
    except OSError as error:
        message = f"{error.strerror or error}: {without}"
        return Check("git", "warning", message, "Install it, if they should.")
    if not ended.code:
        return Check("git", "ok", f"commit {ended.output.strip()}")
    if "dubious ownership" in ended.errors or "unsafe repository" in ended.errors:
        place = shlex.quote(str(root))
        return Check(
            "git",
            "warning",
            f"rejects {root}, because another user owns it: {without}",
            f"If you trust its files: `git config --global --add safe.directory {place}`. Or make "
            f'them yours: `sudo chown -R "$USER" {place}`.',
        )
    return Check("git", "ok", f"no commit of {root}: {without}")


def nearest_existing(path: Path) -> Path:
    """The path, or else the nearest folder above it that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.0f} MiB"
