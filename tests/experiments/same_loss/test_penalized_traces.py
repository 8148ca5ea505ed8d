import pytest

from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss.penalized_traces import Plan, run
from tests.experiments import study_cases
from tests.experiments.study_cases import PENALTY, STEPS, VALUES

RIGHT = {name: VALUES[name] for name in ("language", "shape", "training", "seeds")} | {
    "penalty": STEPS,
    "weights": [0.0, 0.1],
    "sentences": 100,
    "inputs": 40,
    "labels": 1,
}


def test_networks_are_those_of_the_study_and_runs_that_go_on_give_the_same(tmp_path):
    found = run(Plan.from_json(RIGHT), checkpoint=tmp_path)
    exact = {**PENALTY, "labels": "exact"}
    suite = study_cases.SUITE | {"inputs": RIGHT["inputs"]}
    study = downstream.run(study_cases.plan(exact, suite=suite, references=False))
    models = {(m.strength, m.seed): m for m in study.models if m.kind == "penalty"}
    for network in found.networks:
        model = models[network.weight, network.seed]
        assert network.plain == pytest.approx(model.trace, rel=1e-4)
        assert network.balanced == pytest.approx(model.balanced, rel=1e-4)
        assert network.excess == pytest.approx(model.excess, rel=1e-4)
        assert network.fitted < network.balanced
    changed = (tmp_path / "1.pt").stat().st_mtime_ns
    assert run(Plan.from_json(RIGHT), checkpoint=tmp_path) == found  # trained networks are read
    assert (tmp_path / "1.pt").stat().st_mtime_ns == changed
