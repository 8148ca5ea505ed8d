"""The files of the package, each parsed once in a process."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ntpcompanion"
TEMPLATE = PACKAGE / "workflow" / "starting" / "template"  # a book of its own
FILES = sorted(path for path in PACKAGE.rglob("*.py") if TEMPLATE not in path.parents)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()
