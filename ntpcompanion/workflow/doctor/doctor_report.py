"""What `doctor` finds and shows: Python, packages and pins, one cell in a kernel, the machine."""

import platform
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import nbformat
import psutil
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import ntpcompanion
from ntpcompanion.settings import FILE
from ntpcompanion.workflow.base.browser import BROWSERS, find_browser
from ntpcompanion.workflow.base.environment import clean_environment, package_parents, running
from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.cells import code_cells
from ntpcompanion.workflow.running.job import Job, socket_folder
from ntpcompanion.workflow.site.render import require_jupyter_book_1

LIMIT = 60  # seconds for a program that is asked: several times what one takes from a cold disk
SHOWN = 12  # of many packages
IN_THE_KERNEL = "import importlib.util as u; spec = u.find_spec({!r}); print(spec and spec.origin)"
GIB = 2**30
# bytes: a book with its doctrees; several profiles, records and a browser besides
DISK_NEEDED, DISK_WANTED = 200 * 2**20, 2 * GIB
MEMORY_WANTED = 4 * GIB  # bytes: two notebooks at once and the rendering, with room to spare


@dataclass(frozen=True)
class Check:
    """One line of the report. A warning leaves the book buildable, a fault does not; `fix` says
    what to do about either.
    """

    name: str
    state: Literal["ok", "warning", "fault"]
    result: str
    fix: str = ""


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds."""
    done: list[Check] = []
    for part in (packages, kernel, machine):
        try:
            for check in part(project):
                done.append(check)
        except Exception as error:  # a doctor that falls over says nothing about the rest
            result = f"could not be examined further: {type(error).__name__}: {error}"
            fix = "Fix what this names, or report it with the whole of this output."
            done.append(Check(part.__name__, "fault", result, fix))
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


def judged(name: str, require: Callable[[], object], fine: str) -> Check:
    """A fault where `require` raises a WorkflowError, whose last sentence says how to fix it."""
    try:
        require()
    except WorkflowError as error:
        result, _, fix = str(error).rpartition(". ")
        return Check(name, "fault", result, fix)
    return Check(name, "ok", fine)


def packages(project: Project) -> Iterator[Check]:
    """Python, the sources that this command runs, requirements, and pins."""
    # pyproject.toml, not the metadata of the installed package: pip wrote those before the last
    # `git pull`
    file = project.root / FILE
    table = tomllib.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {}
    asked, constraints = table.get("project", {}), project.settings.constraints
    extras = asked.get("optional-dependencies", {})
    again = install(project.settings.extras, constraints)
    yield check_python(platform.python_version(), asked.get("requires-python", ""))
    package = Path(ntpcompanion.__file__).parent
    yield (package_check := judged("ntpcompanion", project.require_own_package, str(package)))
    if package_check.state == "fault":
        return  # what the environment of another checkout holds must not be fixed from here
    needed = (extras.get(name, []) for name in project.settings.extras)
    yield check_packages(
        [*asked.get("dependencies", []), *(each for n in needed for each in n)], again
    )
    pins = project.root / constraints if constraints else None
    if pins and pins.is_file():
        yield check_pins(pins.read_text(encoding="utf-8-sig").splitlines(), pins.name, again)
    for each in filter(None, (file, pins)):
        if not each.is_file():
            result = f"not in {project.root}: what is installed was not compared with it"
            yield Check(each.name, "warning", result, "Restore it, if the book has had one.")
    ended = run([sys.executable, "-m", "pip", "check"], limit=LIMIT)
    if ended.code:
        yield Check("pip check", "warning", "; ".join(ended.output.splitlines()[:SHOWN]), again)
    if (book := judged("Jupyter Book", require_jupyter_book_1, "")).state != "ok":
        yield book


def install(extras: Iterable[str], constraints: str | None, packages: str = "") -> str:
    """The sentence that says how to install a thing (or all) again, in the environment of this
    interpreter: that of another one is the usual reason for what is wrong.
    """
    chosen = f"'.[{','.join(sorted(extras))}]'" if extras else "."
    pinned = f"-c {shlex.quote(constraints)} " if constraints else ""
    command = f"{shlex.quote(sys.executable)} -m pip install {pinned}{packages or f'-e {chosen}'}"
    return f"In the checkout: `{command}`, or remove .venv and `make book`."


def check_python(running: str, needed: str) -> Check:
    """The version of the interpreter against `requires-python`."""
    result = f"{running}, {sys.executable}"
    if SpecifierSet(needed).contains(running, prereleases=True):
        return Check("Python", "ok", result)
    fix = "Remove .venv and name another Python: `make PYTHON=python3.12 book`."
    return Check("Python", "fault", f"{result}; the project needs {needed}", fix)


def check_packages(required: Iterable[str], again: str) -> Check:
    """Every requirement is installed and in its range; `again` says how to install all."""
    asked = _applying(required)
    pairs = [(each, _version_of(each.name)) for each in asked]
    faults = [
        f"{each.name} {result} (needs {each.specifier})" if result else f"{each.name} is missing"
        for each, result in pairs
        if not result or not each.specifier.contains(result, prereleases=True)
    ]
    if faults:
        return Check("packages", "fault", "; ".join(faults), again)
    return Check("packages", "ok", f"all {len(asked)} installed, in the ranges of pyproject.toml")


def check_pins(lines: Iterable[str], file: str, again: str) -> Check:
    """Installed versions against the pins of the book. Which build of a version it is
    (`+cpu`) makes no difference.
    """
    pins = _applying(text for line in lines if (text := line.partition("#")[0].strip()))
    pairs = [(each, result) for each in pins if (result := _version_of(each.name))]
    differing = [
        f"{each.name} {result} ({str(each.specifier).removeprefix('==')})"
        for each, result in pairs
        if not each.specifier.contains(Version(result).public, prereleases=True)
    ]
    if not differing:
        fine = f"the {len(pairs)} installed ones are those of {file}"
        return Check("pinned versions", "ok", fine)
    more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    fix = (
        f"{again} Until then numbers may move within their bands, and results made with other "
        "versions are run again."
    )
    result = f"not those of {file}: {', '.join(differing[:SHOWN])}{more}"
    return Check("pinned versions", "warning", result, fix)


def kernel(project: Project) -> Iterator[Check]:
    """Run one cell as runs of notebooks do, in a worker."""
    again = install((), project.settings.constraints, "--force-reinstall --no-deps ipykernel")
    cell = nbformat.v4.new_code_cell(IN_THE_KERNEL.format(project.package.name))
    # what a worker that is given up leaves lies below its temporary folder
    with tempfile.TemporaryDirectory(prefix="ntp-") as folder, socket_folder() as sockets:
        output, own_package = Path(folder, "executed.ipynb"), Path(folder, "run")
        own_package.mkdir()
        job = Job(
            notebook=nbformat.writes(nbformat.v4.new_notebook(cells=[cell])), parameters={},
            folder=str(own_package), import_path=[*map(str, package_parents(project)), *running()],
            readable=[], fonts=str(own_package), cell_timeout=LIMIT, output=str(output),
            sockets=sockets,
        )  # fmt: skip
        environment = {**clean_environment(project), "TMPDIR": folder}
        try:
            ended = run(job.write(Path(folder, "job.json")), environment=environment, limit=LIMIT)
            message = plain(ended.output + ended.errors).replace("\\n", "\n").strip()
            named = re.findall(r"^[\w.]+(?:Error|Exception): [^\n\"]*", message, re.MULTILINE)
            failed = "; ".join(dict.fromkeys(named[-2:])) or message[-300:]
        except TimeoutError as error:
            failed = str(error)
        cells = code_cells(nbformat.read(output, as_version=4)) if output.is_file() else []
    if not cells:
        yield Check("kernel", "fault", f"no cell could be run: {failed}", again)
        return
    imported = "".join(part.text for part in cells[0].outputs if part.get("name") == "stdout")
    yield check_kernel(imported.strip(), project.package)


def check_kernel(imported: str, package: Path) -> Check:
    """Whether a kernel would import the package of the book, and no other one of its name."""
    if Path(imported).parent.resolve() == package.resolve():
        return Check("kernel", "ok", f"starts, and imports {package.name} from here")
    result = f"it imports {package.name} from {imported}, not from {package}"
    fix = "Look at what PYTHONPATH and the .pth files put before the checkout."
    return Check("kernel", "fault", result, fix)


def _applying(texts: Iterable[str]) -> list[Requirement]:
    asked = map(Requirement, texts)
    return [each for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
