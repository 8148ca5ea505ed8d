"""A grid of runs: what is rejected before the start, what is kept, and that it is once."""

import asyncio
import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from unittest import mock

import pandas as pd
import pytest
from distributed import LocalCluster
from tornado.ioloop import IOLoop

from ntpcompanion.workflow.sweeps import cluster, executors, targets
from tests.drills.machine import POSIX
from tests.drills.test_kills import kill, wait_for

SURVEY = """
import os, pathlib, random, time
from typing import Annotated
from pydantic import Field
from toypkg.half import half


class Plan(experiment.Plan):
    n: Annotated[int, Field(ge=1, description="a number")]
    seed: int = 0
    rule: str = "gd"


class Result(experiment.Result):
    value: float
    draws: list[float]


def run(plan):
    with open(ROOT / "calls.txt", "a") as file:
        file.write(f"{plan.n}/{plan.seed} ")
    if (plan.n, plan.seed) == (5, 1):
        raise ZeroDivisionError("nothing to halve")
    if (plan.n, plan.seed) == (7, 0) and pathlib.Path(ROOT, "slow").exists():
        pathlib.Path(ROOT, "pid").write_text(str(os.getpid()))
        os.rename(ROOT / "pid", ROOT / "waits")
        time.sleep(100)
    generator = random.Random(plan.seed)
    return Result(value=half(plan.n), draws=[generator.random() for _ in range(plan.n)])
"""
FATAL = """
import os

def run(plan):
    return Result(value=plan.n) if plan.n == 1 else os._exit(plan.n)
"""


@pytest.fixture
def survey(importable):
    importable.write_experiment("survey", SURVEY)
    return importable


@pytest.mark.slow
@POSIX
def test_a_sweep_whose_worker_and_client_are_killed_is_complete_and_makes_nothing_twice(survey):
    root = survey.project.root
    arguments = ["sweep", "survey", "--grid", "n=1:13", "--seeds", "0:2", "--jobs", "2"]
    (root / "slow").touch()
    client = survey.start(*arguments, PYTHONPATH=str(root))
    for _ in range(2):  # it is tried once more
        wait_for((root / "waits").exists)
        victim = int((root / "waits").read_text())
        (root / "waits").unlink()
        if not (root / "killed").exists():
            (root / "killed").touch()
            os.kill(victim, 9)
    journal = survey.project.build / "sweeps" / "survey.jsonl"
    wait_for(lambda: journal.read_text().count('"key"') == 23)
    kill(client)
    (root / "slow").unlink()

    output = survey.command(*arguments, "--out", "table.parquet")
    assert "survey: 24 runs, 23 of them finished earlier; 1 to make by 1 process" in output
    calls = (root / "calls.txt").read_text().split()
    assert {call: calls.count(call) for call in calls if calls.count(call) > 1} == {"7/0": 3}
    table = pd.read_parquet(root / "table.parquet")
    assert list(zip(table["n"], table["seed"], strict=True)) == [
        (n, seed) for n in range(1, 13) for seed in (0, 1)
    ]
    (failed,) = table[table["state"] != "done"].to_dict("records")
    assert (failed["n"], failed["seed"], failed["state"]) == (5, 1, "failed")
    assert failed["error"] == "ZeroDivisionError: nothing to halve"
    assert "in run\n    raise ZeroDivisionError" in failed["traceback"]
    assert (table["host"] != "").all()
    assert (table["seconds"] >= 0).all()

    module = importlib.import_module("toypkg.experiments.survey")
    for row in table[table["state"] == "done"].to_dict("records"):
        alone = module.run(module.Plan(n=row["n"], seed=row["seed"]))
        assert row["value"] == alone.value
        assert list(row["draws"]) == alone.draws


@pytest.mark.slow
def test_what_failed_is_made_again_on_request_and_after_an_edit_only(survey):
    arguments = ["sweep", "survey", "--grid", "n=5", "--seeds", "1:3", "--jobs", "1"]
    output = survey.command(*arguments)
    assert "A run failed: n = 5, seed = 1, rule = 'gd': ZeroDivisionError: nothing to" in output
    assert "1 done · 1 failed" in output
    assert "2 runs, 2 of them finished earlier. 2 kept Wrote" in survey.command(*arguments)
    assert "2 runs, 1 of them finished earlier; 1 to make" in survey.command(*arguments, "--retry")
    survey.edit("toypkg/two.py", "TWO = 2", "TWO = 4")
    assert "survey: 2 runs; 2 to make by 1 process" in survey.command(*arguments)


@pytest.mark.slow
def test_a_run_that_kills_its_process_is_a_row_and_the_rest_goes_on(importable):
    importable.write_experiment("fatal", FATAL)
    file = importable.project.root / "fatal.parquet"
    importable.command("sweep", "fatal", "--grid", "n=2,1", "-j1", "--out", str(file))
    table = pd.read_parquet(file)
    assert list(table["state"]) == ["killed", "done"]
    assert table["error"][0].startswith("A process of the sweep was killed; the machine may be out")
    assert table["value"][1] == 1
    assert table.attrs["name"] == "fatal"


@pytest.mark.slow
def test_notebooks_are_executed_as_by_the_command_execute(toy):
    toy.edit("notebooks/coin.md", "half(n) / n", "half(n) / n + 1 / (n - 5) * 0")
    arguments = ["sweep", "coin", "--grid", "n=4,5", "-p", "seed=7", "--profile", "smoke"]
    output = toy.command(*arguments, "--jobs", "2", "--out", "table.parquet")
    assert "coin-smoke: 2 runs; 2 to make by 2 processes. How long is known after the fir" in output
    table = pd.read_parquet("table.parquet")
    done, failed = table[table["n"] == 4], table[table["n"] == 5]
    assert list(done["claim"]) == ["toy.half", "toy.powers"]
    assert done["value"].iloc[0] == 0.5
    assert list(done["values"].iloc[1]) == [1, 2, 4]
    assert (done["seed"] == 7).all()
    assert list(failed["state"]) == ["failed"]
    assert failed["claim"].isna().all()
    assert "code cell 2: ZeroDivisionError" in failed["error"].iloc[0]
    assert "1 / (n - 5)" in failed["traceback"].iloc[0]
    assert not (toy.project.build / "runs").exists(), "the outcomes of `execute` are left alone"
    assert "2 runs, 2 of them finished earlier" in toy.command(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["coyn"], "No notebook and no experiment 'coyn'. Did you mean 'coin'? Known: coin, words"),
        (["notebook/coin"], "'notebook/coin': write notebooks/coin or experiments/coin."),
        (["coin"], "A sweep needs a parameter to vary: give `--grid NAME=VALUES` or `--seeds"),
        (["coin", "--grid", "m=1"], "Notebook 'coin' has no parameter 'm'."),
        (["coin", "--grid", "sead=1"], "has no parameter 'sead'. Did you mean 'seed'? Known"),
        (["coin", "--grid", "n="], "`--grid n` gives no value, and an empty grid has no runs"),
        (["coin", "--grid", "n=5:5"], "`--grid n` gives no value"),
        (["coin", "--grid", "n=1.5"], "parameter `n` must be of type int, like 1000, got 1.5"),
        (["coin", "--grid", "n=1,0"], "parameter `n` must be in [1, inf), got 0"),
        (["coin", "--grid", "n=1", "-p", "n=2"], "`n` is fixed by `-p` and varied by the grid"),
        (["coin", "--seeds", "0:2", "--grid", "seed=1"], "two grids of one parameter"),
        (["coin", "--seeds", "a:b"], "parameter `seed` must be of type int"),
        (["coin", "--seeds", "0:2", "--jobs", "0"], "`--jobs` must be at least 1, got 0"),
        (["coin", "--seeds", "0:2", "--profile", "bock"], "No profile 'bock'"),
        (["coin", "--seeds", "0:2", "--out", "t.csv"], "`--out t.csv` must end in .parquet"),
        (["survey", "--seeds", "0:2", "--profile", "smoke"], "an experiment has no profiles"),
        (["survey", "--seeds", "0:2"], "not a plan of toypkg.experiments.survey: `n` is missing"),
        (["survey", "--grid", "n=0,1"], "`n` should be greater than or equal to 1, got 0"),
        (["survey", "--grid", "n=1,x"], "`n` should be a valid integer, got 'x'"),
        (["survey", "--grid", "m=1", "-p", "n=1"], "`m` is not a field of this plan"),
        (["survey", "--grid", "n=1", "-p", "rule=1"], "`rule` should be a valid string, got 1"),
        (["both", "--grid", "n=1"], "'both' is a notebook and an experiment. Write notebooks/both"),
    ],
)
def test_mistakes_are_sentences_before_anything_is_started(survey, monkeypatch, arguments, words):
    def reject(*_):
        raise AssertionError("a task was started")

    monkeypatch.setattr(executors, "processes", reject)
    survey.edit("notebooks/coin.md", "# throws", "# throws  [1, inf)")
    if arguments[0] == "both":
        survey.write_experiment("both", "def run(plan):\n    return Result()\n")
        shutil.copy("notebooks/coin.md", "notebooks/both.md")
    output = survey.command("sweep", *arguments, code=1)
    assert words in output
    assert not (survey.project.build / "sweeps").exists()


def test_a_scheduler_that_does_not_answer_is_a_sentence_within_seconds(survey, monkeypatch):
    clients: list[object] = []
    monkeypatch.setattr(cluster, "Client", lambda *given, **_: clients.append(given))
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        began = time.perf_counter()
        arguments = ["sweep", "survey", "--grid", "n=1", "--scheduler", address]
        output = survey.command(*arguments, code=1)
        assert f"No scheduler of Dask answers at `--scheduler {address}` within 5 s (" in output
        assert "Give the address that `dask scheduler` prints, like tcp://10.0.0.1:8786" in output
        assert time.perf_counter() - began < 20
    assert clients == [], "one that is not connected may hang the process when it is collected"
    assert not (survey.project.build / "sweeps" / "survey.parquet").exists()


@contextlib.contextmanager
def started(**options):
    """A cluster of one worker, whose event loop may take as long to start as the machine needs."""
    fixed = {"n_workers": 1, "host": "127.0.0.1", "dashboard_address": None, "memory_limit": 0}
    begun = Future()

    async def until_closed():
        closed = asyncio.Event()
        begun.set_result((IOLoop.current(), closed))
        await closed.wait()

    thread = threading.Thread(target=asyncio.run, args=(until_closed(),), daemon=True)
    thread.start()  # Dask would start one, but gives it ten seconds only
    loop, closed = begun.result()
    with LocalCluster(loop=loop, **fixed | options) as existing:
        yield existing
    loop.add_callback(closed.set)
    thread.join()


@pytest.mark.slow
def test_an_existing_cluster_makes_the_same_runs_unless_its_sources_differ(survey, tmp_path):
    survey.plan_halves()
    with started(threads_per_worker=1, local_directory=str(tmp_path)) as existing:
        address = existing.scheduler_address
        there = ["--scheduler", address]
        output = survey.command("sweep", "survey", "--grid", "n=2,3", *there, "--out", "t.parquet")
        assert f"survey: 2 runs; 2 to make on {address}. How long is known after" in output
        module = importlib.import_module("toypkg.experiments.survey")
        table = pd.read_parquet("t.parquet")
        assert list(table["value"]) == [module.run(module.Plan(n=n)).value for n in (2, 3)]
        assert "Wrote" in survey.command("record", "halves", *there)
        results = json.loads((survey.project.records / "halves.json").read_text())["results"]
        assert [line["result"]["value"] for line in results] == [0.5, 1.0]

        survey.edit("toypkg/two.py", "TWO = 2", "TWO = 4")
        assert "1 done" in survey.command("sweep", "survey", "--grid", "n=2", *there)

        # in this process, not in that of the worker
        with mock.patch.object(targets, "settings_of", return_value={"numpy": "9.9"}):
            output = survey.command("sweep", "survey", "--grid", "n=3", *there, code=1)
        assert re.search(r"The worker on \S+ has numpy \S+ instead of 9\.9", output)
        assert "install this version there, and start the worker again" in output


VANISH = """
import os

def run(plan):
    if plan.n == 2:
        os.kill(os.getppid(), 9)
    return Result(value=plan.n)
"""


@pytest.mark.slow
@POSIX
def test_a_command_whose_only_worker_vanishes_says_so_and_ends(survey, tmp_path, monkeypatch):
    survey.write_experiment("vanish", VANISH)
    monkeypatch.setattr(cluster, "LOST", 3.0)
    with started(n_workers=0, local_directory=str(tmp_path)) as existing:
        address = existing.scheduler_address
        worker = ["dask", "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        process = subprocess.Popen([sys.executable, "-m", *worker], cwd=tmp_path)
        try:
            wait_for(lambda: existing.scheduler.workers)
            arguments = ["sweep", "vanish", "--grid", "n=1,2", "--scheduler", address]
            output = survey.command(*arguments, code=1)
        finally:
            process.kill()
            process.wait()
        assert f"No worker is on {address} now. The tasks wait for one, for up to 3 s" in output
        assert f"error: No worker has been on {address} for 3 s. Start workers, and run" in output
    journal = survey.project.build / "sweeps" / "vanish.jsonl"
    assert journal.read_text().count('"done"') == 1


DASK = "distributed: {comm: {require-encryption: true}, worker: {preload: [no_such_module]}}"


@pytest.mark.slow
def test_settings_of_dask_of_the_user_are_named_where_a_cluster_is_asked_for(survey, tmp_path):
    (tmp_path / "user.yaml").write_text(DASK)
    settings = {"DASK_CONFIG": str(tmp_path), "DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME": "tls"}
    arguments = ["sweep", "survey", "--grid", "n=1", "--jobs", "1"]
    root = str(survey.project.root)
    assert "1 done" in survey.run(*arguments, PYTHONPATH=root, **settings)
    there = ["--grid", "n=2", "--scheduler", "tcp://127.0.0.1:1"]
    output = survey.run("sweep", "survey", *there, code=1, PYTHONPATH=root, **settings)
    assert "Your settings of Dask apply, too: DASK_CONFIG, DASK_DISTRIBUTED__COMM__DEF" in output
    assert str(tmp_path / "user.yaml") in output
    (tmp_path / "user.yaml").write_text("[")
    output = survey.run("sweep", "survey", *there, code=1, PYTHONPATH=root, **settings)
    assert "error: The user's settings of Dask cannot be read: A dask config file at" in output
