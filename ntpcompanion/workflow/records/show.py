"""`show_record`: a recorded run in a notebook. Light, because every notebook that shows a record
depends on this file.
"""

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
        No such record at or above the current folder, or one that fails its checksum.
    """
    from IPython.display import display

    here = Path.cwd()
    paths = [folder / "book" / "records" / f"{name}.json" for folder in (here, *here.parents)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise WorkflowError(
            f"`name` = {name!r}: no such record at or above {here}. Make it with `ntpcompanion "
            f"record {name}`."
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
