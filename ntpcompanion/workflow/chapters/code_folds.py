"""Which code a page shows: none at first, what explains a result in folds, the rest not at all.

The notebook keeps every cell. Its page loses the input of cells that import, draw, measure or only
keep books; the input of all others stands in folds, which a reader opens one by one or all at once.
"""

import ast

import nbformat

from ntpcompanion.workflow.notebooks.cells import as_python, tags

# whoever calls one of these draws, measures or keeps books
BOOKKEEPING = {"measure", "glue", "glue_all", "csv_link", "show_record", "widget"}
# calls that stand among imports; IPython's own are the magics and shell commands of a cell
SETUP = {"use_style", "run_line_magic", "system"}
GLUED = "application/papermill.record/"
_NO_INPUT = {"remove-input", "remove_input", "remove-cell", "remove_cell"}
_NO_OUTPUT = {"remove-output", "remove_output", "remove-cell", "remove_cell"}


def fold_code(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The cells of a page with every input taken off, and a fold before what it has made.

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
        if is_shown(cell):
            waiting.append(cell.source.strip())
            place = len(folded)
        seen = shows_output(cell)
        # an empty frame would take room on the page
        taken_off = "remove-input" if seen else "remove-cell"
        cell.metadata["tags"] = sorted(tags(cell) - {"hide-input"} | {taken_off})
        folded.append(cell)
        if seen:
            close()
    close()
    return folded


def is_shown(cell: nbformat.NotebookNode) -> bool:
    """Whether a reader may open the input of a code cell: one that computes, and does not only
    import, draw, measure or keep books.
    """
    if tags(cell) & {*_NO_INPUT, "parameters", "injected-parameters"}:
        return False
    if cell.metadata.get("mystnb", {}).get("figure") is not None:
        return False
    tree = ast.parse(as_python(cell.source))
    called = {_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return not called & BOOKKEEPING and not all(map(_sets_up, tree.body))


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


def _sets_up(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _name(statement.value.func) in SETUP
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _name(called: ast.expr) -> str:
    """The last part of the name that is called: `csv_link` of `plots.csv_link(...)`."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
