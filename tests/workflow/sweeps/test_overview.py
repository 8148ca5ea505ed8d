import pytest

from ntpcompanion.workflow.sweeps.campaign import Progress
from ntpcompanion.workflow.sweeps.overview import duration, in_words, planned_in_words, read_sweep


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (7200, "2.0 h")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_progress_names_each_state():
    ended = {"kept": 3, "done": 5, "failed": 1, "killed": 1}
    told = Progress(20, ended, running=2, seconds_left=240)
    assert told.finished == 10
    assert in_words(told) == (
        "3 kept · 5 done · 1 failed · 1 killed · 2 running · 8 waiting, about 4 min left"
    )
    assert in_words(Progress(2, {"failed": 0, "done": 2})) == "2 done"


def test_runs_and_time_are_said_before_anything_is_started(instant):
    instant.execute("smoke", ["coin"])
    (run,) = instant.runs("smoke", ["coin"])
    text = run.results.read_text()
    assert '"seconds": ' in text
    planned = read_sweep(
        instant.project, "coin", ["n=10:40:10"], seeds="0:2", fixed=[], profile="smoke"
    )
    assert [point.given for point in planned.points][:3] == [
        {"n": 10, "seed": 0},
        {"n": 10, "seed": 1},
        {"n": 20, "seed": 0},
    ]
    assert planned_in_words(planned, 2, None).startswith(
        "coin-smoke: 6 runs; 6 to make by 2 processes, in about "
    )
    assert planned_in_words(planned, None, "tcp://there:1") == (
        "coin-smoke: 6 runs; 6 to make on tcp://there:1. How long is known after the first."
    )


def test_a_text_parameter_takes_colons(toy):
    (toy.project.root / "1:3").write_text("three short words")
    planned = read_sweep(toy.project, "words", ["text=words.txt,1:3"])
    assert [point.parameters["text"] for point in planned.points] == ["words.txt", "1:3"]
    assert planned.points[0].key != planned.points[1].key
