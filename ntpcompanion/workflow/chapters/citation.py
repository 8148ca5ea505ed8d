"""How to cite a chapter, or one claim of it: BibTeX from what the book says of itself."""

import re
from dataclasses import dataclass, field

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import validate
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.claims.claims import Claim

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

    @property
    def edition(self) -> str:
        """Name and version, as far as they are known."""
        return f"{self.settings.name} {self.settings.version}".strip()

    def key(self, part: str) -> str:
        """The BibTeX key of a part of the book."""
        return f"{self.settings.name}-{part}" if self.settings.name else part


@dataclass(frozen=True)
class Chapter:
    """A chapter as it is cited: the name of its notebook, its title, the year of its execution."""

    book: Book
    name: str
    title: str
    year: str

    @property
    def entry(self) -> str:
        """Its entry in BibTeX."""
        book, name = self.book, f"notebook {latex(self.name)}"
        return _entry(
            "incollection",
            book.key(self.name),
            {
                "author": f"{{{latex(book.author)}}}",
                "title": latex(self.title),
                "booktitle": latex(book.title),
                "year": self.year,
                "note": _listed(latex(book.edition), name, ", "),
                "url": book.repository,
            },
        )


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


def claim_entry(chapter: Chapter, claim: Claim, summary: str) -> str:
    """The BibTeX entry of one claim; `summary` is its verdict and number."""
    return _entry(
        "misc",
        chapter.book.key(claim.id),
        {
            "author": f"{{{latex(chapter.book.author)}}}",
            "title": latex(claim.words.rstrip(".")),
            "howpublished": f"Claim {latex(claim.id)} of the chapter ``{latex(chapter.title)}'', "
            f"{latex(chapter.book.title)}",
            "year": chapter.year,
            "note": _listed(latex(summary), latex(chapter.book.edition), "; "),
            "url": chapter.book.repository,
        },
    )


def latex(text: str) -> str:
    """A text as LaTeX: what stands between dollar signs stays, elsewhere no character is markup."""
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(
        part if i % 2 else "".join(_SPECIAL.get(character, character) for character in part)
        for i, part in enumerate(parts)
    )


def _listed(first: str, second: str, separator: str) -> str:
    return separator.join(filter(None, [first, second]))


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    key = re.sub(r"[^\w.:-]+", "-", key, flags=re.ASCII)  # BibTeX takes no other characters
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
