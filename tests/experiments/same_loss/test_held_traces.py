import pytest

from ntpcompanion.experiments.same_loss.held_traces import Plan, held_study, run
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.recorded import Run
from tests.experiments.study_cases import STEPS, SUITE, VALUES

RIGHT = {name: VALUES[name] for name in ("language", "shape", "training", "seeds")} | {
    "held": {"training": {**STEPS, "steps": 20}, "corrected_every": 5, "flattened_every": 10},
    "changes": [-0.1, 0.0, 0.1],
    "suite": SUITE | {"inputs": 100},
    "validation": 100,
    "flattened": 60,
}
GAPS = ContextGaps(0.0, 0.0, position=2.0, block=2.0, neighbours=1.0, neighbours_stderr=0.0)


def test_runs_that_go_on_give_the_same_and_networks_stop_at_one_loss(tmp_path):
    plan = Plan.from_json(RIGHT)
    found = run(plan, checkpoint=tmp_path)
    assert [n.model.kind for n in found.networks] == ["held"] * 6 + ["last"] * 6
    assert {n.step for n in found.networks[6:]} == {20}
    for seed in plan.seeds:  # at the end somebody has the largest loss, and is taken there
        assert 20 in [n.step for n in found.networks[:6] if n.model.seed == seed]
    pairs = list(zip(found.networks[:6], found.networks[6:], strict=True))
    assert any(held.step < 20 for held, _ in pairs)
    for held, last in pairs:  # a network that was taken earlier is another one
        same = held.model.excess == pytest.approx(last.model.excess, rel=1e-6)
        assert same == (held.step == 20)
    changed = (tmp_path / "held.pt").stat().st_mtime_ns
    assert run(plan, checkpoint=tmp_path) == found  # trained networks are read
    assert (tmp_path / "held.pt").stat().st_mtime_ns == changed

    study = held_study([Run(plan, found)], GAPS)
    assert study.strengths("held") == [-0.1, 0.0, 0.1]
    traces = [n.function for n in found.networks[2:4]]
    assert study.arm("held", 0.0, "function").tolist() == traces
    assert study.effect("held", "function", strength=0.0).mean == 0


def test_a_control_is_needed():
    with pytest.raises(ValueError, match="`changes` must hold 0, the control, got"):
        run(Plan.from_json(RIGHT | {"changes": [0.1, 0.2]}))
