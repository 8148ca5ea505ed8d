"""What everybody asks of the cells of a notebook."""

import ast
import contextlib
import functools

import nbformat

REMOVING = {"remove-cell", "remove-output"}  # tags of MyST-NB, that take outputs from a page
# of magics whose argument is Python: what it uses counts as used
_TIMERS = {"time", "timeit", "prun", "memit", "mprun", "lprun"}


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
    """The tags of a cell; MyST-NB takes `remove_cell` for `remove-cell`."""
    return {tag.replace("_", "-") for tag in cell.metadata.get("tags", [])}


# asked for whenever a notebook is looked at; threads that parse at a time disturb each other in
# CPython 3.11, and find here what was parsed when the notebook was read
@functools.cache
def used_python(source: str) -> str:
    """The Python that a cell stands for, and below it that in the arguments of magics such as
    `%timeit`: all from which it can be read which modules the cell uses.

    IPython decides what is a magic, a shell command or a question, as it does when the cell runs: a
    line that begins with `%` may as well continue an expression. Raises SyntaxError for a cell that
    is not Python.
    """
    with contextlib.suppress(SyntaxError):
        ast.parse(source)
        return source
    from IPython.core.inputtransformer2 import TransformerManager  # takes a sixth of a second

    code = TransformerManager().transform_cell(source)
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(
                ast.Attribute(attr="run_line_magic" | "run_cell_magic"),
                [ast.Constant(name), ast.Constant(str(line)), *below],
            ) if name in _TIMERS:
                code += f"\n{_without_options(line)}"
                for body in (each.value for each in below if isinstance(each, ast.Constant)):
                    with contextlib.suppress(SyntaxError):
                        code += f"\n{used_python(str(body))}"
    return code


def _without_options(argument: str) -> str:
    """The longest end of a magic's argument that is Python."""
    words = argument.split(" ")
    for start in range(len(words)):
        with contextlib.suppress(SyntaxError):
            ast.parse(code := " ".join(words[start:]))
            return code
    return ""
