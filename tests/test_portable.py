import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import psutil
import pytest

from tests.conftest import NUMERICAL
from tests.copies import ROOT
from tests.drills.machine import POSIX
from tests.portable import (
    OPTIONS,
    OVER,
    SETTINGS,
    Setting,
    busy_processes,
    chosen_settings,
    commands_of,
    environment_of,
    try_settings,
)

SAY = [sys.executable, "-c", "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))"]
FAIL = [sys.executable, "-c", "print('it is', 'red'); raise SystemExit(3)"]
HANG = [sys.executable, "-c", "import time; time.sleep(600)"]


def alive(pids):
    return [
        pid
        for pid in pids
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def test_a_setting_reaches_its_commands_and_their_outputs_are_kept(tmp_path, capsys):
    setting = Setting({"MKL_CBWR": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}, threads=4)
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"} | {
        "MKL_CBWR": "AUTO"
    }
    assert try_settings(
        {"other": setting},
        tmp_path / "logs",
        tmp_path,
        given,
        commands=lambda _: {"one": SAY, "two": SAY},
    )
    assert capsys.readouterr().out.startswith("other: one exit 0, ")
    for name in ("one", "two"):
        folder, found = json.loads((tmp_path / "logs" / "other" / f"{name}.log").read_text())
        assert folder == found["PYTHONPATH"] == str(tmp_path)
        assert (found["MKL_CBWR"], found["OPENBLAS_CORETYPE"]) == ("AVX2", "Haswell")
        assert (
            found["OMP_NUM_THREADS"]
            == found["MKL_NUM_THREADS"]
            == found["OPENBLAS_NUM_THREADS"]
            == "4"
        )


def test_a_kernel_of_openblas_that_is_chosen_already_stays(tmp_path):
    assert (
        environment_of(SETTINGS["oldest"], {"OPENBLAS_CORETYPE": "Zen"}, tmp_path)[
            "OPENBLAS_CORETYPE"
        ]
        == "Zen"
    )


@pytest.mark.parametrize(("command", "code"), [(FAIL, 3), (HANG, OVER)], ids=["failing", "hanging"])
def test_one_red_command_makes_the_whole_red_and_the_rest_still_runs(
    tmp_path, capsys, command, code
):
    settings = {"first": Setting({"RED": "1"}), "second": Setting()}
    commands = lambda setting: {"one": command if setting.variables else SAY, "two": SAY}  # noqa: E731
    assert not try_settings(
        settings, tmp_path / "logs", tmp_path, os.environ, commands=commands, limit=5
    )
    said = capsys.readouterr().out
    assert f"first: one exit {code}, " in said
    assert "second: one exit 0, " in said
    assert said.count("two exit 0, ") == 2
    assert ("    it is red" in said) == (command == FAIL)


def test_the_settings_are_those_that_are_meant():
    assert len(SETTINGS) == 5
    values = {
        name: {setting.variables.get(name) for setting in SETTINGS.values()}
        for name in ("MKL_CBWR", "OPENBLAS_CORETYPE")
    }
    assert values == {
        "MKL_CBWR": {"COMPATIBLE", "AVX2", None},
        "OPENBLAS_CORETYPE": {"Prescott", "Haswell", None},
    }
    assert {setting.threads for setting in SETTINGS.values()} == {1, 2, 4}
    assert {setting.seed for setting in SETTINGS.values()} == {None, 1, 2}
    assert {setting.busy for setting in SETTINGS.values()} == {0, 4}
    for setting in SETTINGS.values():
        commands = commands_of(setting)
        seed = [] if setting.seed is None else ["-p", f"seed={setting.seed}"]
        assert list(commands) == ["execute", "check", "tests"]
        assert commands["execute"][3:] == ["execute", "--profile", "smoke", "--force", *seed]
        assert commands["check"][3:] == ["check", "--profile", "smoke", *seed]
        assert commands["tests"][commands["tests"].index("-m", 2) + 1] == "numerical and not slow"
        folders = [name for name in commands["tests"] if name.startswith("tests/")]
        assert [ROOT / name for name in folders if not (ROOT / name).is_dir()] == []
        assert len(folders) == len(NUMERICAL)


def test_a_command_line_chooses_settings(capsys):
    assert chosen_settings([]) == SETTINGS
    assert list(chosen_settings(["busy", "avx2"])) == ["busy", "avx2"]
    with pytest.raises(SystemExit):
        chosen_settings(["busy", "oldset"])
    assert "no setting is called oldset; there are oldest, avx2, " in capsys.readouterr().err


def test_tests_are_run_there_with_the_options_of_all_tests_but_for_the_types_of_arrays():
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    given = ours["tool"]["pytest"]["ini_options"]["addopts"]
    left = [option for option in given if option not in OPTIONS.split()]
    assert [re.split("[ =]", option)[0] for option in left] == [
        "--jaxtyping-packages",
        "--doctest-glob",
        "-m",
    ]
    assert set(OPTIONS.split()) <= set(given)


@POSIX
def test_busy_processes_end_with_their_block_and_when_it_is_killed():
    with busy_processes(2) as pids:
        assert len(alive(pids)) == 2
    assert alive(pids) == []
    code = (
        "import time; from tests.portable import busy_processes\nwith busy_processes(2) as pids: "
        "print(*pids, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(alive(pids)) == 2
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(pids) == []


@POSIX
def test_a_command_ends_when_the_whole_is_terminated(tmp_path):
    hang = [
        sys.executable,
        "-c",
        "import os, time; print(os.getpid(), flush=True); time.sleep(600)",
    ]
    code = f"""import os, pathlib
from tests.portable import Setting, end_commands_when_terminated, try_settings
here = pathlib.Path({str(tmp_path)!r})
end_commands_when_terminated()
commands = {{"one": {hang!r}}}
try_settings({{"other": Setting()}}, here, here, os.environ, commands=lambda _: commands)"""
    log = tmp_path / "other" / "one.log"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not (log.is_file() and log.read_text().strip()):
            time.sleep(0.05)
        process.terminate()
    assert process.returncode == 143
    assert alive([int(log.read_text())]) == []
