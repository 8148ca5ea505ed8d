"""What a release of the book offers for download (`make release`): the site in one archive, the
ledger as data, and the metadata that CODECHECK and Zenodo ask for, made from the ledger.

Everything is made from the built site and the files of the project: equal inputs give equal bytes.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    files_below,
    read_json,
    sha256,
    write_atomically,
    write_bytes_atomically,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.shapes import shaped
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.results.exports import SCHEMA_NAME
from ntpcompanion.workflow.results.references import Paper, read_papers

CODECHECK = "https://codecheck.org.uk/spec/config/1.0/"
SUMS = "SHA256SUMS"  # as `sha256sum --check` reads them
DATA = ("ledger.json", "ledger.csv", SCHEMA_NAME)


class Citation(BaseModel):
    """What `CITATION.cff` says of the book, as far as a deposit repeats it: title and authors are
    required by its format, all else may be missing.
    """

    model_config = ConfigDict(frozen=True)

    title: str
    authors: Annotated[list[dict[str, Any]], Field(min_length=1)]
    abstract: str = ""
    type: str = "software"
    version: str | int | float = ""
    license: str | list[str] = ""
    date: Annotated[str, Field(alias="date-released")] = ""


def make_release(project: Project, target: Path) -> list[Path]:
    """Write the files of a release to `target`, the sums last, and return them.

    Raises WorkflowError if the book is not built.
    """
    html, data = project.html("book"), project.book / "chapters" / "_data"
    if not (html / "index.html").is_file() or not (data / DATA[0]).is_file():
        raise WorkflowError(f"There is no book in {html}. Run `make book` first.")
    rows = shaped(read_json(data / DATA[0]), dict[str, Any], str(data / DATA[0]))["claims"]
    papers = read_papers(project)
    named = [project.settings.name, "book", project.settings.version]
    archive = f"{'-'.join(filter(None, named))}.tar.gz"
    write_bytes_atomically(target / archive, packed(html, archive.removesuffix(".tar.gz")))
    texts = {name: (data / name).read_text(encoding="utf-8") for name in DATA}
    path = project.root / "CITATION.cff"
    citation = shaped(read_yaml(path), Citation, str(path))
    version = {"version": project.settings.version} if project.settings.version else {}
    deposit = version | zenodo(citation, rows, papers)
    texts["zenodo.json"] = json.dumps(deposit, indent=2, ensure_ascii=False) + "\n"
    for key in dict.fromkeys(row["paper"] for row in rows):
        texts[f"codecheck-{key}.yml"] = codecheck(papers[key], rows)
    for name, text in texts.items():
        write_atomically(target / name, text)
    made = [target / name for name in sorted([archive, *texts])]
    sums = [f"{sha256(path.read_bytes())}  {path.name}\n" for path in made]
    write_atomically(target / SUMS, "".join(sums))
    return [*made, target / SUMS]


def packed(folder: Path, name: str) -> bytes:
    """A folder as an archive whose files stand below `name`, sorted, without owners and dates."""

    def bare(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o644
        return entry

    with io.BytesIO() as buffer:
        with (
            gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(files_below(folder)):
                inside = f"{name}/{path.relative_to(folder).as_posix()}"
                archive.add(path, inside, recursive=False, filter=bare)
        return buffer.getvalue()


def codecheck(paper: Paper, rows: Iterable[Mapping[str, Any]]) -> str:
    """The `codecheck.yml` of one paper: its chapters with the verdicts on its claims. Who checks
    the code adds name, date and certificate.
    """
    paper_rows = [row for row in rows if row["paper"] == paper.key]
    chapters = dict.fromkeys(row["chapter"] for row in paper_rows)
    content = {
        "version": CODECHECK,
        "paper": {
            "title": paper.title,
            "authors": [{"name": name} for name in paper.people],
            "reference": paper.reference,
        },
        "manifest": [
            {
                "file": f"chapters/{chapter}.html",
                "comment": verdicts([row for row in paper_rows if row["chapter"] == chapter]),
            }
            for chapter in chapters
        ],
    }
    return "---\n" + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def zenodo(
    citation: Citation, rows: Sequence[Mapping[str, Any]], papers: Mapping[str, Paper]
) -> dict[str, Any]:
    """The metadata of a deposit at Zenodo, from `CITATION.cff` and the ledger."""
    reproduced = [papers[key] for key in dict.fromkeys(row["paper"] for row in rows)]
    about = citation.abstract.strip() or f"{citation.title.rstrip('.')}."
    # Zenodo knows one licence of a deposit; of several any may be chosen
    licences = [citation.license] if isinstance(citation.license, str) else citation.license
    data = {
        "title": citation.title,
        "version": str(citation.version),
        "upload_type": citation.type,
        "publication_date": citation.date,
        "description": f"{about} {verdicts(rows)}.",
        "creators": [_creator(author) for author in citation.authors],
        "license": next(iter(licences), ""),
        "related_identifiers": [
            {"identifier": paper.reference, "relation": "isSupplementTo"}
            for paper in reproduced
            if paper.reference
        ],
    }
    return {name: value for name, value in data.items() if value}


def verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many claims there are, and their verdicts, in words."""
    counts = cards.tally(cards.told(row["verdict"], row["kind"]) for row in rows)
    return f"{len(rows)} {'claim' if len(rows) == 1 else 'claims'}: {counts}"


def _creator(author: Mapping[str, Any]) -> dict[str, str]:
    """A person or an entity of `CITATION.cff` as Zenodo writes them: surname with its particle and
    suffix, then the given names. Raises WorkflowError for one without any name.
    """

    def text(*parts: str) -> str:
        return " ".join(str(author[part]).strip() for part in parts if author.get(part))

    surname = text("name-particle", "family-names", "name-suffix")
    name = ", ".join(filter(None, (surname, text("given-names")))) or text("name") or text("alias")
    if not name:
        raise WorkflowError(
            f"CITATION.cff: the author {dict(author)!r} has no name. Write `family-names` and "
            "`given-names`, or the `name` of a group."
        )
    orcid = text("orcid").rstrip("/").rpartition("/")[2]
    fields = {"name": name, "affiliation": text("affiliation"), "orcid": orcid}
    return {field: value for field, value in fields.items() if value}


def main() -> None:
    """What `make release` runs after the build. Raises SystemExit with what went wrong."""
    project = Project.find()
    try:
        with project.lock():
            made = make_release(project, project.build / "release")
    except WorkflowError as error:
        raise SystemExit(f"error: {error}") from error
    print("\n".join(map(str, made)))


if __name__ == "__main__":
    main()
