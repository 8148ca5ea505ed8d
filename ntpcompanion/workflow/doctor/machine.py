"""What `doctor` thinks of a machine: folders, disk, memory, processor, GPU and browser. Each check
judges the facts it is given.
"""

import os
import shlex
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock, Timeout

from ntpcompanion.workflow.base.browser import BROWSERS
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.doctor.environment_checks import Check, Install, TorchAnswer

GIB = 2**30
# bytes: a book with its doctrees; several profiles, records and a browser besides
DISK_NEEDED, DISK_WANTED = 200 * 2**20, 2 * GIB
MEMORY_WANTED = 4 * GIB  # bytes: two notebooks at once and the rendering, with room to spare


def check_writing(root: Path, folders: Iterable[Path]) -> Check:
    """Every folder that runs and builds write to, or the place where it will be made, can be
    written.
    """
    rejections = {folder.relative_to(root).as_posix(): _refusal(folder) for folder in folders}
    rejected = [f"{folder} ({reason})" for folder, reason in rejections.items() if reason]
    if not rejected:
        return Check("write access", "ok", ", ".join(rejections))
    fix = (
        f'After a run with sudo: `sudo chown -R "$USER" {shlex.quote(str(root))}`. '
        "Else copy the checkout to where you may write."
    )
    return Check("write access", "fault", f"in {root} rejected: {', '.join(rejected)}", fix)


def check_disk(where: Path, free: int) -> Check:
    """Bytes that are free for files below a folder."""
    name, description = "disk", f"{_size(free)} free below {where}"
    if free >= DISK_WANTED:
        return Check(name, "ok", description)
    fix = (
        "Free some space (`make clean` removes all that is generated), or point TMPDIR to another "
        "disk if it is the temporary one."
    )
    return Check(name, "fault" if free < DISK_NEEDED else "warning", description, fix)


def check_memory(available: int, total: int) -> Check:
    """Bytes of memory that programs may still take."""
    description = f"{_size(available)} available of {_size(total)}"
    if available >= MEMORY_WANTED:
        return Check("memory", "ok", description)
    return Check(
        "memory",
        "warning",
        description,
        "Close other programs, or run one notebook at a time: `--jobs 1`.",
    )


def check_torch(answer: TorchAnswer, install: Install) -> Check:
    """Whether torch can be imported at all, in a process of its own."""
    if answer.failed is not None:
        return Check(
            "torch",
            "fault",
            f"cannot be imported: {answer.failed}",
            install("--force-reinstall torch"),
        )
    return Check("torch", "ok", answer.version)


def check_threads(threads: int, cores: int) -> Check:
    """The threads that torch starts when nobody tells it, against the cores this process may
    use.
    """
    description = (
        f"torch alone would use {threads} on {cores} core{'s' * (cores != 1)}; each notebook is "
        "given 1"
    )
    if threads <= cores:
        return Check("threads", "ok", description)
    fix = (
        f"Unset OMP_NUM_THREADS and MKL_NUM_THREADS, or set them to at most {cores}. Only what you "
        "run outside of notebooks is slowed."
    )
    return Check("threads", "warning", description, fix)


def check_gpu(answer: TorchAnswer, card: str | None, visible: str | None) -> Check:
    """What torch sees (`answer`), what the driver reports (`card`), and the value of
    CUDA_VISIBLE_DEVICES (`visible`).
    """
    if answer.gpus:
        return Check(
            "GPU", "ok", ", ".join(f"{name} ({_size(memory)})" for name, memory in answer.gpus)
        )
    if card is None:
        return Check("GPU", "ok", "none; nothing in the book profile needs one")
    if answer.failed is not None:
        fix = "Fix torch first. Nothing in the book profile needs a GPU."
    elif not answer.cuda:
        fix = (
            "This torch is built for CPUs only; https://pytorch.org/get-started/locally has the "
            "command for CUDA. The book needs no GPU."
        )
    elif visible is not None:
        fix = f"CUDA_VISIBLE_DEVICES is {visible!r}: unset it, if the GPU should not be hidden."
    else:
        fix = (
            f"{answer.said or 'torch does not say why.'} Update the driver, or install a torch "
            f"for an older CUDA than {answer.cuda}."
        )
    return Check("GPU", "warning", f"the driver reports {card}, torch sees none", fix)


def check_chromium(path: str | None, ask: Callable[[str], str]) -> Check:
    """The browser at `path`, which `ask` makes tell its version (or nothing); it raises OSError if
    that one does not start.
    """
    try:
        if path:
            return Check(
                "Chromium",
                "ok",
                ", ".join(filter(None, [ask(path).partition(" built on ")[0], path])),
            )
        description = (
            f"none on PATH as {', '.join(BROWSERS)}; the tests that read the built pages are "
            "skipped"
        )
    except OSError as error:
        description = f"{path} does not start: {error}"
    fix = (  # in the words of `make browser`
        "Debian: `sudo apt-get install chromium`. Ubuntu: `sudo snap install chromium`. macOS: a "
        "script named chrome that starts "
        "the program inside Google Chrome.app. Elsewhere: chromium, google-chrome or chrome on "
        "PATH."
    )
    return Check("Chromium", "warning", description, fix)


def check_locks(build: Path) -> Check:
    """Whether another run, build or record holds a lock in this folder."""
    held = [
        path.name.removeprefix(".").removesuffix(".lock")
        for path in sorted(build.glob(".*.lock"))
        if _is_held(path)
    ]
    if not held:
        return Check("other runs", "ok", "none in this folder")
    fix = (
        "Nothing to fix: a second run waits for the first. If none should be there, look for a "
        "process named ntpcompanion."
    )
    return Check(
        "other runs", "warning", f"another ntpcompanion is at work: {', '.join(held)}", fix
    )


def check_place(require: Callable[[], None]) -> Check:
    """Whether the folders of a project can be worked in; `require` raises WorkflowError if not."""
    try:
        require()
    except WorkflowError as error:
        reason, _, advice = str(error).rpartition(". ")
        return Check("place", "fault", reason, advice)
    return Check("place", "ok", "a folder of its own, whose name every program takes")


def check_git(root: Path, ask: Callable[[Path], tuple[int, str]]) -> Check:
    """Whether git reads the repository of a folder: pages name the commits of their sources."""
    without = "pages and the history name no commit"
    try:
        code, answer = ask(root)
    except OSError as error:
        reason = error.strerror or error
        return Check("git", "warning", f"{reason}: {without}", "Install it, if they should.")
    if not code:
        return Check("git", "ok", f"commit {answer}")
    if "dubious ownership" in answer or "unsafe repository" in answer:
        place = shlex.quote(str(root))
        return Check(
            "git",
            "warning",
            f"rejects {root}, because another user owns it: {without}",
            f"If you trust its files: `git config --global --add safe.directory {place}`. Or make "
            f'them yours: `sudo chown -R "$USER" {place}`.',
        )
    return Check("git", "ok", f"no commit of {root}: {without}")


def _refusal(folder: Path) -> str:
    place = nearest_existing(folder)
    try:
        # has no name, so that nothing is left even after a kill
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
        closed = [
            path.name
            for path in folder.glob("*")
            if path.is_dir() and not os.access(path, os.W_OK | os.X_OK)
        ]
    except OSError as error:
        return str(error.strerror or error).lower() + (
            "" if place == folder else f" to make it in {place.name}"
        )
    return f"permission denied in its {', '.join(closed)}" if closed else ""


def nearest_existing(folder: Path) -> Path:
    """The folder, or else the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # one that may not be opened: write access is a check of its own
        return False


def _size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.0f} MiB"
