"""`make portable`: the same verdicts elsewhere? The smoke profile, its check and the numerical
tests under other settings of the machine.

`python -m tests.portable [SETTING ...]`: those named, or all. A setting chooses kernels of the
numerical libraries, threads, a seed, a locale, a clock and neighbours; its line shows the exit code
and the seconds of each command, whose outputs are kept below `_build/portable`. All runs in a copy
of the checkout: nothing made under another setting is ever taken for a result of this one. Takes
about half an hour on two cores. Numerical tests that are marked slow are left to `make test-slow`.
"""

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ntpcompanion.workflow.base.processes import run
from tests.conftest import NUMERICAL
from tests.copies import ROOT, copy_checkout

WORK = ROOT / "_build" / "portable"
LIMIT = 1200  # seconds for a command: what hangs is stopped
OVER = 124  # its exit code then, as of the command `timeout`
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
    seed = [] if setting.seed is None else ["-p", f"seed={setting.seed}"]
    smoke = ["--profile", "smoke", *seed]
    chosen = ["-m", "numerical and not slow", "-p", "no:cacheprovider", "-o", f"addopts={OPTIONS}"]
    return {
        "execute": ["ntpcompanion", "execute", "--force", *smoke],
        "check": ["ntpcompanion", "check", *smoke],
        "tests": ["pytest", "-q", *chosen, *(f"tests/{package}" for package in sorted(NUMERICAL))],
    }


def environment_of(setting: Setting) -> dict[str, str]:
    """The environment of the commands of a setting."""
    kept = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ}
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    threads = dict.fromkeys(names, str(setting.threads))
    # MKL starts as many threads as it is told to, instead of as many as it finds processors
    threads |= {"MKL_DYNAMIC": "FALSE", "PYTHONPATH": str(WORK / "checkout")}
    return {**os.environ, **threads, **setting.variables, **kept}


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that keep a core busy each while the block runs; they end with this one,
    however it ends.
    """
    code = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
    command = [sys.executable, "-S", "-c", code, str(os.getpid())]
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
        yield


def passes(name: str, setting: Setting) -> bool:
    """Whether every command ends with exit code 0 under a setting. Prints a line, and the end of
    what failed.
    """
    said, ends = [], []
    (WORK / name).mkdir(parents=True, exist_ok=True)
    for title, words in commands_of(setting).items():
        log, began = WORK / name / f"{title}.log", time.monotonic()
        line = f"exec {shlex.join([sys.executable, '-m', *words])} > {shlex.quote(str(log))} 2>&1"
        folder, environment = WORK / "checkout", environment_of(setting)
        try:
            with busy_processes(setting.busy):
                command = ["sh", "-c", line]
                code = run(command, folder=folder, environment=environment, limit=LIMIT).code
        except TimeoutError:
            code = OVER
        said.append(f"{title} exit {code}, {time.monotonic() - began:.0f} s")
        if code:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            ends += [f"  {title}: the end of {log}", *(f"    {each}" for each in last)]
    print("\n".join([f"{name}: {'; '.join(said)}", *ends]), flush=True)
    return not ends


def main() -> None:
    """Try the settings; ends with 0 if everything passes under each of them."""
    names = sys.argv[1:] or [*SETTINGS]
    if unknown := {*names} - {*SETTINGS}:
        sys.exit(f"no setting is called {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    copy_checkout(WORK / "checkout")
    sound = [passes(name, SETTINGS[name]) for name in names]
    print(f"outputs: {WORK}")
    sys.exit(not all(sound))


if __name__ == "__main__":
    main()
