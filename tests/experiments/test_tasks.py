from types import SimpleNamespace

from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.experiments.tasks import tasks_table
from tests.experiments.test_experiment import Share, Throws


class Study(Plan):
    """A coin is a part of this plan."""

    coin: Throws
    seed: int


def test_a_table_of_tasks_has_the_fields_of_plans_their_parts_and_results():
    module = SimpleNamespace(Plan=Study, Result=Share)
    task = {
        "parameters": {"coin": {"draws": 2, "bias": 0.25}, "seed": 7},
        "result": {"share": 0.5, "runs": [3]},
    }
    table = tasks_table(module, [task])
    row = {"draws": 2, "bias": 0.25, "sides": ("heads", "tails"), "seed": 7, "share": 0.5}
    assert row.items() <= table.iloc[0].to_dict().items()
    assert "coin" not in table
    assert table.result[0] == Share(share=0.5, runs=(3,))
