"""What `doctor` examines: Python, packages and pins, one cell in a kernel, the machine."""

import platform
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import nbformat
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import ntpcompanion
from ntpcompanion.settings import FILE
from ntpcompanion.workflow.base.environment import clean_environment, package_parents, running
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import BROWSERS, Lifeline, find_browser, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.cells import code_cells
from ntpcompanion.workflow.running.start import Start, Surroundings
from ntpcompanion.workflow.site.render import require_jupyter_book_1

LIMIT = 60  # seconds for a program that is asked: several times what one takes from a cold disk
SHOWN = 12  # of many packages
IN_THE_KERNEL = "import importlib.util as u; spec = u.find_spec({!r}); print(spec and spec.origin)"
_ERROR = re.compile(r"^[\w.]+(?:Error|Exception): [^\n\"]*", re.MULTILINE)
# bytes: a book with its doctrees; several profiles, records and a browser besides
DISK_NEEDED, DISK_WANTED = 200 * 2**20, 2 * 2**30


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


def machine(project: Project) -> Iterator[Check]:
    yield judged("place", project.require_usable, f"{project.root} can be worked in")
    for folder in (project.build, Path(tempfile.gettempdir())):
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        yield check_disk(folder, shutil.disk_usage(existing).free)
    if browser := find_browser():
        yield Check("Chromium", "ok", browser)
    else:
        result = f"none on PATH as {', '.join(BROWSERS)}; tests of the built pages are skipped"
        yield Check("Chromium", "warning", result, "`make browser` gets one or says how.")


def check_disk(where: Path, free: int) -> Check:
    result = f"{free / 2**30:.1f} GiB free below {where}"
    if free >= DISK_WANTED:
        return Check("disk", "ok", result)
    fix = (
        "Free some space (`make clean` removes all that is generated), or point TMPDIR to another "
        "disk if it is the temporary one."
    )
    return Check("disk", "fault" if free < DISK_NEEDED else "warning", result, fix)


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
    file, settings = project.root / FILE, project.settings
    table = tomllib.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {}
    asked = table.get("project", {})
    yield check_python(platform.python_version(), asked.get("requires-python", ""))
    package = Path(ntpcompanion.__file__).parent
    yield (package_check := judged("ntpcompanion", project.require_own_package, str(package)))
    if package_check.state == "fault":
        return  # what the environment of another checkout holds must not be fixed from here
    extras, again = asked.get("optional-dependencies", {}), install(project)
    needed = [each for name in settings.extras for each in extras.get(name, [])]
    yield check_packages([*asked.get("dependencies", []), *needed], again)
    if settings.constraints and (pins := project.root / settings.constraints).is_file():
        yield check_pins(pins.read_text(encoding="utf-8-sig").splitlines(), pins.name, again)
    ended = run([sys.executable, "-m", "pip", "check"], limit=LIMIT)
    if ended.code:
        yield Check("pip check", "warning", "; ".join(ended.output.splitlines()[:SHOWN]), again)
    if (book := judged("Jupyter Book", require_jupyter_book_1, "")).state != "ok":
        yield book


def install(project: Project) -> str:
    """The sentence that says how to install all again, in the environment of this interpreter: that
    of another one is the usual reason for what is wrong.
    """
    settings = project.settings
    chosen = f"'.[{','.join(sorted(settings.extras))}]'" if settings.extras else "."
    pinned = f"-c {shlex.quote(settings.constraints)} " if settings.constraints else ""
    command = f"{shlex.quote(sys.executable)} -m pip install {pinned}-e {chosen}"
    return f"In the checkout: `{command}`, or remove .venv and `make book`."


def check_python(running: str, needed: str) -> Check:
    result = f"{running}, {sys.executable}"
    if SpecifierSet(needed).contains(running, prereleases=True):
        return Check("Python", "ok", result)
    fix = "Remove .venv and name another Python: `make PYTHON=python3.12 book`."
    return Check("Python", "fault", f"{result}; the project needs {needed}", fix)


def check_packages(required: Iterable[str], again: str) -> Check:
    """Every requirement is installed and in its range; `again` says how to install all."""
    pairs = _applying(required)
    faults = [
        f"{each.name} {result} (needs {each.specifier})" if result else f"{each.name} is missing"
        for each, result in pairs
        if not result or not each.specifier.contains(result, prereleases=True)
    ]
    if faults:
        return Check("packages", "fault", "; ".join(faults), again)
    return Check("packages", "ok", f"all {len(pairs)} installed, in the ranges of pyproject.toml")


def check_pins(lines: Iterable[str], file: str, again: str) -> Check:
    """Installed versions against the pins of the book. Which build of a version it is
    (`+cpu`) makes no difference.
    """
    pairs = _applying(text for line in lines if (text := line.partition("#")[0].strip()))
    differing = [
        f"{each.name} {result} ({str(each.specifier).removeprefix('==')})"
        for each, result in pairs
        if result and not each.specifier.contains(Version(result).public, prereleases=True)
    ]
    if not differing:
        return Check("pinned versions", "ok", f"the installed ones are those of {file}")
    more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    fix = (
        f"{again} Until then numbers may move within their bands, and results made with other "
        "versions are run again."
    )
    result = f"not those of {file}: {', '.join(differing[:SHOWN])}{more}"
    return Check("pinned versions", "warning", result, fix)


def _applying(texts: Iterable[str]) -> list[tuple[Requirement, str | None]]:
    asked = map(Requirement, texts)
    return [(r, _version_of(r.name)) for r in asked if not r.marker or r.marker.evaluate()]


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def kernel(project: Project) -> Iterator[Check]:
    """Run one cell as runs of notebooks do."""
    from ntpcompanion.workflow.running.papermill_run import run_notebook

    cell = nbformat.v4.new_code_cell(IN_THE_KERNEL.format(project.package.name))
    node = nbformat.v4.new_notebook(cells=[cell])
    import_path = (*map(str, package_parents(project)), *running())
    with tempfile.TemporaryDirectory(prefix="ntp-") as folder, Lifeline() as lifeline:
        start = Start(import_path, (), folder)
        around = Surroundings(clean_environment(project), (), (), fonts=Path(folder))
        try:
            ran = run_notebook(
                node, {}, start, around, limit=LIMIT, lifeline=lifeline, patience=LIMIT
            )
            failed, outputs = ran.failure and ran.failure[0], code_cells(ran.node)[0].outputs
        except WorkflowError as error:
            failed = "; ".join(_ERROR.findall(str(error))[-2:]) or str(error)
    if failed:
        yield Check("kernel", "fault", f"no cell could be run: {failed}", install(project))
    else:
        imported = "".join(part.text for part in outputs if part.get("name") == "stdout")
        yield check_kernel(imported.strip(), project.package)


def check_kernel(imported: str, package: Path) -> Check:
    """Whether a kernel would import the package of the book, and no other one of its name."""
    if Path(imported).parent.resolve() == package.resolve():
        return Check("kernel", "ok", f"starts, and imports {package.name} from here")
    result = f"it imports {package.name} from {imported}, not from {package}"
    fix = "Look at what PYTHONPATH and the .pth files put before the checkout."
    return Check("kernel", "fault", result, fix)
