import json

import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.site.build_site import prepare_pages
from tests.workflow.running.test_history import build


@pytest.fixture
def executed(instant):
    instant.execute()
    return instant


def test_every_part_is_written_and_agrees_with_the_others(executed):
    source, *_ = prepare_pages(executed.project, executed.runs(), "book")
    chapters = source / "chapters"
    names = {path.name for path in (chapters / "_data").iterdir()}
    assert names == {"ledger.json", "ledger.csv", "ledger.schema.json"}
    parts = {path.name: path.read_text() for path in chapters.glob("_*.md")}
    names = ("ledger", "status", "records", "drift", "speed", "theorems")
    assert set(parts) == {f"_{name}.md" for name in names}
    assert "`make bench`" in parts["_speed.md"]
    data = json.loads((chapters / "_data" / "ledger.json").read_text())
    for row in data["claims"]:
        assert f'id="row-{row["id"].replace(".", "_")}"' in parts["_ledger.md"]
    assert "records one" in parts["_drift.md"]


def test_a_history_reaches_the_page(executed):
    executed.command("history")
    source, *_ = prepare_pages(executed.project, executed.runs(), "book")
    assert (
        "One build, with 3 claims: nothing can have moved yet."
        in (source / "chapters" / "_drift.md").read_text()
    )


def test_a_damaged_history_stops_the_build_with_its_name(executed):
    made = build(executed, toy_half=0.5)
    folder = executed.project.book / "history"
    folder.mkdir()
    (folder / "broken.json").write_text("{")
    assert made.verdicts == {"toy.half": "supported"}
    with pytest.raises(WorkflowError, match=r"broken\.json cannot be read as JSON"):
        prepare_pages(executed.project, executed.runs(), "book")


def test_a_landing_page_that_names_no_figure_stops_the_build(executed):
    landing = {"start": "?", "threads": {}, "questions": {}, "card": "toy.half"}
    finding = {"title": "t", "text": "t", "claim": "toy.half", "number": "n", "figure": "fig"}
    finding["shows"] = "what is drawn"
    path = executed.project.book / "landing.yml"
    path.write_text(yaml.safe_dump(landing | {"findings": [finding]}))
    with pytest.raises(WorkflowError, match="figure 'fig', which notebook 'coin' does not draw"):
        prepare_pages(executed.project, executed.runs(), "book")
    path.write_text(yaml.safe_dump(landing | {"findings": []}))
    source, *_ = prepare_pages(executed.project, executed.runs(), "book")
    assert (source / "chapters" / "_map.md").is_file()
