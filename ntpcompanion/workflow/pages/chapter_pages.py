"""From a stored run to the notebook that is a page: present prose, stored outputs, cards of present
verdicts.
"""

import copy
from collections.abc import Callable, Collection, Mapping

import nbformat

from ntpcompanion.settings import COLOURS
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.cells import (
    REMOVING,
    code_cells,
    is_injected,
    tags,
    written_cells,
)
from ntpcompanion.workflow.notebooks.notebook import insert_below_title
from ntpcompanion.workflow.pages.cards import Banner, Card, Ending, add_ending
from ntpcompanion.workflow.pages.figures import inline_figures, load_widgets
from ntpcompanion.workflow.pages.folds import gather_cards, hide_code
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, load_executed

HIDING = REMOVING | {"hide-output", "hide-cell"}  # tags that cost a card


def make_chapter(
    run: Run,
    result: Result,
    judged: Mapping[str, JudgedClaim],
    record: Callable[[str], Record],
    widgets: Collection[str],
) -> nbformat.NotebookNode:
    """The page that shows the stored outcome of a run."""
    ending, colours = Ending(run.notebook, result), run.project.settings.colours
    return make_page(ending, load_executed(run.executed), judged, record, widgets, colours)


def make_page(
    ending: Ending,
    executed: nbformat.NotebookNode,
    judged: Mapping[str, JudgedClaim],
    record: Callable[[str], Record],
    widgets: Collection[str] = (),
    colours: Mapping[str, str] = COLOURS,
) -> nbformat.NotebookNode:
    """Join the present text with the stored outputs, render cards and banners, fold the code, say
    below the title when the page was made and at its end how to repeat it.

    Needs no kernel. `ending` holds the text and the run; `judged` are the claims with what the run
    has measured; `record(name)` loads a record; `widgets` are the interactive figures that have a
    script, and `colours` those of figures as the settings name them. Making the page of a page
    changes nothing.
    """
    notebook, result = ending.notebook, ending.result
    page = copy.deepcopy(notebook.node)
    ran, defaults = written_cells(executed), code_cells(page)[0]
    if len(ran) != len(code_cells(page)):
        raise WorkflowError(
            f"{notebook.name}: {len(ran)} executed cells for {len(code_cells(page))} in the text. "
            "Run the notebook again."
        )
    for cell, stored in zip(code_cells(page), ran, strict=True):
        _check_shown(notebook.name, cell, stored)
        cell["outputs"] = [_drawn(output, result, judged, record) for output in stored.outputs]
        cell["execution_count"] = stored.execution_count
    load_widgets(page, widgets, notebook.name, colours)
    # the values that ran are those of the next cell, which a reader sees as a table
    below = page.cells.index(defaults) + 1
    page.cells[below:below] = [cell for cell in code_cells(executed) if is_injected(cell)]
    hide_code(page.cells)
    gather_cards(page.cells, judged)
    page.cells = add_ending(page.cells, ending)
    insert_below_title(page, fill("made.md", result), notebook.name)
    _finish(page, executed)
    inline_figures(page, colours)
    return page


def _finish(page: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> None:
    """Give a page the kernel of its run, and its cells their names."""
    page.metadata.pop("ntp", None)
    page.metadata["kernelspec"] = executed.metadata["kernelspec"]
    page.metadata["language_info"] = executed.metadata.get("language_info", {})
    for index, cell in enumerate(page.cells):
        cell["id"] = f"cell-{index:03d}"


def _check_shown(name: str, cell: nbformat.NotebookNode, source: nbformat.NotebookNode) -> None:
    """Raises WorkflowError where a tag would take a card off the page."""
    hiding = sorted(tags(cell) & HIDING)
    measured = [
        output["data"][MEASUREMENT_MIME]["id"]
        for output in source.outputs
        if MEASUREMENT_MIME in output.get("data", {})
    ]
    if hiding and measured:
        raise WorkflowError(
            f"Notebook {name!r}: the cell that measures {', '.join(measured)} is tagged "
            f"`{hiding[0]}`, and its cards would be missing on the page. Take the tag away: the "
            "page shows no code of such a cell."
        )


def _drawn(
    output: nbformat.NotebookNode,
    result: Result,
    judged: Mapping[str, JudgedClaim],
    record: Callable[[str], Record],
) -> nbformat.NotebookNode:
    output = copy.deepcopy(output)
    data = output.get("data", {})
    one = judged.get(data.get(MEASUREMENT_MIME, {}).get("id"))
    if one and one.measurement:
        records = [record(name) for name in one.measurement.records]
        data["text/html"] = fill("card.html", Card(one, one.measurement, result, records))
    elif RECORD_MIME in data:
        data["text/html"] = fill("record.html", Banner(record(data[RECORD_MIME]["name"])))
    return output
