import json

import numpy as np
import pytest

from ntpcompanion.experiments.adam import adam_rate as module
from ntpcompanion.experiments.adam.adam_rate import MORE, Plan, Point, Result, read_angles, run
from ntpcompanion.linear.dynamics.adam_norm import predict_adam_weights
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.power import power

ADAM = {"beta1": 0.9, "beta2": 0.99, "rate": "constant"}
PLAN = {"support_size": 3, "adam": ADAM, "steps": 36450, "seed": 0}


@pytest.fixture
def small(monkeypatch):
    for name, size in (("NUM_CONTEXTS", 6), ("VOCAB_SIZE", 5), ("DIM", 8)):
        monkeypatch.setattr(module, name, size)
    return ContextTable.random(6, 5, 3, 8, stream(0, "limit table 3"))


def angle(one, other):
    return np.arccos(np.vdot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))


def test_a_result_is_what_its_fields_say(small):
    result = run(Plan.from_json(PLAN))
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    steps = [at.step for at in result.points]
    assert steps == [450, 779, 1350, 2338, 4050, 7015, 12150, 21044, 36450]  # 36450 / √3^i
    start = stream(0, "start").standard_normal((5, 8)) / np.sqrt(8)
    settings = {"optimizer": "adam", "learning_rate": 0.01, "betas": (0.9, 0.99), "start": start}
    kept = [k for end in (4050, 12150, 21044, 36450) for k in range(end - 99, end + 1)]
    path = {
        at.step: at
        for at in descend(small, steps=36450, keep=kept, rng=np.random.default_rng(), **settings)
    }
    third, end = (
        np.mean([path[k].weights for k in range(last - 99, last + 1)], axis=0)
        for last in (4050, 12150)
    )
    finite, mm = check_compatibility(small).finite_part, solve_ntp_svm(small, tol=1e-12).weights
    at = result.points[6]
    assert at.adam_frobenius == pytest.approx(angle(end - finite, mm), rel=1e-3)
    scale = predict_adam_weights(small, rng=stream(0, "solver"), tol=1e-4).weights
    by_scale = solve_weighted_svm(small, scale).weights
    assert at.adam == pytest.approx(angle(end - finite, by_scale), rel=1e-3)
    roots = [path[k].second_moment ** -0.5 for k in kept[100:]]
    by_moments = solve_weighted_svm(small, 1 / np.mean(roots, axis=0) / 1e-4).weights
    assert at.adam_measured == pytest.approx(angle(end - finite, by_moments), rel=1e-3)
    assert at.adam_growth == pytest.approx(angle(end - third, by_scale), rel=1e-3)
    along = np.sum((end - finite) * by_scale) / np.sum(by_scale**2)
    assert at.adam_multiple == pytest.approx(along, rel=1e-3)
    times = np.log(np.exp(at.log_time) / np.array([3, 1]))
    before, now = gradient_flow(small, times, start=start).weights
    assert at.flow == pytest.approx(angle(now - finite, mm), rel=1e-3)
    assert at.flow_growth == pytest.approx(angle(now - before, mm), rel=1e-2)
    assert at.flow_multiple == pytest.approx(np.sum((now - finite) * mm) / np.sum(mm**2), rel=1e-3)


def test_powers_are_those_of_planted_angles():
    """Angles that fall like powers of log t, 1 and a seed's own, and of the multiple, 2."""
    steps = [round(243_000 / 3 ** (back / 2)) for back in range(9)][::-1]
    powers = {0: 1.5, 1: 1.7, 2: 1.9}

    def point(step, own):
        log_time = np.log(step)
        angles = dict.fromkeys(Point.model_fields, log_time**-own) | {"flow": 1 / log_time}
        multiples = {"adam_multiple": log_time ** (own / 2), "flow_multiple": log_time}
        return Point(**angles | multiples | {"step": step, "log_time": log_time})

    found = read_angles(
        [
            Run(
                Plan.from_json(PLAN | {"seed": seed}), Result(points=[point(k, own) for k in steps])
            )
            for seed, own in powers.items()
        ]
    )
    assert found.power("Adam, in log t").mean == pytest.approx(1.7)
    assert found.power("Adam, in its multiple").mean == pytest.approx(2)
    assert found.powers["to the Frobenius solution"].tolist() == pytest.approx([1.5, 1.7, 1.9] * 3)
    more = found.power(MORE)
    assert (more.mean, more.sd) == (pytest.approx(0.7), pytest.approx(0.2))
    detectable = found.detectable
    assert power(0.2, 3, detectable, detectable / 1000) == pytest.approx(0.8, abs=1e-6)
    assert found.means["flow"].tolist() == pytest.approx([1 / np.log(k) for k in steps])
    logs = np.log(steps)
    halves = [logs[2:6], logs[5:]]
    first, second = (np.polyfit(half, np.log(half), 1)[0] for half in halves)
    assert found.bend.mean == pytest.approx(second / first - 1)
