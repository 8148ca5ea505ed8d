import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.drills.machine import POSIX
from tests.portable import OVER, Setting, busy_processes, try_settings

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
