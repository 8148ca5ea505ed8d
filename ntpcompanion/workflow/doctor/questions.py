"""What `doctor` asks other programs: a kernel, torch and a browser, each in a process of its own.
None may take longer than `LIMIT`.
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import psutil

from ntpcompanion.workflow.base.errors import plain
from ntpcompanion.workflow.base.messages import heard
from ntpcompanion.workflow.base.processes import clean_environment, folders
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor.machine import BROWSERS
from ntpcompanion.workflow.notebooks.cells import code_cells

# seconds for a kernel, torch or a browser: several times what they take from a cold disk
LIMIT = 60
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
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_properties(i) for i in range(count)]
print(json.dumps({
    "version": torch.__version__, "threads": torch.get_num_threads(),
    "cuda": torch.version.cuda, "gpus": [(gpu.name, gpu.total_memory) for gpu in gpus],
    "said": " ".join(str(each.message) for each in caught if "CUDA" in str(each.message)),
}))
"""


def ask_kernel(project: Project) -> dict[str, str | None]:
    """Run one cell as runs of notebooks do, in a worker: the `interpreter` and the origin of the
    `package` there, or why it `failed`.
    """
    cell = nbformat.v4.new_code_cell(IN_THE_KERNEL.format(name=project.package.name))
    notebook = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    with tempfile.TemporaryDirectory(prefix="ntp-") as folder:
        job, output = Path(folder, "job.json"), Path(folder, "executed.ipynb")
        facts = {
            "notebook": notebook,
            "parameters": {},
            "root": str(project.root),
            "watched": folders(project),
            "cell_timeout": LIMIT,
            "output": str(output),
        }
        job.write_text(json.dumps(facts), encoding="utf-8")
        said = _worker(job, project)
        if not output.is_file():
            return {"failed": said}
        (cell,) = code_cells(nbformat.read(output, as_version=4))
    return json.loads("".join(part.text for part in cell.outputs if part.get("name") == "stdout"))


def ask_torch(root: Path) -> dict:
    """Version, threads, CUDA and GPUs as torch sees them in a process of its own (this one never
    imports it), or why it `failed`.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", IN_TORCH],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            cwd=root,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {LIMIT} s"}
    return (
        json.loads(done.stdout)
        if done.returncode == 0
        else {"failed": _reason(done.stderr) or f"code {done.returncode}"}
    )


def find_browser() -> str | None:
    """The path of a browser that can read the built pages, None if there is none on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def ask_version(browser: str) -> str:
    """What a browser says of itself, nothing on Windows. Raises OSError if it does not start."""
    if sys.platform == "win32":
        return ""  # there `chrome --version` opens a window and says nothing
    try:
        done = subprocess.run([browser, "--version"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise OSError(f"no answer within {LIMIT} s") from None
    if done.returncode:
        raise OSError(_reason(done.stderr) or f"code {done.returncode}")
    return done.stdout.strip()


def _worker(job: Path, project: Project) -> str:
    """Start a worker whose temporary folder is that of its job, wait for its end, and return in a
    line why it failed, if it did.
    """
    log = job.with_name("log.txt")  # a file: a kernel that does not end would keep a pipe open
    with log.open("w") as file, subprocess.Popen(
        [sys.executable, "-m", "ntpcompanion.workflow.running.worker", str(job)],
        stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
        env={**clean_environment(project), "TMPDIR": str(job.parent)},
    ) as process:  # fmt: skip
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"no answer within {LIMIT} s"
    said = log.read_text(encoding="utf-8", errors="replace")
    # not `splitlines`, which takes the first character of a message for the end of a line
    failed = [
        message["failed"]["error"]
        for line in said.split("\n")
        if (message := heard(line)) and "failed" in message
    ]
    return failed[0] if failed else _reason(said)


def _end(worker: subprocess.Popen) -> None:
    """Kill a worker and what it started. What they leave lies below the temporary folder that they
    were given.
    """
    process = psutil.Process(worker.pid)
    process.suspend()  # so that it starts nothing between the look and the end
    for each in (*process.children(recursive=True), process):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def _reason(text: str) -> str:
    """The lines of a log that name an exception, of several the last two (a kernel's and its
    client's); else the last line.
    """
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    return "; ".join(dict.fromkeys(named[-2:] or lines[-1:]))[:300]
