import re

import pytest
from pybtex.database import parse_file

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.pages.views import read_papers
from tests.refusing import refused

DBLP = r"""@inproceedings{DBLP:conf/icml/DoeRO23,
  author       = {Ann Doe and
                  Bob van der Roe and
                  Cem {\"{O}}zg{\"{u}}r},
  editor       = {Ed Itor},
  title        = {Same Loss, Better Downstream: {A} Study of Means and
                  Their Spread},
  year         = {2023},
  url          = {https://example.org/doe23a.html},
}"""


@pytest.mark.parametrize(
    ("entry", "name", "title"),
    [
        pytest.param(
            DBLP,
            "Doe et al. 2023",
            "Same Loss, Better Downstream: A Study of Means and Their Spread",
            id="DBLP",
        ),
        pytest.param(
            "\ufeff@Comment{x-kbibtex-encoding=utf-8}\n\n@article {b1853,\n  AUTHOR = "
            "{Bienaym{\\'e}, Ir{\\'e}n{\\'e}e-Jules and others},\n  TITLE = "
            "{{Consid{\\'e}rations}},\n  YEAR = 1853,\n  DOI = {https://doi.org/10.1000/xyz},\n}",
            "Bienaymé et al. 1853",
            "Considérations",
            id="others, accents, a byte order mark",
        ),
        pytest.param(
            "@article{p, author={de la Cruz, Juan and van Gogh, Jr., Vincent}, title={Use of "
            "$x_{1} = \\alpha$, \\& a ``quoted'' \\emph{word}}, year={2023}}",
            "de la Cruz and van Gogh 2023",
            "Use of $x_{1} = \\alpha$, & a “quoted” word",
            id="particles, a suffix, a formula",
        ),
        pytest.param(
            "@misc{i, author={\\L{}uk, Jan}, title={}, date={2024-02-28}}",
            "Łuk 2024",
            "i",
            id="no title, a date",
        ),
        pytest.param("@misc{bare,}", "bare", "bare", id="nothing"),
    ],
)
def test_what_other_programs_write(toy, entry, name, title):
    (toy.project.book / "references.bib").write_text(entry, encoding="utf-8")
    (paper,) = read_papers(toy.project).values()
    assert (paper.name, paper.title) == (name, title)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"@article{a, title={T}", "syntax error in line 1: premature end of file"),
        (b"@article{a, title={T}}\n@article{a, title={U}}", "repeated bibliography entry: a"),
        (b"@article{a, title=unknown}", "undefined string"),
        ("@article{a, title={é}}".encode("latin-1"), "cannot be read: 'utf-8' codec"),
    ],
)
def test_what_bibtex_would_not_read_is_a_sentence(toy, text, words):
    (toy.project.book / "references.bib").write_bytes(text)
    with refused(rf"references\.bib.*{words}"):
        read_papers(toy.project)


# what each source of an address looks like: a number of arXiv, a DOI, or a page of the publisher
ADDRESS = re.compile(
    r"https://(?:arxiv\.org/abs/\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}|doi\.org/10\.\d{4,9}/[^\s{}]+"
    r"|(?:jmlr\.org|proceedings\.mlr\.press)/[^\s{}]+\.html|aclanthology\.org/[A-Z]\d{2}-\d{4}/)"
)


def address(fields):
    """The DOI of an entry, its page, or its preprint."""
    if doi := fields.get("doi"):
        return f"https://doi.org/{doi}"
    return fields.get("url") or f"https://arxiv.org/abs/{fields['eprint'].partition('v')[0]}"


def test_every_entry_of_the_book_says_where_it_is_found_once():
    entries = parse_file(str(Project.find().book / "references.bib")).entries
    odd = {key: address(entry.fields) for key, entry in entries.items()}
    assert {key: found for key, found in odd.items() if not ADDRESS.fullmatch(found)} == {}
    assert len(set(odd.values())) == len(odd), "two entries lead to one paper"
