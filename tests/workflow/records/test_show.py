import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_sealed
from ntpcompanion.workflow.claims.measure import RECORD_MIME
from ntpcompanion.workflow.records.show import show_record

RESULTS = [{"parameters": {"n": n}, "result": n / 2, "seconds": 0.1} for n in (1, 2)]


def test_a_record_is_found_from_below_and_leaves_a_place_for_its_banner(
    toy, monkeypatch, displayed
):
    path = toy.project.records / "halves.json"
    write_sealed(path, {"results": RESULTS})
    for folder in (toy.project.root, toy.project.notebooks):
        monkeypatch.chdir(folder)
        assert show_record("halves") == RESULTS
    text = "Recorded run halves: 2 tasks"
    assert (
        displayed()
        == [{RECORD_MIME: {"name": "halves"}, "text/plain": text, "text/html": f"<p>{text}</p>"}]
        * 2
    )


def test_a_record_that_is_missing_or_was_edited_is_not_shown(toy, displayed):
    with pytest.raises(
        WorkflowError,
        match=r"`name` = 'halves': no such record at .*toy. Make it with `ntpcompanion record",
    ):
        show_record("halves")
    path = toy.project.records / "halves.json"
    for other in ({}, {"results": "none"}):
        write_sealed(path, other)
        with pytest.raises(
            WorkflowError, match=r"halves.json is no record: it holds no list of results"
        ):
            show_record("halves")
    write_sealed(path, {"results": RESULTS})
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(WorkflowError, match=r"halves.json does not match its own checksum"):
        show_record("halves")
    assert displayed() == []
