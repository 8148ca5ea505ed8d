"""A view of every template, in which every text that comes from a claim, a record, a file or a
machine is the same one.
"""

from dataclasses import replace
from pathlib import Path

import nbformat

from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.pages.cards import Banner, Card, Ending
from ntpcompanion.workflow.pages.generated import RecordRow, Status
from ntpcompanion.workflow.pages.landing import Finding, Landing, LandingPage, landing_page
from ntpcompanion.workflow.pages.ledger import Ledger
from ntpcompanion.workflow.pages.stated_results import (
    Question,
    Stated,
    Statement,
    answered,
    placed,
)
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.pages.views import Paper, View
from ntpcompanion.workflow.records.record import Record
from tests.workflow.checking.test_baselines import result
from tests.workflow.halves import STORED

CLAIM = {"paper": "doe", "locator": "Theorem 2, rate", "kind": "stated", "basis": "text"}
CLAIM |= {"scope": "same", "statement": "One half is 1/2.", "measures": "a share"}
CLAIM |= {"source": "symmetry", "notebook": "coin", "expect": {"book": {"at_most": 2}}}
PARAMETERS = "n = 9  # throws  [2, inf)\nseed = 0  # of `n`"


def claim_that(name="toy.half", **changes):
    return Claim.model_validate({**CLAIM, "id": name, **changes})


def notebook(title):
    """A notebook of two parameters, and a figure that its page shows."""
    cells = [nbformat.v4.new_code_cell(PARAMETERS, id="0", metadata={"tags": ["parameters"]})]
    cells.insert(0, nbformat.v4.new_markdown_cell(f"# {title}", id="1"))
    node = nbformat.v4.new_notebook(cells=cells)
    return Notebook("coin", Path("notebooks/coin.md"), node)


def drawn():
    """A chapter with one figure, as its page shows it."""
    cell = nbformat.v4.new_code_cell("plot()", id="cell-007")
    cell.metadata["mystnb"] = {"figure": {"name": "fig-coin"}}
    data = {"image/svg+xml": "<svg/>", "text/html": '<svg><path id="cell-007-0"/></svg>'}
    cell.outputs = [nbformat.v4.new_output("display_data", data)]
    return nbformat.v4.new_notebook(cells=[cell])


def run_that(text, **changes):
    hardware = {"processor": text, "cores": 2, "memory_gib": 8, "system": "Linux", "machine": "x"}
    made = replace(
        result("coin"), parameters={"n": text, "seed": 0}, hardware=hardware, seconds=2.4
    )
    return replace(made, versions={"python": "3.11.7", "numpy": "2"}, **changes)


def views(text):
    """Each template with what it makes of the text."""
    texts = dict.fromkeys(("statement", "short", "why", "measures", "source", "locator"), text)
    texts |= {"short": text[:110], "quantity": text[:45]}
    wild = claim_that(**texts, paper_value=text, scope="smaller")
    few = {"stderr": 0.25, "replicates": 5, "seed": 0, "records": ["halves"]}
    half, third = Measurement.of("toy.half", 3.0, **few), Measurement.of("toy.third", 1.0)
    known = {"toy.half": wild, "toy.third": claim_that("toy.third", kind="ours", paper_value=0)}
    known["toy.unjudged"] = claim_that("toy.unjudged", expect={}, exploratory=text)
    run = run_that(text, measurements=[half, third])
    judged = judged_claims(known, run.measurements, "book")
    notebooks = {"coin": notebook(text), "dice": notebook("Dice")}
    names, title = {"doe": Paper("Doe 1", text)}, notebooks["coin"].title
    fields = {"profile": "book", "judged": judged, "results": {"coin": run}, "papers": names}
    fields |= {"notebooks": notebooks, "pages": {"coin": drawn()}}
    record = Record("halves", [], {"n": text}, f"Halves. {text}", text, [text, "TWO"])
    finding = {"title": "Fair", "text": "Half.", "number": text, "shows": text}
    landing = Landing(
        start=text, threads={"Coins": text}, questions={"coin": text}, card="toy.third",
        findings=[Finding(**finding, claim="toy.third", figure="fig-coin")],
    )  # fmt: skip
    stored = LandingPage(**fields, landing=landing, parts={"Coins": ["coin"]})
    stored_record = {**STORED, "hardware": {"processor": text, "cores": 2}}
    listed = [Stated(result=wild.result, says="Fair.", places=["coin"], note="So.")]
    listed.append(Stated(result="Theorem 2", says="s", note="n", decided_by=["toy.third"]))
    asked = Question(question="Why?", answer="So.", measured=["toy.half"], open="Dice.")
    made = {
        "card.html": Card(judged["toy.half"], half, run, [record]),
        "record.html": Banner(record),
        "made.md": replace(run, profile="smoke"),
        "ending.md": Ending(notebooks["coin"], run),
        "ledger.md": Ledger(**fields),
        "status.md": Status(**fields),
        "records.md": [RecordRow("halves", stored_record, text), RecordRow("thirds", {})],
        "statements.md": placed({"doe": listed}, View(**fields)),
        "open_questions.md": answered([asked], View(**fields)),
        "theorems.md": [(title, [Statement("theorem", "Fair", "Theorem 2", "thm-fair", "coin")])],
    }
    pages = {name.removeprefix("_"): page for name, page in landing_page(stored).items()}
    return {name: fill(name, view) for name, view in made.items()} | pages
