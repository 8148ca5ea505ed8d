import pandas as pd
import pytest

from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss.penalized_traces import (
    Plan,
    Result,
    TracedNetwork,
    run,
    with_function_traces,
)
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.recorded import Run
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


def network(weight, seed, balanced):
    traces = {"balanced": balanced, "plain": 9.0, "function": 2.0 + seed, "fitted": 2, "median": 1}
    rest = {"excess": 0.0, "function_stderr": 0.0, "largest": 0.1}
    return TracedNetwork(weight=weight, seed=seed, **traces, **rest)


def task(*networks):
    return [Run(Plan.from_json(RIGHT), Result(networks=networks))]


def test_traces_stand_beside_the_accuracies_of_the_same_network_only():
    models = {"kind": "penalty", "strength": [0.0, 0.0, 0.1], "seed": [0, 1, 0], "position": 1}
    table = pd.DataFrame(models | {"balanced": [4.0, 5.0, 6.0], "full": [70.0, 71.0, 72.0]})
    study = Study(table)
    joined = with_function_traces(study, task(network(0.0, 1, 5.01), network(0.1, 0, 6.0))).table
    assert joined[["seed", "full", "function"]].to_numpy().tolist() == [[1, 71, 3], [0, 72, 2]]
    with pytest.raises(
        ValueError, match=r"got the balanced trace 5.1 for seed 1 and weight 0, .* 5"
    ):
        with_function_traces(study, task(network(0.0, 1, 5.1)))
    with pytest.raises(ValueError, match="got 1 of 2 whose weight or seed it does not have"):
        with_function_traces(study, task(network(0.0, 1, 5.0), network(0.2, 1, 5.0)))
