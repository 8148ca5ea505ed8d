import pytest
import torch

from ntpcompanion.experiments.same_loss.downstream import CheckpointStore, Result, run
from ntpcompanion.experiments.same_loss.interventions import Arm, Measured
from ntpcompanion.networks.stack import initial_stack
from tests.experiments.study_cases import (
    ATTACK,
    CONTINUED,
    NOISE,
    PENALTY,
    RESCALED,
    SUITE,
    plan,
)
from tests.mlm.cases import TRANSFORMER

ALL = plan(CONTINUED, NOISE, PENALTY, RESCALED, ATTACK)


@pytest.fixture(scope="module")
def found():
    return run(ALL)


def models(result, kind, strength=0.0):
    rows = [m for m in result.models if m.kind == kind and m.strength == strength]
    assert [row.seed for row in rows] == [3, 5]
    return rows


def test_a_result_comes_back_from_json(found):
    assert Result.from_json(found.to_json()) == found


def test_every_arm_has_a_model_for_each_seed(found):
    arms = list(dict.fromkeys((m.kind, m.strength) for m in found.models))
    assert arms == [
        ("untrained", 0.0),
        ("saturated", 0.0),
        ("continued", 6.0),
        ("sgd", 0.0),
        ("sgd", 1.0),
        ("annealed", 0.0),
        ("annealed", 1.0),
        ("penalty", -0.1),
        ("penalty", 0.0),
        ("penalty", 0.1),
        ("rescaled", 0.4),
        ("adversarial", 0.0),
        ("adversarial", 0.5),
    ]
    assert len(found.models) == 2 * len(arms)


def test_an_adversary_of_weight_zero_trains_the_saturated_model(found):
    for normal, attacked in zip(
        models(found, "saturated"), models(found, "adversarial"), strict=True
    ):
        assert attacked.excess == pytest.approx(normal.excess, rel=1e-5)
        assert attacked.trace == pytest.approx(normal.trace, rel=1e-4)


def test_sgd_at_rate_zero_leaves_the_saturated_model(found):
    for normal, still in zip(models(found, "saturated"), models(found, "sgd"), strict=True):
        assert (still.excess, still.trace, still.tasks) == (normal.excess, normal.trace, {})


def test_rescaling_moves_the_plain_trace_alone(found):
    for normal, moved in zip(
        models(found, "saturated"), models(found, "rescaled", 0.4), strict=True
    ):
        assert abs(moved.trace / normal.trace - 1) > 0.1
        assert moved.balanced == pytest.approx(normal.balanced, rel=1e-2)
        assert moved.excess == pytest.approx(normal.excess, rel=1e-2)


def test_tasks_are_measured_as_far_as_an_arm_says(found):
    assert set(models(found, "saturated")[0].tasks) == {1, 3}
    assert set(models(found, "adversarial", 0.5)[0].tasks) == {1, 3}
    assert set(models(found, "penalty", 0.1)[0].tasks) == {1}
    assert models(found, "saturated")[0].slope is not None
    assert models(found, "continued", 6.0)[0].slope is None


def test_references_lie_between_chance_and_bayes(found):
    for reference in found.references.values():
        assert 0.5 <= reference.chance <= reference.bayes <= 1
    assert run(plan(references=False)).references == {}


def test_a_seed_does_not_notice_the_seeds_beside_it():
    together, alone = (run(plan(PENALTY, seeds=seeds, references=False)) for seeds in ([3, 5], [5]))
    own = [model for model in together.models if model.seed == 5]
    for first, second in zip(own, alone.models, strict=True):
        assert (first.kind, first.strength) == (second.kind, second.strength)
        assert first.excess == pytest.approx(second.excess, rel=1e-3)
        assert first.trace == pytest.approx(second.trace, rel=1e-2)


def test_a_run_goes_on_from_what_it_kept(tmp_path):
    two = plan(CONTINUED, PENALTY, references=False)
    found = run(two)
    assert run(two, checkpoint=tmp_path) == found
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written[:2] == ["0-continued.pt", "1-penalty.pt"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    (tmp_path / "measured-2-continued.pt").unlink()
    (tmp_path / "1-penalty.pt").unlink()
    assert run(two, checkpoint=tmp_path) == found
    changed = [path.name for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert sorted(changed) == ["1-penalty.pt", "measured-2-continued.pt"]


def test_what_another_plan_kept_is_refused(tmp_path):
    run(plan(references=False), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="is the checkpoint of another plan"):
        run(plan(seeds=[3, 6], references=False), checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interventions": [{"kind": "noises"}]}, "`interventions.0`"),
        ({"suite": {**SUITE, "inputs": 101}}, "`inputs` must be at most the 100 `sentences`"),
        ({"suite": {**SUITE, "places": []}}, "`suite.places`"),
    ],
)
def test_a_plan_says_what_is_wrong_with_it(changes, message):
    with pytest.raises(ValueError, match=message):
        plan(**changes)


ARM = Arm("penalty", [0.5], [7], initial_stack(TRANSFORMER, [7]), Measured.LOSS)


def never():
    raise AssertionError("computed again")


def test_arms_come_back_with_their_networks(tmp_path):
    for make in (lambda: [ARM], never):
        (found,) = CheckpointStore(tmp_path, "plan").arms("a", TRANSFORMER, "cpu", make)
        assert (found.kind, found.strengths, found.seeds) == ("penalty", [0.5], [7])
        assert found.measured is Measured.LOSS
        for name, p in ARM.stack.parameters.items():
            assert torch.equal(p, found.stack.parameters[name])


def test_a_damaged_state_is_refused(tmp_path):
    (tmp_path / "a.pt").write_bytes(b"half")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        CheckpointStore(tmp_path, "plan").state("a", never)
