"""The facts that `environment` and `machine` judge, and the whole of it: `examine` is what `ntpcompanion doctor` shows."""

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
import psutil

import ntpcompanion
from ntpcompanion.workflow import environment, machine
from ntpcompanion.workflow.cells import code_cells
from ntpcompanion.workflow.environment import Check
from ntpcompanion.workflow.errors import plain
from ntpcompanion.workflow.messages import heard
from ntpcompanion.workflow.project import ONE_THREAD, Project
from ntpcompanion.workflow.provenance import hardware
from ntpcompanion.workflow.render import require_jupyter_book_1

LIMIT = 60  # seconds for a kernel, torch or a browser: several times what they take from a cold disk
IN_THE_KERNEL = """
import importlib.util, json, sys
spec = importlib.util.find_spec({name!r})
print(json.dumps({{"interpreter": sys.executable, "package": spec and spec.origin}}))
"""
IN_TORCH = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import torch
    gpus = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
print(json.dumps({
    "version": torch.__version__, "threads": torch.get_num_threads(),
    "cuda": torch.version.cuda, "gpus": [(gpu.name, gpu.total_memory) for gpu in gpus],
    "said": " ".join(str(each.message) for each in caught if "CUDA" in str(each.message)),
}))
"""


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds: what is slow runs at the same time."""
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
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)  # paths and commands can be copied
    fill.initial_indent, fill.subsequent_indent = head, " " * len(head)
    lines = fill.wrap(check.found)
    fill.initial_indent = fill.subsequent_indent = indent
    return "\n".join(lines + fill.wrap(check.mend))


def ask_kernel(project: Project) -> dict[str, str | None]:
    """Run one cell as runs of notebooks do, in a worker: the `interpreter` and the origin of the `package` there, or why it `failed`."""
    cell = nbformat.v4.new_code_cell(IN_THE_KERNEL.format(name=project.package.name))
    notebook = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    with tempfile.TemporaryDirectory(prefix="ntp-") as folder:
        job, output = Path(folder, "job.json"), Path(folder, "executed.ipynb")
        facts = {"notebook": notebook, "parameters": {}, "root": str(project.root), "cell_timeout": LIMIT, "output": str(output)}
        job.write_text(json.dumps(facts), encoding="utf-8")
        said = _worker(job, project)
        if not output.is_file():
            return {"failed": said}
        (cell,) = code_cells(nbformat.read(output, as_version=4))
    return json.loads("".join(part.text for part in cell.outputs if part.get("name") == "stdout"))


def ask_torch(root: Path) -> dict:
    """Version, threads, CUDA and GPUs as torch sees them in a process of its own (this one never imports it), or why it `failed`."""
    try:
        done = subprocess.run([sys.executable, "-c", IN_TORCH], capture_output=True, text=True, timeout=LIMIT, cwd=root)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {LIMIT} s"}
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": _reason(done.stderr) or f"code {done.returncode}"}


def ask_version(browser: str) -> str:
    """What a browser says of itself. Raises OSError if it does not start."""
    try:
        done = subprocess.run([browser, "--version"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise OSError(f"no answer within {LIMIT} s") from None
    if done.returncode:
        raise OSError(_reason(done.stderr) or f"code {done.returncode}")
    return done.stdout.strip()


def version_of(name: str) -> str | None:
    """The installed version of a distribution, None if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages(root: Path) -> Iterator[Check]:
    # pyproject.toml, not the metadata of the installed package: pip wrote those before the last `git pull`
    asked, pins = root / "pyproject.toml", root / "constraints.txt"
    project = tomllib.loads(asked.read_text(encoding="utf-8"))["project"] if asked.is_file() else {}
    yield environment.check_python(platform.python_version(), project.get("requires-python", ""))
    yield (package := environment.check_package(Path(ntpcompanion.__file__).parent, root))
    if package.state == "fault":
        return  # what the environment of another checkout holds says nothing about this one, and must not be mended from here
    if project:
        for extra, required in {"": project.get("dependencies", []), **project.get("optional-dependencies", {})}.items():
            yield environment.check_packages(extra, required, version_of)
    if pins.is_file():
        yield environment.check_pins(pins.read_text(encoding="utf-8").splitlines(), version_of)
    for file in (asked, pins):
        if not file.is_file():
            yield Check(file.name, "warning", f"not in {root}: what is installed was not compared with it", "Restore it from git.")


def _rendering() -> Iterator[Check]:
    yield environment.check_jupyter_book(require_jupyter_book_1, version_of)
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    yield environment.check_mathjax(Path(spec.origin).parent if spec and spec.origin else None)


def _kernels(project: Project) -> Iterator[Check]:
    yield environment.check_kernel(ask_kernel(project), sys.executable, project.package)
    from jupyter_client.kernelspec import KernelSpecManager  # here: it takes longer to import than most commands to run

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
        found = environment.check_kernelspec(spec.argv, spec.resource_dir, sys.executable)
    except Exception as error:  # a file of the user's, in whatever state it is
        mend = "`jupyter kernelspec list` shows where it is: remove that folder. Results and pages are not concerned."
        found = Check("kernel of Jupyter", "warning", f"the kernelspec `python3` cannot be read: {error}", mend)
    yield found


def _torch(root: Path) -> Iterator[Check]:
    answer, here = ask_torch(root), hardware()
    yield machine.check_torch(answer)
    if "failed" not in answer:
        yield machine.check_threads(answer["threads"], here["cores"])
    yield machine.check_gpu(answer, here.get("gpu"), os.environ.get("CUDA_VISIBLE_DEVICES"))


def _chromium() -> Iterator[Check]:
    yield machine.check_chromium(next(filter(None, map(shutil.which, machine.BROWSERS)), None), ask_version)


def _folders(project: Project) -> Iterator[Check]:
    written = (project.build, project.runs("book"), project.records, project.baseline("book").parent)
    yield machine.check_writing(project.root, written)
    for folder in (project.build, Path(tempfile.gettempdir())):
        yield machine.check_disk(folder, shutil.disk_usage(machine.nearest_existing(folder)).free)
    memory = psutil.virtual_memory()
    yield machine.check_memory(memory.available, memory.total)
    yield machine.check_locks(project.build)


def _guarded(name: str, part: Callable[[], Iterator[Check]]) -> list[Check]:
    """The checks of a part up to the one that met what nobody foresaw, which becomes a fault of its own."""
    done: list[Check] = []
    try:
        for check in part():
            done.append(check)
    except Exception as error:  # a doctor that falls over says nothing about the rest
        mend = "Mend what this names. If it makes no sense to you, report it with the whole of this output."
        done.append(Check(name, "fault", f"could not be examined further: {type(error).__name__}: {error}", mend))
    return done


def _worker(job: Path, project: Project) -> str:
    """Start a worker, wait for its end, and return in a line why it failed, if it did."""
    path = os.pathsep.join(filter(None, [str(project.package.parent), os.environ.get("PYTHONPATH")]))
    log = job.with_name("log.txt")  # a file: a kernel that does not end would keep a pipe open
    with log.open("w") as file, subprocess.Popen(
        [sys.executable, "-m", "ntpcompanion.workflow.worker", str(job)], stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
    ) as process:  # fmt: skip
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"no answer within {LIMIT} s"
    said = log.read_text(encoding="utf-8", errors="replace")
    failed = [message["failed"]["error"] for line in said.splitlines() if (message := heard(line)) and "failed" in message]
    return failed[0] if failed else _reason(said)


def _end(worker: subprocess.Popen) -> None:
    for child in psutil.Process(worker.pid).children(recursive=True):
        child.kill()
    try:
        worker.wait(10.0)  # without its kernel it tidies up and ends
    except subprocess.TimeoutExpired:
        worker.kill()


def _reason(text: str) -> str:
    """The lines of a log that name an exception, of several the last two (a kernel's and its client's); else the last line."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    return "; ".join(dict.fromkeys(named[-2:] or lines[-1:]))[:300]
