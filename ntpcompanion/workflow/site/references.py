"""The papers of the bibliography, by the few words that a filter or a heading shows."""

import re
from dataclasses import dataclass

from ntpcompanion.workflow.base.project import Project

_FIELD = r"^\s*{name}\s*=\s*[{{\"](.*?)[}}\"],?\s*$"


@dataclass(frozen=True)
class Paper:
    """An entry of the bibliography."""

    key: str
    title: str
    authors: tuple[str, ...]
    year: str

    @property
    def name(self) -> str:
        """`Liu et al. 2023`."""
        first = self.authors[0] if self.authors else self.key
        return f"{first}{' et al.' if len(self.authors) > 2 else ''} {self.year}".strip()


def read_papers(project: Project) -> dict[str, Paper]:
    """The entries of `book/references.bib` by key; those without title or authors show their key.

    Read for names only: faults of the file are reported where pages cite from it.
    """
    path = project.book / "references.bib"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    entries = re.findall(r"^@\w+\{([^,\s]+),(.*?)(?=^@|\Z)", text, re.MULTILINE | re.DOTALL)
    return {key: _paper(key, body) for key, body in entries}


def _paper(key: str, body: str) -> Paper:
    authors = [name.split(",")[0].strip() for name in _field(body, "author").split(" and ")]
    title = re.sub(r"[{}]", "", _field(body, "title")) or key
    return Paper(key, title, tuple(filter(None, authors)), _field(body, "year"))


def _field(body: str, name: str) -> str:
    # fields on lines of their own, or one after the other on one line
    lines = re.sub(r",\s*(\w+)\s*=", r",\n\1 =", body)
    found = re.search(_FIELD.format(name=name), lines, re.MULTILINE)
    return found[1].rstrip("} \t") if found else ""
