"""What a release of the book offers for download (`make release`): the site in one archive, the
ledger as data, and their sums.

Everything is made from the built site and the files of the project: equal inputs give equal bytes.
"""

import gzip
import io
import tarfile
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    files_below,
    sha256,
    write_atomically,
    write_bytes_atomically,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.results.exports import SCHEMA_NAME

SUMS = "SHA256SUMS"  # as `sha256sum --check` reads them
DATA = ("ledger.json", "ledger.csv", SCHEMA_NAME)


def make_release(project: Project, target: Path) -> list[Path]:
    """Write the files of a release to `target`, the sums last, and return them.

    Raises WorkflowError if the book is not built.
    """
    html, data = project.html("book"), project.book / "chapters" / "_data"
    if not (html / "index.html").is_file() or not (data / DATA[0]).is_file():
        raise WorkflowError(f"There is no book in {html}. Run `make book` first.")
    named = [project.settings.name, "book", project.settings.version]
    archive = f"{'-'.join(filter(None, named))}.tar.gz"
    write_bytes_atomically(target / archive, packed(html, archive.removesuffix(".tar.gz")))
    texts = {name: (data / name).read_text(encoding="utf-8") for name in DATA}
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
