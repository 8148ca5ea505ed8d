"""What the book adds to the section "Run this yourself" of a chapter: the command that repeats the
page, its seconds, parameters, files, source, and how to cite it.
"""

import re
import shlex
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

import nbformat

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.chapters.citation import Chapter, chapter_entry
from ntpcompanion.workflow.chapters.downloads import FOLDER
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import Parameter
from ntpcompanion.workflow.running.results import Result

HEADING = "## Run this yourself"
_HEADING = re.compile(rf"^{HEADING}[ \t]*$", re.MULTILINE)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?")
_NEXT = re.compile(r"^## ", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """The commit that last changed a notebook; None where it is not known, or the notebook has
    changed since.
    """

    path: str
    commit: str | None = None


def add_ending(
    cells: list[nbformat.NotebookNode],
    notebook: Notebook,
    result: Result,
    chapter: Chapter,
    source: Source,
) -> list[nbformat.NotebookNode]:
    """The cells of a page with the section filled: the command below its heading, the rest at its
    end. A page without the section gets it at its end.
    """
    parts = [
        parameters_table(notebook.parameters, result.parameters),
        files(result.notebook),
        source_line(source, chapter.book.repository),
        *launch_lines(source, chapter.book.repository),
        citation(chapter),
    ]
    first, last = command(result), "\n\n".join(parts)
    for index, cell in enumerate(cells):
        match = _HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if match:
            above, below = cell.source[: match.end()], cell.source[match.end() :]
            section, after = _until_next([_text(below), *cells[index + 1 :]])
            return [*cells[:index], _text(f"{above}\n\n{first}"), *section, _text(last), *after]
    return [*cells, _text(f"{HEADING}\n\n{first}\n\n{last}")]


def _until_next(
    cells: list[nbformat.NotebookNode],
) -> tuple[list[nbformat.NotebookNode], list[nbformat.NotebookNode]]:
    """The cells before the next heading of level two, and those from it on."""
    for index, cell in enumerate(cells):
        match = _NEXT.search(cell.source) if cell.cell_type == "markdown" else None
        if match:
            above, below = cell.source[: match.start()], cell.source[match.start() :]
            return [*cells[:index], _text(above)], [_text(below), *cells[index + 1 :]]
    return cells, []


def _text(source: str) -> nbformat.NotebookNode:
    cell: nbformat.NotebookNode = nbformat.v4.new_markdown_cell(source)
    return cell


def command(result: Result) -> str:
    """The command that repeats a page, and what it took on the machine that made it."""
    profile = "" if result.profile == "book" else f" --profile {result.profile}"
    overrides = "".join(
        f" -p {shlex.quote(f'{name}={value}')}" for name, value in result.overrides.items()
    )
    # a run with parameters of its own is not a page of the book
    subcommand = "view" if overrides else "execute"
    shown = f"ntpcompanion {subcommand} {shlex.quote(result.notebook)}{profile}{overrides}"
    machine = escape(f"{hardware_line(result.hardware)}, Python {result.versions['python']}")
    took = f"It took {seconds(result.seconds)} on {machine}, {result.started[:10]}"
    runs = '<a href="../status.html">all runs</a>'
    return f"This repeats the page:\n\n```bash\n{shown}\n```\n\n{took} ({runs})."


def seconds(value: float) -> str:
    """A duration in seconds, two digits where it is short."""
    return f"{value:.1f} seconds" if value < 9.95 else f"{value:.0f} seconds"


def parameters_table(parameters: dict[str, Parameter], values: dict[str, object]) -> str:
    """The parameters of a notebook as a table that opens: value on this page, meaning, range."""
    rows = "".join(_row(parameter, values[name]) for name, parameter in parameters.items())
    head = "".join(f'<th scope="col">{h}</th>' for h in ("Parameter", "Value", "Meaning", "Range"))
    count = f"{len(parameters)} parameters" if len(parameters) > 1 else "1 parameter"
    summary = f"<summary>{count}, set by <code>-p NAME=VALUE</code></summary>"
    table = f'<table class="ntp-parameters"><thead><tr>{head}</tr></thead>'
    table += f"<tbody>{rows}</tbody></table>"
    opening = '<details class="ntp-fold">'
    return f'{opening}{summary}<div class="ntp-scroll" tabindex="0">{table}</div></details>'


def _row(parameter: Parameter, value: object) -> str:
    domain = str(parameter.domain or "")
    meaning = parameter.meaning.removesuffix(domain).strip()
    shown = escape(_literal(value))
    if value != parameter.default:
        shown += (
            f' <span class="ntp-default">(default {escape(_literal(parameter.default))})</span>'
        )
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(meaning))
    cells = [shown, words, escape(re.sub(r"\binf\b", "∞", domain))]
    name = f'<th scope="row"><code>{escape(parameter.name)}</code></th>'
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _literal(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_literal, value)) or "none"
    return str(value)


def files(name: str) -> str:
    """The downloads of a chapter."""
    kinds = {"ipynb": "the executed notebook", "md": "its source", "json": "its results (JSON)"}
    links = [f"{{download}}`{words} <{FOLDER}/{name}.{kind}>`" for kind, words in kinds.items()]
    return f"Download {', '.join(links[:-1])} or {links[-1]}. The data of a figure stand below it."


def source_line(source: Source, repository: str) -> str:
    """Where the source is kept: a link where the book has an address, else the path."""
    if source.commit is None:
        return f"Source: `{source.path}` in the repository of this book."
    commit = f"commit `{source.commit[:10]}`"
    if not repository:
        return f"Source: `{source.path}` in the repository of this book, {commit}."
    address = f"{repository}/blob/{source.commit}/{source.path}"
    return f"Source: [`{source.path}`](<{address}>), {commit}."


def launch_lines(source: Source, repository: str) -> list[str]:
    """Where the notebook opens without an installation: on Binder, which builds `.binder`, and in a
    Codespace, which builds `.devcontainer`. Nothing without an address on GitHub and a commit.
    """
    match = _GITHUB.fullmatch(repository)
    if match is None or source.commit is None:
        return []
    slug, place = match[1], quote(f"lab/tree/{source.path}", safe="")
    binder = f"https://mybinder.org/v2/gh/{slug}/{source.commit}?urlpath={place}"
    space = f"https://codespaces.new/{slug}?quickstart=1"
    return [
        f"Open it without installing anything: [on Binder](<{binder}>) in JupyterLab, or "
        f"[in a Codespace](<{space}>). The first start takes minutes."
    ]


def citation(chapter: Chapter) -> str:
    """BibTeX of the chapter, and where that of a claim is found."""
    opening = '<details class="ntp-fold"><summary>Cite this chapter, or one claim</summary>'
    claims = "Each claim has an entry of its own, at the end of its card."
    return f"{opening}\n\n```bibtex\n{chapter_entry(chapter)}\n```\n\n{claims}\n\n</details>"
