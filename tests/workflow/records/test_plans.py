import pytest

from ntpcompanion.workflow.records.record import read_plans
from tests.refusing import refused
from tests.workflow.halves import PLAN


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"experiment": "toypkg.study"},
            r"plans.yml: halves.experiment: .*must be the name of a module of the package's "
            r"experiments, got 'toypkg.study'",
        ),
        ({"experiment": "class"}, r"must be the name of a module"),
        ({"fixed": {"scale": float("nan")}}, r"halves.fixed.scale: .*JSON cannot hold it"),
        ({"grid": {"n": [float("inf")]}}, r"halves.grid.n.0: .*JSON cannot hold it"),
        ({"grid": {}}, r"Dictionary should have at least 1 item"),
        ({"grid": {"n": []}}, r"List should have at least 1 item"),
        ({"grid": {"n": [1, 1]}}, r"`n` gives 1 twice: give each value once"),
        ({"seeds": 1}, r"Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_plans(study, change, words):
    study.plan_records(halves={**PLAN, **change})
    with refused(words):
        read_plans(study.project)
