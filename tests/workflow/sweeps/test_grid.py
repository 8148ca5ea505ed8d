from ntpcompanion.workflow.sweeps.grid import grid_tasks
from tests.refusing import refused


def test_a_grid_is_every_combination():
    tasks = grid_tasks({"scale": 2}, {"n": [1, 2], "rule": ["gd", "adam"]})
    assert [tuple(task.values()) for task in tasks] == [
        (2, 1, "gd"),
        (2, 1, "adam"),
        (2, 2, "gd"),
        (2, 2, "adam"),
    ]
    with refused(r"^The grid has 1,000,000 points, and a sweep takes"):
        grid_tasks({}, {"n": range(1000), "m": range(1000)})
