"""How to cite a chapter: BibTeX from what the book says of itself."""

import re
from dataclasses import dataclass, field

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import validate
from ntpcompanion.workflow.base.yaml_files import read_yaml

_SPECIAL = {character: f"\\{character}" for character in "&%#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"
}  # fmt: skip


@dataclass(frozen=True)
class Book:
    """What `_config.yml` says of the book: title, author, and the address of its repository (empty
    where none is configured); and its settings.
    """

    title: str
    author: str
    repository: str = ""
    settings: Settings = field(default_factory=Settings, hash=False)


def bibtex(book: Book, name: str, title: str, year: str) -> str:
    """The entry of a chapter in BibTeX: the name of its notebook, its title, the year of its
    execution.
    """
    settings = book.settings
    edition = f"{settings.name} {settings.version}".strip()
    fields = {
        "author": f"{{{latex(book.author)}}}",
        "title": latex(title),
        "booktitle": latex(book.title),
        "year": year,
        "note": ", ".join(filter(None, [latex(edition), f"notebook {latex(name)}"])),
        "url": book.repository,
    }
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items() if value]
    key = f"{settings.name}-{name}".removeprefix("-")
    key = re.sub(r"[^\w.:-]+", "-", key, flags=re.ASCII)  # BibTeX takes no other characters
    return "\n".join([f"@incollection{{{key},", *lines, "}"])


def read_book(project: Project) -> Book:
    """Read it. Raises WorkflowError naming the entry of `_config.yml` that has another form."""
    path = project.root / "_config.yml"
    entries = validate(read_yaml(path) or {}, dict[str, object], str(path))
    repository = validate(entries.get("repository", {}), dict[str, str], f"{path}, repository")
    texts = {
        name: validate(entries.get(name, ""), str, f"{path}, {name}")
        for name in ("title", "author")
    }
    address = repository.get("url", "").rstrip("/")
    return Book(**texts, repository=address, settings=project.settings)


def latex(text: str) -> str:
    """A text as LaTeX: what stands between dollar signs stays, elsewhere no character is markup."""
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(
        part if i % 2 else "".join(_SPECIAL.get(character, character) for character in part)
        for i, part in enumerate(parts)
    )
