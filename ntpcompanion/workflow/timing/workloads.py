"""What `check --bench` times: short pieces of Python, in `book/records/bench/workloads.yml`."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.shapes import shaped
from ntpcompanion.workflow.base.yaml_files import read_yaml

FILE = "bench/workloads.yml"  # among the records
Code = Annotated[str, Field(min_length=1)]


class Workload(BaseModel):
    """What is timed: `statement`, after `setup` has run once, as of the module `timeit`; `about`
    says it in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    about: str
    setup: str = ""
    statement: Code


Workloads = dict[str, Workload]


def read_workloads(project: Project) -> Workloads:
    """The workloads by name. Raises WorkflowError for a file that is missing, empty, of another
    form, or whose code is not Python.
    """
    path = project.records / FILE
    if not path.is_file():
        raise WorkflowError(
            f"{path} does not exist: it names what `check --bench` times. Write there, for each "
            "workload, its name and below it `about`, `setup` and `statement`, which are Python."
        )
    workloads: Workloads = shaped(read_yaml(path), Workloads, str(path))
    if not workloads:
        raise WorkflowError(f"{path} names no workload. Add one.")
    for name, workload in workloads.items():
        for part in ("setup", "statement"):
            _require_python(getattr(workload, part), f"{path}: `{part}` of {name!r}")
    return workloads


def _require_python(code: str, where: str) -> None:
    try:
        compile(code, where, "exec")
    except (SyntaxError, ValueError) as error:
        raise WorkflowError(f"{where} is not Python: {error}. Fix it.") from error
