"""Every notebook of the book at its smoke profile: it runs, measures what it claims, and moves no number."""

import re

import pytest

from ntpcompanion.workflow import baselines
from ntpcompanion.workflow.build import current_results
from ntpcompanion.workflow.cells import code_cells
from ntpcompanion.workflow.claims import load_claims
from ntpcompanion.workflow.notebooks import find_notebooks
from ntpcompanion.workflow.profiles import read_profiles
from ntpcompanion.workflow.project import Project
from tests.smoke import smoke_runs

NOTEBOOKS = find_notebooks(Project.find())


@pytest.fixture(scope="module")
def executed():
    return smoke_runs()


def test_no_number_moved_and_every_verdict_is_as_expected(executed):
    project, runs = executed
    claims = load_claims(project)
    found = baselines.compare(current_results(runs), claims, baselines.read_baseline(project.baseline("smoke")), "smoke")
    assert found.faults == []


def test_every_claim_is_expected_somewhere_and_cited():
    project = Project.find()
    keys = set(re.findall(r"^@\w+\{([^,\s]+),", (project.book / "references.bib").read_text(encoding="utf-8"), re.MULTILINE))
    claims = load_claims(project).values()
    assert claims
    assert {claim.paper for claim in claims} <= keys
    # what the book does not measure says how it would be measured
    assert all("book" in claim.expect or "`ntpcompanion execute" in claim.measures for claim in claims)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_house_rules_of_a_notebook(name):
    node = NOTEBOOKS[name].node
    cells = code_cells(node)
    assert all(not cell.outputs for cell in cells)
    assert max(len(cell.source.splitlines()) for cell in cells[1:]) <= 21
    assert max(len(line) for cell in cells for line in cell.source.splitlines()) <= 82, "wider lines are cut off on the page"
    assert sum(cell.source.count("def ") for cell in cells) <= 1
    for cell in cells:
        settings = cell.metadata.get("mystnb", {})
        if "figure" in settings:
            assert len(settings["image"]["alt"]) > 30, "the alt text says what is to be seen"
            assert len(settings["figure"]["caption"]) > 60
    assert set(read_profiles(Project.find(), NOTEBOOKS)[name]) == {"smoke", "book", "paper"}
    for parameter in NOTEBOOKS[name].parameters.values():
        assert parameter.meaning
        model = parameter.default[0] if isinstance(parameter.default, list) else parameter.default
        assert parameter.domain or isinstance(model, (str, bool)), f"{parameter.name}: end its comment in a domain like [1, inf)"
