import json

import numpy as np
import pytest

from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss.penalized_traces import (
    Plan,
    Result,
    TracedNetwork,
    run,
    trace_change,
)
from tests.experiments import study_cases
from tests.experiments.cases import RECORDS
from tests.experiments.study_cases import PENALTY, STEPS, VALUES

RIGHT = {name: VALUES[name] for name in ("language", "shape", "training", "seeds")} | {
    "penalty": STEPS,
    "weights": [0.0, 0.1],
    "sentences": 100,
    "inputs": 40,
    "labels": 1,
}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("language", "hmm-9", "`language"),
        ("weights", [], "should have at least 1 item"),
        ("seeds", [-1], "greater than or equal to 0, got -1"),
        ("inputs", 19, "greater than or equal to 20, got 19"),
        ("device", 3, "`device` should be a valid string"),
    ],
)
def test_a_wrong_field_is_named(name, value, words):
    with pytest.raises(ValueError, match=words):
        Plan.from_json(RIGHT | {name: value})


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


def network(weight, seed, value):
    traces = dict.fromkeys(("plain", "balanced", "function", "fitted", "median"), value)
    rest = {"excess": 0.0, "function_stderr": 0.0, "largest": 0.1}
    return TracedNetwork(weight=weight, seed=seed, **traces, **rest)


def test_a_change_is_the_logarithm_of_a_quotient_of_the_same_seed():
    networks = [network(0.0, 1, 2.0), network(0.0, 0, 1.0)]
    networks += [network(0.1, seed, (1 + seed) * np.e**2) for seed in (0, 1)]
    effect = trace_change(networks, 0.1, "function")
    assert effect.mean == pytest.approx(2)
    assert effect.stderr == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match=r"`weight` must have been run .* got 0.2"):
        trace_change(networks, 0.2, "function")
    with pytest.raises(ValueError, match="`trace` must be one of 'plain'"):
        trace_change(networks, 0.1, "largest")


def test_stored_results_are_read_and_their_networks_are_near_those_of_the_study():
    stored = json.loads((RECORDS / "penalized_traces_hmm6.json").read_text(encoding="utf-8"))
    study = json.loads((RECORDS / "downstream_hmm6.json").read_text(encoding="utf-8"))
    models = {
        (model["strength"], model["seed"]): model
        for task in study["results"]
        for model in downstream.Result.from_json(task["result"]).to_json()["models"]
        if model["kind"] == "penalty"
    }
    for row in stored["results"]:
        result = Result.from_json(row["result"])
        assert result.to_json() == row["result"]
        for each in result.networks:
            if each.weight >= 0:  # a reward runs away from rounding on
                model = models[each.weight, each.seed]
                assert each.balanced == pytest.approx(model["balanced"], rel=0.5)
