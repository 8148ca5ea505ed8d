import json
import shutil

import pytest

from ntpcompanion.workflow.base.files import read_sealed, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.pages.cards import Banner
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.records import making
from ntpcompanion.workflow.records.making import make_record, verify_record
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.sweeps.campaign import Options, appended
from tests.refusing import refused
from tests.toy import Toy, make_importable, make_toy
from tests.workflow.halves import PLAN, STORED, STUDY


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A toy project with the record `halves`. Nobody changes it."""
    toy = make_toy(tmp_path_factory.mktemp("made") / "toy")
    toy.write_experiment("study", STUDY)
    toy.plan_records(halves=PLAN)
    with pytest.MonkeyPatch.context() as patch:
        make_importable(toy, patch)
        make_record(toy.project, "halves", Options(jobs=1))
    return toy


@pytest.fixture
def made(made_once, tmp_path, monkeypatch):
    """A copy, to be changed, whose package this process and those it starts can import."""
    shutil.copytree(made_once.project.root, tmp_path / "made")
    toy = Toy(Project(tmp_path / "made", tmp_path / "made" / "toypkg"))
    monkeypatch.chdir(toy.project.root)
    make_importable(toy, monkeypatch)
    return toy


def shown(toy):
    return fill("record.html", Banner(load_record(toy.project, "halves")))


def test_a_record_survives_a_change_of_the_code_that_moves_no_number(made):
    made.edit("toypkg/two.py", "TWO = 2", "TWO = 1 + 1")
    assert "outdated: TWO changed since" in shown(made)
    entry = verify_record(made.project, "halves", 2, Options(jobs=1))
    assert (entry["tasks"], entry["of"], entry["deviation"]) == (2, 3, 0.0)
    text = shown(made)
    assert "2 of 3 tasks run again 2" in text
    assert "with equal results on " in text
    assert text.endswith("; matches the present code.</details>")
    made.edit("toypkg/two.py", "TWO = 1 + 1", "TWO = 3 - 1")
    assert "outdated: TWO changed since" in shown(made), "verified for one code, not for ever"


def test_what_made_the_record_is_kept(made):
    path = made.project.records / "halves.json"
    before = json.loads(path.read_text())
    made.edit("toypkg/two.py", "TWO = 2", "TWO = 1 + 1")
    first = verify_record(made.project, "halves", 1, Options(jobs=1))
    second = verify_record(made.project, "halves", 3, Options(jobs=1))
    after = read_sealed(path)
    assert after.pop("verified") == [first, second]
    assert all(after[name] == before[name] for name in after if name != "checksum")
    assert first["sources"] != before["sources"]


@pytest.mark.slow
def test_a_record_whose_sources_were_hashed_again_matches_until_they_change(made):
    """As when another definition of what a file means came: nothing was run for it."""
    path = made.project.records / "halves.json"
    data = read_sealed(path)
    again = {"sources": data["sources"], "date": "2026-11-25T12:00:00Z"}
    data["sources"] = {name: "by the definition of then" for name in data["sources"]}
    assert data.pop("checksum")
    write_sealed(path, data)
    assert "; outdated: " in shown(made)
    write_sealed(path, {**data, "rehashed": again})
    assert shown(made).endswith("; matches the present code.</details>")
    made.edit("toypkg/two.py", "TWO = 2", "TWO = 1 + 1")
    assert "outdated: TWO changed since" in shown(made)
    entry = verify_record(made.project, "halves", 1, Options(jobs=1))
    after = read_sealed(path)
    assert "rehashed" not in after
    assert after["sources"] == data["sources"]
    assert after["verified"] == [entry]
    assert shown(made).endswith("; matches the present code.</details>")


def test_a_code_that_moves_a_number_is_noticed_and_the_record_left_as_it_is(made):
    path = made.project.records / "halves.json"
    before = path.read_bytes()
    made.edit("toypkg/two.py", "TWO = 2", "TWO = 4")
    words = (
        r"The record 'halves' does not hold for the present code. The task \{'scale': 2, 'n': 1\} "
        r"gives another result than the stored one: half: 1.0 → 0.5. The record is as it was. .*"
        r"`ntpcompanion record halves`"
    )
    with refused(words):
        verify_record(made.project, "halves", 3, Options(jobs=1))
    assert path.read_bytes() == before
    assert "outdated: TWO changed since" in shown(made)


def test_a_field_that_results_have_got_since_has_its_value_of_before(study):
    later = STUDY.replace("half: float\n", "half: float\n    added: int = 0\n")
    study.write_experiment("study", later)
    path = make_record(study.project, "halves", Options(jobs=1))
    data = read_sealed(path)
    del data["checksum"]
    assert [line["result"].pop("added") for line in data["results"]] == [0, 0, 0]
    write_sealed(path, data)
    assert verify_record(study.project, "halves", 3, Options(jobs=1))["deviation"] == 0


def test_the_tasks_are_drawn_by_the_code_not_by_its_user(made, monkeypatch):
    drawn = []

    def doubles(campaign, options):
        drawn.append(tasks := [point.overrides for point in campaign.points])
        made = {"read": {}, "hardware": {"processor": "A chip", "cores": 2}}
        appended(campaign.journal).close()
        return [{"result": {"half": float(task["n"])}, **made} for task in tasks]

    monkeypatch.setattr(making, "compute", doubles)
    path = made.project.records / "halves.json"
    stored = path.read_bytes()
    for _ in range(2):
        verify_record(made.project, "halves", 1, Options(jobs=1))
        path.write_bytes(stored)
    assert drawn[0] == drawn[1], "a killed verification goes on with the same tasks"
    seen = {str(drawn[0])}
    for number in range(20):
        (made.project.package / "two.py").write_text(f"TWO = 2 + 0 * {number}\n")
        verify_record(made.project, "halves", 1, Options(jobs=1))
        path.write_bytes(stored)
        seen.add(str(drawn[-1]))
    assert len(seen) == 3, "another code, another draw"


def test_what_cannot_be_verified_is_a_sentence_before_anything_runs(study):
    write_sealed(study.project.records / "halves.json", STORED)
    for count in (0, 4):
        words = rf"`--verify` must lie in 1 … 3, the tasks of the record 'halves', got {count}"
        with refused(words):
            verify_record(study.project, "halves", count)
    study.plan_records(halves=PLAN | {"fixed": {"scale": 3}})
    with refused(r"'halves' was made by another plan"):
        verify_record(study.project, "halves", 1)


def test_the_command(made):
    output = made.command("record", "halves", "--verify", "1")
    assert "1 of 3 tasks of 'halves' gave the stored results again" in output
    assert "largest relative deviation is 0." in output
