from pydantic import TypeAdapter

from ntpcompanion.experiments.same_loss.study_results import StudyModel, TaskAccuracies

FOUND = TaskAccuracies(0.5, 0.4, 0.3, 1e-6, masked=0.2)
MODEL = StudyModel("penalty", 0.1, 3, 32, 0.01, 0.001, 50.0, 20.0, {1: FOUND})


def test_measurements_come_back_from_json_with_their_positions():
    adapter = TypeAdapter(StudyModel)
    assert adapter.validate_json(adapter.dump_json(MODEL)) == MODEL


def test_what_was_not_measured_is_none():
    assert (FOUND.heads, FOUND.tuned, MODEL.slope) == (None, None, None)
