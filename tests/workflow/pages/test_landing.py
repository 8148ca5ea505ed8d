import pytest
import yaml

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_optional
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.landing import (
    Landing,
    LandingPage,
    landing_page,
    read_parts,
)
from tests.refusing import refused
from tests.toy import write_claims
from tests.workflow.checking.test_baselines import result
from tests.workflow.pages.views import drawn

LANDING = {
    "start": "Heads & tails?",
    "threads": {"Coins": "about coins"},
    "questions": {"coin": "Is it <fair>?"},
    "findings": [
        {
            "title": "It is fair",
            "text": "Half of the throws.",
            "claim": "toy.half",
            "number": "share of heads",
            "figure": "fig-coin",
            "shows": "Throws.",
        }
    ],
    "card": "toy.half",
}


@pytest.fixture
def stored(toy):
    """What the landing page of the toy project is made from, but for its own texts, which are
    written.
    """
    (toy.project.book / "landing.yml").write_text(yaml.safe_dump(LANDING))
    pages = [{"caption": "Coins", "chapters": [{"file": "chapters/coin"}]}]
    pages += [{"caption": "Results", "chapters": [{"file": "ledger"}]}]
    toc = {"format": "jb-book", "root": "intro", "parts": pages}
    (toy.project.book / "_toc.yml").write_text(yaml.safe_dump(toc))
    made = result("coin", toy_half=-0.45)
    made.hardware.update({"processor": "a processor", "cores": 2})
    write_claims(toy.project, expect={"book": {"equals": -0.5, "within": 0.1}})
    return {"coin": made}


def made(toy, results, profile="book"):
    measured = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(load_claims(toy.project), measured, profile)
    texts = {
        "landing": read_optional(toy.project.book / "landing.yml", Landing),
        "parts": read_parts(toy.project),
    }
    fields = {"notebooks": find_notebooks(toy.project), "pages": {"coin": drawn()}, **texts}
    page = LandingPage(profile=profile, judged=judged, results=results, **fields)
    return landing_page(page)


def test_a_finding_that_is_not_supported_is_refused_at_the_book_profile(toy, stored):
    write_claims(toy.project, expect={"book": {"equals": 3.0, "within": 0.1}})
    with refused(r"'toy\.half', whose verdict is refuted"):
        made(toy, stored)
    assert made(toy, stored, "smoke")["_findings.md"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data.update(card="toy.none"), r"the claim 'toy\.none', which is not in"),
        (lambda data: data.update(card="toy.powers"), r"'toy\.powers', which notebook 'coin' did"),
        (lambda data: data["findings"][0].update(figure="fig-x"), "figure 'fig-x', which noteb"),
        (lambda data: data["threads"].update(Cards="x"), "the threads Cards, which are not parts"),
        (lambda data: data["findings"][0].pop("title"), r"findings\.0\.title: Field required"),
        (lambda data: data.update(more=1), "more: Extra inputs"),
    ],
)
def test_what_does_not_fit_is_named(toy, stored, spoil, words):
    data = yaml.safe_load(yaml.safe_dump(LANDING))
    spoil(data)
    (toy.project.book / "landing.yml").write_text(yaml.safe_dump(data))
    with refused(words):
        made(toy, stored)


def test_the_landing_page_of_the_book_names_claims_figures_and_chapters_that_there_are():
    project = Project.find()
    landing, notebooks = (
        read_optional(project.book / "landing.yml", Landing),
        find_notebooks(project),
    )
    claims, parts = load_claims(project), read_parts(project)
    assert len(landing.findings) == 6
    for finding in landing.findings:
        claim = claims[finding.claim]
        assert claim.expected_verdict == "supported"
        assert not claim.exploratory
        names = [
            cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
            for cell in notebooks[claim.notebook].node.cells
        ]
        assert finding.figure in names
    on_the_map = [name for thread in landing.threads for name in parts[thread]]
    assert set(landing.questions) == set(on_the_map), "every chapter asks its question"
