import pytest

from ntpcompanion.experiments.planning import pause_tokens
from ntpcompanion.experiments.planning.pause_tokens import Plan, run
from ntpcompanion.recorded import Run
from tests.experiments.cases import small_run

RIGHT = {"bits": 2, "pauses": [0, 2], "width": 4, "inner": 2, "layers": 2, "deviation": 0.3}
RIGHT |= {"steps": 12, "every": 4, "learning_rate": 0.01, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(pause_tokens, RIGHT)


def test_an_arm_does_not_depend_on_the_others(found):
    alone = run(Plan.from_json(RIGHT | {"pauses": [2]})).arms[0]
    assert alone.losses == pytest.approx(found.arms[1].losses, abs=1e-4)


def test_an_arm_is_tested_with_all_pauses_in_its_best_state(found):
    for i, arm in enumerate(found.arms):
        assert len(arm.losses) == 4  # steps 0, 4, 8, 12
        assert arm.tested[i] == arm.accuracy
        assert len(arm.tested) == 2
    fewer = run(Plan.from_json(RIGHT | {"steps": 8})).arms[0]
    assert fewer.losses == pytest.approx(found.arms[0].losses[:3], abs=1e-4)


def test_equal_tokens_are_counted_with_the_symbol_before_the_question():
    plan = Plan.from_json(RIGHT | {"bits": 6, "pauses": [0, 2, 8], "steps": 800})
    assert [plan.steps_of_equal_tokens(m) for m in plan.pauses] == [800, 640, 400]
    assert plan.shape.positions == 6 + 1 + 8


def test_an_arm_with_pauses_is_stopped_earlier_for_equal_tokens(found):
    short = run(Plan.from_json(RIGHT | {"pauses": [2], "steps": 8})).arms[0]  # 12 · 4 / 6
    assert found.arms[1].equal_tokens == pytest.approx(short.accuracy)
    assert found.arms[0].equal_tokens == found.arms[0].accuracy


def test_recorded_arms_are_rows(found):
    plans = (Plan.from_json(RIGHT | {"seed": seed}) for seed in (0, 1))
    table = pause_tokens.arms_table([Run(plan, found) for plan in plans])
    assert table[["seed", "pauses"]].values.tolist() == [[0, 0], [0, 2], [1, 0], [1, 2]]
    for (_, row), arm in zip(table.iterrows(), found.arms, strict=False):
        assert (row["equal examples"], row["equal tokens"]) == (arm.accuracy, arm.equal_tokens)
        assert (row["tested with 0"], row["tested with 2"]) == arm.tested
        assert row.loss == min(arm.losses)
