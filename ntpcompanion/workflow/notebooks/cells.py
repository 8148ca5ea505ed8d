"""What everybody asks of the cells of a notebook."""

import ast
import contextlib
import functools

import nbformat

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
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))


def as_python(source: str) -> str:
    """The Python that a cell stands for, line for line where no shell command spans several.

    IPython decides what is a magic, a shell command or a question, as it does when the cell runs: a
    line that begins with `%` may as well continue an expression. Below a magic of the whole cell,
    such as `%%time`, its body counts if that is Python; of `%%html`, nothing is left. Raises
    SyntaxError for a cell that is not Python.
    """
    with contextlib.suppress(SyntaxError):
        ast.parse(source)
        return source
    from IPython.core.inputtransformer2 import TransformerManager  # takes a sixth of a second

    above = "\n" * (len(source) - len(source.lstrip("\n")))  # IPython drops empty lines there
    code = TransformerManager().transform_cell(source)
    for statement in ast.parse(code).body:
        match statement:
            case ast.Expr(
                ast.Call(
                    ast.Attribute(attr="run_cell_magic"),
                    [ast.Constant(name), ast.Constant(str(line)), ast.Constant(str(body))],
                )
            ):
                setup = _without_options(line) if name in _TIMERS else ""
                with contextlib.suppress(SyntaxError):
                    return f"{above}\n{as_python(body)}\n{setup}"
                return ""
    return above + code


# asked for whenever a notebook is looked at; threads that parse at a time disturb each other in
# CPython 3.11, and find here what was parsed when the notebook was read
@functools.cache
def used_python(source: str) -> str:
    """The Python of a cell, and below it that in the arguments of magics such as `%timeit`: all
    from which it can be read which modules the cell uses. Raises SyntaxError as `as_python`.
    """
    code = as_python(source)
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(
                ast.Attribute(attr="run_line_magic"), [ast.Constant(name), ast.Constant(str(text))]
            ) if name in _TIMERS:
                code += f"\n{_without_options(text)}"
    return code


def _without_options(argument: str) -> str:
    """The longest end of a magic's argument that is Python."""
    words = argument.split(" ")
    for start in range(len(words)):
        with contextlib.suppress(SyntaxError):
            ast.parse(code := " ".join(words[start:]))
            return code
    return ""
