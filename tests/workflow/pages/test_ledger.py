import csv
import io
import json
import re
import shutil

import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.ledger import Ledger, data_row, ledger_csv, ledger_json
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.pages.views import read_papers
from ntpcompanion.workflow.site.look import ASSETS
from tests.toy import ROOT, write_claims
from tests.workflow.checking.test_baselines import result

MACHINE = {"processor": "a processor", "cores": 2}


def page(toy, **values):
    made = result("coin", **values)
    made.hardware.update(MACHINE)
    judged = judged_claims(load_claims(toy.project), made.measurements, "book")
    fields = {"profile": "book", "judged": judged, "results": {"coin": made} if values else {}}
    fields |= {"notebooks": find_notebooks(toy.project), "papers": read_papers(toy.project)}
    return fill("ledger.md", Ledger(**fields))


def test_groups_hold_every_row_once_in_the_order_of_the_papers(toy):
    write_claims(toy.project, locator="Section 3, a wish")
    rows = re.findall(r'id="row-(\w+)"', page(toy, toy_half=0.9))
    assert rows == ["toy_powers", "toy_words", "toy_half"]
    groups = re.findall(r'<details class="ntp-group"><summary>([^<]*) <', page(toy))
    assert groups == ["Theorem 1", "Section 3"]


@pytest.fixture
def opened(toy, tmp_path, visit):
    """A function: the ledger of the toy project, opened from disk at an address."""
    write_claims(toy.project, kind="ours", locator="Section 3, a wish")
    text = page(toy, toy_half=0.9, toy_powers=[2.0, 1.0])
    html = text.partition("````{raw} html\n")[2].rpartition("\n````")[0]
    site = tmp_path / "site"
    (site / "_static").mkdir(parents=True)
    for name in ("ledger.js", "ledger.css", "companion.css"):
        shutil.copy(ASSETS / name, site / "_static")
    (site / "ledger.html").write_text(f'<!DOCTYPE html><meta charset="utf-8"><h1>x</h1>{html}')
    page_at = (site / "ledger.html").as_uri()
    return lambda address="", **options: visit(f"{page_at}{address}", **options)


def shown(tab):
    """The claims whose rows are not hidden, in the order of the page."""
    ids = "[...document.querySelectorAll('.ntp-row')].filter(r => !r.hidden).map(r => r.id)"
    return tab.evaluate(ids)


def seen(tab):
    ids = (
        "[...document.querySelectorAll('.ntp-row')].filter(r => r.checkVisibility()).map(r => r.id)"
    )
    return tab.evaluate(ids)


def test_filters_narrow_the_rows_and_stand_in_the_address(opened):
    tab = opened()
    assert shown(tab) == ["row-toy_powers", "row-toy_words", "row-toy_half"]
    assert seen(tab) == [], "groups are folded"
    tab.select_option("select[name=verdict]", "refuted")
    assert seen(tab) == ["row-toy_powers", "row-toy_half"]
    tab.select_option("select[name=kind]", "ours")
    assert seen(tab) == ["row-toy_half"]
    assert tab.evaluate("location.hash") == "#kind=ours&verdict=refuted"
    assert tab.inner_text("output") == "1 of 3 claims"
    tab.click("button[type=reset]")
    tab.wait_for_function("document.querySelector('output').textContent === '3 of 3 claims'")
    assert tab.evaluate("location.hash") == ""
    assert seen(tab) == [], "what a filter opened is folded again"


def test_an_address_that_was_sent_shows_the_same_view(opened):
    tab = opened("#chapter=words&text=theorem+1")
    assert seen(tab) == ["row-toy_words"]
    assert tab.input_value("select[name=chapter]") == "words"
    assert tab.input_value("input[name=text]") == "theorem 1"
    tab.evaluate("location.hash = '#kind=ours&verdict=refuted'")
    tab.wait_for_function("document.querySelector('output').textContent === '1 of 3 claims'")
    assert seen(tab) == ["row-toy_half"]
    assert seen(opened("#kind=nonsense")) == [], "an unknown value filters nothing"


def test_a_search_needs_all_of_its_words_anywhere_in_a_row(opened):
    tab = opened()
    tab.fill("input[name=text]", "WISH half")
    assert seen(tab) == ["row-toy_half"]
    tab.fill("input[name=text]", "wish whole")
    assert shown(tab) == []


def test_without_scripts_the_list_is_whole_and_there_is_no_form(opened):
    tab = opened(java_script_enabled=False)
    assert tab.locator(".ntp-row").count() == 3
    assert not tab.locator("#ntp-filters").is_visible()
    tab.locator(".ntp-group summary").first.click()
    assert tab.locator("#row-toy_powers").is_visible()


@pytest.fixture
def made(toy):
    """The rows of the toy project, and its results."""
    write_claims(toy.project, statement='"Half", or $1/2$', paper_value=0.25)
    item = Measurement.of("toy.half", 0.5, stderr=0.125, replicates=9, seed=3, records=["long"])
    results = {"coin": result("coin", toy_half=item, toy_powers=[2.0, 1.0])}
    return [*rows(toy, *results["coin"].measurements).values()], results


def rows(toy, *measurements):
    judged = judged_claims(load_claims(toy.project), measurements, "book")
    return {name: data_row(one) for name, one in judged.items()}


def test_json_holds_every_claim_and_the_runs_once(made):
    data = json.loads(ledger_json(*made, "book"))
    assert [row["id"] for row in data["claims"]] == ["toy.half", "toy.powers", "toy.words"]
    first = data["claims"][0]
    assert (first["values"], first["stderrs"], first["seed"]) == ([0.5], [0.125], 3)
    assert (first["records"], first["paper_value"]) == (["long"], 0.25)
    assert list(data["runs"]) == ["coin"]
    assert "hardware" not in first


def test_the_page_says_what_every_field_is(made):
    page = (ROOT / "book" / "ledger.md").read_text(encoding="utf-8")
    data = json.loads(ledger_json(*made, "book"))
    for name in (*data["claims"][0], *data["runs"]["coin"]):
        assert f"`{name}`" in page, name


def test_the_table_has_the_same_fields_and_numbers(made):
    lines = list(csv.DictReader(io.StringIO(ledger_csv(made[0]))))
    assert list(lines[0]) == list(made[0][0])
    assert [line["values"] for line in lines] == ["0.5", "2.0 1.0", ""]
    assert lines[0]["statement"] == '"Half", or $1/2$'
    assert (lines[2]["verdict"], lines[2]["seed"]) == ("not measured", "")
    assert lines[2]["url"] == "chapters/words.html"
