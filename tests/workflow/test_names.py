"""The tool makes books of others, too: nothing in it names this one's notebooks, packages, claims
or papers.
"""

import re
from pathlib import Path

from ntpcompanion import workflow
from tests.toy import ROOT

FOLDER = Path(workflow.__file__).parent
FILES = sorted(
    path
    for path in FOLDER.rglob("*")
    if path.suffix in (".css", ".html", ".js", ".md", ".py", ".pyi", ".toml", ".yml", ".bib")
)
SHARED = {"experiments", "plots"}  # packages that other books have or use
ENGLISH = {"networks", "statistics"}  # ordinary words


def names_of_this_book():
    files = (ROOT / "book" / "claims").glob("*.yml")
    claims = "\n".join(path.read_text(encoding="utf-8") for path in files)
    papers = set(re.findall(r"^  paper: (\w+)", claims, re.M))
    return {
        *(path.stem for path in (ROOT / "notebooks").glob("*.md")),
        *({path.parent.name for path in FOLDER.parent.glob("*/__init__.pyi")} - {"workflow"}),
        *papers,
        *(re.match("[a-z]+", paper)[0].capitalize() for paper in papers),
        *re.findall(r"^- id: ([a-z0-9]+\.[a-z0-9-]+)", claims, re.M),
    }


NAMES = names_of_this_book() - SHARED - ENGLISH
# `linear-gradient` is not a package, `--ntp-ink` no claim
NAMED = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, NAMES))})(?![\w-])")


def test_the_workflow_names_nothing_of_this_book():
    assert {"dyck", "ntp_svm", "thrampoulidis2024implicit", "Liu", "ntp.thm2"} <= NAMES
    assert [
        f"{path.relative_to(FOLDER)}: {line.strip()}"
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        if NAMED.search(line)
    ] == []
