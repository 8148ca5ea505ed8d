import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from ntpcompanion.recorded import Run
from ntpcompanion.workflow.base.files import read_sealed, write_sealed
from ntpcompanion.workflow.claims.measure import RECORD_MIME
from ntpcompanion.workflow.records import show
from ntpcompanion.workflow.records.show import show_record
from tests.refusing import refused
from tests.toy import ROOT

PARTS = ("Plan", "Result")
RESULTS = [{"parameters": {"n": n}, "result": n / 2, "seconds": 0.1} for n in (1, 2)]
RECORD = {"plan": {"experiment": "halving", "fixed": {}, "grid": {"n": [1, 2]}}, "results": RESULTS}


def test_a_record_is_found_from_below_and_leaves_a_place_for_its_banner(
    toy, monkeypatch, displayed
):
    path = toy.project.records / "halves.json"
    write_sealed(path, RECORD)
    for folder in (toy.project.root, toy.project.notebooks):
        monkeypatch.chdir(folder)
        assert len(show_record("halves")) == 2
    text = "Recorded run halves: 2 tasks"
    assert (
        displayed()
        == [{RECORD_MIME: {"name": "halves"}, "text/plain": text, "text/html": f"<p>{text}</p>"}]
        * 2
    )


def test_runs_are_read_by_the_experiment_which_must_be_imported(toy, monkeypatch, displayed):
    write_sealed(toy.project.records / "halves.json", RECORD)
    monkeypatch.chdir(toy.project.root)
    shown = show_record("halves")
    with refused(r"'halves' .* experiment 'halving', which is not impo"):
        shown[0]
    read = {name: SimpleNamespace(from_json=lambda x, name=name: (name, x)) for name in PARTS}
    module = ModuleType("coins.halving")
    vars(module).update(read)
    monkeypatch.setitem(sys.modules, "coins.halving", module)
    runs = [Run(("Plan", {"n": n}), ("Result", n / 2), 0.1) for n in (1, 2)]
    assert [*shown] == shown[:] == runs
    assert shown[-1] == runs[1]


def test_a_record_of_the_checkout_of_this_package_is_found_from_any_folder(
    tmp_path, monkeypatch, displayed
):
    monkeypatch.chdir(tmp_path)
    record = min((ROOT / "book" / "records").glob("*.json"), key=lambda path: path.stat().st_size)
    assert len(show_record(record.stem)) == len(read_sealed(record)["results"])


@pytest.mark.parametrize("source", ["", "src"])
def test_a_record_of_another_book_is_found_by_its_package(tmp_path, source):
    """Also where this book has a record of the same name; but a folder with records of its own is
    asked alone.
    """
    name = next((ROOT / "book" / "records").glob("*.json")).stem
    package = tmp_path / "other" / source / "coins"
    package.mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (package / "__init__.py").touch()
    write_sealed(tmp_path / "other" / "book" / "records" / f"{name}.json", RECORD)
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r}); import coins\n"
        "from ntpcompanion.workflow import show_record\n"
        f"print(len(show_record({name!r})))"
    )

    def shown():
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path / "here",
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return (done.stdout or done.stderr).splitlines()[-1]

    assert shown() == str(len(RESULTS))
    (tmp_path / "here" / "book" / "records").mkdir(parents=True)
    assert f"no such record in {tmp_path / 'here' / 'book' / 'records'}. Make" in shown()


def test_where_no_folder_of_records_is_known_the_error_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(show, "sys", SimpleNamespace(modules={"ntpcompanion": sys}))
    with refused(rf"in a folder book/records at or above {tmp_path}\. Make .*papermill --cwd"):
        show_record("halves")


def test_a_record_that_is_missing_or_was_edited_is_not_shown(toy, displayed):
    with refused(
        r"`name` = 'halves': no such record in \S*toy/book/records\. Make it with "
        r"`ntpcompanion record halves`, or change into the checkout that has it \(`%cd FOLDER`"
    ):
        show_record("halves")
    path = toy.project.records / "halves.json"
    for other in ({}, {"results": "none"}):
        write_sealed(path, other)
        with refused(r"halves.json is not a record: it holds no list of results"):
            show_record("halves")
    write_sealed(path, RECORD)
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with refused(r"halves.json does not match its own checksum"):
        show_record("halves")
    assert displayed() == []
