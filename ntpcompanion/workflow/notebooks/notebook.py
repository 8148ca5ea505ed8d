"""Text notebooks: found, read with jupytext, and joined with outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError, require_known
from ntpcompanion.workflow.base.files import canonical_json, read_text, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import validate
from ntpcompanion.workflow.notebooks.cells import code_cells, tags, used_python
from ntpcompanion.workflow.notebooks.contents import read_front_matter, toc_chapters
from ntpcompanion.workflow.notebooks.parameters import Parameter, parse_parameters


@dataclass(frozen=True)
class Title:
    """The `text` of a title, the `cell` that holds it, and the number of its lines down to the
    title's last one.
    """

    text: str
    cell: nbformat.NotebookNode
    lines: int


def require_title(node: nbformat.NotebookNode, where: str) -> Title:
    """The title of a notebook."""
    # those parts of MyST inside which a `#`, or a line of `=`, makes no heading
    parser = (
        MarkdownIt("commonmark")
        .use(myst_block_plugin)
        .use(colon_fence_plugin)
        .use(dollarmath_plugin)
        .use(amsmath_plugin)
    )
    for cell in node.cells:
        tokens = parser.parse(cell.source) if cell.cell_type == "markdown" else []
        for opening, content in pairwise(tokens):
            of_level_one = opening.type == "heading_open" and opening.tag == "h1"
            if of_level_one and opening.level == 0 and opening.map:
                return Title(" ".join(content.content.split()), cell, opening.map[1])
    raise WorkflowError(
        f"{where} has no title. Write a heading of level one in a text cell: `# The title`."
    )


def insert_below_title(node: nbformat.NotebookNode, text: str, where: str) -> None:
    """Put a text between the title of a notebook and what follows."""
    title = require_title(node, where)
    lines = title.cell.source.split("\n")
    title.cell.source = "\n".join([*lines[: title.lines], "", text, "", *lines[title.lines :]])


# of a notebook that does not say: papermill asks for the language
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_FRONT_MATTER = {"jupytext", "kernelspec", "language_info", "ntp"}
_RUN_TAGS = {"raises-exception", "skip-execution"}  # the only tags that change what a cell does


@dataclass(frozen=True)
class Notebook:
    """A text notebook: `node` as jupytext reads it, with cell ids that depend on the position
    only.
    """

    name: str
    path: Path
    node: nbformat.NotebookNode

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """What the cell tagged `parameters` assigns."""
        code = code_cells(self.node)
        if not code or "parameters" not in tags(code[0]):
            raise WorkflowError(f"{self.path}: the first code cell must be tagged `parameters`.")
        return parse_parameters(code[0].source, str(self.path))

    @property
    def defaults(self) -> dict[str, object]:
        """The values in the parameters cell."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    @cached_property
    def settings(self) -> dict[str, list[str]]:
        """The `ntp` entry of the front matter: `inputs` (parameters that name a file, folder or
        module), `files` (paths of files and folders) and `records` (names).
        """
        settings = _settings(self.node.metadata.get("ntp", {}), self.path)
        stray = set(settings) - {"inputs", "files", "records"}
        if stray:
            raise WorkflowError(
                f"{self.path}: unknown front matter entry {sorted(stray)} under `ntp`; known: "
                "inputs, files, records."
            )
        for name in settings.get("inputs", []):
            if name not in self.parameters:
                raise WorkflowError(
                    f"{self.path}: front matter lists the input {name!r}, which is not a "
                    f"parameter.{nearest(name, self.parameters)}"
                )
        return settings

    @cached_property
    def title(self) -> str:
        """The text of the first heading of level one."""
        return require_title(self.node, str(self.path)).text

    def code_digest(self) -> str:
        """SHA-256 of what the code cells do, the parameters cell left out: its values are accounted
        for by name.
        """
        _ = self.parameters
        return sha256(
            canonical_json(
                [
                    [cell.source, sorted(_RUN_TAGS & tags(cell))]
                    for cell in code_cells(self.node)[1:]
                ]
            )
        )


def find_notebooks(project: Project) -> dict[str, Notebook]:
    """Every notebook of `notebook_paths`, read."""
    return {name: read_notebook(path) for name, path in notebook_paths(project).items()}


def notebook_paths(project: Project) -> dict[str, Path]:
    """Every `notebooks/*.md` by name, in the order of the table of contents; those it does not list
    come last.
    """
    # a name that begins with a dot is that of an editor's lock or copy: `.#coin.md` of Emacs is a
    # link to nothing
    paths = {path.stem: path for path in sorted(project.notebooks.glob("[!.]*.md"))}
    order = [name for name in toc_chapters(project) if name in paths]
    return {name: paths[name] for name in [*order, *(n for n in paths if n not in order)]}


def choose(notebooks: dict[str, Notebook], names: Sequence[str]) -> list[Notebook]:
    """The named notebooks, each once, or all. A name is looked up among those found, so no path can
    leave the folder.
    """
    names = [require_known("notebook", name, notebooks) for name in names]
    return [notebooks[name] for name in dict.fromkeys(names)] if names else list(notebooks.values())


def read_notebook(path: Path) -> Notebook:
    """Read one text notebook."""
    node = _read_node(path)
    if stray := sorted(set(node.metadata) - _FRONT_MATTER):
        raise WorkflowError(
            f"{path}: unknown front matter entry {', '.join(stray)}; known: "
            f"{', '.join(sorted(_FRONT_MATTER))}. "
            "How a notebook is executed and rendered is the same for all: see "
            "notebooks/profiles.yml and _config.yml."
        )
    require_title(node, str(path))
    for index, cell in enumerate(node.cells):
        cell["id"] = f"cell-{index:03d}"
    node.metadata.pop("jupytext", None)
    node.metadata["kernelspec"] = _KERNEL | node.metadata.get("kernelspec", {})
    return Notebook(path.stem, path, node)


def _read_node(path: Path) -> nbformat.NotebookNode:
    import jupytext  # takes a third of a second, which a record or its sweep need not wait for

    try:
        text = read_text(path)
        # before jupytext reads it: of a null, that says nothing but the key
        front = read_front_matter(text, path)
        if "ntp" in front:
            _settings(front["ntp"], path)
        node: nbformat.NotebookNode = jupytext.reads(text, fmt="md:myst")
        for cell in code_cells(node):
            used_python(cell.source)
    except SyntaxError as error:
        raise WorkflowError(
            f"{path}: a code cell is not Python ({error.msg}: `{(error.text or '').strip()}`)."
        ) from error
    except WorkflowError:
        raise
    except Exception as error:
        raise WorkflowError(
            f"{path} cannot be read as a MyST notebook: {error}\nCopy what stands between the two "
            "lines `---` at its top from another notebook."
        ) from error
    return node


def _settings(value: object, path: Path) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = validate(
        value, dict[str, list[str]], f"{path}, `ntp` in the front matter"
    )
    return settings


def imported_modules(node: nbformat.NotebookNode) -> str:
    """The Python text of all code cells, for the import scanner."""
    return "\n".join(used_python(cell.source) for cell in code_cells(node))
