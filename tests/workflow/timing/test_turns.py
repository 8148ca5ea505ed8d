import io
import json
import sys

from ntpcompanion.workflow.timing import turns


def ask(*requests):
    clock = iter(range(100))
    timed = turns.Timed(lambda: 2.0 * next(clock))
    return list(turns.answers(timed, iter(map(json.dumps, requests))))


PREPARE = {"do": "prepare", "name": "w", "setup": "n = []", "statement": "n.append(1)"}


def test_a_workload_is_prepared_once_and_timed_by_the_clock():
    times = {"do": "time", "name": "w", "number": 3}
    assert ask({**PREPARE, "package": "json"}, times, times) == [
        {"file": json.__file__}, {"seconds": 2.0}, {"seconds": 2.0}
    ]  # fmt: skip


def test_the_statement_runs_as_often_as_is_asked():
    timed = turns.Timed(lambda: 0.0)
    timed.prepare("w", "n = []", "n.append(1)", "nothing")
    timed.time("w", 5)
    assert len(timed.prepared["w"][1]["n"]) == 6, "once when it was prepared"


def test_what_a_workload_raises_is_the_answer_and_the_next_is_asked():
    wrong = {**PREPARE, "statement": "n.add(1)", "package": "json"}
    failed, fine = ask(wrong, {**PREPARE, "package": "no_such_package"})
    assert failed["error"].startswith("AttributeError: 'list' object has no attribute 'add'")
    assert fine == {"file": None}


def test_a_workload_that_leaves_the_program_is_an_error():
    (answer,) = ask({**PREPARE, "setup": "import sys; sys.exit(3)", "package": "json"})
    assert answer == {"error": "SystemExit: 3"}


def test_what_a_workload_prints_is_no_answer(capfd, monkeypatch):
    request = {**PREPARE, "statement": "print('loud')", "package": "json"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    monkeypatch.setattr(sys, "argv", ["turns.py"])
    monkeypatch.setattr(turns.os, "dup2", lambda *_: None)
    monkeypatch.setattr(turns.sys, "stdout", sys.stderr)
    turns.main()
    out, err = capfd.readouterr()
    assert json.loads(out) == {"file": json.__file__}
    assert "loud" in err
