"""A small experiment, its plan, and a record of it."""

from ntpcompanion.workflow.records.record import SCHEMA

PLAN = {
    "about": "Halves of numbers.",
    "experiment": "study",
    "fixed": {"scale": 2},
    "grid": {"n": [1, 2, 3]},
}
STUDY = """
from toypkg.half import half


class Plan(experiment.Plan):
    n: int
    scale: int = 2


class Result(experiment.Result):
    half: float


def run(plan, checkpoint):
    (checkpoint / "begun").touch()
    if plan.n == 0:
        raise ZeroDivisionError("nothing to halve")
    return Result(half=half(plan.n) * plan.scale)
"""
STORED = {
    "schema": SCHEMA,
    "name": "halves",
    "plan": PLAN,
    "results": [
        {"parameters": {"scale": 2, "n": n}, "result": n / 1, "seconds": 0.1} for n in (1, 2, 3)
    ],
    "sources": {},
    "versions": {},
    "hardware": {"processor": "A chip", "cores": 2},
    "started": "2026",
    "finished": "2026",
    "seconds": 1.0,
    "verified": [],
}
