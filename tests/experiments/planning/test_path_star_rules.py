from dataclasses import replace

import numpy as np
import pytest

from ntpcompanion.experiments.planning import path_star_rules
from ntpcompanion.experiments.planning.path_star_rules import Plan, run
from tests.experiments.cases import small_run

RIGHT = {"num_graphs": 5, "guesses": 300, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(path_star_rules, RIGHT)


def test_the_rules_hold_and_a_guess_is_right_half_of_the_time(found):
    assert found.broken == 0
    errors = (found.cheat_error, found.planner_error, found.reversed_error, found.hops_error)
    assert max(errors) < 1e-12
    guess = found.cheat_accuracy
    assert guess.mean == found.right / 300
    assert guess.stderr == pytest.approx(np.sqrt(guess.mean * (1 - guess.mean) / 299))
    assert abs(guess.mean - 0.5) < 5 * guess.stderr


def test_a_wrong_root_and_a_planner_that_guesses_are_seen(monkeypatch):
    read = path_star_rules.read_graphs

    def swapped(task, prefix):
        question = read(task, prefix)
        return replace(question, root=question.goal)

    monkeypatch.setattr(path_star_rules, "TOPOLOGIES", ((2, 4), (5, 5)))
    monkeypatch.setattr(path_star_rules, "read_graphs", swapped)
    monkeypatch.setattr(path_star_rules, "plan_path", path_star_rules.follow_edges)
    found = run(Plan.from_json(RIGHT))
    assert found.broken == 10
    assert found.planner_error > 0.5
