from copy import deepcopy

from ntpcompanion.workflow.records.making import make_record, try_miniature
from ntpcompanion.workflow.records.record import next_in_queue, plan_of
from ntpcompanion.workflow.sweeps.campaign import Options
from tests.refusing import refused
from tests.workflow.halves import PLAN

QUEUE = {"decides": "whether two halves are one", "memory_gib": 80, "miniature": {"n": 7}}


def test_the_next_of_the_queue_is_the_first_without_a_record(study):
    study.plan_records(
        halves=PLAN, **{name: deepcopy({**PLAN, "queue": QUEUE}) for name in ("first", "second")}
    )
    assert next_in_queue(study.project) == "first"
    make_record(study.project, "first", Options(jobs=1))
    assert next_in_queue(study.project) == "second"
    make_record(study.project, "second", Options(jobs=1))
    with refused(r"^The queue is empty: every plan of book/records"):
        next_in_queue(study.project)


def test_a_queue_is_no_part_of_what_is_run(study):
    study.plan_records(halves={**PLAN, "queue": QUEUE})
    assert "queue" not in plan_of(study.project, "halves").model_dump()


def test_a_miniature_runs_one_task_and_keeps_nothing(study):
    study.plan_records(halves={**PLAN, "queue": QUEUE})
    assert 0 <= try_miniature(study.project, "halves", Options(jobs=1)) < 60
    assert not list(study.project.records.glob("*.json"))
    assert not list((study.project.build / "records").glob("*"))
    study.plan_records(halves={**PLAN, "queue": {**QUEUE, "miniature": {"n": "seven"}}})
    with refused("`n` should be a valid integer, got 'seven'"):
        try_miniature(study.project, "halves", Options(jobs=1))


def test_a_plan_that_does_not_wait_has_no_miniature(study):
    with refused(r"^'halves' has no `queue` .* so no miniature"):
        try_miniature(study.project, "halves")
