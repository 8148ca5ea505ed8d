import numpy as np
import pytest
import torch

from ntpcompanion.experiments.same_loss import equal_loss
from ntpcompanion.experiments.same_loss.equal_loss import (
    Plan,
    Result,
    disturbance_table,
    read_tasks,
    run,
)
from ntpcompanion.recorded import Run
from tests.experiments.cases import recorded
from tests.experiments.same_loss.test_penalized_traces import RIGHT as NETWORKS
from tests.experiments.study_cases import STEPS, VALUES

RIGHT = NETWORKS | {
    "noise": [0.01],
    "pairs": 1,
    "bits": [4, 12],
    "other_language": VALUES["language"] | {"seed": 5},
    "other_training": STEPS,
    "examples": 100,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    plan, folder = Plan.from_json(RIGHT), tmp_path_factory.mktemp("networks")
    return plan, run(plan, checkpoint=folder), folder


def test_every_network_and_pair_has_a_row(finished):
    plan, result, _ = finished
    networks = {(n.weight, n.seed) for n in result.networks}
    assert networks == {(w, s) for w in plan.weights for s in plan.seeds}
    assert [s.seed for s in result.silent] == list(plan.seeds)
    count = len(plan.seeds)
    kinds = [pair.kind for pair in result.pairs]
    assert kinds.count("seeds") == 2 * (count * (count - 1) // 2)
    assert kinds.count("weights") == count
    for pair in result.pairs:
        assert (pair.kind == "seeds") == (pair.weights[0] == pair.weights[1])


def test_fine_grids_change_little_and_a_silent_unit_no_prediction(finished):
    _, result, _ = finished
    for network in result.networks:
        assert abs(network.rounding[1]) < 1e-5 < abs(network.rounding[0])
        assert network.learned > 0
    for unit in result.silent:
        assert unit.logit_change < 1e-12


def test_equal_seeds_give_equal_results_and_trained_networks_are_read_again(finished):
    plan, result, folder = finished
    changed = (folder / "1.pt").stat().st_mtime_ns
    assert run(plan, checkpoint=folder) == result
    assert (folder / "1.pt").stat().st_mtime_ns == changed
    assert Result.from_json(result.to_json()) == result


def test_tasks_become_one_study_only_if_they_differ_in_seeds(finished):
    plan, result, _ = finished
    task = Run(plan, result)
    together, both = read_tasks([task, task])
    assert together.seeds == plan.seeds * 2
    assert both.networks == result.networks * 2
    other = Run(plan.model_copy(update={"pairs": 2}), result)
    with pytest.raises(ValueError, match="differ in `seeds` only, got 2 plans"):
        read_tasks([task, other])


def test_predictions_of_noise_are_those_of_the_trace(finished):
    plan, result, _ = finished
    table = disturbance_table(result.networks, plan)
    assert len(table) == len(result.networks) * 3
    noise = table[table.disturbance == "noise 0.01"]
    assert np.allclose(noise.predicted, 0.5e-4 * noise.trace)
    assert noise.measured.tolist() == [n.noise[0] for n in result.networks]


def test_the_record_is_one_study_of_twelve_seeds():
    plan, result = read_tasks(recorded(equal_loss, "equal_loss_hmm6"))
    assert len(result.silent) == len(plan.seeds) == 12
    assert torch.tensor([n.excess for n in result.networks]).max() < 0.02
