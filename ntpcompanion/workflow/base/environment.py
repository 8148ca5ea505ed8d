"""The environment in which numbers and pages are made: equal for all users of a machine."""

import os
import sys
import sysconfig
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.base.files import search_path
from ntpcompanion.workflow.base.project import ONE_THREAD, Project

# with another backend the figures of a notebook vanish without a word
INLINE = "module://matplotlib_inline.backend_inline"
# what a machine needs to run programs: where they and their libraries lie, which devices there are,
# and which kernels of a processor to use. Nothing that says what to compute
OF_THE_MACHINE = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "CI",
    "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP",
    "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_CBWR", "MKL_DYNAMIC", "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA", "NPY_DISABLE_CPU_FEATURES",
)  # fmt: skip


def clean_environment(project: Project) -> dict[str, str]:
    """An environment of the project's own: of the user's only what the machine needs and what the
    settings of the book name. The package of the project comes first.

    Time zone, language and home are the same for everybody.
    """
    import_path = dict.fromkeys([*map(str, package_parents(project)), *running()])
    passed = {name: os.environ[name] for name in OF_THE_MACHINE if name in os.environ}
    home = project.build / "cache" / "home"
    return {**passed, **fixed_environment(list(import_path)), **homes(home), **named(project)}


def fixed_environment(import_path: list[str]) -> dict[str, str]:
    """What is the same for all processes: figures carry no date and sets no random order, so that
    equal runs give equal bytes.
    """
    return {
        **ONE_THREAD,
        "PYTHONPATH": search_path(import_path),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
        "MPLBACKEND": INLINE,
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def homes(folder: Path) -> dict[str, str]:
    """Settings and caches of all programs lie below a folder."""
    return {
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / ".local" / "share"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
    }


def named(project: Project) -> dict[str, str]:
    """The variables of the user that the settings of the book name, as far as they are set; for
    `HF_HOME` the usual place of models where it is not.
    """
    wanted = project.settings.environment
    variables = {name: os.environ[name] for name in wanted if name in os.environ}
    if "HF_HOME" in wanted:
        usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        variables.setdefault("HF_HOME", str(Path(usual, "huggingface")))
    return variables


def folders(project: Project) -> list[str]:
    """Where the files of a project lie: what is read below them can change a number."""
    return list(dict.fromkeys([str(project.root), *map(str, project.packages)]))


def package_parents(project: Project) -> list[Path]:
    return list(dict.fromkeys(folder.parent for folder in project.packages))


def make_importable(project: Project) -> None:
    """From now on this process can import the packages of a project: their experiments are read
    here before they are run elsewhere.
    """
    for folder in reversed(package_parents(project)):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))


def running() -> list[str]:
    """Where the package that runs this is imported from; nothing if every interpreter of this
    environment finds it there: installed packages must not come before the standard library.
    """
    folder = Path(ntpcompanion.__file__).resolve().parents[1]
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return [] if folder in installed else [str(folder)]
