from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.generated import RecordRow, Status, record_rows
from ntpcompanion.workflow.records.making import make_record
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.sweeps.campaign import Options
from tests.workflow.checking.test_baselines import result
from tests.workflow.pages.test_ledger import MACHINE

MACHINE = {**MACHINE, "memory_gib": 24, "system": "Linux", "machine": "x86_64"}


def test_each_machine_is_told_once_with_what_it_made(toy):
    made = result("coin", toy_half=0.5)
    made.hardware.update(MACHINE)
    made.versions.update({"python": "3.11.7", "numpy": "2.4.6"})
    notebooks = find_notebooks(toy.project)
    line = "a processor, 2 cores, 24 GiB, Linux x86_64"

    def machines(**results):
        fields = {"profile": "book", "judged": {}, "notebooks": notebooks}
        return Status(**fields, results=results).machines

    (alone,) = machines(coin=made)
    assert alone == ([], line, made.versions)
    other = result("words", toy_words=3.0)
    other.hardware.update({**MACHINE, "processor": "another one"})
    other.versions.update(made.versions)
    one, two = machines(coin=made, words=other)
    assert one == (["A coin"], line, made.versions)
    assert two[:2] == (["Words"], "another one, 2 cores, 24 GiB, Linux x86_64")


def test_a_record_is_listed_before_and_after_it_is_made_and_when_outdated(importable):
    importable.plan_halves()
    project = importable.project

    def row():
        (made,) = record_rows(project, lambda name: load_record(project, name))
        return made

    assert row() == RecordRow("halves", {})
    make_record(project, "halves", Options(1))
    assert (row().stored["name"], row().changed, row().again) == ("halves", "", "–")
    importable.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    assert row().changed == "TWO"
    last = {"tasks": 1, "of": 2, "date": "2026-01-02T03", "deviation": 0.0}
    assert RecordRow("a", {"verified": [last]}).again == "1 of 2 tasks, 2026-01-02, equal"
    last["deviation"] = 2e-9
    assert RecordRow("a", {"verified": [last]}).again.endswith("2026-01-02, deviation 2e-09")
