import re

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.site.references import read_papers


def test_an_entry_on_one_line_and_on_several(toy):
    (toy.project.book / "references.bib").write_text(
        "@inproceedings{liu2023same, title={Same}, author={Liu, H.}, year={2023}, "
        "booktitle={ICML}}\n"
        "@article{three,\n  title = {Long {ReLU} title},\n"
        "  author = {Doe, A. and Roe, B. and Poe, C.},\n  year = {1999}\n}\n@misc{bare,}\n"
    )
    papers = read_papers(toy.project)
    assert papers["liu2023same"].name == "Liu 2023"
    assert papers["liu2023same"].title == "Same"
    assert (papers["three"].name, papers["three"].title) == ("Doe et al. 1999", "Long ReLU title")
    assert (papers["bare"].name, papers["bare"].title) == ("bare", "bare")


def test_full_names_and_addresses(toy):
    (toy.project.book / "references.bib").write_text(
        "@article{a, author={Doe, Ann and Roe, Bo}, doi={10.1/x}, year={1999}}\n"
        "@article{b, author={Plain Name}, note={arXiv:2402.18551v2}, year={1999}}\n"
        "@article{c, title={Nobody}, year={1999}}\n"
        "@misc{d,\n  eprint = {2402.18551v2},\n  archivePrefix = {arXiv}\n}\n"
    )
    papers = read_papers(toy.project)
    assert (papers["a"].people, papers["a"].reference) == (
        ("Ann Doe", "Bo Roe"),
        "https://doi.org/10.1/x",
    )
    assert (papers["b"].people, papers["b"].reference) == (
        ("Plain Name",),
        "https://arxiv.org/abs/2402.18551",
    )
    assert (papers["c"].people, papers["c"].reference) == ((), "")
    assert papers["d"].reference == papers["b"].reference


def test_every_paper_of_the_book_has_a_name():
    project = Project.find()
    papers = read_papers(project)
    for key in {claim.paper for claim in load_claims(project).values()}:
        assert papers[key].name.endswith(papers[key].year)
        assert papers[key].title != key


# what each source of an address looks like: a number of arXiv, a DOI, or a page of the publisher
ADDRESS = re.compile(
    r"https://(?:arxiv\.org/abs/\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}|doi\.org/10\.\d{4,9}/[^\s{}]+"
    r"|(?:jmlr\.org|proceedings\.mlr\.press)/[^\s{}]+\.html)"
)


def test_every_entry_of_the_book_says_where_it_is_found_once():
    papers = read_papers(Project.find())
    odd = {key: paper.reference for key, paper in papers.items()}
    assert {key: found for key, found in odd.items() if not ADDRESS.fullmatch(found)} == {}
    assert len(set(odd.values())) == len(odd), "two entries lead to one paper"


def test_an_address_of_a_wrong_form_is_seen():
    for wrong in ("", "http://arxiv.org/abs/2402.18551", "https://arxiv.org/abs/2413.18551"):
        assert not ADDRESS.fullmatch(wrong)
    assert not ADDRESS.fullmatch("https://doi.org/10.1/x"), "no such registrant"


def test_no_bibliography_no_names(toy):
    (toy.project.book / "references.bib").unlink()
    assert read_papers(toy.project) == {}
