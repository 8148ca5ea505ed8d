"""A release of a small book, read by other programs."""

import hashlib
import io
import json
import tarfile

import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.site.release import CODECHECK, SUMS, make_release, verdicts

KEYS = ("id", "paper", "chapter", "verdict", "kind")
ROWS = [
    dict(zip(KEYS, row, strict=True))
    for row in (
        ("a.one", "doe1999", "coin", "supported", "stated"),
        ("a.two", "doe1999", "coin", "refuted", "slip"),
        ("a.three", "doe1999", "dice", "exploratory", "ours"),
        ("b.one", "roe2001", "dice", "supported", "stated"),
    )
]
BIBLIOGRAPHY = """@article{doe1999, title={Coins}, author={Doe, Ann}, year={1999}, doi={10.1/c}}
@article{roe2001, title={Dice}, author={Roe, Bo and Poe, Cy}, year={2001}}
"""
CITATION = """cff-version: 1.2.0
title: a companion
abstract: Every claim is a number.
type: software
version: 0.1.0
license: MIT
authors:
  - {family-names: Doe, given-names: Ann}
  - {name: The authors}
"""


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    html, data = project.html("book"), project.book / "chapters" / "_data"
    for path, text in {
        html / "index.html": "refers",
        html / "chapters" / "coin.html": "<p>coin</p>",
        data / "ledger.json": json.dumps({"claims": ROWS}),
        data / "ledger.csv": "id\na.one\n",
        data / "ledger.schema.json": "{}",
        project.book / "references.bib": BIBLIOGRAPHY,
        tmp_path / "CITATION.cff": CITATION,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def test_the_sums_are_those_of_the_files_and_the_same_book_makes_the_same_bytes(project):
    made = make_release(project, project.build / "release")
    lines = (project.build / "release" / SUMS).read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert set(sums) == {path.name for path in made} - {SUMS}
    for path in made[:-1]:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[path.name]
    again = make_release(project, project.build / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in made]


def test_the_archive_holds_the_site_in_one_folder(project):
    make_release(project, project.build / "release")
    (packed,) = (project.build / "release").glob("*.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as site:
        top = packed.name.removesuffix(".tar.gz")
        assert site.getnames() == [f"{top}/chapters/coin.html", f"{top}/index.html"]
        assert site.extractfile(f"{top}/chapters/coin.html").read() == b"<p>coin</p>"
        assert {entry.mtime for entry in site} == {0}


def test_each_paper_has_its_codecheck_file(project):
    make_release(project, project.build / "release")
    one, two = (
        yaml.safe_load((project.build / "release" / f"codecheck-{key}.yml").read_text())
        for key in ("doe1999", "roe2001")
    )
    assert one["version"] == CODECHECK
    assert one["paper"] == {
        "title": "Coins",
        "authors": [{"name": "Ann Doe"}],
        "reference": "https://doi.org/10.1/c",
    }
    assert one["manifest"] == [
        {"file": "chapters/coin.html", "comment": "2 claims: 1 supported, 1 refuted (slip)"},
        {"file": "chapters/dice.html", "comment": "1 claim: 1 exploratory"},
    ]
    assert two["manifest"] == [{"file": "chapters/dice.html", "comment": "1 claim: 1 supported"}]


def test_zenodo_is_told_who_made_it_what_it_is_about_and_what_came_out(project):
    make_release(project, project.build / "release")
    deposit = json.loads((project.build / "release" / "zenodo.json").read_text())
    assert deposit["creators"] == [{"name": "Doe, Ann"}, {"name": "The authors"}]
    assert deposit["description"].endswith(
        "4 claims: 2 supported, 1 refuted (slip), 1 exploratory."
    )
    assert deposit["related_identifiers"] == [
        {"identifier": "https://doi.org/10.1/c", "relation": "isSupplementTo"}
    ]


MINIMAL = """cff-version: 1.2.0
message: If you use this, please cite it.
title: My companion
authors:
  - {family-names: Beethoven, given-names: Ludwig, name-particle: van}
  - {family-names: Doe, given-names: Ann, name-suffix: Jr., affiliation: A house}
  - {given-names: Ann, orcid: "https://orcid.org/0000-0000-0000-0000"}
  - {alias: annie}
  - {name: Öffentliche Gruppe}
date-released: 2026-01-31
"""


def test_a_minimal_citation_is_enough(project):
    (project.root / "CITATION.cff").write_text(MINIMAL, encoding="utf-8")
    make_release(project, project.build / "release")
    text = (project.build / "release" / "zenodo.json").read_text(encoding="utf-8")
    deposit = json.loads(text)
    assert deposit["creators"] == [
        {"name": "van Beethoven, Ludwig"},
        {"name": "Doe Jr., Ann", "affiliation": "A house"},
        {"name": "Ann", "orcid": "0000-0000-0000-0000"},
        {"name": "annie"},
        {"name": "Öffentliche Gruppe"},
    ]
    assert "Öffentliche" in text
    assert (deposit["upload_type"], deposit["publication_date"]) == ("software", "2026-01-31")
    assert deposit["description"].startswith("My companion. 4 claims: ")
    assert not {"version", "license"} & set(deposit)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: A\n", "CITATION.cff: authors: Field required"),
        ("title: A\nauthors: []\n", "authors: List should have at least 1 item"),
        ("title: A\nauthors: [{email: a@example.org}]\n", "has no name. Write `family-names`"),
        ("title: 3\nauthors: [{name: B}]\n", "title: Input should be a valid string"),
    ],
)
def test_a_citation_that_lacks_what_its_format_asks_for_is_a_sentence(project, text, words):
    (project.root / "CITATION.cff").write_text(text)
    with pytest.raises(WorkflowError, match=words):
        make_release(project, project.build / "release")


def test_verdicts_are_counted():
    assert verdicts(ROWS[:1]) == "1 claim: 1 supported"


def test_without_a_book_nothing_is_made(project):
    (project.html("book") / "index.html").unlink()
    with pytest.raises(WorkflowError, match=r"There is no book in .* Run `make book` first"):
        make_release(project, project.build / "release")
    assert not (project.build / "release").exists()
