"""What everybody asks of the cells of a notebook."""

import nbformat


def code_cells(node: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells in order."""
    return [cell for cell in node.cells if cell.cell_type == "code"]


def written_cells(node: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells that stand in the text notebook: all but the one papermill injects."""
    return [cell for cell in code_cells(node) if not is_injected(cell)]


def is_injected(cell: nbformat.NotebookNode) -> bool:
    """Whether papermill made this cell, to set the parameters of the run."""
    return "injected-parameters" in tags(cell)


def tags(cell: nbformat.NotebookNode) -> set[str]:
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))
