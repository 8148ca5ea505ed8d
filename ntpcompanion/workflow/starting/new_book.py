"""A small book that builds: a copy of the folder `template`, with a package of its own name."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from keyword import iskeyword
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError, explained
from ntpcompanion.workflow.base.files import require_utf8, search_path

TEMPLATE = Path(__file__).with_name("template")
PACKAGE = "mypaper"  # of the template, a word that stands nowhere else in it
TOOL = __name__.partition(".")[0]
TAKEN = {"book", "notebooks", "tests", TOOL}  # folders of the book, or what it imports


def new_book(folder: Path, package: str = PACKAGE) -> Path:
    """Make a book in a folder that is empty or not there yet, and return the folder: written beside
    that position under another name, and moved there when it is whole.
    """
    target = Path(os.path.abspath(folder.expanduser()))
    require_utf8(target)
    search_path([target])
    _require_empty(target)
    if reason := why_not(package):
        raise WorkflowError(f"`--package {package}`: {reason}. Give another name.")
    with explained(
        f"Could not make {target}: {{}}. Nothing was left there; fix the permissions, free some "
        "space, or name another folder."
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{target.name[:40]}."
        with tempfile.TemporaryDirectory("", prefix, target.parent, True) as holder:
            book = Path(holder, "book")
            _fill(book, package)
            if target.exists():
                target.rmdir()  # an empty one: a rename takes its place on some systems only
            book.rename(target)
    return target


def next_steps(folder: Path) -> list[str]:
    """What was made, and what to type next, in lines."""
    return [
        f"Made {folder}. Go there: `cd {shlex.quote(str(folder))}`. Then:",
        f"  ntpcompanion build    runs the notebook, renders _build/html; needs {TOOL}[book,plots]",
        "  make book             the same in an environment of its own, .venv",
        "  make test             its tests, and its numbers against tests/baselines",
    ]


def _fill(folder: Path, package: str) -> None:
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / PACKAGE).rename(folder / package)
    for path in filter(Path.is_file, folder.rglob("*")):
        text = path.read_text(encoding="utf-8").replace(PACKAGE, package)
        path.write_text(text, encoding="utf-8")
    with (folder / "requirements.txt").open("a", encoding="utf-8") as file:
        file.write(f"{origin()}\n")


def why_not(name: str) -> str:
    """Why a package cannot have that name; nothing if it can."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or iskeyword(name):
        return "it must be a name of Python, of ASCII letters, digits and _"
    if name in TAKEN or name in sys.stdlib_module_names:
        return "it would hide a package or folder of that name"
    spec = importlib.util.find_spec(name)
    return f"{spec.origin} has that name already" if spec and spec.origin else ""


def origin() -> str:
    """The requirement that installs the copy of the workflow that runs this: a release, a commit,
    or a folder or file of this machine.
    """
    try:
        package = distribution(TOOL)
    except PackageNotFoundError:  # run from a checkout
        return f"{TOOL} @ {Path(__file__).resolve().parents[3].as_uri()}"
    direct = json.loads(package.read_text("direct_url.json") or "{}")
    if version := direct.get("vcs_info"):
        return f"{TOOL} @ {version['vcs']}+{direct['url']}@{version['commit_id']}"
    return f"{TOOL} @ {direct['url']}" if direct else f"{TOOL}=={package.version}"


def _require_empty(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise WorkflowError(f"{target} is not a folder. Name one that is empty or not there yet.")
    if target.exists() and (content := sorted(target.iterdir())):
        raise WorkflowError(
            f"{target} is not empty: it holds {content[0].name}. Name a folder that is empty or "
            "not there yet."
        )
