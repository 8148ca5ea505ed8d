"""`make portable`: the same verdicts elsewhere? The smoke profile, its check and the numerical
tests under other settings of the machine.

`python -m tests.portable [SETTING ...]`: those named, or all. A setting chooses kernels of the
numerical libraries, threads, a seed, a locale, a clock and neighbours; its line shows the exit code
and the seconds of each command, whose outputs are kept below `_build/portable`. All runs in a copy
of the checkout: nothing made under another setting is ever taken for a result of this one. Takes
about half an hour on two cores. Numerical tests that are marked slow are left to `make test-slow`.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.choices import chosen
from tests.conftest import NUMERICAL
from tests.copies import ROOT, copy_checkout

WORK = ROOT / "_build" / "portable"
LIMIT = 1200  # seconds for a command: what hangs is stopped
OVER = 124  # its exit code then, as of the command `timeout`
CHOSEN = "numerical and not slow"
SHOWN = 20  # last lines of a command that failed
# those of pyproject.toml but for the types and shapes of arrays: they are the same under every
# kernel, `make test` checks them, and to check them takes two fifths of the time
OPTIONS = "--strict-markers --strict-config -n=auto --dist=loadfile --no-loadscope-reorder -rs"


@dataclass(frozen=True)
class Setting:
    """A machine to try.

    Fields
    ------
    variables
        of the environment of every command. Those that choose an OpenBLAS kernel give way to one
        that is set already, for a reason.
    threads
        of the numerical libraries in the tests. Notebooks always have one: they run beside each
        other.
    seed
        of all notebooks; None for that of the profile, whose numbers are compared with the
        baseline, too.
    busy
        processes beside each command that do nothing but keep a core busy.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    seed: int | None = None
    busy: int = 0


OLDEST = {
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "Prescott",
}
AVX2 = {
    "MKL_CBWR": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
ELSEWHERE = {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "MPLBACKEND": "Agg"}
SETTINGS = {
    "oldest": Setting(OLDEST),
    "avx2": Setting(AVX2, threads=2),
    "mixed": Setting({"MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Haswell"}, threads=4, seed=1),
    "elsewhere": Setting(ELSEWHERE, threads=2, seed=2),
    "busy": Setting({"ATEN_CPU_CAPABILITY": "avx2"}, busy=4),
}


def commands_of(setting: Setting) -> dict[str, list[str]]:
    """What is run under a setting, in this order, by name."""
    program, seed = (
        [sys.executable, "-m", "ntpcompanion"],
        [] if setting.seed is None else ["-p", f"seed={setting.seed}"],
    )
    return {
        "execute": [*program, "execute", "--profile", "smoke", "--force", *seed],
        "check": [*program, "check", "--profile", "smoke", *seed],
        "tests": [
            *(sys.executable, "-m", "pytest", "-q", "-m", CHOSEN, "-p", "no:cacheprovider"),
            *("-o", f"addopts={OPTIONS}"),
            *(f"tests/{package}" for package in sorted(NUMERICAL)),
        ],
    }


def environment_of(setting: Setting, given: Mapping[str, str], copy: Path) -> dict[str, str]:
    """The environment of the commands of a setting that are run in a copy of the checkout, from the
    one that was given.
    """
    kept = {name: given[name] for name in ("OPENBLAS_CORETYPE",) if name in given}
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(setting.threads)
    )
    # MKL starts as many threads as it is told to, instead of as many as it finds processors
    return {
        **given,
        **threads,
        "MKL_DYNAMIC": "FALSE",
        **setting.variables,
        **kept,
        "PYTHONPATH": str(copy),
    }


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[list[int]]:
    """So many processes that keep a core busy each while the block runs, by number; they end with
    this one, however it ends.
    """
    code = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
    command = [sys.executable, "-S", "-c", code, str(os.getpid())]
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            found.append(subprocess.Popen(command))
            stack.callback(found[-1].wait)
            stack.callback(found[-1].kill)
        yield [process.pid for process in found]


def run(
    command: list[str], log: Path, folder: Path, environment: Mapping[str, str], limit: float
) -> int:
    """The exit code of a command whose output goes to a file; `OVER` if it was stopped at the
    limit, with all that it started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return OVER
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_commands_when_terminated() -> None:
    """From now on a SIGTERM ends this process by an exception, on whose way `run` ends the command,
    which has a session of its own.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def try_settings(
    settings: Mapping[str, Setting],
    work: Path,
    copy: Path,
    given: Mapping[str, str],
    *,
    commands: Callable[[Setting], Mapping[str, list[str]]] = commands_of,
    limit: float = LIMIT,
) -> bool:
    """Whether every command ended with exit code 0 under every setting. Prints a line for each, and
    the end of what failed.
    """
    sound = True
    for name, setting in settings.items():
        said, ends = [], []
        with busy_processes(setting.busy):
            for title, command in commands(setting).items():
                log, began = work / name / f"{title}.log", time.monotonic()
                code = run(command, log, copy, environment_of(setting, given, copy), limit)
                said.append(f"{title} exit {code}, {time.monotonic() - began:.0f} s")
                if code:
                    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN:]
                    ends.append(
                        "\n".join(
                            [f"  {title}: the end of {log}", *(f"    {line}" for line in lines)]
                        )
                    )
        print("\n".join([f"{name}: {'; '.join(said)}", *ends]), flush=True)
        sound &= not ends
    return sound


def chosen_settings(arguments: list[str]) -> dict[str, Setting]:
    """The settings that a command line names, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=", ".join(SETTINGS))
    names = chosen(parser, "setting", parser.parse_args(arguments).settings, SETTINGS)
    return {name: SETTINGS[name] for name in names}


def main() -> int:
    """Try the settings; 0 if everything passes under each of them."""
    settings = chosen_settings(sys.argv[1:])
    end_commands_when_terminated()
    sound = try_settings(
        settings,
        WORK,
        copy_checkout(WORK / "checkout"),
        os.environ,
    )
    print(f"outputs: {WORK}")
    return not sound


if __name__ == "__main__":
    sys.exit(main())
