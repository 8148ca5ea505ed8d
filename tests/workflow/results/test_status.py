import pytest

from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.records.making import Options, make_record
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.results.status import duration, records_table, status_page
from tests.workflow.claims.test_baselines import result
from tests.workflow.results.test_ledger import MACHINE

MACHINE = {**MACHINE, "memory_gib": 24, "system": "Linux", "machine": "x86_64"}


def test_status_lists_what_was_run_and_what_was_not(toy):
    made = result("coin", toy_half=0.5)
    made.hardware.update(MACHINE)
    made.versions.update({"python": "3.11.7", "numpy": "2.4.6"})
    text = status_page({"coin": made}, find_notebooks(toy.project), "book")
    assert "  - 2026-01-01 00:00\n  - 1.0\n  - 0 MiB\n  - `k`\n" in text
    widths = [
        sum(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith(":widths:")
    ]
    assert widths == [100, 100]
    assert "not run" in text
    assert "numpy" in text
    assert "Made on a processor, 2 cores, 24 GiB, Linux x86_64: all notebooks\n" in text
    other = result("words", toy_words=3.0)
    other.hardware.update({**MACHINE, "processor": "another one"})
    other.versions.update(made.versions)
    both = status_page({"coin": made, "words": other}, find_notebooks(toy.project), "book")
    assert "Made on a processor, 2 cores, 24 GiB, Linux x86_64: A coin\n" in both
    assert "Made on another one, 2 cores, 24 GiB, Linux x86_64: Words\n" in both


@pytest.mark.parametrize(
    ("seconds", "text"), [(42.4, "42 s"), (119.0, "119 s"), (600.0, "10 min"), (9000.0, "2.5 h")]
)
def test_a_duration_in_the_unit_that_fits(seconds, text):
    assert duration(seconds) == text


def test_no_records_are_said(toy):
    assert records_table(toy.project, pytest.fail) == "No runs are recorded.\n"


def test_a_record_is_listed_before_and_after_it_is_made_and_when_outdated(importable):
    importable.plan_halves()
    project = importable.project

    def table():
        return records_table(project, lambda name: load_record(project, name))

    assert "* - `halves`\n  - not made yet\n" in table()
    make_record(project, "halves", Options(1))
    assert "  - up to date\n  - –\n" in table()
    importable.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    assert "  - **outdated**: TWO\n" in table()
