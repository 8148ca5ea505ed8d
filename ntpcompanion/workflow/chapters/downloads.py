"""The files that a chapter offers: its notebook with outputs, and its source."""

import copy

import nbformat

from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.chapters.figures import NARROW_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected, written_cells
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.running.results import as_run

FOLDER = "_files"  # beside the chapters; no page, as its name begins with an underscore


def downloads(notebook: Notebook, executed: nbformat.NotebookNode) -> dict[str, str]:
    """The content of each file by its name."""
    return {
        f"{notebook.name}.ipynb": nbformat.writes(with_outputs(notebook, executed)) + "\n",
        f"{notebook.name}.md": read_text(notebook.path),
    }


def with_outputs(notebook: Notebook, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook as JupyterLab shows it after a run: all of its code, nothing that only a page
    has.
    """
    node = copy.deepcopy(notebook.node)
    for cell, ran in zip(code_cells(node), written_cells(executed), strict=True):
        cell["outputs"] = [_plain(output) for output in ran.outputs]
        cell["execution_count"] = ran.execution_count
    below = node.cells.index(code_cells(node)[0]) + 1
    for cell in filter(is_injected, code_cells(executed)):
        node.cells.insert(
            below, nbformat.v4.new_code_cell(cell.source, execution_count=cell.execution_count)
        )
    finish(node, executed)
    return node


def finish(node: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> None:
    """Give a notebook that is made of a run the kernel of that, and its cells their names."""
    node.metadata.pop("ntp", None)
    node.metadata["kernelspec"] = executed.metadata["kernelspec"]
    node.metadata["language_info"] = executed.metadata.get("language_info", {})
    for index, cell in enumerate(node.cells):
        cell["id"] = f"cell-{index:03d}"


def _plain(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """What is drawn for a page of the book needs its styles; here is what the run has made."""
    plain = as_run(output)
    plain.get("data", {}).pop(NARROW_MIME, None)
    return plain
