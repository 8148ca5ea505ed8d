import re
from dataclasses import replace
from html import unescape

import nbformat
import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.chapters.citation import read_book
from ntpcompanion.workflow.claims.claims import judge, load_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.landing import (
    Stored,
    landing_page,
    picture,
    read_landing,
    read_parts,
)
from tests.toy import write_claims
from tests.workflow.claims.test_baselines import result

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


def drawn(name="fig-coin", svg="<svg>coin</svg>"):
    """A chapter with one figure, as its page shows it."""
    cell = nbformat.v4.new_code_cell("plot()", id="cell-007")
    cell.metadata["mystnb"] = {"figure": {"name": name}}
    if svg:
        html = '<div class="ntp-figure"><svg><path id="cell-007-0w0"/></svg></div>'
        data = {"image/svg+xml": svg, "text/html": html}
        cell.outputs = [nbformat.v4.new_output("display_data", data)]
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.fixture
def stored(toy):
    """What the landing page of the toy project is made from; its texts are written, too."""
    (toy.project.book / "landing.yml").write_text(yaml.safe_dump(LANDING))
    pages = [{"caption": "Coins", "chapters": [{"file": "chapters/coin"}]}]
    pages += [{"caption": "Results", "chapters": [{"file": "ledger"}]}]
    toc = {"format": "jb-book", "root": "intro", "parts": pages}
    (toy.project.book / "_toc.yml").write_text(yaml.safe_dump(toc))
    made = result("coin", toy_half=-0.45)
    made.hardware.update({"processor": "a processor", "cores": 2})
    write_claims(toy.project, expect={"book": {"equals": -0.5, "within": 0.1}})
    claims = load_claims(toy.project)
    book = read_book(toy.project)
    return Stored(book, claims, {"coin": made}, {"coin": drawn()}, {"coin": "A coin"})


def made(toy, stored, profile="book"):
    return landing_page(read_landing(toy.project), read_parts(toy.project), stored, profile)


def test_a_finding_has_the_stored_number_and_the_picture_of_its_chapter(toy, stored):
    files = made(toy, stored)
    finding = files["_findings.md"]
    assert finding.startswith("### It is fair\n\nHalf of the throws.\n")
    assert "<strong>\N{MINUS SIGN}0.45</strong>" in finding
    assert '<a href="chapters/coin.html#claim-toy_half">share of heads</a>' in finding
    assert '<svg><path id="finding-1-0w0"/></svg>' in finding, "an id of its own"
    assert '<p class="ntp-finding-more">Throws. From the chapter <a ' in finding
    assert set(files) == {"_map.md", "_findings.md", "_card.md"}


def test_the_map_leads_to_every_chapter_of_its_threads(toy, stored):
    text = made(toy, stored)["_map.md"]
    assert '<nav class="ntp-map" aria-label="Map of the book">' in text
    assert "Heads &amp; tails?" in text
    assert (
        '<a href="chapters/coin.html"><strong>Is it &lt;fair&gt;?</strong> <span>A coin</span>'
        in text
    )
    assert "Results" not in text


def test_the_example_is_a_card_without_an_anchor(toy, stored):
    text = made(toy, stored)["_card.md"]
    assert '<details class="ntp-card' in text
    assert "id=" not in text.partition("<summary>")[0], "only the chapter's own card has it"
    assert '<a href="chapters/coin.html#claim-toy_half"><code>toy.half</code></a>' in text
    assert 'href="#' not in text


def test_a_finding_that_is_not_supported_is_refused_at_the_book_profile(toy, stored):
    write_claims(toy.project, expect={"book": {"equals": 3.0, "within": 0.1}})
    poor = replace(stored, claims=load_claims(toy.project))
    with pytest.raises(WorkflowError, match=r"'toy\.half', whose verdict is refuted"):
        made(toy, poor)
    assert made(toy, poor, "smoke")["_findings.md"]


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
    with pytest.raises(WorkflowError, match=words):
        made(toy, stored)


def test_a_figure_that_drew_nothing_is_missing():
    assert picture(drawn(), "coin", "fig-coin").prefix == "cell-007-"
    with pytest.raises(WorkflowError, match="does not draw"):
        picture(drawn(svg=""), "coin", "fig-coin")


def test_without_its_texts_there_is_no_landing_page(toy):
    assert read_landing(toy.project) is None


def test_the_landing_page_of_the_book_names_claims_figures_and_chapters_that_there_are():
    project = Project.find()
    landing, notebooks = read_landing(project), find_notebooks(project)
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


def test_shown_numbers_are_those_of_the_measurement(toy, stored):
    """An independent reading: the text between the tags is what the card shows."""
    shown = re.search(r"<strong>([^<]*)</strong>", made(toy, stored)["_findings.md"])[1]
    item = stored.results["coin"].measurements[0]
    card = cards.shown(item, judge(stored.claims["toy.half"], "book", item))
    assert unescape(shown) == card
    assert float(card.replace("\N{MINUS SIGN}", "-")) == item.value
