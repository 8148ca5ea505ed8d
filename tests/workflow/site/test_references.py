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


def test_every_paper_of_the_book_has_a_name():
    project = Project.find()
    papers = read_papers(project)
    for key in {claim.paper for claim in load_claims(project).values()}:
        assert papers[key].name.endswith(papers[key].year)
        assert papers[key].title != key


def test_no_bibliography_no_names(toy):
    (toy.project.book / "references.bib").unlink()
    assert read_papers(toy.project) == {}
