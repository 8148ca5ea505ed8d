"""What `doctor` asks other programs: a kernel, torch and a browser, each in a process of its own.
None may take longer than `LIMIT`.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.environment import clean_environment, package_parents, running
from ntpcompanion.workflow.base.errors import plain
from ntpcompanion.workflow.base.git import git
from ntpcompanion.workflow.base.messages import Failed, heard
from ntpcompanion.workflow.base.processes import Ended, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor.environment_checks import KernelAnswer, TorchAnswer
from ntpcompanion.workflow.notebooks.cells import code_cells
from ntpcompanion.workflow.running.job import Job

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


def ask_kernel(project: Project) -> KernelAnswer:
    """Run one cell as runs of notebooks do, in a worker."""
    cell = nbformat.v4.new_code_cell(IN_THE_KERNEL.format(name=project.package.name))
    # what a worker that is given up leaves lies below its temporary folder
    with tempfile.TemporaryDirectory(prefix="ntp-") as folder:
        output, run_folder = Path(folder, "executed.ipynb"), Path(folder, "run")
        run_folder.mkdir()
        job = Job(
            notebook=nbformat.writes(nbformat.v4.new_notebook(cells=[cell])),
            parameters={},
            folder=str(run_folder),
            import_path=[*map(str, package_parents(project)), *running()],
            readable=[],
            fonts=str(run_folder),
            cell_timeout=LIMIT,
            output=str(output),
        )
        environment = {**clean_environment(project), "TMPDIR": folder}
        try:
            ended = run(job.write(Path(folder, "job.json")), environment=environment, limit=LIMIT)
        except TimeoutError as error:
            return KernelAnswer(failed=str(error))
        if not output.is_file():
            return KernelAnswer(failed=_why_a_worker_failed(ended))
        (cell,) = code_cells(nbformat.read(output, as_version=4))
    printed = "".join(part.text for part in cell.outputs if part.get("name") == "stdout")
    return KernelAnswer(**json.loads(printed))


def ask_torch(root: Path) -> TorchAnswer:
    """Import torch in a process of its own; this one never does."""
    try:
        ended = run([sys.executable, "-c", IN_TORCH], folder=root, limit=LIMIT)
    except TimeoutError as error:
        return TorchAnswer(failed=str(error))
    if ended.code:
        return TorchAnswer(failed=_reason(ended.errors) or f"code {ended.code}")
    answer = json.loads(ended.output)
    return TorchAnswer(**{**answer, "gpus": tuple(map(tuple, answer["gpus"]))})


def ask_version(browser: str) -> str:
    """What a browser says of itself, nothing on Windows. Raises OSError if it does not start."""
    if sys.platform == "win32":
        return ""  # there `chrome --version` opens a window and says nothing
    ended = run([browser, "--version"], limit=LIMIT)
    if ended.code:
        raise OSError(_reason(ended.errors) or f"code {ended.code}")
    return ended.output.strip()


def _why_a_worker_failed(ended: Ended) -> str:
    # not `splitlines`, which takes the first character of a message for the end of a line
    messages = map(heard, ended.output.split("\n"))
    failed = [message.error for message in messages if isinstance(message, Failed)]
    return failed[0] if failed else _reason(ended.output + ended.errors)


def _reason(text: str) -> str:
    """The lines of a log that name an exception, of several the last two (a kernel's and its
    client's); else the last line.
    """
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    return "; ".join(dict.fromkeys(named[-2:] or lines[-1:]))[:300]


def ask_git(root: Path) -> tuple[int, str]:
    """The exit code of git in the folder of a project, and what it says there: the commit, or why
    it names none. Raises OSError without git.
    """
    ended = git(root, "rev-parse", "--short=12", "HEAD", limit=LIMIT)
    return ended.code, (ended.errors if ended.code else ended.output).strip()
