"""`show_record`: a recorded run in a notebook. Light, because every notebook that shows a record
depends on this file.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_sealed
from ntpcompanion.workflow.claims.measure import RECORD_MIME


def show_record(name: str) -> list[dict[str, Any]]:
    """Display where the banner of a record belongs, and return its results: `{"parameters",
    "result", "seconds"}` for each task.

    The banner itself (what, where, when, or that the record is outdated) is made when the page is
    built. Name the record in the notebook's front matter, `ntp: {records: [NAME]}`, so that a new
    record runs the notebook again.

    Raises
    ------
    WorkflowError
        No such record at or above the current folder, nor in the checkout of an imported package;
        or one that fails its checksum.
    """
    from IPython.display import display

    paths = (folder / "book" / "records" / f"{name}.json" for folder in _checkouts())
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise WorkflowError(
            f"`name` = {name!r}: no such record at or above {Path.cwd()}, nor in the checkout of "
            "an imported package. Change into the checkout (`%cd FOLDER` in a cell, or "
            "`papermill --cwd FOLDER`), or make the record there with `ntpcompanion record "
            f"{name}`."
        )
    results = read_sealed(path).get("results")
    if not isinstance(results, list):
        raise WorkflowError(
            f"{path} is no record: it holds no list of results. Make it again with `ntpcompanion "
            f"record {name}`."
        )
    text = f"Recorded run {name}: {len(results)} tasks"
    display(
        {RECORD_MIME: {"name": name}, "text/html": f"<p>{text}</p>", "text/plain": text}, raw=True
    )
    return results


def _checkouts() -> Iterator[Path]:
    """Folders that may be the checkout of the notebook: the current one and those above it, then
    those of the packages that were imported, the book's own before the workflow's.
    """
    here = Path.cwd()
    yield from (here, *here.parents)
    imported = {name: module for name, module in list(sys.modules.items()) if "." not in name}
    workflow = imported.pop(__name__.partition(".")[0])
    for module in (*imported.values(), workflow):
        if getattr(module, "__path__", None) and (file := getattr(module, "__file__", None)):
            above = Path(file).resolve().parents
            yield from above[1:3]  # a package lies in the checkout or in its `src`
