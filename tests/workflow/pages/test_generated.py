import json

import pytest
import yaml

from ntpcompanion.workflow.site.build_site import prepare_pages
from tests.refusing import refused


@pytest.fixture
def executed(instant):
    instant.execute()
    return instant


def test_every_part_is_written_and_agrees_with_the_others(executed):
    source, *_ = prepare_pages(executed.project, executed.runs(), "book")
    chapters = source / "chapters"
    names = {path.name for path in (chapters / "_data").iterdir()}
    assert names == {"ledger.json", "ledger.csv"}
    parts = {path.name: path.read_text() for path in chapters.glob("_*.md")}
    names = ("ledger", "status", "records", "theorems")
    assert set(parts) == {f"_{name}.md" for name in names}
    data = json.loads((chapters / "_data" / "ledger.json").read_text())
    for row in data["claims"]:
        assert f'id="row-{row["id"].replace(".", "_")}"' in parts["_ledger.md"]


def test_a_landing_page_that_names_no_figure_stops_the_build(executed):
    landing = {"start": "?", "threads": {}, "questions": {}, "card": "toy.half"}
    finding = {"title": "t", "text": "t", "claim": "toy.half", "number": "n", "figure": "fig"}
    finding["shows"] = "what is drawn"
    path = executed.project.book / "landing.yml"
    path.write_text(yaml.safe_dump(landing | {"findings": [finding]}))
    with refused("figure 'fig', which notebook 'coin' does not draw"):
        prepare_pages(executed.project, executed.runs(), "book")
    path.write_text(yaml.safe_dump(landing | {"findings": []}))
    source, *_ = prepare_pages(executed.project, executed.runs(), "book")
    assert (source / "chapters" / "_map.md").is_file()
