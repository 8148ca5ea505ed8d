"""Arguments of the public names of this package, wrong in every way that a user may get them wrong.

Plans of whole experiments are read by pydantic, and have tests of their own.
"""

import numpy as np

from ntpcompanion import experiments as ex
from ntpcompanion.experiments.same_loss.downstream import Plan, Result
from ntpcompanion.experiments.same_loss.recorded_study import Study, read_study, study_table
from ntpcompanion.mlm import ConvergedProbe, TrainingPlan
from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.recorded import Run
from tests.experiments.study_cases import VALUES
from tests.mistakes import wrong_calls

TRAINING = TrainingPlan(6, 8)
SGD = TrainingPlan(6, 8, optimizer="sgd")
ROW = {"strength": 0.0, "width": 8, "excess": 0.002, "excess_stderr": 1e-4, "tasks": {}}
ROW |= {"trace": 8.2, "balanced": 2.9}
ROWS = [{**ROW, "kind": kind, "seed": seed} for kind in ("saturated", "noise") for seed in (0, 1)]
RESULT = Result.from_json({"models": ROWS, "references": {}, "device": "cpu"})
STUDY = Study(study_table([RESULT], 0.2))
TASK = Run(Plan.from_json(VALUES), RESULT)
ARM = {"kind": "noise", "strength": 0.0, "column": "share"}

RIGHT = {
    "SuitePlan": (ex.SuitePlan, {"places": (1,)}),
    "Continued": (ex.Continued, {"training": TRAINING}),
    "Noise": (ex.Noise, {"sgd": SGD, "rates": (0.0, 1.0), "anneal": TRAINING}),
    "Adversarial": (ex.Adversarial, {"weights": (0.1,), "ridge": 1.0, "first": 3, "second": 3}),
    "Penalty": (ex.Penalty, {"training": TRAINING, "weights": (-0.1, 0.1)}),
    "Rescaled": (ex.Rescaled, {"logarithms": (-0.5, 0.5)}),
    "downstream.run": (ex.downstream.run, {"plan": Plan.from_json(VALUES)}),
    "pretraining.run": (ex.pretraining.run, {"plan": None}),
    "read_study": (read_study, {"tasks": [TASK], "sentences": 100}),
    "study_table": (study_table, {"results": [RESULT], "learnable_gap": 0.2}),
    "arm": (STUDY.arm, ARM),
    "effect": (STUDY.effect, ARM),
    "strengths": (STUDY.strengths, {"kind": "noise"}),
    "equal_loss": (STUDY.equal_loss, {"kind": "noise"}),
    "slope": (STUDY.slope, {"kind": "noise", "column": "share", "strengths": [0.0, 0.1]}),
    "plane": (STUDY.plane, {"kinds": ["noise"], "column": "share"}),
}
KINDS = {
    "training": (None, "training", {"steps": 3}, HMMPlan(2, 6, 4)),
    "weights": (None, 3, "ab", (), ("a",), (np.nan,), (True,)),
    "positive_weights": (None, 3, "ab", (), ("a",), (np.nan,), (-0.1,)),
    "places": (None, 3, "ab", (), (0,), (-1,), (1.5,), ("a",)),
    "examples": (None, 3, "ab", (100,), (100, 19), (100.5, 100), (100, 100, 100)),
    "probe": (None, "probe", TRAINING),
    "protocol": ("probe", TRAINING, 3, ConvergedProbe()),
    "path": ("folder", 3),
    "plan": (None, "plan", VALUES, TRAINING),
    "processes": ("x", 3),
    "results": (None, 3, "ab", [], [None], RESULT),
    "tasks": (None, 3, "ab", [None]),
    "arm_kind": ("misspelled", 3, None),
    "level": ("x", None, 0.7, np.nan),
    "column": ("misspelled", 3, None),
    "gap": ("x", None, 0.0, -1.0, np.nan),
    "kinds": (None, 3, "ab", [], ["misspelled"]),
    "levels": (3, "ab", [], [0.7]),
    "known_level": ("x", 0.7, np.nan),
}
WRONG = """
SuitePlan: places=places examples=examples sentences=size inputs=size labels=size probe=probe
SuitePlan: heads=protocol tuning=protocol
Continued: training=training
Noise: sgd=training rates=weights anneal=training
Adversarial: weights=positive_weights ridge=positive first=size second=size
Penalty: training=training weights=weights labels=choice
Rescaled: logarithms=weights
downstream.run: plan=plan checkpoint=path
pretraining.run: plan=plan
read_study: tasks=tasks equal_share=number
study_table: results=results learnable_gap=gap
arm: kind=arm_kind strength=level column=column
effect: kind=arm_kind strength=known_level column=column
strengths: kind=arm_kind
equal_loss: kind=arm_kind
slope: kind=arm_kind strengths=levels column=column
plane: kinds=kinds column=column
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT, KINDS)
