from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.recorded import Run
from tests.experiments.test_experiment import Share, Throws


class Study(Plan):
    """A coin is a part of this plan."""

    coin: Throws
    seed: int


def test_a_table_of_tasks_has_the_fields_of_plans_their_parts_and_results():
    plan = Study.from_json({"coin": {"draws": 2, "bias": 0.25}, "seed": 7})
    table = tasks_table([Run(plan, Share(share=0.5, runs=(3,)))])
    row = {"draws": 2, "bias": 0.25, "sides": ("heads", "tails"), "seed": 7, "share": 0.5}
    assert row.items() <= table.iloc[0].to_dict().items()
    assert "coin" not in table
    assert table.result[0] == Share(share=0.5, runs=(3,))
