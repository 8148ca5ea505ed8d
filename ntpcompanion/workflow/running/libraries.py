"""The modules of libraries that a notebook imports as soon as it begins, so that they can be loaded
before.
"""

import functools
import re
from collections.abc import Collection, Iterable
from pathlib import Path

IMPORT = re.compile(r"^(?:import ([\w.]+)|from ([\w.]+) import ([\w, ]*))", re.MULTILINE)
NAME = re.compile(r"(?:^|,) *(\w+)")


def library_modules(code: str, files: Iterable[Path], libraries: Collection[str]) -> list[str]:
    """The names, sorted, that `code` and Python `files` import from `libraries`, outside of
    functions; not all of them need be modules.
    """
    texts = [code, *(path.read_text(encoding="utf-8", errors="replace") for path in files)]
    names = set().union(*map(_imported, texts))
    return sorted(name for name in names if name.partition(".")[0] in libraries)


@functools.cache  # notebooks share most of the modules of their package
def _imported(text: str) -> frozenset[str]:
    found = set()
    for module, package, names in IMPORT.findall(text):
        found |= {module or package, *(f"{package}.{name}" for name in NAME.findall(names))}
    return frozenset(found)
