"""The page on errors of the papers: it has every one that the claims know, and no other."""

import re

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks

PROJECT = Project.find()
CLAIMS = load_claims(PROJECT)
TEXT = (PROJECT.notebooks / "corrections.md").read_text(encoding="utf-8")
ERRORS, _, OTHERS = TEXT.partition("## What is not an error of a paper")


def refuted(**wanted):
    """Ids of claims that are known to fail and have these fields."""
    return {
        claim.id
        for claim in CLAIMS.values()
        if claim.expected_verdict == "refuted"
        and all(getattr(claim, name) == value for name, value in wanted.items())
    }


def linked(text):
    """Ids of the claims to whose rows a text links."""
    anchors = set(re.findall(r"ledger\.html#(row-[\w-]+)", text))
    known = {one.row_anchor: name for name, one in judged_claims(CLAIMS, [], "book").items()}
    assert anchors <= set(known)
    return {known[anchor] for anchor in anchors}


def test_every_error_of_a_paper_has_its_section():
    errors = refuted(kind="slip", scope="same") | refuted(kind="stated", scope="same")
    assert errors
    assert {name for name in linked(ERRORS) if CLAIMS[name].expected_verdict == "refuted"} == errors
    for section in ERRORS.split("\n## ")[1:]:
        assert re.search(r"\*\*The (first|second|third) paper says\*\*", section)
        parts = ("**Counter-example.**", "**Corrected.**")
        assert [part for part in parts if part not in section] == []
        assert "mystnb:" in section, "the counter-example is drawn"
        verdicts = {CLAIMS[name].expected_verdict for name in linked(section)}
        assert "refuted" in verdicts, (
            "as printed; where a correction is more than the same number, it too"
        )
        assert verdicts <= {"refuted", "supported"}


def test_kind_basis_and_scope_are_said_as_the_claims_have_them():
    for section in ERRORS.split("\n## ")[1:]:
        found = {
            (c.kind, c.basis, c.scope)
            for c in map(CLAIMS.get, linked(section))
            if c.expected_verdict == "refuted"
        }
        assert found == {("slip", "text", "same")}
        assert "*A slip, read from the text of the paper, in the paper's setting.*" in section
        chapter = {CLAIMS[name].notebook for name in linked(section)}
        assert len(chapter) == 1


def test_what_fails_at_our_scale_only_is_not_called_an_error():
    assert linked(OTHERS) == refuted(kind="stated", scope="smaller")
    assert "nothing about the paper's own scale" in OTHERS.replace("\n", " ")


def test_the_page_measures_no_claim():
    cells = find_notebooks(PROJECT)["corrections"].node.cells
    assert all("measure(" not in cell.source for cell in cells)
