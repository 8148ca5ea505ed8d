import json

import pytest

from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.records.making import make_record
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.sweeps.campaign import Options
from tests.refusing import refused
from tests.workflow.halves import PLAN, STORED

OTHERS = [
    {"schema": 1},
    {"name": "other"},
    {"more": 1},
    {"seconds": "1"},
    {"finished": None},
    {"results": [{"result": 1}]},
    {"plan": PLAN | {"experiment": "class"}},
    {"verified": [{"tasks": 1}]},
]


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_what_is_no_such_record_is_not_read(study, change):
    write_sealed(
        study.project.records / "halves.json",
        {name: value for name, value in (STORED | change).items() if value is not None},
    )
    with refused(
        r"halves.json is not a record 'halves' of schema 2. Make it again with `ntpcompanion "
        r"record halves`"
    ):
        load_record(study.project, "halves")


def test_a_record_says_what_no_longer_matches_it(study):
    plan = {"about": "Halves of numbers.", "experiment": "study", "grid": {"n": [1, 2]}}
    study.plan_records(halves=plan)
    path = make_record(study.project, "halves", Options(jobs=1))
    record = load_record(study.project, "halves")
    source = sha256(canonical_json(json.loads(path.read_text())["sources"]))[:12]
    assert record.made.endswith(f", source {source}")
    assert (record.about, record.outdated) == ("Halves of numbers.", [])
    study.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    study.plan_records(halves={**plan, "about": "Halves of two numbers."})
    record = load_record(study.project, "halves")
    assert (record.about, record.outdated) == ("Halves of two numbers.", ["TWO"])
    study.plan_records(halves={**plan, "grid": {"n": [1, 3]}})
    assert load_record(study.project, "halves").outdated == ["TWO", "book/records/plans.yml"]
    study.plan_records()
    assert load_record(study.project, "halves").outdated == ["TWO", "book/records/plans.yml"]
    path.unlink()
    with refused(r"halves.json does not exist. Make it with `ntpcompanion record halves`"):
        load_record(study.project, "halves")


def test_a_record_outlives_moves_and_public_names(study):
    study.plan_records(halves={"about": "Halves.", "experiment": "study", "grid": {"n": [1]}})
    path = make_record(study.project, "halves", Options(jobs=1))
    assert set(json.loads(path.read_text())["sources"]) == {
        *("Plan", "Plan (2)", "Result", "Result (2)", "run", "half", "TWO")
    }
    package = study.project.package
    (package / "two.py").rename(package / "three.py")
    study.edit("toypkg/half.py", "toypkg.two", "toypkg.three")
    init = package / "experiments" / "__init__.py"
    init.write_text(
        "from ntpcompanion.lazy_names import attach_public_names\n\n"
        '__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")\n'
    )
    init.with_suffix(".pyi").write_text("from . import study as study\n")
    assert load_record(study.project, "halves").outdated == []
    init.write_text(f"{init.read_text()}print()\n")
    assert load_record(study.project, "halves").outdated == ["print()"]
