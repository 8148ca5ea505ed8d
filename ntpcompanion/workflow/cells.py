"""Two questions that everybody asks of a notebook."""

import nbformat


def code_cells(node: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells in order."""
    return [cell for cell in node.cells if cell.cell_type == "code"]


def tags(cell: nbformat.NotebookNode) -> set[str]:
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))
