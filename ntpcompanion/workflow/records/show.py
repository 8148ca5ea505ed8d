"""`show_record`: a recorded run in a notebook. Light, because every notebook that shows a record
depends on this file.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, overload

from ntpcompanion.recorded import Run
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_sealed
from ntpcompanion.workflow.claims.measure import RECORD_MIME
from ntpcompanion.workflow.sweeps.grid import require_every_task


class Record(Sequence[Any]):
    """The runs of a record, in the order of its plan: a `Run` with `plan`, `result` and `seconds`
    for each task, as its experiment has typed them.

    A run is read when it is asked for, by the experiment, which the notebook must have imported.
    """

    def __init__(self, name: str, experiment: str, tasks: Sequence[Mapping[str, Any]]) -> None:
        """The `tasks` of the record `name` as stored, made by `experiment`."""
        self.name, self._experiment, self._tasks = name, experiment, tasks

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Run[Any, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run[Any, Any]]: ...
    def __getitem__(self, index: int | slice) -> Run[Any, Any] | list[Run[Any, Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        task, kind = self._tasks[index], self._module()
        plan = kind.Plan.from_json(task["parameters"])
        return Run(plan, kind.Result.from_json(task["result"]), task["seconds"])

    def _module(self) -> ModuleType:
        for name, module in list(sys.modules.items()):
            if name.rpartition(".")[2] == self._experiment and hasattr(module, "Result"):
                return module
        raise WorkflowError(
            f"The record {self.name!r} holds results of the experiment {self._experiment!r}, which "
            "is not imported: import it before the record is read."
        )


def show_record(name: str) -> Record:
    """Display where the banner of a record belongs, which a build fills, and return its runs, each
    with its `plan`, its `result` and the `seconds` that it took. Name the record in the notebook's
    front matter, `ntp: {records: [NAME]}`, so that a new record runs the notebook again.

    Raises WorkflowError for no such record at or above the current folder or, outside of a
    checkout, in that of an imported package; for one that fails its checksum, or that does not hold
    the tasks of its plan.
    """
    from IPython.display import display

    folders = _folders()
    path = next((f / f"{name}.json" for f in folders if (f / f"{name}.json").is_file()), None)
    if path is None:
        looked = " or ".join(map(str, folders)) or f"a folder book/records at or above {Path.cwd()}"
        raise WorkflowError(
            f"`name` = {name!r}: no such record in {looked}. Make it with `ntpcompanion record "
            f"{name}`, or change into the checkout that has it (`%cd FOLDER` in a first cell, or "
            "`papermill --cwd FOLDER`)."
        )
    data = read_sealed(path)
    results, plan = data.get("results"), data.get("plan")
    if not isinstance(results, list) or not isinstance(plan, dict):
        raise WorkflowError(
            f"{path} is not a record: it holds no list of results, or not their plan. Make it "
            f"again with `ntpcompanion record {name}`."
        )
    require_every_task(path, plan, results)
    text = f"Recorded run {name}: {len(results)} tasks"
    display(
        {RECORD_MIME: {"name": name}, "text/html": f"<p>{text}</p>", "text/plain": text}, raw=True
    )
    return Record(name, str(plan.get("experiment")), results)


def _folders() -> list[Path]:
    """The folders of records at or above the current one; where there is none, those beside the
    packages that were imported, the book's own before the workflow's.
    """
    current = Path.cwd()
    if above := _existing(current, *current.parents):
        return above
    imported = {name: module for name, module in list(sys.modules.items()) if "." not in name}
    workflow = imported.pop(__name__.partition(".")[0])
    files = [
        Path(file).resolve()
        for module in (*imported.values(), workflow)
        if getattr(module, "__path__", None) and (file := getattr(module, "__file__", None))
    ]
    # a package lies in the checkout or in its `src`
    return _existing(*(folder for file in files for folder in file.parents[1:3]))


def _existing(*checkouts: Path) -> list[Path]:
    folders = (checkout / "book" / "records" for checkout in dict.fromkeys(checkouts))
    return [folder for folder in folders if folder.is_dir()]
