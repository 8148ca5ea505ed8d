"""The table of contents of the book, `book/_toc.yml`: which pages it lists, and what is wrong with
them; and the front matter of a page.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import MARK, names_beside, read_text
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import parse_yaml, read_yaml, validate

CHAPTERS = "chapters/"
# entries by which Jupyter Book knows a notebook
OF_NOTEBOOKS = {"file_format", "jupytext", "kernelspec", "mystnb", "execution"}


def toc_pages(project: Project) -> list[str]:
    """Every page that `book/_toc.yml` lists, the root first."""
    path = project.book / "_toc.yml"
    return list(listed(validate(read_yaml(path), dict[str, object], str(path)), path))


def listed(node: object, path: Path) -> Iterator[str]:
    """The pages of an entry of the table of contents at `path`, and of all below it."""
    if isinstance(node, list):
        for item in node:
            yield from listed(item, path)
    if not isinstance(node, dict):
        return
    if "glob" in node:
        raise WorkflowError(
            f"{path}: `glob: {node['glob']}` lists pages that nobody chose. Write a `file` "
            "for each page."
        )
    for key in ("root", "file"):
        if key in node:
            yield validate(node[key], str, f"{path}, {key}")
    for value in node.values():
        yield from listed(value, path)


def toc_chapters(project: Project) -> list[str]:
    """The names of the pages `chapters/NAME` that `book/_toc.yml` lists."""
    pages = toc_pages(project)
    return [page.removeprefix(CHAPTERS) for page in pages if page.startswith(CHAPTERS)]


def page_faults(project: Project, notebooks: Collection[str]) -> list[str]:
    """A sentence for each page of the table of contents that is neither a MyST text of `book/` nor
    the chapter of a notebook, and for each notebook that it does not list.
    """
    chapters = toc_chapters(project)
    faults = [
        f"book/_toc.yml lists chapters/{name}, but there is no notebooks/{name}.md."
        f"{nearest(name, notebooks)}"
        for name in sorted(set(chapters) - set(notebooks))
    ]
    faults += [
        f"notebooks/{name}.md is not in book/_toc.yml: nobody would find it. Add `- file: "
        f"{CHAPTERS}{name}` there."
        for name in notebooks
        if name not in chapters
    ]
    pages = [page for page in toc_pages(project) if not page.startswith(CHAPTERS)]
    return faults + [fault for page in pages if (fault := _prose_fault(project, page))]


def _prose_fault(project: Project, page: str) -> str:
    """What is wrong with a page of prose; nothing if it is a MyST text that is not run.

    A notebook would be published with whatever outputs it holds, or be executed without our checks.
    """
    text, notebook = project.book / f"{page}.md", project.book / f"{page}.ipynb"
    pages = [name for name in names_beside(text) if name.endswith(".md")]
    if not text.is_file() or not text.resolve().is_relative_to(project.book.resolve()):
        return (
            f"book/_toc.yml lists {page!r}, but there is no book/{page}.md."
            f"{nearest(text.name, pages)} A page is a MyST text (.md), or a chapter made from "
            "notebooks/."
        )
    if notebook.exists():
        return (
            f"book/{page}.ipynb stands beside book/{page}.md, and may be published in its place: "
            "remove it. Numbers come from notebooks/*.md only."
        )
    if read_front_matter(read_text(text), text).keys() & OF_NOTEBOOKS:
        return (
            f"book/{page}.md has the front matter of a notebook: put it into notebooks/, or "
            "remove that, as pages are not run."
        )
    return ""


def read_front_matter(text: str, path: Path) -> dict[str, object]:
    """The entries of the front matter of a MyST text, the YAML between two lines of dashes at its
    start; none where it has none.

    It is read strictly: of two entries of one name, a plain reader drops the first without a word.
    """
    lines = text.removeprefix(MARK).split("\n")
    if not lines or not lines[0].startswith("---"):
        return {}
    end = next(
        (i for i, line in enumerate(lines[1:], 1) if line.startswith(("---", "..."))), len(lines)
    )
    entries = parse_yaml("\n".join(lines[1:end]), f"{path}, front matter")
    return entries if isinstance(entries, dict) else {}
