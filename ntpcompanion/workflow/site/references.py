"""The papers of the bibliography, by the few words that a filter or a heading shows."""

import re
from dataclasses import dataclass

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text

_FIELD = r"^\s*{name}\s*=\s*[{{\"](.*?)[}}\"],?\s*$"


@dataclass(frozen=True)
class Paper:
    """An entry of the bibliography: surnames of the `authors`, the `people` by full name, and the
    address under which the paper is found (empty if the entry names none).
    """

    key: str
    title: str
    authors: tuple[str, ...]
    year: str
    people: tuple[str, ...] = ()
    reference: str = ""

    @property
    def name(self) -> str:
        """`Someone et al. 2023`."""
        names = " and ".join(self.authors) or self.key
        if len(self.authors) > 2:
            names = f"{self.authors[0]} et al."
        return f"{names} {self.year}".strip()


def read_papers(project: Project) -> dict[str, Paper]:
    """The entries of `book/references.bib` by key; those without title or authors show their key.

    Read for names only: faults of the file are reported where pages cite from it.
    """
    path = project.book / "references.bib"
    text = read_text(path) if path.is_file() else ""
    entries = re.findall(r"^@\w+\{([^,\s]+),(.*?)(?=^@|\Z)", text, re.MULTILINE | re.DOTALL)
    return {key: _paper(key, body) for key, body in entries}


def _paper(key: str, body: str) -> Paper:
    names = [name.strip() for name in _field(body, "author").split(" and ") if name.strip()]
    title = re.sub(r"[{}]", "", _field(body, "title")) or key
    people = tuple(" ".join(reversed(re.split(r",\s*", name, maxsplit=1))) for name in names)
    authors = tuple(name.split(",")[0].strip() for name in names)
    return Paper(key, title, authors, _field(body, "year"), people, _reference(body))


def _reference(body: str) -> str:
    if doi := _field(body, "doi"):
        return f"https://doi.org/{doi}"
    arxiv = re.search(r"(?:arXiv:|eprint\s*=\s*[{\"])(\d{4}\.\d{4,5})", body)
    return _field(body, "url") or (f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else "")


def _field(body: str, name: str) -> str:
    # fields on lines of their own, or one after the other on one line
    lines = re.sub(r",\s*(\w+)\s*=", r",\n\1 =", body)
    found = re.search(_FIELD.format(name=name), lines, re.MULTILINE)
    return found[1].rstrip("} \t") if found else ""
