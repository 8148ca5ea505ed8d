"""Which code a page shows: none at first, that of cells tagged `hide-input` in folds, which a
reader opens one by one or all at once, and the rest not at all. The notebook keeps every cell.
"""

import nbformat

from ntpcompanion.workflow.notebooks.cells import tags

FOLDED = {"hide-input", "hide_input"}  # tags of MyST-NB
GLUED = "application/papermill.record/"
_NO_OUTPUT = {"remove-output", "remove_output", "remove-cell", "remove_cell"}


def fold_code(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The cells of a page with every input taken off, and before what the tagged ones have made a
    fold with their input.

    Inputs that follow each other, with nothing to be seen between, share one fold. The code cells
    are changed in place: their tags only, never their source or outputs.
    """
    folded: list[nbformat.NotebookNode] = []
    waiting: list[str] = []  # sources for the next fold
    place = 0  # where it is to stand

    def close() -> None:
        if waiting:
            folded.insert(place, nbformat.v4.new_markdown_cell(fold(waiting)))
            waiting.clear()

    for cell in cells:
        if cell.cell_type != "code":
            if cell.source.strip():
                close()
            folded.append(cell)
            continue
        if tags(cell) & FOLDED:
            waiting.append(cell.source.strip())
            place = len(folded)
        seen = shows_output(cell)
        # an empty frame would take room on the page
        taken_off = "remove-input" if seen else "remove-cell"
        cell.metadata["tags"] = sorted(tags(cell) - FOLDED | {taken_off})
        folded.append(cell)
        if seen:
            close()
    close()
    return folded


def shows_output(cell: nbformat.NotebookNode) -> bool:
    """Whether anything of what a code cell put out is to be seen: glued values are not."""
    if tags(cell) & _NO_OUTPUT:
        return False
    return any(
        output.output_type in ("stream", "error")
        or any(not mime.startswith(GLUED) for mime in output.get("data", {}))
        for output in cell.get("outputs", [])
    )


def fold(sources: list[str]) -> str:
    """MyST of code that opens; it needs no script."""
    code = "\n\n".join(sources)
    count = len(code.split("\n"))
    lines = "1 line" if count == 1 else f"{count} lines"
    fence = "```"
    while fence in code:
        fence += "`"
    summary = f'<summary>Code <span class="ntp-lines">{lines}</span></summary>'
    opening = f'<details class="ntp-code">{summary}'
    return f"{opening}\n\n{fence}ipython3\n{code}\n{fence}\n\n</details>"
